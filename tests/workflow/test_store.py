"""The files of a run: what is damaged is known, set aside and made anew; what was lost is tried again."""

import json
import os
from types import SimpleNamespace

import numpy as np
import pytest

from datasets.files import write_sealed
from datasets.store import Damaged
from datasets.store import load as load_table
from datasets.store import status as table_status
from models.bounded_logistic import LogisticPoint
from workflow import store
from workflow.store import draws_of, fits_of, intact, parameters_of, record_of, sealed, whole

CELL = SimpleNamespace(id="c")
THETA = {0: np.array([1.0, 2.0]), 1: np.array([3.0, 4.0])}


def stored(folder, seal=True):
    """A cell of two splits as a run leaves it; without ``seal`` as one of before there were checksums."""
    rows = [{"split": k, "status": "ok", "posterior_kind": LogisticPoint(v).kind} for k, v in THETA.items()]
    record = {"cell": "c", "splits": rows, "n_splits": 2, "reused": []}
    np.savez(folder / "c.npz", **{f"{k}/theta": v for k, v in THETA.items()})
    (folder / "c.json").write_text(json.dumps(sealed(record | {"arrays": 2}) if seal else record))
    return folder / "c.json"


def halved(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path):
    content = bytearray(path.read_bytes())
    at = content.index(THETA[1].tobytes())
    content[at] ^= 1
    path.write_bytes(content)


def fewer(path):
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"splits": record["splits"][:1]}))


def one_array(path):
    np.savez(path, **{"0/theta": THETA[0]})


DAMAGES = {
    "halved json": ("c.json", halved),
    "emptied json": ("c.json", lambda path: path.write_text("")),
    "an empty object": ("c.json", lambda path: path.write_text("{}")),
    "too few splits": ("c.json", fewer),
    "edited json": ("c.json", lambda path: path.write_text(path.read_text().replace('"ok"', '"OK"'))),
    "halved npz": ("c.npz", halved),
    "emptied npz": ("c.npz", lambda path: path.write_bytes(b"")),
    "a flipped bit": ("c.npz", flipped),
    "an array that is gone": ("c.npz", one_array),
    "no npz": ("c.npz", lambda path: path.unlink()),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_what_is_damaged_is_set_aside_and_named(tmp_path, what):
    path = stored(tmp_path)
    assert record_of(CELL, tmp_path)["n_splits"] == 2
    name, damage = DAMAGES[what]
    damage(tmp_path / name)
    with pytest.raises(Damaged, match=r"c\.json is damaged.*Run the same command again"):
        record_of(CELL, tmp_path)
    assert not path.exists()  # so that the next run fits the cell again
    assert not path.with_suffix(".npz").exists()


def test_a_record_of_before_the_checksums_has_to_have_all_its_splits(tmp_path):
    path = stored(tmp_path, seal=False)
    assert record_of(CELL, tmp_path)["n_splits"] == 2
    fewer(path)
    with pytest.raises(Damaged):
        record_of(CELL, tmp_path)


@pytest.mark.parametrize("damage", [halved, one_array, lambda path: path.write_bytes(b"")])
def test_damaged_draws_are_set_aside(tmp_path, damage):
    record = json.loads(stored(tmp_path).read_text())
    draws = tmp_path / "draws"
    draws.mkdir()
    np.savez(draws / "c.npz", **{"0": np.ones(3), "1": np.array("why there is none")})
    assert set(draws_of(CELL, draws, record)) == {0, 1}
    damage(draws / "c.npz")
    with pytest.raises(Damaged, match=r"draws/c\.npz is damaged"):
        draws_of(CELL, draws, record)
    assert not (draws / "c.npz").exists()


ONE_DIGIT = ("scores/e/wine.csv", lambda path: path.write_text(path.read_text().replace("1", "2")))
OF_A_RUN = {
    "a fit": ("fits/c.json", lambda path: path.write_text(path.read_text().replace('"ok"', '"OK"'))),
    "a posterior": ("fits/c.npz", flipped),
    "draws": ("draws/c.npz", halved),
    "a score": ONE_DIGIT,
    "a side table": ("extra/side.csv", halved),
    "a table of a program": ("wang/scores/one.csv.gz", halved),
}


@pytest.mark.parametrize("what", OF_A_RUN)
def test_a_plan_finds_what_is_damaged_and_nothing_else(tmp_path, what):
    for folder in ("fits", "draws"):
        (tmp_path / folder).mkdir()
    stored(tmp_path / "fits")
    np.savez(tmp_path / "draws/c.npz", **{"0": np.ones(3)})
    for name in ("scores/e/wine.csv", "extra/side.csv", "wang/scores/one.csv.gz"):
        write_sealed(tmp_path / name, "cell,value\nc,1\n" * 20)
    assert store.check_run(tmp_path) == []
    name, damage = OF_A_RUN[what]
    path = tmp_path / name
    then = path.stat()
    damage(path)
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))  # what Snakemake looks at
    (said, *more) = store.check_run(tmp_path)
    assert path.with_suffix("").name in said
    assert len(more) == (what in ("a fit", "a posterior"))  # the other file of the cell
    assert not path.exists()
    assert store.check_run(tmp_path) == []


def test_a_run_that_is_not_there_has_nothing_damaged(tmp_path):
    assert store.check_run(tmp_path / "nowhere") == []


def test_a_file_that_is_no_archive_is_not_whole(tmp_path):
    assert not whole(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("text")
    assert not whole(tmp_path / "text.npz")


def test_one_wrong_bit_anywhere_is_known_or_changes_nothing(tmp_path):
    """Some ask for a password, another version of the archive, or a place before its begin: tracebacks before."""
    path = tmp_path / "c.npz"
    np.savez(path, **{f"{k}/theta": v for k, v in THETA.items()})
    content, harmless = path.read_bytes(), 0
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        if whole(path, 2):
            harmless += 1
            with np.load(path) as found:
                assert all((parameters_of(found, k)["theta"] == v).all() for k, v in THETA.items())
    assert harmless < len(content) / 3  # dates and rights of the files


@pytest.mark.parametrize("flag", [b"password", b"version"])
def test_a_table_with_one_wrong_bit_has_no_status_and_is_set_aside(tmp_path, flag):
    """When a run is planned its status is asked: that was a traceback."""
    path = tmp_path / "toy.npz"
    np.savez(path, status=np.array("ok"), x=np.ones(3))
    content = bytearray(path.read_bytes())
    for head in (content.index(b"PK\x03\x04") + 6, content.index(b"PK\x01\x02") + 8):
        content[head + (0 if flag == b"password" else 2)] ^= 1
    path.write_bytes(content)
    assert table_status(path) == ""
    with pytest.raises(Damaged, match="run the same command again"):
        load_table(path)
    assert not path.exists()


ODD = {
    "a folder for a record": ("fits/c.json", lambda path: path.mkdir()),
    "a link to nowhere for a record": ("fits/c.json", lambda path: path.symlink_to("nowhere")),
    "brackets for a record": ("fits/c.json", lambda path: path.write_text("[" * 100_000)),
    "numbers in a record": ("fits/c.json", lambda path: path.write_text('{"splits": 1, "reused": 2}')),
    "a folder for draws": ("draws/c.npz", lambda path: path.mkdir()),
    "a link to itself for draws": ("draws/c.npz", lambda path: path.symlink_to("c.npz")),
    "a seal of other bytes": ("scores/c.csv.sha256", lambda path: path.write_bytes(b"\xff")),
}


@pytest.mark.parametrize("what", ODD)
def test_a_plan_sets_aside_whatever_stands_in_the_place_of_a_file(tmp_path, what):
    """Each was a traceback, and no run could be planned."""
    for folder in ("fits", "draws", "scores"):
        (tmp_path / folder).mkdir()
    (tmp_path / "scores/c.csv").write_text(TABLE)
    name, make = ODD[what]
    make(tmp_path / name)
    (said,) = store.check_run(tmp_path)
    assert "made anew" in said
    assert store.check_run(tmp_path) == []


def test_fits_come_back_by_split(tmp_path):
    theta = {0: np.array([1.0, 2.0]), 10: np.array([3.0, 4.0])}
    np.savez(tmp_path / "c.npz", **{f"{k}/theta": v for k, v in theta.items()})
    row = {"status": "ok", "posterior_kind": LogisticPoint(theta[0]).kind}
    failed = {"split": 1, "status": "failed", "posterior_kind": None}
    splits = [{"split": 0, **row}, failed, {"split": 10, **row}]
    (tmp_path / "c.json").write_text(json.dumps({"splits": splits, "reused": []}))
    found = dict(fits_of(SimpleNamespace(id="c"), tmp_path))
    assert list(found) == [0, 10]
    for k, posterior in found.items():
        np.testing.assert_array_equal(posterior.theta, theta[k])


def test_a_split_is_not_taken_for_one_that_begins_alike(tmp_path):
    np.savez(tmp_path / "c.npz", **{"1/mean": np.ones(1), "10/mean": np.zeros(1)})
    with np.load(tmp_path / "c.npz") as store:
        assert parameters_of(store, 1)["mean"] == 1


VALUE = {"cell": "c", "row": {"split": 3, "seconds": 0.1, "seed": (1, 2), "ledger": []}, "n": {5: "five"}}


def test_what_a_file_gives_back_is_what_was_sealed():
    assert intact(sealed(VALUE))
    assert json.loads(json.dumps(sealed(VALUE), sort_keys=True)) == sealed(VALUE)
    assert sealed(sealed(VALUE)) == sealed(VALUE)


@pytest.mark.parametrize(
    "edited", [{}, [], None, "text", VALUE, sealed(VALUE) | {"cell": "d"}, sealed(VALUE) | {"more": 1}, {"sha256": ""}]
)
def test_what_was_edited_is_known(edited):
    assert not intact(edited)


TABLE = "cell,value\n" + "".join(f"c,{k}\n" for k in range(100))


def test_what_was_written_is_whole(tmp_path):
    path = tmp_path / "e" / "wine.csv"
    write_sealed(path, TABLE)
    store.check([path, tmp_path / "missing.csv"])
    assert path.read_text() == TABLE


@pytest.mark.parametrize("text", ["", TABLE[: len(TABLE) // 2], TABLE.replace("c,7\n", "c,8\n"), "cell,value\n"])
def test_another_text_is_set_aside_and_named(tmp_path, text):
    path = tmp_path / "wine.csv"
    write_sealed(path, TABLE)
    path.write_text(text)
    with pytest.raises(Damaged, match=r"wine\.csv\. Run the same command again"):
        store.check([path])
    assert not path.exists()  # so that the next run makes it
    assert path.with_name("wine.csv.damaged").read_text() == text


def test_a_file_without_a_seal_has_to_hold_something(tmp_path):
    path = tmp_path / "wine.csv"
    path.write_text(TABLE)
    store.check([path])
    path.write_text("")
    with pytest.raises(Damaged):
        store.check([path])


def rows(*statuses):
    return [{"status": s} for s in statuses]


def test_nothing_lost_asks_for_nothing(tmp_path):
    assert store.lost(rows("ok", "diverged", "not_supported", "no_data")) == {}
    store.write_attempt(tmp_path, "c", 0, rows("ok", "diverged", "not_supported", "no_data"))
    assert store.attempt(tmp_path, "c", "timeout") == store.attempt(tmp_path, "c", "failed") == 0


def test_a_file_that_is_gone_asks_for_an_attempt_once_the_job_has_been_done(tmp_path):
    here, gone = tmp_path / "here", tmp_path / "gone"
    here.touch()
    assert store.attempt(tmp_path, "c", "timeout", [here, gone]) == 0  # its job was never done
    store.write_attempt(tmp_path, "c", 0)
    assert store.attempt(tmp_path, "c", "timeout", [here]) == 0
    number = store.attempt(tmp_path, "c", "timeout", [here, gone])
    assert number == 1
    gone.touch()
    store.write_attempt(tmp_path, "c", number)
    assert store.attempt(tmp_path, "c", "timeout", [here, gone]) == number
    gone.unlink()
    assert store.attempt(tmp_path, "c", "timeout", [here, gone]) == number + 1


@pytest.mark.parametrize(
    ("statuses", "plain", "failed"),
    [(("ok", "timeout"), 1, 1), (("ok", "failed"), 0, 1), (("failed", "timeout"), 1, 1)],
)
def test_a_timeout_is_tried_again_by_itself_and_what_raised_when_it_is_asked_for(tmp_path, statuses, plain, failed):
    assert store.lost(rows(*statuses))
    store.write_attempt(tmp_path, "c", 0, rows(*statuses))
    assert store.attempt(tmp_path, "c", "timeout") == plain
    assert store.attempt(tmp_path, "c", "failed") == failed


def test_an_attempt_that_went_well_is_not_made_again(tmp_path):
    store.write_attempt(tmp_path, "c", 0, rows("timeout"))
    number = store.attempt(tmp_path, "c", "timeout")
    store.write_attempt(tmp_path, "c", number, rows("ok"))
    assert store.attempt(tmp_path, "c", "timeout") == store.attempt(tmp_path, "c", "failed") == number


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"attempt": "x", "lost": {}}'])
def test_a_damaged_note_costs_an_attempt(tmp_path, text):
    store.losses_of(tmp_path, "c").parent.mkdir()
    store.losses_of(tmp_path, "c").write_text(text)
    assert store.attempt(tmp_path, "c", "timeout") == 1
