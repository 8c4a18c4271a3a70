"""How far the corrected DP-SEP may move in one step: where its network blows up, on synthetic rows alone.

    python -m benchmarks.dp_sep_move            # print the table
    python -m benchmarks.dp_sep_move --commit   # write it to benchmarks/reference/dp_sep_move.csv

Parallel updates of sites that are hardly clipped overshoot where clipping norm times damping, C rho, is large
(``methods.ep.dp_sep_corrected.schedule``). Here C rho is set at several values, for several numbers of rows N, at
epsilon = 8, delta = 1e-5. Nine inputs: Student's t with 5 degrees around one common factor (``collinear``) or
independent normal; a target of half signal (five tanh units), half noise. ``rmse`` is that of the mean on 1,000 new
rows over the target's standard deviation: predicting the mean has 1, and a fit that blew up has far more. No data set
of the suite is read.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import math
import os
import sys
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd

from datasets.files import write_csv
from methods import contract
from methods.ep.dp_sep_corrected import E_FOLDS
from models.bnn_regression import BNNRegression
from models.task import PublicKnowledge, Task
from privacy.budget import BudgetSpec, Mode

EPSILON, DELTA, INPUTS, NEW_ROWS, HIDDEN = 8.0, 1e-5, 9, 1000, 50
#: inputs, N, hidden units, C rho
RUNS = (
    *(("collinear", 4000, HIDDEN, move) for move in (0.0125, 0.025, 0.0355, 0.05, 0.1)),
    *(("normal", 4000, HIDDEN, move) for move in (0.0125, 0.025)),
    *(("collinear", 40_000, HIDDEN, move) for move in (0.0125, 0.025)),
)
TABLE = Path(__file__).parent / "reference" / "dp_sep_move.csv"


def rows(inputs: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """x (n + NEW_ROWS, INPUTS) and y, with a standard deviation of 1."""
    rng = np.random.default_rng([seed, 1])
    many = n + NEW_ROWS
    if inputs == "normal":
        x = rng.standard_normal((many, INPUTS))
    else:
        x = rng.standard_t(5, (many, 1)) + 0.3 * rng.standard_t(5, (many, INPUTS))
    f = np.tanh(x @ rng.standard_normal((INPUTS, 5)) / math.sqrt(INPUTS)) @ rng.standard_normal(5)
    y = math.sqrt(0.5) * (f - f.mean()) / f.std() + math.sqrt(0.5) * rng.standard_normal(many)
    return x, y / y.std()


def rmse(inputs: str, n: int, hidden: int, move: float | None, seed: int = 0) -> float:
    """Over the target's standard deviation; ``move``: C rho, None: by the method's schedule."""
    x, y = rows(inputs, n, seed)
    public = PublicKnowledge(n, ((-10.0, 10.0),) * INPUTS, (-6.0, 6.0), "the law that draws these rows")
    task = Task("made_up", BNNRegression(hidden), x[:n], y[:n], public)
    method = contract.get("dp_sep_corrected", "bnn_regression")
    rho = 1.0 - math.exp(-E_FOLDS / method.Settings().steps)
    chosen = method.Settings(clip=None if move is None else move / rho)
    budget = BudgetSpec(epsilon=EPSILON, delta=DELTA, mode=Mode.ENFORCE).open(np.random.default_rng([seed, 2]))
    fit = method.fit(task, chosen, budget, np.random.default_rng([seed, 3]))
    return float(np.sqrt(np.mean((fit.posterior.predictive(x[n:]).mean - y[n:]) ** 2)))


def table(runs=RUNS) -> pd.DataFrame:
    """One row a run; ``root``: C rho sqrt(N)."""
    out = []
    for inputs, n, hidden, move in runs:
        found = rmse(inputs, n, hidden, move)
        out.append((inputs, n, hidden, move, f"{move * math.sqrt(n):.3g}", f"{found:.4g}"))
        print(*out[-1], flush=True)
    return pd.DataFrame(out, columns=["inputs", "rows", "hidden", "move", "root", "rmse"])


def main() -> None:
    made = table()
    if "--commit" in sys.argv[1:]:
        write_csv(TABLE, made)


if __name__ == "__main__":
    main()
