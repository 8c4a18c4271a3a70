"""One run read by many methods: the same fits as each alone, random numbers in common, portions of splits."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from methods import contract
from models.task import Task
from workflow.cell import requests_of
from workflow.experiments import ConfigError, cells, families
from workflow.store import parameter_file
from workflow.worker import attempt, clocks, readings

CONFIG = "papers/alrawajfeh2024nadpvi_rebuttal/experiments/nadpvi_exponential.yaml"


def tiny_family():
    """The five readings at epsilon 0.1 of beta-bernoulli, 60 steps."""
    found = families(c for c in cells(CONFIG, "tiny") if c.dataset == "beta_bernoulli")
    [family] = [g for g in found.values() if len(g) == 5 and g[0].setting == "epsilon=0.1"]
    return [replace(c, settings=tuple(sorted({**dict(c.settings), "steps": 60}.items()))) for c in family]


def task_of(cell, k):
    model, rng = cell.build_model(), np.random.default_rng(k)
    return Task("beta_bernoulli", model, model.simulate(model.sample_prior(1, rng)[0], 300, rng))


def test_readings_fitted_together_are_those_of_each_method_alone():
    family, tasks = tiny_family(), {}
    pairs = [(cell, k) for k in (0, 1) for cell in family]
    tasks = {k: task_of(family[0], k) for k in (0, 1)}
    budgets = [c.build_budget().open(np.random.default_rng(c.seed(k, "noise"))) for c, k in pairs]
    before = clocks()
    fits, costs = readings(pairs, tasks, budgets, [np.random.default_rng(c.seed(k, "fit")) for c, k in pairs])
    spent = clocks() - before
    assert np.min(costs) > 0
    assert 0.5 * spent[1] < np.sum(costs, axis=0)[1] <= spent[1] * (1 + 1e-9)  # each run is counted once; sums round
    for (cell, k), fit in zip(pairs, fits, strict=True):
        budget = cell.build_budget().open(np.random.default_rng(cell.seed(k, "noise")))
        rng = np.random.default_rng(cell.seed(k, "fit"))
        alone = contract.get(cell.method).fit(tasks[k], cell.build_settings(), budget, rng)
        together, by_itself = fit.posterior.parameters(), alone.posterior.parameters()
        assert together.keys() == by_itself.keys()
        for name in together:
            np.testing.assert_array_equal(together[name], by_itself[name])
        assert fit.ledger.to_json() == alone.ledger.to_json()
        assert fit.posterior.reading == contract.get(cell.method).reading


def test_waiting_is_no_cpu_time_and_a_child_is():
    before = clocks()
    time.sleep(0.2)
    waited = clocks() - before
    assert waited[0] >= 0.2 > 2 * waited[1]
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert (clocks() - before)[1] >= 0.2


def test_readings_share_their_random_numbers_and_no_other_method_does():
    family = tiny_family()
    assert len({tuple(c.seed(3, "fit")) for c in family}) == 1
    assert {c.run_of for c in family} == {"dpvi"}
    other = next(c for c in cells(CONFIG, "tiny") if c.dataset == "beta_bernoulli" and c.method == "dpvim")
    assert other.run_of == "dpvim"
    assert other.seed(3, "fit") != family[0].seed(3, "fit")


def test_methods_that_do_not_read_one_run_are_no_family(tmp_path):
    config = yaml.safe_load(Path(CONFIG).read_text(encoding="utf-8"))
    arm = next(a for a in config["arms"] if "methods" in a)
    config["arms"] = [{"methods": ["dpvi", "dpvim"], "protocols": arm["protocols"], "budget": arm["budget"]}]
    config["answers"] = []
    path = tmp_path / "nadpvi_exponential.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    with pytest.raises(ConfigError, match="dpvi, dpvim do not read one run"):
        cells(path, "full")


class Kernel(contract.Method):
    """A method that takes all splits at once. It is asked for that, never to fit."""

    splits_at_once = contract.ALL_SPLITS

    def fit(self, task, settings, budget, rng):
        raise NotImplementedError


def test_portions_of_splits():
    todo = list(range(120))
    assert requests_of(contract.get("point_estimate"), False, [0, 1]) == [[0], [1]]
    portions = requests_of(contract.get("dpvi"), False, todo)
    assert [len(p) for p in portions] == [50, 50, 20]
    assert [k for p in portions for k in p] == todo
    assert requests_of(contract.get("dpvi"), True, [4, 5]) == [[4], [5]]
    assert requests_of(Kernel(), False, todo) == [todo]


def test_a_reading_that_raises_leaves_the_others_what_each_gives_alone(tmp_path, monkeypatch):
    """They were fitted one by one by the method of the first of them."""
    family = [c for c in tiny_family() if c.method in ("dpvi", "dpvi_last_iterate", "na_dpvi")]
    task = task_of(family[0], 0)

    def broken(*args):
        raise SystemExit(0)

    monkeypatch.setattr(type(contract.get("na_dpvi")), "read", broken)
    monkeypatch.setattr(type(contract.get("na_dpvi")), "fit", broken)
    rows = dict(attempt([(cell, 0) for cell in family], {0: task}, 0.0, tmp_path, tmp_path))
    for cell in family:
        assert rows[cell.id]["status"] == ("failed" if cell.method == "na_dpvi" else "ok"), rows[cell.id]["reason"]
        if cell.method == "na_dpvi":
            continue
        budget = cell.build_budget().open(np.random.default_rng(cell.seed(0, "noise")))
        alone = contract.get(cell.method).fit(
            task, cell.build_settings(), budget, np.random.default_rng(cell.seed(0, "fit"))
        )
        with np.load(tmp_path / parameter_file(cell.id, 0)) as found:
            for name, value in alone.posterior.parameters().items():
                np.testing.assert_array_equal(found[name], value)
