"""Scores that need many draws: what is made of kept probabilities and fractions, and of a posterior that diverged."""

from types import SimpleNamespace

import numpy as np
import pytest

from evaluation.coverage import coverage_rmse
from workflow import draws
from workflow.experiments import cells
from workflow.papers import experiments as files
from workflow.score import score_draws, whole_cell


def tiny(dataset, config, method):
    return next(c for c in cells(files()[config], "tiny") if (c.dataset, c.method) == (dataset, method))


def test_fractions_become_one_row_a_split_and_the_curve_of_the_cell():
    cell = tiny("beta_bernoulli", "nadpvi_exponential", "exact_posterior")
    fractions = {k: np.random.default_rng(k).random(20) for k in range(30)}
    fractions[7] = np.array("a posterior draw is not finite")
    assert score_draws(cell, 3, fractions[3], None) == {"tarp_fraction": (pytest.approx(fractions[3].mean()), "share")}
    with pytest.raises(ValueError, match="a posterior draw is not finite"):
        score_draws(cell, 7, fractions[7], None)
    like = {"cell": "c", "split": 3, "seed": "s", "metric": "m", "value": "1", "unit": "u", "status": "ok"}
    rows = {r["metric"]: r for r in whole_cell(cell, fractions, like)}
    kept = np.stack([f for k, f in fractions.items() if k != 7])
    assert float(rows["tarp_coverage_rmse"]["value"]) == pytest.approx(coverage_rmse(kept).mean())
    assert {r["split"] for r in rows.values()} == {""}
    assert {r["cell"] for r in rows.values()} == {"c"}
    assert whole_cell(cell, {7: fractions[7]}, None) == []


def test_probabilities_are_scored_against_the_labels():
    cell = tiny("adult_complete", "nadpvi_adult", "na_dpvi")
    y = np.concatenate([np.zeros(30_162), np.tile([0.0, 1.0, 1.0, 1.0], 10)])
    data = SimpleNamespace(y=y, x=np.zeros((len(y), 1)), authors_order=None)
    found = score_draws(cell, 0, np.full(40, 0.75), data)
    assert found["test_error"][0] == 0.25
    assert found["calibration_rmse"][0] == pytest.approx(0.0, abs=1e-12)
    assert found["test_log_likelihood"][0] == pytest.approx(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    certain = score_draws(cell, 0, np.ones(40), data)  # a certain error costs a finite number of nats
    assert np.isfinite(certain["test_log_likelihood"][0])


def test_an_interrupted_job_draws_what_is_left_and_what_its_fits_have_changed(tmp_path, monkeypatch):
    group = [SimpleNamespace(id=name, about=SimpleNamespace(modules=("evaluation.drawn",))) for name in "abc"]
    fits, drawn, broken = dict.fromkeys("abc", "seal"), [], ["c"]

    def of_cell(cell, *_):
        if cell.id in broken:
            raise KeyboardInterrupt
        drawn.append(cell.id)
        return {"0": np.ones(1)}

    monkeypatch.setattr(draws, "of_cell", of_cell)
    monkeypatch.setattr(draws, "record_of", lambda cell, _: {"sha256": fits[cell.id]})
    with pytest.raises(KeyboardInterrupt):
        draws.of_job("j", group, tmp_path, None)
    assert drawn == ["a", "b"]
    fits["b"] = "of another fit"
    broken.clear()
    draws.of_job("j", group, tmp_path, None)
    assert drawn == ["a", "b", "b", "c"]
    draws.of_job("j", group, tmp_path, None)  # that job was done: a call that asks again draws all
    assert drawn[4:] == ["a", "b", "c"]
