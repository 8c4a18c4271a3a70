"""The registry and what each data set states about itself."""

import dataclasses
import re
import subprocess
import sys

import pytest

import datasets
from datasets.base import DataSet

TABLES = ("kin8nm", "life_science", "naval", "power", "protein", "wine", "year")


def test_registry_lists_the_data_sets():
    assert set(TABLES) <= set(datasets.names("table"))
    assert "synthetic_year" in datasets.names("synthetic")
    kinds = ("table", "simulated", "synthetic")
    assert datasets.names() == sorted(n for k in kinds for n in datasets.names(k))


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(KeyError, match=r"wime.*kin8nm.*wine"):
        datasets.get("wime")


def test_listing_the_data_sets_imports_nothing_heavy():
    code = (
        "import sys, datasets; datasets.names(); "
        "print([m for m in ('pandas', 'openpyxl', 'sklearn', 'scipy', 'torch', 'jax') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", datasets.names("table"))
def test_raw_files_can_be_checked_and_had(name):
    dataset = datasets.get(name)
    for raw in dataset.raw:
        assert len(bytes.fromhex(raw.sha256)) == 32
        # a file without an address comes from the mirror alone
        for source in raw.sources:
            assert source.packaged or source.url.startswith("https://")
            # An archive needs the name of its member, a plain file has none.
            assert (source.member is not None) == (source.packaged or source.url.endswith(".zip"))
            if "raw.githubusercontent.com" in source.url:  # a branch may change
                assert re.fullmatch("[0-9a-f]{7,40}", source.url.split("/")[5]), source.url
    assert dataset.licence
    assert dataset.target


def test_all_tables_but_one_state_their_fingerprint():
    assert [n for n in datasets.names("table") if not datasets.get(n).table_sha256] == ["year"]


@pytest.mark.parametrize(
    ("name", "rows", "inputs", "splits"),
    [
        ("naval", 11934, 16, 20),
        ("kin8nm", 8192, 8, 20),
        ("power", 9568, 4, 20),
        ("wine", 1599, 11, 20),
        ("protein", 45730, 9, 5),
        ("year", 515345, 90, 1),
        ("life_science", 26733, 10, 10),
        ("mixture_of_gaussians", 400_000, 4, 200),
    ],
)
def test_sizes(name, rows, inputs, splits):
    dataset = datasets.get(name)
    assert (dataset.n_rows, dataset.n_inputs, dataset.n_splits) == (rows, inputs, splits)


def test_documented_bounds():
    assert datasets.get("wine").y_bounds == (0, 10)
    assert set(datasets.get("wine").x_bounds) == {None}
    naval = dict(zip(datasets.get("naval").columns, datasets.get("naval").x_bounds, strict=True))
    assert naval.pop("v") == (3, 27)
    assert set(naval.values()) == {None}
    assert datasets.get("naval").y_bounds == (0.95, 1)
    power = dict(zip(datasets.get("power").columns, datasets.get("power").x_bounds, strict=True))
    assert power == {"AT": (1.81, 37.11), "V": (25.36, 81.56), "AP": (992.89, 1033.3), "RH": (25.56, 100.16)}
    assert datasets.get("kin8nm").y_bounds is None


@pytest.mark.parametrize(
    ("name", "regression", "density"),
    [
        ("power", 5, 4), ("protein", 1, 0), ("year", 1, 0), ("abalone", 7, 7), ("naval", 0, 0), ("kin8nm", 0, 0),
        ("wine", 0, 0), ("adult", 0, 0), ("adult_complete", 0, 0), ("mnist", 0, 0), ("life_science", 0, 0),
    ],
)  # fmt: skip
def test_ranges_that_are_the_extremes_of_the_table(name, regression, density):
    """How many columns have one: with the target, and without."""
    found = datasets.get(name)
    assert len(found.conditional(True)) == regression
    assert len(found.conditional(False)) == density
    assert set(found.conditional(False)) <= set(found.conditional(True)) <= set(found.bounds_of)


def _like_wine(**changes) -> DataSet:
    return dataclasses.replace(datasets.get("wine"), **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "guess"}, "kind = 'guess'"),
        ({"task": "ranking"}, "task = 'ranking'"),
        ({"labels": ("no", "yes")}, "labels"),
        ({"task": "classification"}, "labels"),
        ({"raw": ()}, "raw files"),
        ({"kind": "synthetic"}, "generate"),
        ({"x_bounds": (None,) * 3}, "x_bounds"),
        ({"y_bounds": (10.0, 0.0)}, "lower < upper"),
        ({"bounds_citation": ""}, "citation"),
        ({"extremes": None}, "extremes"),
        ({"extremes": ("alcohol",)}, "'alcohol', which has no range"),
    ],
)
def test_a_wrong_description_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        _like_wine(**changes)


def test_several_raw_files_and_labels_fit():
    wine = datasets.get("wine")
    two = dataclasses.replace(
        wine, raw=wine.raw * 2, task="classification", labels=("<=50K", ">50K"), y_bounds=None, bounds_citation=""
    )
    assert len(two.raw) == 2
