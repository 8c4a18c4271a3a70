"""What published methods could add beside AdaSSP, BoostedAdaSSP and whitened SSP, on synthetic rows alone.

    python -m benchmarks.least_squares_yardsticks            # print the table
    python -m benchmarks.least_squares_yardsticks --commit   # write it to benchmarks/reference/...yardsticks.csv

Rows are those of ``benchmarks.adassp_clip``: 8 or 16 normal inputs whose principal axes fall to 1 or to a hundredth of
the first, 5,000 rows, 95 % of the variance explained. Epsilon is 0.1, 1 or 8 at delta = 1e-5. ``excess`` is the mean
square of what a fit predicts beside least squares, over the mean square of the residuals of least squares, on 2,000 new
rows; its median over ``NOISES`` noises a design. The methods run as they are, without documented ranges.

Two more are *bounds*, no private fits: they are given what a private fit would have to buy, and have the noise alone.

* ``objective perturbation, bound`` (Redberg, Koskela & Wang 2023): a gradient is clipped to R tau, here with R that of
  BoostedAdaSSP and tau three standard deviations of the residual, known; the linear term has the noise of one Gaussian
  release of the whole budget, and neither the added penalty nor the Hessian's part of the privacy loss cost anything.
  The minimiser is that of the linearised problem, w - H^-1 b with the exact H.
* ``insufficient statistics, bound`` (Brown, Hayase, Hopkins, Kong, Liu, Oh, Perdomo & Smith 2024): noise in the metric
  of the exact X'X. Removing a row of leverage h and residual r moves least squares by sqrt(h) |r| / (1 - h) there, here
  with h at most twice the mean and |r| at most three standard deviations, known; the whole budget goes to the noise,
  and neither the test for outliers nor the metric, which depends on the rows, cost anything.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import itertools
import math
import os
import sys
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd

from benchmarks.adassp_clip import DELTA, EPSILONS, Design, table
from datasets.files import write_csv
from methods import contract
from models.bounded import DEVIATIONS, BoundedLinearRegression
from models.linear_regression import with_bias
from models.task import PublicKnowledge, Task
from privacy.accountants import gdp_mu
from privacy.budget import BudgetSpec, Mode

KIND, ROWS, NOISES = "bounded_linear_regression", 5000, 5
METHODS = ("adassp", "boosted_adassp", "whitened_ssp", "dp_sgd")
BOUNDS = ("objective perturbation, bound", "insufficient statistics, bound")
DESIGNS = tuple(Design("normal", s, d, ROWS, 0.0, 0.95) for s, d in itertools.product((1.0, 0.01), (8, 16)))
#: clipping of rows over the expected squared norm, and of residuals in standard deviations.
MARGIN, SPREADS = 0.1, 3.0
TABLE = Path(__file__).parent / "reference" / "least_squares_yardsticks.csv"


def excesses(design: Design, epsilon: float, seed: int, names=(*METHODS, *BOUNDS)) -> dict[str, float]:
    """Of every method and bound, all on the same rows."""
    x, y = table(design, np.random.default_rng([seed, 1]))
    n, rng = design.rows, np.random.default_rng([seed, 3])
    u = with_bias(x / DEVIATIONS)
    gram = u[:n].T @ u[:n]
    best = np.linalg.solve(gram, u[:n].T @ y[:n])
    residual = y - u @ best
    spread, sigma, p = float(residual[:n].std()), 1.0 / gdp_mu(epsilon, DELTA), len(best)
    task = Task("made_up", BoundedLinearRegression(), x[:n], y[:n], PublicKnowledge(n, (None,) * (p - 1), None, ""))
    moves = {}
    norm = math.sqrt((1.0 + MARGIN) * (1.0 + (p - 1) / DEVIATIONS**2))
    noise = rng.standard_normal(p)
    moves[BOUNDS[0]] = u @ np.linalg.solve(gram, norm * SPREADS * spread * sigma * noise)
    leverage = 2.0 * p / n
    step = math.sqrt(leverage) * SPREADS * spread / (1.0 - leverage) * sigma
    moves[BOUNDS[1]] = u @ np.linalg.solve(np.linalg.cholesky(gram).T, step * noise)
    for name in names:
        if name in moves:
            continue
        method = contract.get(name, KIND)
        method.prepare(task, method.Settings())
        budget = BudgetSpec(epsilon=epsilon, delta=DELTA, mode=Mode.ENFORCE).open(np.random.default_rng([seed, 2]))
        fit = method.fit(task, method.Settings(), budget, np.random.default_rng([seed, 4]))
        moves[name] = fit.posterior.predictive(x, np.random.default_rng(0)).mean - u @ best
    return {k: float(np.mean(moves[k][n:] ** 2) / np.mean(residual[n:] ** 2)) for k in names}


def build(designs=DESIGNS, epsilons=EPSILONS, noises: int = NOISES) -> pd.DataFrame:
    """One row a design, epsilon and method."""
    out = []
    for design, epsilon in itertools.product(designs, epsilons):
        found = pd.DataFrame([excesses(design, epsilon, k) for k in range(noises)]).median()
        for name, value in found.items():
            out.append((design.columns, design.smallest, epsilon, name, f"{value:.3g}"))
            print(*out[-1], flush=True)
    return pd.DataFrame(out, columns=["columns", "smallest", "epsilon", "method", "excess"])


def main() -> None:
    made = build()
    if "--commit" in sys.argv[1:]:
        write_csv(TABLE, made)


if __name__ == "__main__":
    main()
