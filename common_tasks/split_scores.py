"""The correlation of the scores of two random splits of one table, and the share of privacy noise in their spread.

    python -m common_tasks.split_scores --data results/data            # print the table: one CPU minute
    python -m common_tasks.split_scores --data results/data --commit   # write common_tasks/reference/split_scores.csv

Intervals for new rows of the same distribution (``evaluation.paired``, Nadeau and Bengio 2003) assume that the
correlation of the scores of two 90/10 splits is ``ASSUMED``, the share of test rows. Here it is measured. A large table
is divided at random into disjoint tables of ``ROWS`` rows, which serve as independent data sets of one distribution.
Each is split ``SPLITS`` times at random, and each training set is fitted with ``SEEDS`` seeds of the privacy noise.
Nested analysis of variance gives the variance between tables, between splits of a table, and between seeds of a split.

``correlation`` is the first over the sum of all three, with a 95 % interval that resamples the tables. ``noise`` is the
third over the second plus the third: the share of the variance over splits that is privacy noise.

Scores are test log-likelihoods of linear regression in nats per row, of the exact posterior, of a private method, and
of the difference of both on the same split.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import argparse
import os
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd

import datasets
from datasets.files import write_csv
from methods import contract
from models.bounded import BoundedLinearRegression
from models.task import PublicKnowledge, Task
from privacy.budget import BudgetSpec, Mode

KIND, DELTA, ASSUMED = "bounded_linear_regression", 1e-5, 0.1
DATA, TABLES, ROWS, SPLITS, SEEDS = "protein", 40, 1000, 10, 3
#: private methods and their epsilons.
ARMS = (("adassp", 1.0), ("adassp", 8.0), ("whitened_ssp", 1.0))
EXACT = "exact_posterior"
TABLE = Path(__file__).parent / "reference" / "split_scores.csv"
COLUMNS = ("score", "method", "epsilon", "correlation", "low", "high", "noise", "sd_tables", "sd_splits", "sd_noise")
RESAMPLED = 2000


def components(scores: np.ndarray) -> np.ndarray:
    """Unbiased variances (3,) between tables, splits and seeds, of scores (tables, splits, seeds)."""
    return _variances(*_sums(scores), *scores.shape[1:])


def _sums(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per table: mean, mean square between its splits, mean square between the seeds of a split (0 with one seed)."""
    _, splits, seeds = scores.shape
    of_split, of_table = scores.mean(axis=2), scores.mean(axis=(1, 2))
    between = seeds * ((of_split - of_table[:, None]) ** 2).sum(axis=1) / (splits - 1)
    within = ((scores - of_split[:, :, None]) ** 2).sum(axis=(1, 2)) / max(1, splits * (seeds - 1))
    return of_table, between, within


def _variances(mean: np.ndarray, between: np.ndarray, within: np.ndarray, splits: int, seeds: int) -> np.ndarray:
    """Variances (3, ...) from sums with the tables in the last axis."""
    noise, square = within.mean(axis=-1), between.mean(axis=-1)
    of_splits = (square - noise) / seeds if seeds > 1 else square
    return np.stack([mean.var(axis=-1, ddof=1) - square / (splits * seeds), of_splits, noise])


def share(scores: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """Correlation of the scores of two splits of a table, and its interval over resampled tables.

    ``scores``: (tables, splits, seeds). An estimate may lie below 0, because a variance between tables is a difference.
    """
    sums, size = _sums(scores), scores.shape[1:]
    drawn = np.random.default_rng(seed).integers(0, len(scores), (RESAMPLED, len(scores)))
    found = _variances(*(v[drawn] for v in sums), *size)
    low, high = np.quantile(found[0] / found.sum(axis=0), [0.025, 0.975])
    whole = components(scores)
    return float(whole[0] / whole.sum()), float(low), float(high)


def measured(x: np.ndarray, y: np.ndarray, about: datasets.DataSet, tables: int = TABLES) -> dict[tuple, np.ndarray]:
    """(method, epsilon) -> scores (tables, splits, seeds) of rows x (n, d), y (n,). (``EXACT``, "") has one seed."""
    order = np.random.default_rng(0).permutation(len(x))
    cut = round(0.9 * ROWS)
    public = PublicKnowledge(cut, tuple(about.x_bounds), about.y_bounds, about.bounds_citation)
    found = {arm: np.empty((tables, SPLITS, SEEDS)) for arm in ARMS} | {(EXACT, ""): np.empty((tables, SPLITS, 1))}
    for t in range(tables):
        mine = order[t * ROWS : (t + 1) * ROWS]
        for s in range(SPLITS):
            rows = np.random.default_rng([1, t, s]).permutation(mine)
            task = Task(about.name, BoundedLinearRegression(), x[rows[:cut]], y[rows[:cut]], public)
            for (name, epsilon), values in found.items():
                method = contract.get(name, KIND)
                for k in range(values.shape[2]):
                    noise, rng = (np.random.default_rng([2 + i, t, s, k]) for i in range(2))
                    spec = BudgetSpec(epsilon=epsilon, delta=DELTA, mode=Mode.ENFORCE) if epsilon else BudgetSpec()
                    fit = method.fit(task, method.Settings(), spec.open(noise), rng)
                    predicted = fit.posterior.predictive(x[rows[cut:]], np.random.default_rng([4, t, s, k]))
                    values[t, s, k] = predicted.log_density(y[rows[cut:]]).mean()
    return found


def table(found: dict[tuple, np.ndarray]) -> pd.DataFrame:
    """The table with columns ``COLUMNS``: scores, then differences from the exact posterior."""
    exact = found[EXACT, ""]
    asked = [("score", arm, v) for arm, v in found.items()]
    asked += [("difference", arm, v - exact) for arm, v in found.items() if arm[0] != EXACT]
    out = []
    for what, (method, epsilon), values in asked:
        parts = components(values)
        noise = parts[2] / (parts[1] + parts[2])
        sds = np.sqrt(parts.clip(0))
        entries = [*share(values), noise, *sds]
        out.append((what, method, f"{epsilon:g}" if epsilon else "", *(round(float(v), 4) for v in entries)))
    return pd.DataFrame(out, columns=COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Correlation between splits, and the share of privacy noise.")
    parser.add_argument(
        "--data", type=Path, required=True, help=f"folder of a run with {DATA}.npz, such as results/data"
    )
    parser.add_argument("--commit", action="store_true", help=f"write {TABLE.name}")
    args = parser.parse_args()
    loaded = datasets.load(args.data / f"{DATA}.npz")
    frame = table(measured(loaded.x, loaded.y, datasets.get(DATA)))
    print(frame.to_string(index=False))
    if args.commit:
        write_csv(TABLE, frame)


if __name__ == "__main__":
    main()
