"""A method is taught a kind of model by one more file, and nobody else's cells move."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from methods import contract
from workflow.imports import reached

ROOT = Path(__file__).resolve().parents[3]
LINEAR = "bounded_linear_regression"


def test_a_taught_method_is_found_under_its_kind_alone():
    taught = contract.get("exact_posterior", LINEAR)
    assert taught.models == (LINEAR,)
    assert contract.get("exact_posterior", "conjugate_simulator") is contract.get("exact_posterior")
    assert contract.module_of("exact_posterior", LINEAR) == f"methods.kinds.{LINEAR}.exact_posterior"
    assert contract.module_of("exact_posterior", "conjugate_simulator") == "methods.baselines.exact_posterior"
    assert "exact_posterior" in contract.names(LINEAR)


def test_the_methods_own_cells_do_not_depend_on_what_it_was_taught():
    for kind, name in contract.pairs():
        if contract.module_of(name, kind) != f"methods.{name}" and name in contract.names():
            assert not [m for m in reached(f"methods.{name}") if m.startswith("methods.kinds")]


def test_an_unknown_method_is_named():
    with pytest.raises(KeyError, match="no_such_method"):
        contract.get("no_such_method", LINEAR)


@pytest.mark.parametrize(("found", "wanted"), [('models = ("x",)', "models"), ('name = "other"', "name")])
def test_a_file_that_says_something_else_is_refused(tmp_path, found, wanted):
    for folder in ("methods", "models", "privacy"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / f"methods/kinds/{LINEAR}/exact_posterior.py"
    line = {"models": f'models = ("{LINEAR}",)', "name": 'name = "exact_posterior"'}[wanted]
    text = path.read_text()
    assert line in text
    path.write_text(text.replace(line, found))
    assert "must hold exactly one subclass" in listing(tmp_path, LINEAR)


def test_a_kind_that_two_files_fit_is_refused(tmp_path):
    for folder in ("methods", "models", "privacy"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "methods/baselines/exact_posterior.py"
    path.write_text(path.read_text().replace("models = (", f'models = ("{LINEAR}", '))
    assert f"both fit {LINEAR}" in listing(tmp_path, LINEAR)


def listing(root: Path, kind: str) -> str:
    """What listing the methods of a kind says on stderr, in a copy of the project."""
    code = f"from methods import contract; contract.names('{kind}')"
    return subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True).stderr


def test_every_pair_is_listed_once_and_found():
    found = contract.pairs()
    assert len(found) == len(set(found))
    assert all(kind in contract.get(name, kind).models for kind, name in found)
    for kind in {kind for kind, _ in found}:
        assert sorted(n for k, n in found if k == kind) == contract.names(kind)
