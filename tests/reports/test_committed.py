"""The committed scores come back as they were written."""

import pandas as pd
import pytest

from evaluation.summary import COLUMNS
from reports import committed, reference
from reports.files import write_bytes

ROW = dict.fromkeys(COLUMNS, "") | {"cell": "c", "experiment": "e", "metric": "rmse", "value": "1.5", "status": "ok"}


def frame(**changes):
    return pd.DataFrame([ROW | changes], columns=COLUMNS, dtype=str)


def test_what_is_written_comes_back_and_gives_the_same_bytes(tmp_path):
    scores = frame(reason='a "quoted", odd\nreason')
    write_bytes(committed.path_of(tmp_path, "e"), committed.encoded(scores))
    assert committed.experiments(tmp_path) == ["e"]
    back = committed.read(tmp_path, "e")
    pd.testing.assert_frame_equal(back, scores)
    assert committed.encoded(back) == committed.encoded(scores)


def test_a_missing_file_and_an_unknown_status_are_clear_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"e\.csv\.gz is missing; a full run"):
        committed.read(tmp_path, "e")
    write_bytes(committed.path_of(tmp_path, "e"), committed.encoded(frame(status="fine")))
    with pytest.raises(ValueError, match=r"e\.csv\.gz: unknown status 'fine'"):
        committed.read(tmp_path, "e")


def test_a_damaged_file_is_an_error(tmp_path):
    write_bytes(committed.path_of(tmp_path, "e"), committed.encoded(frame())[:-9])
    with pytest.raises(ValueError, match=r"e\.csv\.gz is damaged"):
        committed.read(tmp_path, "e")


@pytest.mark.parametrize("name", reference.experiments())
def test_every_committed_row_has_its_seed(name):
    scores = committed.read(reference.FOLDER, name)
    of_a_split = (scores["split"] != "") & (scores["status"] != "not_supported")
    assert scores.loc[of_a_split, "seed"].ne("").all()


def test_the_committed_reference_is_within_its_limit():
    size = sum(p.stat().st_size for p in reference.FOLDER.rglob("*") if p.is_file())
    assert 0 < size < reference.LIMIT_BYTES
