"""Chooses settings on public surrogates, for the second column of the common tasks, with the same effort per method.

    python -m common_tasks.tuning --config common_tasks/experiments/common_linear_regression.yaml

For every data set and epsilon of the experiment, each private method with a ``grid`` (six settings, the default first)
fits the same synthetic surrogate (one seed per data set). The setting with the best log-likelihood of the surrogate's
test rows is chosen, or the default if no setting is better by ``MARGIN``. Choices are written to the file that the
experiment's config names under ``tuned``. Existing choices are kept, unless ``--again`` is given.

A surrogate uses only public facts: the number of rows and columns, and the documented ranges. So tuning costs no
privacy, and no row of a real data set is read. In a classification set, a column with the range (0, 1) is a dummy
variable. Surrogates give no results and are shown nowhere.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np
from scipy.special import expit, ndtr

import datasets
from datasets.base import DataSet
from datasets.files import ROOT, write_json
from methods import contract
from methods.contract import MethodError
from models.kind import kind as kind_of
from models.task import Model, PublicKnowledge, Task
from privacy.budget import BudgetExceeded, BudgetSpec
from workflow.experiments import by_dataset, load

#: number of settings that every method tries.
EFFORT = 6
#: nats per row that a setting must gain over the default. Smaller gains are noise of one surrogate.
MARGIN = 0.01
SEED = 20
#: average correlation of two columns through common factors.
SHARED = 0.5


def surrogate_rows(
    about: DataSet, n: int, rng: np.random.Generator, target: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """Inputs (n, d) and targets (n,), or None, in synthetic original units.

    Columns are mixed from fewer factors, so they are correlated. For "density" each factor has three clusters.
    ``target`` is one of three words. For "regression" it is linear in the columns with a bend, and noise has half its
    variance. For "classification" it is Bernoulli of such a line, with a quarter to a half of the rows in class 1. For
    "density" there is none. Raises ValueError for another word.
    """
    if target not in ("regression", "classification", "density"):
        raise ValueError(f"surrogate: target = '{target}'; give 'regression', 'classification' or 'density'")
    d = about.n_inputs
    factors = max(2, d // 3)
    loads = rng.standard_normal((d, factors)) / np.sqrt(factors)
    common = rng.standard_normal((n, factors))
    if target == "density":
        common += 2.5 * rng.standard_normal((3, factors))[rng.integers(0, 3, n)]
    z = np.sqrt(SHARED) * common @ loads.T + np.sqrt(1 - SHARED) * rng.standard_normal((n, d))
    x = np.empty((n, d))
    bounds = list(about.x_bounds) or [None] * d
    for j, bound in enumerate(bounds):
        if bound is None:
            x[:, j] = 10.0 ** rng.uniform(-2, 3) * (rng.uniform(-3, 3) + z[:, j])
        elif bound == (0.0, 1.0) and about.labels:
            x[:, j] = ndtr(z[:, j]) > rng.uniform(0.4, 0.98)
        else:
            x[:, j] = bound[0] + (bound[1] - bound[0]) * ndtr(z[:, j] / z[:, j].std())
    if target == "density":
        return x, None
    line = z @ rng.standard_normal(d) / np.sqrt(d) + 0.3 * np.sin(2 * z[:, 0])
    line = (line - line.mean()) / line.std()
    if target == "classification":
        return x, (rng.random(n) < expit(2 * line - rng.uniform(0.0, 1.5))).astype(np.float64)
    y = (line + np.sqrt(0.5) * rng.standard_normal(n)) / np.sqrt(1.5)
    if about.y_bounds is None:
        return x, 10.0 ** rng.uniform(-2, 3) * (rng.uniform(-3, 3) + y)
    low, high = about.y_bounds
    return x, np.clip((low + high) / 2 + (high - low) / 6 * y, low, high)


def surrogate(
    about: DataSet, model: Model, n: int, rng: np.random.Generator
) -> tuple[Task, np.ndarray, np.ndarray | None]:
    """A training task of round(0.9 n) rows, and inputs and targets of the other rows."""
    x, y = surrogate_rows(about, n, rng, kind_of(model.kind).target)
    cut = round(0.9 * n)
    public = PublicKnowledge(
        n=cut, x_bounds=tuple(about.x_bounds), y_bounds=about.y_bounds, citation=about.bounds_citation
    )
    task = Task(about.name, model, x[:cut], None if y is None else y[:cut], public)
    return task, x[cut:], None if y is None else y[cut:]


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


def choose(method, on: tuple, epsilons: list[float], delta: float) -> dict:
    """epsilon -> {"settings": the chosen ones, "scores": of all settings, None for a failed fit} of one private method.

    ``on``: a :func:`surrogate`. Raises ValueError for a grid without exactly ``EFFORT`` settings.
    """
    task, x, y = on
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
        model = kind_of(values.pop("kind")).model(**values)
        about = datasets.get(dataset)
        made_up = surrogate(about, model, about.n_rows, np.random.default_rng(SEED))
        for name, method in able.items():
            there = name in known.get(dataset, {}) and not args.again
            if there or method.supports(made_up[0]) is not None:
                continue
            made = choose(method, made_up, extra["budget_grid"]["epsilons"], extra["budget"]["delta"])
            known.setdefault(dataset, {})[name] = made
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, known)  # after each method: a killed run goes on here


if __name__ == "__main__":
    main()
