"""Stored posteriors come back split by split."""

import json
from types import SimpleNamespace

import numpy as np

from models.bounded_logistic import LogisticPoint
from workflow.stored import fits_of, parameters_of


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
