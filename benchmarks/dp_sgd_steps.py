"""How many steps DP-SGD and DP-VI of logistic regression should make: loss on synthetic rows alone.

    python -m benchmarks.dp_sgd_steps            # print the table
    python -m benchmarks.dp_sgd_steps --commit   # write it to benchmarks/reference/dp_sgd_steps.csv

``rule`` is the number of the default, K = n mu / 4 (``logistic_gaussian.gradients.plan_of``); beside it stand its
half, its double, and 2,000 steps, where the default used to stop. Rows are uniform in [-1, 1] along 10 columns, or
mixed until the spread of their principal axes falls to a tenth; labels follow a logistic model of margins with a
standard deviation of 2. Ranges are documented, so nothing is bought for them. Epsilon is 0.1, 1 or 8 at delta = 1e-5.
The loss is the log-likelihood (nats a row, 20,000 new rows) that is missing to the weights that made the rows, its
mean over designs. No data set of the suite is read.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path
from typing import NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd

from methods import contract
from methods._shared.logistic_gaussian.gradients import STEPS
from models.bounded import BoundedLogisticRegression
from models.task import PublicKnowledge, Task
from privacy.accountants import gdp_mu
from privacy.budget import BudgetSpec, Mode

KIND, DELTA, NEW_ROWS, MARGIN = "bounded_logistic_regression", 1e-5, 20_000, 2.0
#: rows, and the budgets at which they are tried (with 20,000 rows 2,000 steps are the rule at epsilon = 1)
ROWS = {1500: (0.1, 1.0, 8.0), 20_000: (8.0,)}
METHODS = ("dp_sgd", "dp_vi_vinaroz_corrected")
TABLE = Path(__file__).parent / "reference" / "dp_sgd_steps.csv"


class Design(NamedTuple):
    columns: int
    smallest: float  # spread of the last principal axis over that of the first


DESIGNS = tuple(Design(*d) for d in itertools.product((10,), (1.0, 0.1)))


class Rows(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    theta: np.ndarray


def rows(design: Design, n: int, seed: int) -> Rows:
    """x (n + NEW_ROWS, d) in the box, labels, and the weights (d,) that made them; no intercept."""
    rng, d = np.random.default_rng([seed, 1]), design.columns
    x = rng.uniform(-1.0, 1.0, (n + NEW_ROWS, d))
    if design.smallest < 1:
        turn, _ = np.linalg.qr(rng.standard_normal((d, d)))
        x = x * np.geomspace(1.0, design.smallest, d) @ turn
        x = x / np.abs(x).max(axis=0)
    theta = rng.standard_normal(d)
    theta *= MARGIN / (x @ theta).std()
    y = (rng.random(len(x)) < 1.0 / (1.0 + np.exp(-(x @ theta)))).astype(float)
    return Rows(x, y, theta)


def log_likelihood(margin: np.ndarray, y: np.ndarray) -> float:
    return float(-np.logaddexp(0.0, -(2.0 * y - 1.0) * margin).mean())


def numbers(n: int, epsilon: float) -> dict[str, int]:
    """Steps of each choice. ``rule`` is not held within STEPS here."""
    rule = int(np.ceil(0.25 * n * gdp_mu(epsilon, DELTA)))
    return {"rule": rule, "half": rule // 2, "double": 2 * rule, "2000": 2000}


def loss(name: str, design: Design, n: int, epsilon: float, steps: int | None, seed: int) -> float:
    """``steps`` None: the method's default."""
    made = rows(design, n, seed)
    public = PublicKnowledge(n, ((-1.0, 1.0),) * design.columns, (0.0, 1.0), "the law that draws these rows")
    task = Task("made_up", BoundedLogisticRegression(), made.x[:n], made.y[:n], public)
    budget = BudgetSpec(epsilon=epsilon, delta=DELTA, mode=Mode.ENFORCE).open(np.random.default_rng([seed, 2]))
    method = contract.get(name, KIND)
    fit = method.fit(task, method.Settings(steps=steps), budget, np.random.default_rng([seed, 3]))
    new, y = made.x[n:], made.y[n:]
    predicted = fit.posterior.predictive(new, np.random.default_rng([seed, 4]))
    return log_likelihood(new @ made.theta, y) - float(np.mean(predicted.log_density(y)))


def table(methods=METHODS, sizes=ROWS, designs=DESIGNS) -> pd.DataFrame:
    """One row a method, size, epsilon and choice: its steps and its mean loss over the designs."""
    out = []
    for name, (n, epsilon) in itertools.product(methods, [(n, e) for n, each in sizes.items() for e in each]):
        for choice, steps in numbers(n, epsilon).items():
            found = np.mean([loss(name, design, n, epsilon, steps, k) for k, design in enumerate(designs)])
            out.append((name, n, epsilon, choice, steps, f"{found:.5f}"))
            print(*out[-1], flush=True)
    return pd.DataFrame(out, columns=["method", "rows", "epsilon", "choice", "steps", "loss"])


def main() -> None:
    found = table()
    if "--commit" in sys.argv[1:]:
        TABLE.parent.mkdir(exist_ok=True)
        part = TABLE.with_suffix(".part")
        found.to_csv(part, index=False, lineterminator="\n")
        part.replace(TABLE)
    print(f"the default is held between {STEPS[0]} and {STEPS[1]} steps")


if __name__ == "__main__":
    main()
