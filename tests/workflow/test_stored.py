"""Stored posteriors come back split by split."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from datasets.store import Damaged
from models.bounded_logistic import LogisticPoint
from workflow.sealed import sealed
from workflow.stored import draws_of, fits_of, parameters_of, record_of, whole

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


def test_a_file_that_is_no_archive_is_not_whole(tmp_path):
    assert not whole(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("text")
    assert not whole(tmp_path / "text.npz")


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
