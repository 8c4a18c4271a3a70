"""The registry: a family is a folder, a method a file, a class of it what fits a kind of model."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from methods import contract

ROOT = Path(__file__).resolve().parents[2]
LINEAR = "bounded_linear_regression"


def test_a_kind_is_fitted_by_the_class_of_the_file_that_names_it():
    own, linear = contract.get("exact_posterior"), contract.get("exact_posterior", LINEAR)
    assert linear.models == (LINEAR,)
    assert linear is not own
    assert contract.get("exact_posterior", "conjugate_simulator") is own
    assert contract.get("exact_posterior", "a kind that it does not fit") is own
    assert contract.module_of("exact_posterior", LINEAR) == "methods.baselines.exact_posterior"
    assert "exact_posterior" in contract.names(LINEAR)


def test_a_method_lies_in_its_family_under_its_name():
    for kind, name in contract.pairs():
        package, family, file = contract.module_of(name, kind).split(".")
        assert (package, file) == ("methods", name)
        assert (ROOT / "methods" / family / f"{file}.py").is_file()


def test_no_two_classes_of_a_family_have_one_name():
    families = {}
    for kind, name in contract.pairs():
        method = type(contract.get(name, kind))
        families.setdefault(method.__module__.split(".")[1], set()).add((method.__name__, method))
    for found in families.values():
        assert len({name for name, _ in found}) == len(found)


def test_an_unknown_method_is_named():
    with pytest.raises(KeyError, match="no_such_method"):
        contract.get("no_such_method", LINEAR)


@pytest.fixture
def copy(tmp_path):
    for folder in ("methods", "models", "privacy"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def listing(root: Path) -> str:
    """What the contract says of files that are left out, in a copy of the project."""
    code = "from methods import contract; print(*contract.broken())"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


RIDGE, POSTERIOR = "methods/baselines/ridge.py", "methods/baselines/exact_posterior.py"


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (POSTERIOR, 'name = "exact_posterior"', 'name = "other"', "with their own `name` = 'exact_posterior'"),
        (POSTERIOR, "models = (", f'models = ("{LINEAR}", ', f"ExactPosteriorLinear both fit {LINEAR}"),
        (RIDGE, 'models = ("bnn', 'privacy = "none"\n    models = ("bnn', ".privacy is a str"),
        (RIDGE, 'name = "ridge"', "", "must hold subclasses of Method with their own `name` = 'ridge'; found []"),
    ],
)
def test_a_file_that_says_something_else_is_one_clear_error(copy, file, old, new, words):
    text = (copy / file).read_text()
    assert old in text
    (copy / file).write_text(text.replace(old, new))
    assert listing(copy).startswith(file)
    assert words in listing(copy)


#: hostile files of tests/workflow, and why each is left out. Cells, scores or reports of all methods ended by them.
LEFT_OUT = {
    "settings_raise": "cannot be imported: SystemExit: 0",
    "settings_are_objects": "Hostile.Settings() has to give numbers and texts: TypeError",
    "import_wrong_entries": "Hostile.leaks holds a str",
    "taken/same_title": "its title 'Training mean' is that of predict_mean; give another",
}


def test_settings_records_and_titles_are_looked_at_when_a_file_is_imported(monkeypatch):
    files = [ROOT / f"tests/workflow/hostile/{name}.py" for name in LEFT_OUT]
    mean = [found for found in contract._ours() if found[0] == "predict_mean"]
    monkeypatch.setattr(contract, "_ours", lambda: mean)
    monkeypatch.setenv(contract.OUTSIDE, os.pathsep.join(map(str, files)))
    scan = contract._scan.__wrapped__()
    assert list(scan.found) == ["predict_mean"]
    for file, words in zip(files, LEFT_OUT.values(), strict=True):
        assert words in scan.broken[file.stem]
        assert str(file) in scan.broken[file.stem]


def test_a_name_in_two_families_is_one_clear_error(copy):
    shutil.copy(copy / RIDGE, copy / "methods/em/ridge.py")
    assert listing(copy).strip() == f"methods/em/ridge.py and {RIDGE} are both 'ridge'; rename the first"
    code = "from methods import contract; print(contract.module_of('ridge'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
    assert done.stdout.strip() == "methods.baselines.ridge"  # it keeps its name


def test_a_new_folder_is_a_family_and_what_begins_with_an_underscore_is_not_scanned(copy):
    (copy / "methods/new").mkdir()
    shutil.copy(copy / RIDGE, copy / "methods/new/_ridge.py")
    (copy / "methods/_new").mkdir()
    shutil.copy(copy / RIDGE, copy / "methods/_new/ridge.py")
    (copy / RIDGE).rename(copy / "methods/new/ridge.py")
    code = "from methods import contract; print(contract.module_of('ridge'), len(contract.names()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
    assert done.stdout.split() == ["methods.new.ridge", str(len(contract.names()))], done.stderr


def test_every_pair_is_listed_once_and_found():
    found = contract.pairs()
    assert len(found) == len(set(found))
    assert all(kind in contract.get(name, kind).models for kind, name in found)
    for kind in {kind for kind, _ in found}:
        assert sorted(n for k, n in found if k == kind) == contract.names(kind)
