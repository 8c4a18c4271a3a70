"""What changed since a commit: functions by their syntax trees, lines by git."""

import subprocess

import pytest

from workflow import changes, imports

BEFORE = '''"""Doc."""


def kept(x):
    return x


class C:
    def method(self, x):
        """Doc of the method."""
        y = x + 1
        z = y * 2
        return z


def outer(x):
    def inner(y):
        return y

    return inner(x)
'''


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    for package in imports.PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "plain.py").write_text("x = 1\n")
    (tmp_path / "privacy/code.py").write_text(BEFORE)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    changes.since.cache_clear()
    imports.path_of.cache_clear()
    return tmp_path, git("rev-parse", "HEAD").strip()


def changed(root, commit):
    changes.since.cache_clear()
    return {c.function: c for found in changes.since(commit, root).values() for c in found}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Doc."""', '"""Another text."""'),
        ("    return x\n", "    return x  # a comment\n"),
        ("        y = x + 1\n", "        y = (\n            x + 1\n        )\n"),
        ('"""Doc of the method."""', '"""Other words."""'),
    ],
)
def test_words_and_layout_change_nothing(repository, old, new):
    root, commit = repository
    assert old in BEFORE
    (root / "privacy/code.py").write_text(BEFORE.replace(old, new))
    assert changed(root, commit) == {}


def test_a_new_line_is_named_with_its_function(repository):
    root, commit = repository
    (root / "privacy/code.py").write_text(BEFORE.replace("z = y * 2", "z = y * 3"))
    found = changed(root, commit)
    assert set(found) == {"C.method"}
    lines = BEFORE.splitlines()
    assert [lines[k - 1].strip() for k in found["C.method"].lines] == ["z = y * 2"]


def test_a_line_that_is_gone_is_seen_by_its_neighbours(repository):
    root, commit = repository
    (root / "privacy/code.py").write_text(BEFORE.replace("        z = y * 2\n", "").replace("return z", "return y"))
    assert "C.method" in changed(root, commit)
    (root / "privacy/code.py").write_text(BEFORE.replace("        y = x + 1\n", ""))
    found = changed(root, commit)["C.method"]
    assert found.lines  # the neighbours of what was taken away


def test_lines_that_raise_need_not_run(repository):
    root, commit = repository
    new = "        if x < 0:\n            raise ValueError(\n                'no'\n            )\n        y = x + 1\n"
    (root / "privacy/code.py").write_text(BEFORE.replace("        y = x + 1\n", new))
    text = (root / "privacy/code.py").read_text().splitlines()
    assert [text[k - 1].strip() for k in sorted(changed(root, commit)["C.method"].lines)] == ["if x < 0:"]


def test_an_inner_function_belongs_to_the_outer_one(repository):
    root, commit = repository
    (root / "privacy/code.py").write_text(
        BEFORE.replace("        return y\n\n    return inner", "        return -y\n\n    return inner")
    )
    assert set(changed(root, commit)) == {"outer"}


def test_a_new_file_is_new_in_all_its_functions_and_a_moved_one_in_none(repository):
    root, commit = repository
    (root / "privacy/new.py").write_text("def f(x):\n    return x\n")
    assert changed(root, commit)["f"].lines == {1, 2}
    (root / "privacy/new.py").unlink()
    subprocess.run(["git", "mv", "privacy/code.py", "privacy/moved.py"], cwd=root, check=True)
    assert changed(root, commit) == {}


CALLS = """
from privacy import plain

def _called(x):
    y = plain._helper(x)
    return y.size + 1
"""


@pytest.mark.parametrize(
    ("old", "new", "is_new"),
    [
        ("", "", False),
        ("_called", "called", False),
        ("plain._helper", "helper", False),
        ("plain._helper", "other.helper", False),
        ("plain._helper", "plain.another", True),
        ("+ 1", "+ 2", True),
        ("y.size", "y.shape", True),
        ("y.size", "x.size", True),
        ("(x):", "(x, y=0):", True),
    ],
)
def test_a_function_moved_between_files_is_the_same_but_for_underscores_and_modules(repository, old, new, is_new):
    """One piece of a file moves: git calls the new file an addition, and no function of it ran before in that place."""
    root, _ = repository
    (root / "privacy/code.py").write_text(BEFORE + CALLS)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "two"], cwd=root, check=True)
    commit = changes.recent(root)[0]
    assert old in CALLS
    (root / "privacy/code.py").write_text(BEFORE)
    (root / "methods/there.py").write_text(CALLS.replace(old, new) if old else CALLS)
    assert bool(changed(root, commit)) == is_new


def test_a_commit_can_be_read_beside_the_working_tree(repository):
    root, commit = repository
    before = imports.code_hash("privacy.code", root=root)
    for cached in (imports.path_of, imports.direct_imports, imports.reached, imports.code_hash):
        cached.cache_clear()
    (root / "privacy/code.py").write_text(BEFORE.replace("y * 2", "y * 3"))
    assert imports.code_hash("privacy.code", root=root) != before
    with changes.checkout(commit, root) as folder:
        assert imports.code_hash("privacy.code", root=folder) == before
    assert changes.recent(root) == [commit]
    assert changes.known(commit, root)
    assert not changes.known("0" * 40, root)
    assert changes.clean(["privacy/plain.py"], root) == commit
    assert changes.clean(["privacy/code.py"], root) == ""
