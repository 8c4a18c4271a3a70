"""Chooses settings on public surrogates, for the second column of the common tasks, with the same effort per method.

    python -m workflow.tuning --config common_tasks/experiments/common_linear_regression.yaml

For every data set and epsilon of the experiment, each private method with a ``grid`` (six settings, the default first)
fits the same surrogate (``workflow.surrogates``, one seed per data set). The setting with the best log-likelihood of
the surrogate's test rows is chosen, or the default if no setting is better by ``MARGIN``. Choices are written to the
file that the experiment's config names under ``tuned``. No row of a real data set is read. Existing choices are kept,
unless ``--again`` is given.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

import datasets
from datasets.files import ROOT, write_json
from methods import contract
from methods.contract import MethodError
from models import kind as model_kinds
from privacy.budget import BudgetExceeded, BudgetSpec
from workflow.experiments import by_dataset, load
from workflow.surrogates import tasks

#: number of settings that every method tries.
EFFORT = 6
#: nats per row that a setting must gain over the default. Smaller gains are noise of one surrogate.
MARGIN = 0.01
SEED = 20


def log_likelihood(method, task, x, y, settings: dict, epsilon: float, delta: float) -> float:
    """Mean log-likelihood of test rows of a surrogate; -inf if the fit fails or a number is not finite."""
    spec = BudgetSpec(epsilon=epsilon, delta=delta, mode="enforce")
    try:
        chosen = method.Settings(**settings)
        fit = method.fit(task, chosen, spec.open(np.random.default_rng(1)), np.random.default_rng(2))
        with np.errstate(all="ignore"):
            if y is None:
                value = float(np.mean(fit.posterior.log_density(x)))
            else:
                value = float(np.mean(fit.posterior.predictive(x, np.random.default_rng(3)).log_density(y)))
    except (MethodError, BudgetExceeded, ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        print(f"{task.name}: {method.name} {settings}: {error}", file=sys.stderr)
        return -np.inf
    return value if np.isfinite(value) else -np.inf


def best_of(scores: list[float]) -> int:
    """Index of the best setting; 0, the default, if none is better by ``MARGIN``."""
    best = int(np.argmax(scores))
    return best if scores[best] > scores[0] + MARGIN else 0


def choose(method, surrogate: tuple, epsilons: list[float], delta: float) -> dict:
    """epsilon -> {"settings": the chosen ones, "scores": of all settings, None for a failed fit} of one private method.

    ``surrogate``: from ``workflow.surrogates.tasks``. Raises ValueError for a grid without exactly ``EFFORT`` settings.
    """
    task, x, y = surrogate
    grid = method.grid
    if len(grid) != EFFORT or grid[0] != {}:
        raise ValueError(f"{method.name}: grid has {len(grid)} settings; give {EFFORT}, the first {{}} (the default)")
    method.prepare(task, method.Settings())
    chosen_settings = {}
    for epsilon in epsilons:
        scores = [log_likelihood(method, task, x, y, dict(s), epsilon, delta) for s in grid]
        chosen = dict(grid[best_of(scores)])
        numbers = [float(f"{v:.6g}") if np.isfinite(v) else None for v in scores]
        chosen_settings[f"{epsilon:g}"] = {"settings": chosen, "scores": numbers}
        print(f"{task.name}: {method.name}, epsilon = {epsilon:g}: {chosen or 'default'}", file=sys.stderr, flush=True)
    return chosen_settings


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose settings on public surrogates.")
    parser.add_argument(
        "--config", required=True, help="experiment file with `tuned` and `include_unlisted_methods.budget_grid`"
    )
    parser.add_argument("--datasets", nargs="*", help="default: all of the experiment")
    parser.add_argument("--again", action="store_true", help="make choices anew that are there already")
    args = parser.parse_args()
    config = load(args.config)
    if "tuned" not in config:
        parser.error(f"{args.config} has no line `tuned: FILE.json`, where the choices are written; add it")
    path = ROOT / config["tuned"]
    known = json.loads(path.read_text()) if path.exists() else {}
    extra = config["include_unlisted_methods"]
    kind = config["model"]["kind"]
    fitting = {n: contract.get(n, kind) for n in contract.names(kind)}
    able = {n: m for n, m in fitting.items() if m.privacy is not None and m.grid}
    for dataset in args.datasets or config["datasets"]:
        values = dict(by_dataset(config["model"], dataset, args.config))
        model = model_kinds.kind(values.pop("kind")).model(**values)
        about = datasets.get(dataset)
        surrogate = tasks(about, model, about.n_rows, np.random.default_rng(SEED))
        for name, method in able.items():
            there = name in known.get(dataset, {}) and not args.again
            if there or method.supports(surrogate[0]) is not None:
                continue
            made = choose(method, surrogate, extra["budget_grid"]["epsilons"], extra["budget"]["delta"])
            known.setdefault(dataset, {})[name] = made
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, known)  # after each method: a killed run goes on here


if __name__ == "__main__":
    main()
