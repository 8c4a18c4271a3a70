"""How many steps DP-SGD and DP-VI of logistic regression should make: loss on synthetic rows alone.

    python -m benchmarks.dp_sgd_steps            # print the table
    python -m benchmarks.dp_sgd_steps --commit   # write it to benchmarks/reference/dp_sgd_steps.csv

``rule`` is the number of the default, K = n mu / 4 (``logistic_gaussian.gradients.plan_of``, there held within
bounds); beside it stand its half, its double, and 2,000 steps, where the default used to stop. DP-VI makes as many.
Inputs in [-1, 1]: ``uniform``, 10 columns, as they are or mixed until the spread of their principal axes falls to a
tenth; ``dummies``, 40 columns of 1 and -1, where 1 is as frequent as -1 in the first and has 0.3 % of the rows in the
last (a geometric series, as nominal attributes give). Labels follow a logistic model of margins with a standard
deviation of 2. Ranges are documented, so nothing is bought for them. Epsilon is 0.1, 1 or 8 at delta = 1e-5.
The loss is the log-likelihood (nats a row, 20,000 new rows) that is missing to the law that made the rows, its mean
over the designs of the same inputs. No data set of the suite is read.
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

from datasets.files import write_csv
from methods import contract
from methods._shared.logistic_gaussian.gradients import STEPS
from models.bounded import BoundedLogisticRegression
from models.task import PublicKnowledge, Task
from privacy.accountants import gdp_mu
from privacy.budget import BudgetSpec, Mode

KIND, DELTA, NEW_ROWS, MARGIN = "bounded_logistic_regression", 1e-5, 20_000, 2.0
#: rows, and the budgets at which they are tried (with 20,000 rows 2,000 steps are the rule at epsilon = 1)
ROWS = {1500: (0.1, 1.0, 8.0), 20_000: (8.0,)}
METHOD = "dp_sgd"
TABLE = Path(__file__).parent / "reference" / "dp_sgd_steps.csv"


class Design(NamedTuple):
    columns: int
    smallest: float = 1.0  # spread of the last principal axis over that of the first
    rare: float = 0.0  # of dummies: how often the last is 1


DESIGNS = {"uniform": (Design(10), Design(10, smallest=0.1)), "dummies": (Design(40, rare=0.003),)}


class Rows(NamedTuple):
    """x (n + NEW_ROWS, d) in the box, labels, and the margins that made them."""

    x: np.ndarray
    y: np.ndarray
    margin: np.ndarray


def rows(design: Design, n: int, seed: int) -> Rows:
    rng, d = np.random.default_rng([seed, 1]), design.columns
    x = rng.uniform(-1.0, 1.0, (n + NEW_ROWS, d))
    if design.rare:
        x = np.where(x < 2.0 * np.geomspace(0.5, design.rare, d) - 1.0, 1.0, -1.0)
    if design.smallest < 1:
        turn, _ = np.linalg.qr(rng.standard_normal((d, d)))
        x = x * np.geomspace(1.0, design.smallest, d) @ turn
        x = x / np.abs(x).max(axis=0)
    theta = rng.standard_normal(d)
    theta *= MARGIN / (x @ theta).std()
    margin = x @ theta - (np.mean(x, axis=0) @ theta if design.rare else 0.0)
    y = (rng.random(len(x)) < 1.0 / (1.0 + np.exp(-margin))).astype(float)
    return Rows(x, y, margin)


def log_likelihood(margin: np.ndarray, y: np.ndarray) -> float:
    return float(-np.logaddexp(0.0, -(2.0 * y - 1.0) * margin).mean())


def numbers(n: int, epsilon: float) -> dict[str, int]:
    """Steps of each choice. ``rule`` is not held within STEPS here."""
    rule = int(np.ceil(0.25 * n * gdp_mu(epsilon, DELTA)))
    return {"rule": rule, "half": rule // 2, "double": 2 * rule, "2000": 2000}


def loss(design: Design, n: int, epsilon: float, steps: int | None, seed: int) -> float:
    """``steps`` None: the method's default."""
    made = rows(design, n, seed)
    public = PublicKnowledge(n, ((-1.0, 1.0),) * design.columns, (0.0, 1.0), "the law that draws these rows")
    task = Task("made_up", BoundedLogisticRegression(), made.x[:n], made.y[:n], public)
    budget = BudgetSpec(epsilon=epsilon, delta=DELTA, mode=Mode.ENFORCE).open(np.random.default_rng([seed, 2]))
    method = contract.get(METHOD, KIND)
    fit = method.fit(task, method.Settings(steps=steps), budget, np.random.default_rng([seed, 3]))
    new, y = made.x[n:], made.y[n:]
    predicted = fit.posterior.predictive(new, np.random.default_rng([seed, 4]))
    return log_likelihood(made.margin[n:], y) - float(np.mean(predicted.log_density(y)))


def table(sizes=ROWS, designs=DESIGNS) -> pd.DataFrame:
    """One row a size, epsilon and choice for each kind of inputs: its steps and its mean loss over their designs."""
    out = []
    for inputs, (n, epsilon) in itertools.product(designs, [(n, e) for n, each in sizes.items() for e in each]):
        for choice, steps in numbers(n, epsilon).items():
            found = np.mean([loss(design, n, epsilon, steps, k) for k, design in enumerate(designs[inputs])])
            out.append((inputs, n, epsilon, choice, steps, f"{found:.5f}"))
            print(*out[-1], flush=True)
    return pd.DataFrame(out, columns=["inputs", "rows", "epsilon", "choice", "steps", "loss"])


def main() -> None:
    found = table()
    if "--commit" in sys.argv[1:]:
        write_csv(TABLE, found)
    print(f"the default is held between {STEPS[0]} and {STEPS[1]} steps")


if __name__ == "__main__":
    main()
