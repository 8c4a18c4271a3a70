"""Data sets that are no file of datasets/."""

import pytest

import datasets

TEXT = '''"""Ten made-up rows."""

import numpy as np

from datasets.base import DataSet, Table

DATASET = DataSet(
    name="{name}", title="Mine", n_rows=10, n_inputs=1, columns=("x",), target="y", unit="", licence="", doi="",
    generate=lambda rng: Table(rng.random((10, 1)), np.zeros(10), ("x",)), kind="synthetic",
)
'''


@pytest.fixture
def take(tmp_path):
    """A function that takes a file of this name and text as a data set from outside."""
    before = datasets.outside()

    def write(name: str, text: str):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        datasets.take([path])

    yield write
    datasets.take(before)


def test_a_file_elsewhere_is_a_data_set(take):
    known = datasets.names()
    take("my_rows", TEXT.format(name="my_rows"))
    assert datasets.names() == sorted([*known, "my_rows"])
    assert datasets.get("my_rows").title == "Mine"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("wine", TEXT.format(name="wine"), "a data set 'wine' already"),
        ("my_rows", TEXT.format(name="others"), "must hold one DATASET"),
        ("my_rows", "x = 1\n", "must hold one DATASET"),
    ],
)
def test_what_is_no_data_set_is_refused_with_its_file(take, name, text, words):
    take(name, text)
    with pytest.raises(TypeError, match=words) as e:
        datasets.names()
    assert f"{name}.py" in str(e.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    before = datasets.outside()
    try:
        datasets.take([tmp_path / "nowhere.py"])
        with pytest.raises(TypeError, match="no such Python file"):
            datasets.names()
    finally:
        datasets.take(before)
