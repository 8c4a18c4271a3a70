"""docs/one-number.md names functions and files that exist."""

import importlib
import re
from pathlib import Path

import pytest

from datasets import fetch, yaml_file
from methods import contract

ROOT = Path(__file__).resolve().parents[2]
WALK = (ROOT / "docs/one-number.md").read_text(encoding="utf-8")
PACKAGES = "datasets|models|privacy|methods|evaluation|audit|workflow|reports"
NAMES = sorted(set(re.findall(rf"`((?:{PACKAGES})(?:\.\w+)+)`", WALK)))


def found(name: str) -> object:
    """What a dotted name names. Raises ImportError or AttributeError."""
    module, *rest = name.split(".")
    thing = importlib.import_module(module)
    for k, part in enumerate(rest):
        try:
            thing = importlib.import_module(".".join([module, *rest[: k + 1]]))
        except ModuleNotFoundError:
            thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("name", NAMES)
def test_the_walk_of_one_number_names_functions_that_exist(name):
    assert callable(found(name)), name


def test_a_name_that_is_gone_is_noticed():
    with pytest.raises(AttributeError):
        found("workflow.cell.not_there")


def test_the_page_on_threats_is_short_and_names_what_is_there():
    text = (ROOT / "docs/threats.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 1200
    for name in re.findall(r"\]\((\w+\.md)\)", text):
        assert (ROOT / "docs" / name).is_file(), name
    assert contract.OUTSIDE in text
    assert f"{yaml_file.MOST_BYTES // 1000} kB" in text
    assert f"{fetch._MOST_UNPACKED / 1e9:g} GB" in text


def test_the_walk_names_the_file_of_each_function():
    rows = re.findall(r"^\| \d+ \w+ \|(.*)\|$", WALK, re.MULTILINE)
    assert len(rows) > 10
    for row in rows:
        files = {f"{n.rsplit('.', 1)[0].replace('.', '/')}.py" for n in re.findall(r"`([\w.]+)`", row) if "/" not in n}
        files = {f if (ROOT / f).is_file() else f"{Path(f).parent}.py" for f in files if not f.endswith("py.py")}
        assert {f for f in re.findall(r"`([\w/]+\.py)`", row)} == files - {"published.py"}


def test_every_test_that_the_page_on_faults_names_is_there():
    page = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
    named, file = set(), ""
    for path, test in re.findall(r"`((?:tests/)?[\w/]*\.py)?(?:::(test_\w+))?`", page):
        file = path or file
        if file.rpartition("/")[2].startswith("test_"):
            named.add((file if "/" in file else f"tests/workflow/{file}", test))
    assert len(named) > 25
    for name, test in sorted(named):
        assert (ROOT / name).is_file(), name
        assert not test or f"def {test}(" in (ROOT / name).read_text(encoding="utf-8"), (name, test)
