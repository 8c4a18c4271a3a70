"""Adult, abalone and MNIST 3 vs 8: genuine files against their sizes, the formats' traps, and the split in thirds."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest

import datasets
from datasets.adult import COLUMNS, LEVELS
from datasets.base import DataError
from datasets.fetch import build, fetch
from datasets.protocols import thirds

MIRROR = os.environ.get("DPBAYES_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to parse")


@needs_mirror
@pytest.mark.parametrize(
    ("name", "shape", "positives"),
    [("adult", (48842, 100), 7841 + 3846), ("abalone", (4177, 9), 2081), ("mnist", (11982, 784), 5851)],
)
def test_genuine_tables(name, shape, positives, tmp_path):
    """Sizes, positives and documented bounds; 2,081 shells of 10 rings or more by abalone.names, section 9."""
    dataset = datasets.get(name)
    table, fingerprint = build(dataset, fetch(dataset, MIRROR, tmp_path, offline=True))
    assert fingerprint == dataset.table_sha256 != ""
    assert table.x.shape == shape
    assert table.columns == dataset.columns
    assert table.y.sum() == positives
    assert set(np.unique(table.y)) == {0, 1}
    for values, bounds in zip(table.x.T, dataset.x_bounds, strict=True):
        if bounds is not None:
            assert bounds[0] <= values.min()
            assert values.max() <= bounds[1]
    if name == "adult":
        assert (table.y[:32561].sum(), table.y[32561:].sum()) == (7841, 3846)
        # "?" is the level left out: a row has it where an attribute that knows "?" sets none of its columns.
        unknown = np.zeros(len(table.x), dtype=bool)
        for attribute in (a for a, text in LEVELS.items() if text.endswith("?")):
            columns = [j for j, c in enumerate(COLUMNS) if c.startswith(attribute + "=")]
            unknown |= table.x[:, columns].sum(axis=1) == 0
        assert (unknown[:32561].sum(), unknown[32561:].sum()) == (2399, 1221)
    if name == "abalone":
        male, infant = (table.x[:, table.columns.index(c)].sum() for c in ("sex=M", "sex=I"))
        assert (male, infant) == (1528, 1342)


@pytest.mark.parametrize("name", ["adult", "adult_complete", "abalone", "mnist"])
def test_what_the_registry_says(name):
    dataset = datasets.get(name)
    assert dataset.task == "classification"
    assert len(dataset.labels) == 2
    assert len(set(dataset.columns)) == dataset.n_inputs
    assert sum(b is None for b in dataset.x_bounds) == {"adult": 6, "adult_complete": 5, "abalone": 0, "mnist": 0}[name]


def adult_line(label, **changes):
    fields = {
        "age": "39", "workclass": "State-gov", "fnlwgt": "77516", "education": "Bachelors", "education-num": "13",
        "marital-status": "Never-married", "occupation": "Adm-clerical", "relationship": "Not-in-family",
        "race": "White", "sex": "Male", "capital-gain": "2174", "capital-loss": "0", "hours-per-week": "40",
        "native-country": "United-States",
    } | changes  # fmt: skip
    return ", ".join([*fields.values(), label]) + "\n"


def adult_files(folder, train, test):
    (folder / "adult.data").write_text(train)
    (folder / "adult.test").write_text(test)
    return folder / "adult.data", folder / "adult.test"


def test_adult_format(tmp_path):
    second = adult_line(">50K.", workclass="?", age="17")
    table = datasets.get("adult").parse(
        *adult_files(tmp_path, adult_line("<=50K") + "\n", "|1x3 Cross validator\n" + second + "\n")
    )
    np.testing.assert_array_equal(table.y, [0, 1])
    np.testing.assert_array_equal(table.x[:, :6], [[39, 77516, 13, 2174, 0, 40], [17, 77516, 13, 2174, 0, 40]])
    set_in_first = {COLUMNS[j] for j in np.flatnonzero(table.x[0, 6:]) + 6}
    # Not-in-family is not the first of its attribute by the order of characters, Husband is.
    assert set_in_first == {
        "workclass=State-gov", "education=Bachelors", "marital-status=Never-married", "occupation=Adm-clerical",
        "relationship=Not-in-family", "race=White", "sex=Male", "native-country=United-States",
    }  # fmt: skip
    assert {COLUMNS[j] for j in np.flatnonzero(table.x[0] != table.x[1])} == {"age", "workclass=State-gov"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (adult_line("<=50K", race="Martian"), r"adult.data has the race 'Martian'"),
        (adult_line("rich"), r"the label 'rich'"),
        (adult_line("<=50K", age="old"), r"adult.data cannot be read \(age"),
        ("39, State-gov\n", r"2 fields where 15 are due"),
        ("\n", r"adult.data has no rows"),
    ],
)
def test_adult_refuses(line, message, tmp_path):
    with pytest.raises(DataError, match=message):
        datasets.get("adult").parse(*adult_files(tmp_path, line, adult_line(">50K.")))


def test_abalone_format(tmp_path):
    path = tmp_path / "abalone.data"
    path.write_text("M,.1,.2,.3,.4,.5,.6,.7,10\nF,.1,.2,.3,.4,.5,.6,.7,9\nI,.1,.2,.3,.4,.5,.6,.7,29\n")
    table = datasets.get("abalone").parse(path)
    np.testing.assert_array_equal(table.y, [1, 0, 1])
    np.testing.assert_array_equal(table.x[:, 7:], [[0, 1], [0, 0], [1, 0]])
    np.testing.assert_array_equal(table.x[0, :7], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X,.1,.2,.3,.4,.5,.6,.7,10\n", "sex 'X'"),
        ("M,.1,.2,.3\n", r"3 columns where 8 are due"),
        ("M,.1,.2,.3,.4,.5,.6,.7,ten\n", "cannot be read"),
        ("", "no rows"),
    ],
)
def test_abalone_refuses(text, message, tmp_path):
    path = tmp_path / "abalone.data"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        datasets.get("abalone").parse(path)


def idx(path: Path, array: np.ndarray) -> Path:
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(head + array.astype(np.uint8).tobytes()))
    return path


def test_mnist_format(tmp_path):
    pictures = np.random.default_rng(3).integers(0, 256, (6, 28, 28))
    files = idx(tmp_path / "i.gz", pictures), idx(tmp_path / "l.gz", np.array([3, 1, 8, 0, 3, 9]))
    table = datasets.get("mnist").parse(*files)
    np.testing.assert_array_equal(table.y, [0, 1, 0])
    np.testing.assert_array_equal(table.x, pictures[[0, 2, 4]].reshape(3, 784))


def test_mnist_refuses(tmp_path):
    parse = datasets.get("mnist").parse
    labels = idx(tmp_path / "l.gz", np.array([3, 8]))
    with pytest.raises(DataError, match=r"i.gz has shape \(3, 28, 28\)"):
        parse(idx(tmp_path / "i.gz", np.zeros((3, 28, 28))), labels)
    with pytest.raises(DataError, match="no idx file of bytes with 3 dimensions"):
        parse(labels, labels)
    (tmp_path / "bad.gz").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"bad.gz is no whole gzip file"):
        parse(tmp_path / "bad.gz", labels)
    short = gzip.decompress(labels.read_bytes())[:-1]
    (tmp_path / "short.gz").write_bytes(gzip.compress(short))
    with pytest.raises(DataError, match=r"short.gz has 1 bytes where \(2,\) are due"):
        parse(idx(tmp_path / "i.gz", np.zeros((2, 28, 28))), tmp_path / "short.gz")


@pytest.mark.parametrize(("n", "train", "test"), [(4177, 2784, 1393), (48842, 32561, 16281), (11982, 7988, 3994)])
def test_thirds_have_the_published_sizes(n, train, test):
    rows = thirds.split("x", "thirds", n, 0)
    assert tuple(map(len, rows)) == (train, test)
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(n))


def test_thirds_depend_on_size_and_index_alone():
    first, again = thirds.split("a", "thirds", 30, 4), thirds.split("b", "thirds", 30, 4)
    np.testing.assert_array_equal(first[1], again[1])
    assert (first[1] != thirds.split("a", "thirds", 30, 5)[1]).any()
    assert [len(part) for part in thirds.split("a", "thirds", 2, 0)] == [1, 1]
    with pytest.raises(ValueError, match="index = -1"):
        thirds.split("a", "thirds", 30, -1)
    with pytest.raises(ValueError, match="1 rows"):
        thirds.split("a", "thirds", 1, 0)


def test_thirds_choose_every_row_alike():
    """400 splits of 12 rows: each row tests 400/3 times, sd 9.4; |z| < 4.5 for 12 rows fails by chance with 8e-5."""
    counts = np.zeros(12)
    for index in range(400):
        counts[thirds.split("x", "thirds", 12, index)[1]] += 1
    assert np.abs((counts - 400 / 3) / np.sqrt(400 * 2 / 9)).max() < 4.5


@needs_mirror
def test_complete_rows_of_adult(tmp_path):
    """Sizes and shares of the specification of NA-DPVI; 6 dummies a row."""
    from datasets import adult_complete

    dataset = datasets.get("adult_complete")
    table, fingerprint = build(dataset, fetch(dataset, MIRROR, tmp_path, offline=True))
    assert fingerprint == dataset.table_sha256 != ""
    assert table.x.shape == (45_222, 56)
    train = table.y[: adult_complete.TRAIN]
    assert train.mean() == pytest.approx(0.2489, abs=5e-5)
    assert table.y[adult_complete.TRAIN :].mean() == pytest.approx(0.2457, abs=5e-5)
    assert (table.x[:, 5:].sum(axis=1) == 6).all()
    sizes = [len(adult_complete.LEVELS[a]) for a in adult_complete.ATTRIBUTES]
    assert sizes == [7, 16, 7, 14, 5, 2]
    dummies = table.x[: adult_complete.TRAIN, 5:]
    assert (dummies.sum(axis=0) > 0).all()  # the levels of the training rows are those of the documentation


def test_rows_with_a_missing_value_are_dropped(tmp_path):
    lines = [adult_line("<=50K"), adult_line(">50K", occupation="?"), adult_line(">50K", **{"native-country": "?"})]
    table = datasets.get("adult_complete").parse(
        *adult_files(tmp_path, "".join(lines), adult_line(">50K.", sex="Female", education="10th"))
    )
    assert table.x.shape == (2, 56)
    np.testing.assert_array_equal(table.x[0, :5], [39, 77516, 2174, 0, 40])
    names = [{c for c, v in zip(table.columns, row, strict=True) if v == 1 and "=" in c} for row in table.x]
    assert names[0] == {
        "workclass=State-gov", "education=Bachelors", "marital-status=Never-married", "occupation=Adm-clerical",
        "race=White", "sex=Male",
    }  # fmt: skip
    assert names[0] ^ names[1] == {"education=Bachelors", "education=10th", "sex=Male", "sex=Female"}
    np.testing.assert_array_equal(table.y, [0, 1])
