"""Nothing is half-written: a full disk, a killed process, two processes at once. Tables for spreadsheets."""

import csv
import errno
import io
import multiprocessing as mp
import os
import time

import numpy as np
import pandas as pd
import pytest

from datasets import files
from datasets.files import csv_text, sheet_text, visible
from tests.workflow.project import HANGS


def test_text_is_replaced_whole(tmp_path):
    path = tmp_path / "a" / "b.txt"
    files.write_text(path, "one")
    files.write_text(path, "two")
    assert path.read_text() == "two"
    assert os.listdir(path.parent) == ["b.txt"]


class Unwritable:
    """No array can be made of it: what stands before it in a file is written already."""

    def __array__(self, dtype=None, copy=None):
        raise OverflowError


def test_arrays_are_replaced_whole(tmp_path):
    path = tmp_path / "a" / "b.npz"
    files.write_npz(path, {"0/mean": np.arange(3.0)})
    with np.load(path) as z:
        np.testing.assert_array_equal(z["0/mean"], [0.0, 1.0, 2.0])
    with pytest.raises(OverflowError):
        files.write_npz(path, {"0/mean": np.arange(9.0), "half": Unwritable()})
    with np.load(path) as z:
        assert z.files == ["0/mean"]
    assert os.listdir(path.parent) == ["b.npz"]


def test_full_disk_names_the_file_and_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "b.txt"
    files.write_text(path, "old")

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"no space left to write .*b\.txt"):
        files.write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["b.txt"]


def test_json_refuses_nan(tmp_path):
    with pytest.raises(ValueError):
        files.write_json(tmp_path / "x.json", {"value": float("nan")})
    assert not (tmp_path / "x.json").exists()


def _hold(path, started):
    with files.locked(path, "cell"):
        started.set()
        time.sleep(3600)


def test_a_killed_holder_frees_the_lock(tmp_path):
    context = mp.get_context("spawn")
    started = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "lock", started))
    holder.start()
    assert started.wait(HANGS)
    holder.kill()
    holder.join()
    with files.locked(tmp_path / "lock", "cell"):  # waits for ever where it is not free
        assert not holder.is_alive()


@pytest.mark.parametrize("name", ["results", "my results", "/tmp/a b/c-1.2_x", "../out", "résultats"])
def test_a_folder_keeps_its_name(name):
    assert files.folder_name(name, "results") == name


@pytest.mark.parametrize(
    "name", ["a;cmd", "$(cmd)", "`cmd`", "a|b", "a'b", 'a"b', "{cell}", "-rf", "", " a", "a\nb", 3]
)
def test_a_name_that_a_shell_would_read_is_refused(name):
    with pytest.raises(ValueError, match="config: results is"):
        files.folder_name(name, "config: results")


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-cmd|' /C calc'!A0", "=", "＝1", "-1-1", "+1 to A1"],
)
def test_a_text_is_no_formula_for_a_spreadsheet(text):
    frame = pd.DataFrame({text: [text, "plain"], "n": [-1.5, 2.0]})
    (head, first, *_), (number, *_) = zip(*csv.reader(io.StringIO(sheet_text(frame), newline="")), strict=True)
    assert head == first == "'" + visible(text)
    assert number == "n"
    assert "-1.5" in sheet_text(frame)


@pytest.mark.parametrize(
    "text",
    [
        "-0.67",
        "-1",
        "+3",
        "-1e-5",
        "-inf",
        "-",
        "-0.12 ± 0.03",
        "-2.1 to -0.3 (3 of 4)",
        "-1,234.5",
        "-3 %",
        "x=1",
        "a-b",
    ],
)
def test_numbers_stay_numbers_in_a_spreadsheet(text):
    frame = pd.DataFrame({"a": [text]})
    assert sheet_text(frame) == csv_text(frame)


def test_control_characters_are_shown_as_such():
    assert visible("a\x00b\x1b[2Jc\x7fd\u202ee\u200bf\ufeff\udcff") == "a�b�[2Jc�d�e�f��"
    assert visible("tab\tline\nßé中 ± †") == "tab\tline\nßé中 ± †"
    assert sheet_text(pd.DataFrame({"a\x07": ["b\x1b", None, 3]})) == 'a�\nb�\n""\n3\n'
