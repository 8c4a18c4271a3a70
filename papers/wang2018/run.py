"""All methods, readings and budgets on one table.

One run of a method is the mean over the ten given folds of the mean squared error on the fold's test rows. Its unit is
the square of the largest absolute centred target. One array operation per fold draws the noise ``repeats`` times
(``privacy.repeats``). The folds are those of the published run. All settings share a fold's Gram matrix and
eigenvalues.

Columns: dataset, method, reading, epsilon, delta, metric, scale, repeats, status, reason, mean, std, ledger_epsilon,
ledger, runs.

* ``std`` is over repetitions, and over folds for a noise-free method.
* ``ledger`` is that of one fit on fold 1.
* ``runs`` are the repetitions with six digits, separated by blanks. Noise-free methods have all digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from datasets.base import DataError
from datasets.protocols import given_folds
from papers.wang2018 import data
from papers.wang2018.estimators import posterior_sampling
from papers.wang2018.estimators.moments import CORRECTED, Moments
from papers.wang2018.estimators.objective_perturbation import objective_perturbation
from papers.wang2018.estimators.perturbed_moments import adassp, ssp
from privacy.budget import BudgetSpec
from privacy.repeats import NoiseSource, Repeats
from workflow import program

#: the settings in ``program.yaml``.
config = partial(program.config, Path(__file__).parent)
NOISE_FREE = ("trivial", "non_private")
#: fields of each release in the column ``ledger``, without its Renyi curve
FACTS = ("what", "mechanism", "relation", "noise_multiplier", "sensitivity", "proof")
COLUMNS = (
    *("dataset", "method", "reading", "epsilon", "delta", "metric", "scale", "repeats", "status", "reason"),
    *("mean", "std", "ledger_epsilon", "ledger", "runs"),
)


def engine(method: str) -> Callable[[Moments, float, float, str, NoiseSource], np.ndarray]:
    """The estimator (moments, epsilon, delta, reading, noise) -> (count, d). Raises KeyError for an unknown method."""
    simple = {"ssp": ssp, "adassp": adassp, "adaops": posterior_sampling.adaops, "objpert": objective_perturbation}
    if method in simple:
        return simple[method]
    rule = method.removeprefix("ops_").removesuffix("_unshown")
    if not method.startswith("ops_") or rule not in posterior_sampling.RULES:
        raise KeyError(f"unknown method '{method}'")
    return lambda moments, epsilon, delta, reading, noise: posterior_sampling.ops(
        moments, rule, epsilon, delta, reading, noise
    )


@dataclass(frozen=True)
class Fold:
    """Moments of one fold's training rows, and what the error on its test rows needs."""

    train: Moments
    gram: np.ndarray
    cross: np.ndarray
    square: float
    n: int

    def error(self, w: np.ndarray) -> np.ndarray:
        """Mean squared errors (r,) on the test rows, one per row of ``w`` (r, d)."""
        return (self.square - 2 * w @ self.cross + np.einsum("rd,rd->r", w @ self.gram, w)) / self.n


def folds(name: str, x: np.ndarray, y: np.ndarray) -> list[Fold]:
    out = []
    for index in range(given_folds.FOLDS):
        train, test = given_folds.split(name, "given_folds", len(y), index)
        xt, yt = x[test], y[test]
        out.append(Fold(Moments.of(x[train], y[train]), xt.T @ xt, xt.T @ yt, float(yt @ yt), len(test)))
    return out


def noise_free(method: str, fold: Fold) -> np.ndarray:
    """Coefficients (1, d): zero, or those of ridge regression with the identity of the authors' code."""
    if method == "trivial":
        return np.zeros((1, fold.train.d))
    return fold.train.ridge(np.array([posterior_sampling.IDENTITY]))


def generator(name: str, method: str, epsilon: str, fold: int) -> np.random.Generator:
    """The random generator of one method and epsilon on one fold, the same for all readings."""
    return program.stream("wang2018", name, method, epsilon, str(fold))


def repetitions(name, rows: list[Fold], method, reading, epsilon: str, delta: float, count: int):
    """Errors (count,) of the repetitions, and the ledger of one fit on the first fold."""
    errors, ledger = np.zeros(count), None
    for index, fold in enumerate(rows):
        rng = generator(name, method, epsilon, index)
        budget = BudgetSpec(epsilon=float(epsilon), delta=delta, claimed_epsilon=float(epsilon)).open(rng)
        w = engine(method)(fold.train, float(epsilon), delta, reading, Repeats(budget, rng, count))
        errors += fold.error(w)
        ledger = ledger or budget.ledger
    return errors / len(rows), ledger


def spent(ledger, method: str, reading: str, epsilon: float, delta: float) -> float:
    """Epsilon of a ledger at ``delta``.

    For the corrected AdaOPS, delta is reduced by the failure probabilities of its proof.
    """
    from privacy.accountants import epsilon_of

    kept = posterior_sampling.constants(epsilon, delta)[2] if (method, reading) == ("adaops", CORRECTED) else delta
    return epsilon_of(ledger, kept).epsilon


def rows(
    name: str, scale: str, mirror: str | None, raw: str | Path, wanted: Callable[[dict], bool] | None = None
) -> Iterator[dict]:
    """Score rows of one table, or those that are ``wanted``. If the table is not available, each has the reason."""
    told, delta = config(), float(config()["delta"])
    count = int(told["repeats"][scale])
    try:
        x, y, _ = data.load(name, mirror, raw)
        given, status, reason = folds(name, x, y), "ok", ""
    except DataError as error:
        given, status, reason = None, "no_data", str(error)
    for method, readings in told["readings"].items():
        for reading in readings:
            for epsilon in [""] if method in NOISE_FREE else told["epsilons"]:
                row = dict.fromkeys(COLUMNS, "") | {
                    "dataset": name, "method": method, "reading": reading, "epsilon": epsilon, "delta": told["delta"],
                    "metric": "mse", "scale": scale, "status": status, "reason": reason,
                }  # fmt: skip
                if wanted is not None and not wanted(row):
                    continue
                if given is None:
                    yield row
                elif method in NOISE_FREE:
                    per_fold = np.array([fold.error(noise_free(method, fold))[0] for fold in given])
                    yield row | {
                        "repeats": 1,
                        "mean": repr(float(per_fold.mean())),
                        "std": repr(float(per_fold.std(ddof=1))),
                        "ledger_epsilon": repr(math.inf if method == "non_private" else 0.0),
                    }
                else:
                    runs, ledger = repetitions(name, given, method, reading, epsilon, delta, count)
                    if not np.isfinite(runs).all():
                        row |= {"status": "diverged", "reason": f"{np.sum(~np.isfinite(runs))} of {count} not finite"}
                    yield row | {
                        "repeats": count,
                        "mean": f"{runs.mean():.10g}",
                        "std": f"{runs.std(ddof=1):.10g}",
                        "ledger_epsilon": f"{spent(ledger, method, reading, float(epsilon), delta):.6g}",
                        "ledger": program.facts(ledger, FACTS),
                        "runs": " ".join(f"{v:.6g}" for v in runs),
                    }
