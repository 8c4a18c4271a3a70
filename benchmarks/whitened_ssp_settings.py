"""The defaults of whitened SSP beside their neighbours: mean loss on synthetic rows alone.

    python -m benchmarks.whitened_ssp_settings

Designs are those of ``benchmarks.adassp_clip`` with 8, 11 or 16 columns, 1,500, 5,000 or 12,000 rows, 95 % of the
variance explained, no bend: normal, uniform or heavy-tailed inputs (Student's t with 5 degrees), whose principal axes
fall to 1, .1 or .01 of the first. Rows are in a box of three standard deviations. Epsilon is 0.1, 1 or 8 at delta =
1e-5, of which 15 % of mu squared went to the scale. Each row of the output changes one setting of the defaults. The
loss is the log-likelihood (nats a test row) that is missing to ridge regression without privacy; ``excess`` is the
mean difference to the loss of the defaults on the same rows and noise, with its standard error over designs. No data
set of the suite is read.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import itertools
import math
import os
from collections.abc import Sequence

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

from benchmarks.adassp_clip import DELTA, EPSILONS, LEFT, Design, log_likelihood, table
from methods._shared import adassp
from methods._shared.conjugate_linear.release import BOUGHT
from methods.sufficient_statistics.whitened_ssp import WhitenedSSP, posterior, whitened
from models.bounded import DEVIATIONS
from models.linear_regression import with_bias
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise
from privacy.accountants import gdp_mu
from privacy.budget import BudgetSpec

MODEL = LinearRegressionUnknownNoise(precision=0.02)
DESIGNS = tuple(
    Design(inputs, smallest, d, n, 0.0, 0.95)
    for inputs, smallest, d, n in itertools.product(
        ("normal", "uniform", "t"), (1.0, 0.1, 0.01), (8, 11, 16), (1500, 5000, 12_000)
    )
)
CHANGED: tuple[dict, ...] = (
    {}, {"rounds": 3}, {"rounds": 4}, {"rounds": 7}, {"margin": 0.05}, {"margin": 0.25}, {"margin": 0.5},
    {"lift": 0.15}, {"lift": 0.5}, {"lift": 0.8}, {"last": 0.3}, {"last": 0.6}, {"noise_part": 0.1},
    {"noise_part": 1.0},
)  # fmt: skip


def losses(design: Design, changed: Sequence[dict], epsilon: float, seed: int) -> list[float]:
    """Loss under the defaults with each change, all with the same rows and noise."""
    x, y = table(design, np.random.default_rng([seed, 1]))
    u = np.clip(np.column_stack([x, y]) / DEVIATIONS, -1.0, 1.0)
    n, d = design.rows, design.columns
    rows = np.column_stack([with_bias(u[:, :-1]), u[:, -1]])
    train, test = rows[:n], (u[n:, :-1], y[n:] / DEVIATIONS)
    ridge = adassp.read(adassp.Moments(train.T @ train, 0.0), 1e-6 * n)
    best = log_likelihood(ridge, adassp.residual_variance(ridge, n), *test)
    multiplier = 1.0 / (gdp_mu(epsilon, DELTA) * math.sqrt(LEFT))
    start = np.diag([1.0 / math.sqrt(BOUGHT)] * d + [1.0, 1.0 / math.sqrt(BOUGHT)])
    out = []
    for change in changed:
        budget = BudgetSpec(delta=DELTA).open(np.random.default_rng([seed, 2]))
        found = whitened(train, start, n, WhitenedSSP.Settings(**change), multiplier, budget)
        fit, told = posterior(MODEL, found, n)
        reading = adassp.Reading(fit.mean, np.eye(d + 1), 0.0, 0.0)
        out.append(best - log_likelihood(reading, told["residual_variance"], *test))
    return out


def main() -> None:
    for epsilon in EPSILONS:
        found = np.array([losses(design, CHANGED, epsilon, k) for k, design in enumerate(DESIGNS)])
        print(f"epsilon {epsilon:g}: the defaults lose {found[:, 0].mean():.4f} nats a row")
        excess = found[:, 1:] - found[:, :1]
        for change, each in zip(CHANGED[1:], excess.T, strict=True):
            (name, value), spread = *change.items(), each.std(ddof=1) / math.sqrt(len(each))
            print(f"  {name} {value:<5g} excess {each.mean():+.4f} (standard error {spread:.4f})", flush=True)


if __name__ == "__main__":
    main()
