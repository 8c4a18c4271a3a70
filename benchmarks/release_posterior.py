"""Effective draws per CPU second of the exact posterior given a private release, by epsilon and by rows.

    python -m benchmarks.release_posterior              # print the table: two CPU minutes
    python -m benchmarks.release_posterior --commit     # write benchmarks/reference/release_posterior.csv

A row of the table has one data set of one input, with Laplace noise on the five sums of rows clipped to [-5, 5].

* ``moves``: those of ``evaluation.release_posterior`` with the non-centred ones, or only sweeps of rows and parameters.
* ``ess``: the smallest rank-normalised bulk effective sample size of the five parameters, of all chains together. Sizes
  below 10 are unreliable, because such chains have not converged.
* ``taken``: the accepted fraction of the proposed rows.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from datasets.files import write_csv
from evaluation import convergence, release_posterior
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise

EPSILONS, ROWS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0), 300
CHAINS, BURN_IN, SWEEPS = 4, 200, 1000
#: rows and sweeps per chain of the larger data sets, and their epsilon.
SIZES, AT = ((1000, SWEEPS), (3000, SWEEPS), (10_000, SWEEPS), (10_000, 10 * SWEEPS)), 1.0
MODEL = LinearRegressionUnknownNoise(shape=3.0, scale=2.0, precision=1.0)
INPUTS = release_posterior.InputsPrior()
BOUND = np.full(2, 5.0)
#: L1 sensitivity of the scaled sums when one row is replaced (``papers/chen2025dppf/releases.py`` has the proof).
SENSITIVITY = 16 / 3
NON_CENTRED, ROWS_ONLY = "with non-centred", "rows and parameters"
TABLE = Path(__file__).parent / "reference" / "release_posterior.csv"


def release(n: int, epsilon: float, seed: int = 0) -> release_posterior.Release:
    """A noisy release of n rows with x ~ N(1, 1) and y ~ N(2 x, 1)."""
    rng = np.random.default_rng([seed, n])
    x = 1.0 + rng.standard_normal((n, 1))
    y = 2.0 * x[:, 0] + rng.standard_normal(n)
    scale = SENSITIVITY / epsilon
    values = release_posterior.moments(x, y, BOUND, BOUND) + rng.laplace(0.0, scale, 5)
    return release_posterior.Release(values, scale, n, BOUND, BOUND)


def measure(n: int, epsilon: float, moves: str, sweeps: int = SWEEPS) -> dict[str, object]:
    """One row of the table."""
    kept = release_posterior.PRIOR_STEPS, release_posterior.WALK_STEPS
    try:
        if moves == ROWS_ONLY:
            release_posterior.PRIOR_STEPS, release_posterior.WALK_STEPS = (), ()
        start = time.process_time()
        draws, taken = release_posterior.sample(
            MODEL, release(n, epsilon), np.random.default_rng([1, n]), inputs_prior=INPUTS, chains=CHAINS,
            burn_in=BURN_IN, sweeps=sweeps,
        )  # fmt: skip
        seconds = time.process_time() - start
    finally:
        release_posterior.PRIOR_STEPS, release_posterior.WALK_STEPS = kept
    told = convergence.diagnostics(draws)
    ess = float(told["ess_bulk"].min())
    row = {"n": n, "epsilon": epsilon, "moves": moves, "sweeps": CHAINS * sweeps, "seconds": round(seconds, 2)}
    row |= {"ess": round(ess, 1), "ess_per_second": round(ess / seconds, 2), "taken": round(taken, 3)}
    return row | {"rhat": round(float(told["rhat"].max()), 3)}


def table() -> pd.DataFrame:
    measure(5, 1.0, NON_CENTRED)  # compiles
    rows = [measure(ROWS, e, moves) for e in EPSILONS for moves in (NON_CENTRED, ROWS_ONLY)]
    rows += [measure(n, AT, NON_CENTRED, sweeps) for n, sweeps in SIZES]
    return pd.DataFrame(rows)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.release_posterior", description=__doc__.splitlines()[0])
    parser.add_argument("--commit", action="store_true", help=f"write {TABLE.name}")
    options = parser.parse_args(argv)
    made = table()
    print(made.to_string(index=False))
    if options.commit:
        write_csv(TABLE, made)


if __name__ == "__main__":
    main()
