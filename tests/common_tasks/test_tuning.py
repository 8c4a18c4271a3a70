"""Settings are chosen on made-up rows alone, with the same effort for every method."""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import yaml

import datasets
from common_tasks import tuning
from methods.contract import Diverged, Fit
from models.bounded import BoundedLinearRegression, BoundedLogisticRegression, BoundedMixture
from models.linear_regression import ConstantGaussian
from workflow.experiments import ConfigError, cells

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["power", "wine", "naval"])
def test_a_stand_in_has_the_shape_and_keeps_the_documented_ranges(name):
    about = datasets.get(name)
    x, y = tuning.surrogate_rows(about, 300, np.random.default_rng(0), "regression")
    assert x.shape == (300, about.n_inputs)
    for j, bound in enumerate(about.x_bounds):
        if bound is not None:
            assert bound[0] <= x[:, j].min() < x[:, j].max() <= bound[1]
    if about.y_bounds is not None:
        assert about.y_bounds[0] <= y.min() < y.max() <= about.y_bounds[1]
    assert np.linalg.lstsq(np.column_stack([x, np.ones(300)]), y, rcond=None)[1] < 0.95 * 300 * y.var()


def test_dummies_are_zero_or_one_and_both_classes_occur():
    about = datasets.get("adult")
    x, y = tuning.surrogate_rows(about, 400, np.random.default_rng(1), "classification")
    dummies = [j for j, b in enumerate(about.x_bounds) if b == (0.0, 1.0)]
    assert set(np.unique(x[:, dummies])) == {0.0, 1.0}
    assert 0.1 < y.mean() < 0.9


def test_tasks_hold_out_a_tenth():
    model = BoundedMixture(3)
    task, x, y = tuning.surrogate(datasets.get("power"), model, 200, np.random.default_rng(2))
    assert (task.n, len(x), y, task.y) == (180, 20, None, None)
    task, x, y = tuning.surrogate(datasets.get("abalone"), BoundedLogisticRegression(), 200, np.random.default_rng(2))
    assert len(y) == 20
    assert task.public.n == 180
    with pytest.raises(ValueError, match="target = 'ranking'"):
        tuning.surrogate_rows(datasets.get("power"), 10, np.random.default_rng(2), "ranking")


class Constant:
    """Predicts N(0, variance) in the target's middle; a negative one fails, as a method may."""

    name = "constant"

    @dataclass(frozen=True)
    class Settings:
        variance: float = 1.0

    def fit(self, task, settings, budget, rng):
        if settings.variance < 0:
            raise Diverged("left the finite range")
        return Fit(ConstantGaussian(float(task.y.mean()), settings.variance), budget.ledger)


def test_a_failed_setting_never_wins():
    task, x, y = tuning.surrogate(datasets.get("power"), BoundedLinearRegression(), 300, np.random.default_rng(2))
    scores = [
        tuning.log_likelihood(Constant(), task, x, y, {"variance": v}, 1.0, 1e-5) for v in (1.0, -1.0, float(y.var()))
    ]
    assert scores[1] == -math.inf
    assert scores[2] > scores[0] > scores[1]


def test_the_default_stays_unless_a_setting_gains_more_than_the_margin():
    assert tuning.best_of([-1.0, -1.0 + 0.9 * tuning.MARGIN, -2.0]) == 0
    assert tuning.best_of([-1.0, -1.0 + 1.1 * tuning.MARGIN, -2.0]) == 1
    assert tuning.best_of([-math.inf, -3.0, -math.inf]) == 1
    assert tuning.best_of([-math.inf, -math.inf]) == 0


def experiment(tmp_path: Path, tuned: str) -> Path:
    text = yaml.safe_load((ROOT / "common_tasks/experiments/common_linear_regression.yaml").read_text())
    path = tmp_path / "common_linear_regression.yaml"
    path.write_text(yaml.safe_dump({**text, "tuned": tuned}))
    return path


def test_chosen_settings_become_cells_and_the_default_does_not(tmp_path):
    chosen = {"power": {"na_dpvi": {"1": {"settings": {"burn_in": 0.5}}, "8": {"settings": {}}}}}
    (tmp_path / "tuned.json").write_text(json.dumps(chosen))
    found = [c for c in cells(experiment(tmp_path, str(tmp_path / "tuned.json")), "full") if "tuned" in c.setting]
    assert [(c.dataset, c.method, c.setting) for c in found] == [("power", "na_dpvi", "tuned;epsilon=1")]
    assert dict(found[0].settings)["burn_in"] == 0.5
    assert dict(found[0].budget)["epsilon"] == 1.0


def test_choices_are_written_to_the_file_that_the_experiment_names(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "choose", lambda *_: {"1": {"settings": {}}})
    given = ["--config", str(experiment(tmp_path, str(tmp_path / "mine.json"))), "--datasets", "power"]
    monkeypatch.setattr(sys, "argv", ["tuning", *given])
    tuning.main()
    assert json.loads((tmp_path / "mine.json").read_text())["power"]["na_dpvi"] == {"1": {"settings": {}}}


def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(ConfigError, match=r"common_tasks\.tuning"):
        cells(experiment(tmp_path, str(tmp_path / "none.json")), "full")
