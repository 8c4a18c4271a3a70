"""Transitive imports by AST, and a hash that comments do not move."""

import ast
import hashlib
import subprocess
import sys

import pytest

from workflow import imports


def test_a_method_reaches_its_model_and_the_privacy_code():
    found = imports.reached("methods.baselines.ridge")
    wanted = {"methods.baselines.ridge", "methods.contract", "models.task", "privacy.budget", "privacy.ledger"}
    assert wanted <= set(found)
    assert not any(m.startswith(("reports", "workflow", "evaluation")) for m in found)


def test_library_modules_are_left_out():
    assert imports.path_of("numpy") is None
    assert all(m.split(".")[0] in imports.PACKAGES for m in imports.reached("methods.baselines.ridge"))


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("x = 1\n", "x = 1  # a comment\n", True),
        ("def f():\n    return 1\n", 'def f():\n    """Doc."""\n    return 1\n', True),
        ("x = 1\n", "x = 2\n", False),
        ("x = 'a'\n", "x = 'b'\n", False),
    ],
)
def test_only_what_the_code_does_moves_the_hash(tmp_path, before, after, same):
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text(before)
    b.write_text(after)
    assert (imports.normalised(a.read_text()) == imports.normalised(b.read_text())) is same


def test_imports_inside_functions_count():
    # budget.spend imports the accountants only when it enforces; a corrected accountant must still re-run the cell.
    assert "privacy.accountants" in imports.direct_imports("privacy.budget")


def test_a_method_depends_on_all_numerics_that_its_file_names():
    found = imports.reached("methods.ep.dp_sep")
    assert {"methods.ep._mixture.training", "methods.ep._pbp.state", "methods.contract"} <= set(found)
    found = imports.reached("methods.ep.dp_sep_corrected")
    assert {"methods.ep._mixture.corrected", "methods.ep._mixture.sites"} <= set(found)


EVERYWHERE = '''
"""import a_docstring"""
import one.two as two, three
from four import (
    five,
    six as seven,
)
if two:
    import eight
else:
    from . import nine
for _ in ():
    import ten
try:
    from ..eleven import twelve
except ImportError:
    import thirteen
else:
    import fourteen
finally:
    import fifteen
class C:
    import sixteen
    def f(self):
        with open("x"):
            match self:
                case 1:
                    import seventeen
        return lambda: "import a_string"
while True:
    import eighteen; import nineteen
'''


def test_an_import_is_found_wherever_a_statement_may_stand():
    walked = []  # the plain way: every node, expressions too
    for node in ast.walk(ast.parse(EVERYWHERE)):
        if isinstance(node, ast.Import):
            walked += [(0, a.name, []) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            walked.append((node.level, node.module or "", [a.name for a in node.names]))
    found = imports.imports_in(EVERYWHERE.encode())
    assert sorted(found) == sorted(walked)
    assert len(found) == 14
    assert imports.imports_in(b"def f(:\n") == []


def test_a_value_is_remembered_by_its_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    store = tmp_path / "kept" / "store.json"
    made = []

    def joined(*texts):
        made.append(texts)
        return "|".join(t.decode() for t in texts)

    first = imports._Remembered(store)
    assert first.of(joined, b"ab", b"c") == "ab|c"
    assert first.of(joined, b"a", b"bc") == "a|bc"  # the same bytes in other texts are another key
    first.keep()
    second = imports._Remembered(store)
    assert second.of(joined, b"ab", b"c") == "ab|c"
    assert len(made) == 2
    assert second.of(joined, b"ab") == "ab"
    store.write_text('{"torn": ')
    assert imports._Remembered(store).of(joined, b"ab", b"c") == "ab|c"
    assert len(made) == 4


def test_the_hash_of_code_is_that_of_its_sources():
    """Whatever is remembered: the digits that are committed with a cell are those of the syntax trees."""
    digest = hashlib.sha256()
    for module in imports.reached("methods.baselines.ridge"):
        digest.update(module.encode())
        digest.update(imports.normalised(imports.path_of(module).read_text(encoding="utf-8")).encode())
    assert imports.code_hash("methods.baselines.ridge") == digest.hexdigest()[:16]


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    (tmp_path / "methods").mkdir()
    for name in ("kept", "moved", "gone"):
        (tmp_path / f"methods/{name}.py").write_text('"""Doc."""\n\nx = 1\n')
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "first")
    return tmp_path, git


def test_what_differs_from_the_last_commit_without_a_remote(repository):
    root, _ = repository
    assert imports.differing("methods", root=root) == frozenset()
    (root / "methods/kept.py").write_text('"""Another text."""\n\nx = (\n    1  # comment\n)\n')
    assert imports.differing("methods", root=root) == frozenset()
    (root / "methods/moved.py").write_text("x = 2\n")
    (root / "methods/gone.py").unlink()
    (root / "methods/new.py").write_text("x = 1\n")
    (root / "methods/notes.md").write_text("no code\n")
    assert imports.differing("methods", root=root) == {f"methods/{n}.py" for n in ("moved", "gone", "new")}
    assert imports.differing("papers", root=root) == frozenset()


def test_with_a_remote_what_differs_from_the_merge_base(repository):
    """A commit that is not merged yet counts, and one that the other branch has in addition does not."""
    root, git = repository
    git("update-ref", "refs/remotes/origin/main", git("rev-parse", "HEAD").strip())
    (root / "methods/moved.py").write_text("x = 2\n")
    git("commit", "-qam", "mine")
    assert imports.differing("methods", root=root) == {"methods/moved.py"}
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert imports.differing("methods", root=root) == frozenset()


def test_outside_of_git_nothing_differs(tmp_path):
    assert (imports.head(tmp_path), imports.differing("methods", root=tmp_path)) == ("", frozenset())
