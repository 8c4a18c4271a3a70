"""`./bench new`: what it writes is found, expands to cells, and is taken away by removing the folder."""

import shutil
import subprocess
import sys

import pytest
from project import copy_project, environment

from workflow import new


@pytest.mark.parametrize("key", ["Park2017", "2017park", "park-2017", "../park", ""])
def test_a_key_that_is_no_module_is_refused(tmp_path, key):
    with pytest.raises(ValueError, match="a key has small letters"):
        new.paper(key, tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_not_overwritten(tmp_path):
    new.paper("later2030x", tmp_path)
    with pytest.raises(ValueError, match="is there"):
        new.paper("later2030x", tmp_path)


def test_a_new_paper_runs_as_it_is_and_goes_with_its_folder(tmp_path):
    project = copy_project(tmp_path)

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=project, env=environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    known = (
        "from workflow.papers import papers; from reports.published import load, SOURCE_TITLES; "
        "print([p.key for p in papers()], len(load()), sorted(SOURCE_TITLES))"
    )
    before = run("-c", known)
    assert "papers/later2030x/__init__.py" in run("-m", "workflow.new", "paper", "later2030x").splitlines()
    assert run("-c", known).count("later2030x") == 2
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/papers/later2030x")
    shutil.rmtree(project / "papers/later2030x")
    assert run("-c", known) == before
