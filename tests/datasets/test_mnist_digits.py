"""MNIST with all digits: the genuine files, the format, the published split, and the mirror's folder that it shares."""

import gzip
import hashlib
import os
import struct
from pathlib import Path

import numpy as np
import pytest

import datasets
from datasets.base import DataError, DataSet, RawFile, Source
from datasets.fetch import build, fetch, mirror_folder
from datasets.protocols import official

MIRROR = os.environ.get("DPBAYES_MIRROR")


@pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to parse")
def test_genuine_table(tmp_path):
    """Digits of each file as counted by everybody (5,923 zeros and 6,742 ones to train; 980 and 1,135 to test)."""
    dataset = datasets.get("mnist_digits")
    table, fingerprint = build(dataset, fetch(dataset, MIRROR, tmp_path, offline=True))
    assert fingerprint == dataset.table_sha256 != ""
    train, test = official.split(dataset.name, "official", len(table.y), 0)
    counts = [np.bincount(table.y[rows].astype(int)).tolist() for rows in (train, test)]
    assert counts[0] == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert counts[1] == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert (table.x.min(), table.x.max()) == dataset.x_bounds[0] == (0, 255)


def idx(path: Path, array: np.ndarray) -> Path:
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(head + array.astype(np.uint8).tobytes()))
    return path


def test_format(tmp_path):
    """Training rows first, every digit kept."""
    pictures = np.random.default_rng(3).integers(0, 256, (5, 28, 28))
    digits = np.array([3, 0, 9, 1, 8])
    parse = datasets.get("mnist_digits").parse
    files = [
        idx(tmp_path / name, part)
        for name, part in (("a", pictures[:3]), ("b", digits[:3]), ("c", pictures[3:]), ("d", digits[3:]))
    ]
    table = parse(*files)
    np.testing.assert_array_equal(table.y, digits)
    np.testing.assert_array_equal(table.x, pictures.reshape(5, 784))
    with pytest.raises(DataError, match=r"a has shape \(3, 28, 28\)"):
        parse(files[0], files[3], files[2], files[1])
    with pytest.raises(DataError, match="one digit"):
        parse(files[0], idx(tmp_path / "e", np.array([3, 0, 10])), files[2], files[3])


def test_official_split():
    first, again = (official.split("mnist_digits", "official", 70_000, index) for index in (0, 4))
    assert [len(rows) for rows in first] == [60_000, 10_000]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.concatenate(first), np.arange(70_000))
    with pytest.raises(ValueError, match="no official split of 'wine'"):
        official.split("wine", "official", 70_000, 0)
    with pytest.raises(ValueError, match="60000 rows"):
        official.split("mnist_digits", "official", 60_000, 0)
    with pytest.raises(ValueError, match="index = -1"):
        official.split("mnist_digits", "official", 70_000, -1)


def test_a_set_that_shares_raw_files_finds_them_in_the_folder_of_the_other(tmp_path):
    """Its own folder of the mirror is not looked at, and the error names the right place."""
    content = b"a"
    raw = (RawFile("a.txt", hashlib.sha256(content).hexdigest(), (Source("https://nowhere.invalid/a.txt"),)),)
    dataset = DataSet("toy", "Toy", 1, 1, ("a",), "y", "", "none", "", raw=raw, folder="other", parse=lambda path: None)
    assert (mirror_folder(dataset), mirror_folder(datasets.get("wine"))) == ("other", "wine")
    assert mirror_folder(datasets.get("mnist_digits")) == "mnist"
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/a.txt").write_bytes(content)
    with pytest.raises(DataError, match=r"MIRROR/other/a\.txt"):
        fetch(dataset, tmp_path, tmp_path / "raw", offline=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.txt").write_bytes(content)
    assert fetch(dataset, tmp_path, tmp_path / "raw", offline=True)[0] == tmp_path / "raw/toy/a.txt"
