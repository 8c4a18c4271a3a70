"""Scores of a stored posterior, kind by kind, against numbers worked out here."""

from __future__ import annotations

import dataclasses
import math
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from project import place_data
from scipy.stats import norm

import datasets
from datasets import store
from models.logistic_regression import LogisticSample, RowScaling
from privacy.ledger import Event, Ledger, Mechanism, Relation
from workflow import draws, faults, score
from workflow.cell import run
from workflow.experiments import cells
from workflow.papers import experiments as files
from workflow.score import score_split


def test_a_logistic_draw_is_scored_by_wrong_labels_and_log_likelihood(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 0.7, (60, 9))
    y = (rng.random(60) < 0.5).astype(float)
    path = tmp_path / "abalone.npz"
    store.save(path, datasets.get("abalone"), datasets.Table(x, y, tuple(f"x{j}" for j in range(9))))
    data = datasets.load(path)
    cell = next(c for c in cells(files()["rdp_logistic"], "full") if c.dataset == "abalone")
    weights = rng.standard_normal(9)
    posterior = LogisticSample(weights, RowScaling(np.empty(0), np.empty(0), 1.0))
    scores = score_split(cell, 3, posterior.kind, posterior.parameters(), data)
    _, test = cell.split_rows(data, 3)
    assert len(test) == 20
    p = 1.0 / (1.0 + np.exp(-(x[test] @ weights)))
    assert scores["test_error"] == (pytest.approx(np.mean((p > 0.5) != (y[test] == 1))), "share")
    likelihood = np.mean(np.log(np.where(y[test] == 1, p, 1 - p)))
    assert scores["test_log_likelihood"] == (pytest.approx(likelihood), "nats")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two methods on made-up wine, fitted: cells, the folder of their run."""
    folder = tmp_path_factory.mktemp("fitted")
    place_data(folder, "wine")
    wanted = ("predict_mean", "ridge")
    found = list({c.method: c for c in cells(files()["dpsep_uci"], "tiny") if c.method in wanted}.values())
    for cell in found:
        run([cell], str(folder / "results/data/wine.npz"), folder / "results")
    return found, folder


@pytest.fixture
def fitted(made, tmp_path):
    """A copy of them: cells, folder of the fits, data."""
    found, folder = made
    shutil.copytree(folder / "results", tmp_path / "results")
    return found, tmp_path / "results/fits", datasets.load(tmp_path / "results/data/wine.npz")


@pytest.mark.parametrize("asked", [False, True])
def test_diagnostics_stand_beside_the_scores_where_the_experiment_asks_for_them(fitted, monkeypatch, asked):
    """The network's kind of model keeps none by itself."""
    (cell, *_), fits, data = fitted
    record = score.record_of(cell, fits)
    for row in record["splits"]:
        row["diagnostics"] = {"rhat_max": 1.5}
    monkeypatch.setattr(score, "record_of", lambda *_: record)
    rows = score.rows_of(dataclasses.replace(cell, diagnostics=asked), fits, data)
    assert {r["value"] for r in rows if r["metric"] == "rhat_max"} == ({"1.5"} if asked else set())


def test_a_score_that_raises_is_a_row_of_its_method(fitted, monkeypatch):
    found, fits, data = fitted
    whole = score.score_split

    def raising(cell, *rest):
        if cell.method == "ridge":
            raise TypeError("no number")
        return whole(cell, *rest)

    monkeypatch.setattr(score, "score_split", raising)
    rows = [r for cell in found for r in score.rows_of(cell, fits, data)]
    by = {m: {(r["status"], r["reason"]) for r in rows if r["method"] == m} for m in ("predict_mean", "ridge")}
    assert by == {"predict_mean": {("ok", "")}, "ridge": {("failed", "its scores raised TypeError: no number")}}

    def full(*args):
        raise MemoryError

    monkeypatch.setattr(score, "score_split", full)
    monkeypatch.setattr(faults, "able", lambda *_: False)
    with pytest.raises(faults.MachineFault):  # no row: another machine, or the next call, scores it
        score.rows_of(found[0], fits, data)
    monkeypatch.setattr(faults, "able", lambda *_: True)
    rows = score.rows_of(found[0], fits, data)
    assert {r["status"] for r in rows} == {"failed"}
    assert all("at each of 3 attempts: no memory" in r["reason"] for r in rows)


def test_a_ledger_that_cannot_be_charged_is_a_row_of_its_method(fitted, monkeypatch):
    """A run stores no such ledger. Results of other code may hold one."""
    (cell, *_), fits, data = fitted
    record = score.record_of(cell, fits)
    for row in record["splits"]:
        row["ledger"] = [{"mechanism": "rubbish"}]
    monkeypatch.setattr(score, "record_of", lambda *_: record)
    rows = score.rows_of(cell, fits, data)
    assert [r["status"] for r in rows] == ["failed"] * cell.splits
    assert all(r["reason"].startswith("its scores raised ") for r in rows)


@pytest.mark.parametrize("more", [0, 1])
def test_a_method_that_is_gone_since_the_plan_stops_the_scores(fitted, tmp_path, monkeypatch, capsys, more):
    """For example because this process had no memory to import its file. Its rows would be missing without a word."""
    found, _, _ = fitted
    monkeypatch.setattr("workflow.score.cells", lambda *_: found)
    monkeypatch.setattr("methods.contract.broken", lambda: ["x.py cannot be imported: MemoryError: "])
    given = {"--config": "x.yaml", "--scale": "tiny", "--dataset": "wine", "--data": tmp_path / "results/data/wine.npz"}
    given |= {"--results": tmp_path / "results", "--cells": len(found) + more, "--out": tmp_path / "wine.csv"}
    monkeypatch.setattr("sys.argv", ["score", *(str(v) for pair in given.items() for v in pair)])
    if more:
        with pytest.raises(SystemExit):
            score.main()
        said = f"error: {len(found)} of {len(found) + 1} planned cells are there: x.py cannot be imported: MemoryError"
        assert said in capsys.readouterr().err
    else:
        score.main()
    assert (tmp_path / "wine.csv").exists() is (more == 0)


def test_draws_that_raise_are_a_row_too(fitted, monkeypatch):
    (cell, *_), fits, data = fitted

    def raising(*args):
        raise TypeError("no draw")

    monkeypatch.setattr(draws, "of_split", raising)
    kept = draws.of_cell(cell, fits, data)
    assert {str(v) for v in kept.values()} == {"its draws raised TypeError: no draw"}
    with pytest.raises(score.NoDraws):
        score.score_draws(cell, 0, kept["0"], data)
    with pytest.raises(ValueError, match="not finite"):  # a number, and so no error
        score.score_draws(cell, 0, np.array("a fraction is not finite"), data)
    assert score.unscored(score.NoDraws("its draws raised TypeError: no draw"))["reason"].endswith("no draw")


@pytest.mark.parametrize(("budget", "delta"), [({"noise_multiplier": 2.0}, 1e-5), ({"delta": 1e-6}, 1e-6)])
def test_the_cost_is_at_the_budgets_delta_or_at_1e_5(budget, delta):
    """One Gaussian release of noise multiplier 2: the exact epsilon of Balle & Wang 2018 has that delta, within 2 %."""
    event = Event("sum", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, sensitivity=1.0, noise_scale=2.0)
    cost = score._cost(SimpleNamespace(budget=tuple(budget.items())), Ledger([event]).to_json())
    assert float(cost["delta"]) == delta
    epsilon, mu = float(cost["epsilon"]), 0.5
    exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert exact == pytest.approx(delta, rel=0.02)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_score_that_is_not_finite_has_diverged(fitted, monkeypatch, value):
    (cell, *_), fits, data = fitted
    monkeypatch.setattr(score, "score_split", lambda *_: {"rmse": (value, "target")})
    rows = score.rows_of(cell, fits, data)
    assert {(r["status"], r["metric"], r["value"]) for r in rows} == {("diverged", "", "")}
    assert {r["reason"] for r in rows} == {"rmse not finite: the fit has diverged"}
