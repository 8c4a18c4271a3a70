"""Discrete noise by OpenDP compared with noise in double precision: scores, time, last digits, and rounding of sums.

    pip install '.[discrete]' -c constraints.txt
    python -m datasets.fetch kin8nm && python -m datasets.fetch protein    # results/data
    python -m benchmarks.discrete_noise --data results/data             # print the table: two CPU minutes
    python -m benchmarks.discrete_noise --data results/data --commit    # write benchmarks/reference/discrete_noise.csv

There is one row per measure, method and data set. All budgets are epsilon = 1 at delta = 1e-5. Neighbours differ by one
row.

``score``: mean test log-density with discrete noise minus that in double precision, nats per row, over ``SPLITS``
random 90/10 splits with ``SEEDS`` fits of each kind. The interval is the paired 95 % t interval over splits, about
these rows (``evaluation.paired``).

``spread``: standard deviation of one fit's score between seeds of a split, for comparison.

``impossible``: fraction of the released numbers that no double, added to the neighbour's value, can give, by the rule
``privacy.floating_point.reachable``. The neighbour is the training rows without the last.

``mistaken``: the same for numbers that the neighbour itself released. A correct rule excludes none of them. Both
measures draw the noise of all releases of one fit ``FITS`` times, and their 95 % intervals resample these.

``fits``: fraction of these with at least one such number.

``laplace``: one number with Laplace noise at epsilon = 1, under the rule ``privacy.floating_point.possible``, which
knows NumPy's generator.

``time``: CPU microseconds per released number in a release of 100, the best of ``ROUNDS``.

``rounding``: change of the value before the noise if the rows are reordered, in units of the declared sensitivity. It
is the largest of all releases, over ``ORDERS`` orders. Discrete noise allows for ``privacy.discrete.SLACK``.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd

import datasets
from datasets.files import write_csv
from evaluation.paired import THESE_ROWS, paired
from methods import contract
from models.bounded import BoundedLinearRegression, BoundedMixture
from models.task import PublicKnowledge, Task
from privacy import audit, discrete, floating_point
from privacy.budget import BudgetSpec, Mode
from privacy.discrete import DiscreteSpec
from privacy.ledger import Mechanism

DATA = ("kin8nm", "protein")
REGRESSION, DENSITY = "bounded_linear_regression", "bounded_mixture"
#: method -> kind of model
ARMS = {
    "sufficient_statistics_perturbation": REGRESSION,
    "adassp": REGRESSION,
    "whitened_ssp": REGRESSION,
    "dp_em_corrected": DENSITY,
}
COMPONENTS = 3
SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
SPLITS, SEEDS, FITS, ORDERS, ROUNDS, NUMBERS = 10, 3, 20, 5, 5, 100
LAPLACE = 2000
DOUBLE, DISCRETE = "double", "discrete"
TABLE = Path(__file__).parent / "reference" / "discrete_noise.csv"
COLUMNS = ("measure", "noise", "method", "data", "value", "low", "high", "numbers")


def specs(rows: int) -> dict[str, object]:
    """The two kinds of noise, each with the object that opens its budget."""
    return {DOUBLE: SPEC, DISCRETE: DiscreteSpec(SPEC, rows)}


def split(name: str, x: np.ndarray, y: np.ndarray, kind: str, seed: int) -> tuple[Task, np.ndarray, np.ndarray]:
    """Training task and test rows of a random 90/10 split.

    The mixture's noise is that of the common task on densities: 1 - (K - 1) / d of the variance of a column.
    """
    about, rest = datasets.get(name), 1.0 - (COMPONENTS - 1) / x.shape[1]
    model = BoundedLinearRegression() if kind == REGRESSION else BoundedMixture(COMPONENTS, rest**0.5)
    order = np.random.default_rng([1, seed]).permutation(len(x))
    train, test = np.split(order, [round(0.9 * len(x))])
    bounds = about.y_bounds if model.scales_target else None
    public = PublicKnowledge(len(train), tuple(about.x_bounds), bounds, about.bounds_citation)
    return Task(name, model, x[train], y[train] if model.scales_target else None, public), x[test], y[test]


def score(fit, kind: str, x: np.ndarray, y: np.ndarray) -> float:
    """Mean log-density of test rows in nats per row: of the targets given the inputs, or of the inputs."""
    if kind == DENSITY:
        return float(fit.posterior.log_density(x).mean())
    return float(fit.posterior.predictive(x, np.random.default_rng(0)).log_density(y).mean())


def scores(name: str, x: np.ndarray, y: np.ndarray, arm: str) -> list[tuple]:
    """Rows ``score`` and ``spread`` of one method on one data set."""
    method, found = contract.get(arm, ARMS[arm]), {DOUBLE: np.empty((SPLITS, SEEDS))}
    found[DISCRETE] = np.empty((SPLITS, SEEDS))
    for s in range(SPLITS):
        task, *test = split(name, x, y, ARMS[arm], s)
        for kind, spec in specs(task.n).items():
            for k in range(SEEDS):
                fit = audit.run(method, task, method.Settings(), spec, 100 * s + k)
                found[kind][s, k] = score(fit, ARMS[arm], *test)
    by_split = {k: {str(s): float(m) for s, m in enumerate(v.mean(axis=1))} for k, v in found.items()}
    apart = paired(by_split[DISCRETE], by_split[DOUBLE], ratio=THESE_ROWS)
    spread = [float(np.sqrt(v.var(axis=1, ddof=1).mean())) for v in found.values()]
    out = [("score", "difference", arm, name, apart.difference, apart.low, apart.high, SPLITS * SEEDS)]
    return out + [
        ("spread", k, arm, name, v, np.nan, np.nan, SPLITS * SEEDS) for k, v in zip(found, spread, strict=True)
    ]


def releases(method, task: Task, neighbour: Task) -> list[tuple]:
    """(event, value, value of the neighbour given the same releases) of each release of one fit."""
    first = audit.Recorder()
    audit.run(method, task, method.Settings(), SPEC, 1, first)
    again = audit.Recorder(first.outputs, first.events)
    audit.run(method, neighbour, method.Settings(), SPEC, 1, again)
    return list(zip(first.events, first.values, again.values, strict=True))


def adders(mechanism: Mechanism, scale: float) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """The two kinds of noise, each with a function that adds it to an array."""
    rng = np.random.default_rng(5)
    draw = rng.laplace if mechanism is Mechanism.LAPLACE else rng.normal
    exact = discrete.adder(mechanism, scale)
    return {
        DOUBLE: lambda v: v + draw(0.0, scale, v.shape),
        DISCRETE: lambda v: np.reshape(exact(v.ravel().tolist()), v.shape),
    }


def last_digits(name: str, x: np.ndarray, y: np.ndarray, arm: str) -> list[tuple]:
    """Rows ``impossible``, ``mistaken`` and ``fits`` of one method on one data set."""
    task, *_ = split(name, x, y, ARMS[arm], 0)
    shorter = replace(task, x=task.x[:-1], y=None if task.y is None else task.y[:-1])
    made = releases(contract.get(arm, ARMS[arm]), task, shorter)
    seen: dict[tuple[str, str], list[np.ndarray]] = {}
    for event, value, other in made:
        for kind, add in adders(event.mechanism, event.noise_scale).items():
            for measure, start in (("impossible", value), ("mistaken", other)):
                ruled = [~floating_point.reachable(add(start), other).ravel() for _ in range(FITS)]
                seen.setdefault((measure, kind), []).append(np.array(ruled))
    # the k-th draws of all releases together are the numbers of one fit
    fits = {key: np.concatenate(parts, axis=1) for key, parts in seen.items()}
    out = [(measure, kind, arm, name, *_share(ruled)) for (measure, kind), ruled in fits.items()]
    some = fits["impossible", DOUBLE].any(axis=1, keepdims=True)
    return [*out, ("fits", DOUBLE, arm, name, *_share(some))]


def _share(ruled: np.ndarray) -> tuple[float, float, float, int]:
    """Share of True in ``ruled`` (fits, numbers), its interval over resampled fits, and the count of the numbers."""
    drawn = np.random.default_rng(0).integers(0, len(ruled), (1000, len(ruled)))
    low, high = np.quantile(ruled.mean(axis=1)[drawn].mean(axis=1), [0.025, 0.975])
    return float(ruled.mean()), float(low), float(high), ruled.size


def laplace() -> list[tuple]:
    """Rows of one number with Laplace noise at epsilon = 1, for the values 0 and, of the neighbour, 1."""
    out = []
    for kind, add in adders(Mechanism.LAPLACE, 1.0).items():
        for measure, start in (("impossible", 0.0), ("mistaken", 1.0)):
            numbers = add(np.full(LAPLACE, start))
            ruled = np.array([[not floating_point.possible(float(o), 1.0, 1.0)] for o in numbers])
            out.append((measure, kind, "laplace", "", *_share(ruled)))
    return out


def times() -> list[tuple]:
    """Rows ``time`` of both mechanisms."""
    out = []
    for mechanism in (Mechanism.GAUSSIAN, Mechanism.LAPLACE):
        for kind, add in adders(mechanism, 3.7).items():
            best, value = np.inf, np.full(NUMBERS, 0.3)
            for _ in range(ROUNDS):
                start = time.process_time()
                for _ in range(20):
                    add(value)
                best = min(best, (time.process_time() - start) / (20 * NUMBERS) * 1e6)
            out.append(("time", kind, str(mechanism), "", best, np.nan, np.nan, NUMBERS))
    return out


def rounding(name: str, x: np.ndarray, y: np.ndarray, arm: str) -> list[tuple]:
    """The row ``rounding`` of one method on one data set."""
    method, worst, count = contract.get(arm, ARMS[arm]), 0.0, 0
    task, *_ = split(name, x, y, ARMS[arm], 0)
    for k in range(ORDERS):
        order = np.random.default_rng([3, k]).permutation(task.n)
        shuffled = replace(task, x=task.x[order], y=None if task.y is None else task.y[order])
        for event, value, other in releases(method, task, shuffled):
            norm = np.linalg.norm((value - other).ravel(), 1 if event.mechanism is Mechanism.LAPLACE else 2)
            worst, count = max(worst, float(norm) / event.sensitivity), count + 1
    return [("rounding", "", arm, name, worst, np.nan, np.nan, count)]


def table(folder: Path) -> pd.DataFrame:
    """The table with columns ``COLUMNS``. Values have four significant digits."""
    out = [*times(), *laplace()]
    for name in DATA:
        data = datasets.load(folder / f"{name}.npz")
        for arm in ARMS:
            for measure in (scores, last_digits, rounding):
                out += measure(name, data.x, data.y, arm)
                print(f"{name}, {arm}: {measure.__name__} done", flush=True)
    rows = [(*r[:4], *(float(f"{v:.4g}") for v in r[4:7]), r[7]) for r in out]
    return pd.DataFrame(rows, columns=COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Discrete noise against noise in double precision.")
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {' and '.join(DATA)} as .npz")
    parser.add_argument("--commit", action="store_true", help=f"write {TABLE.name}")
    args = parser.parse_args()
    if not discrete.available():
        parser.error(f"OpenDP is not here; {discrete.REMEDY}")
    frame = table(args.data)
    print(frame.to_string(index=False))
    if args.commit:
        write_csv(TABLE, frame)


if __name__ == "__main__":
    main()
