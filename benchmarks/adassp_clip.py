"""Where AdaSSP should clip its rows: mean loss of every clip rule of a grid, on synthetic rows alone.

    python -m benchmarks.adassp_clip

Designs: inputs normal, uniform, log-normal or Student's t with 5 degrees; uncorrelated, or mixed until the spread of
their principal axes falls to a tenth, or to a three-hundredth; 4, 16 or 32 columns; 500, 5,000 or 20,000 rows; a
linear signal, or one with a bend; half or 95 % of the variance explained. Rows come standardised, or in a box of three
standard deviations. Epsilon is 0.1, 1 or 8 at delta = 1e-5, of which 15 % of mu squared went to the scale. The loss is
the log-likelihood (nats a test row) that is missing to ridge regression without privacy. ``ClipRule``'s defaults are
the setting with the smallest mean over all designs, scales and epsilons. No data set of the suite is read.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable
from typing import NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

from methods._shared import adassp
from models.bounded import DEVIATIONS
from models.linear_regression import with_bias
from privacy.accountants import gdp_mu
from privacy.budget import BudgetSpec

DELTA, LEFT, TEST_ROWS = 1e-5, 0.85, 2000
EPSILONS = (0.1, 1.0, 8.0)
MARGINS = (0.1, 0.25, 0.5, 1.0, 1.5, 3.0)
NOISE_PARTS = (0.0003, 0.001, 0.003, 0.01, 0.03)
INPUTS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-1.0, 1.0, shape),
    "log-normal": lambda rng, shape: np.exp(0.7 * rng.standard_normal(shape)),
    "t": lambda rng, shape: rng.standard_t(5, shape),
}


class Design(NamedTuple):
    inputs: str
    smallest: float  # spread of the last principal axis over that of the first
    columns: int
    rows: int
    bend: float
    explained: float


DESIGNS = tuple(
    Design(*d)
    for d in itertools.product(INPUTS, (1.0, 0.1, 0.003), (4, 16, 32), (500, 5000, 20_000), (0.0, 0.5), (0.5, 0.95))
)


def unit(a: np.ndarray) -> np.ndarray:
    return (a - a.mean(axis=0)) / a.std(axis=0)


def table(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Standardised x (n, d) and y (n,), training rows first, then TEST_ROWS."""
    n, d = design.rows + TEST_ROWS, design.columns
    x = unit(INPUTS[design.inputs](rng, (n, d)))
    turn, _ = np.linalg.qr(rng.standard_normal((d, d)))
    x = unit(x * np.geomspace(1.0, design.smallest, d) @ turn) if design.smallest < 1 else x
    signal = unit(x @ rng.standard_normal(d))
    signal = unit(signal + design.bend * np.sin(2.0 * signal))
    noise = rng.standard_normal(n)
    return x, unit(math.sqrt(design.explained) * signal + math.sqrt(1.0 - design.explained) * noise)


def log_likelihood(found: adassp.Reading, variance: float, x: np.ndarray, y: np.ndarray) -> float:
    residual = y - with_bias(x) @ found.weights
    return float(np.mean(-0.5 * np.log(2 * np.pi * variance) - 0.5 * residual**2 / variance))


def losses(
    design: Design, half_width: float, rules: Iterable[adassp.ClipRule], epsilon: float, seed: int
) -> list[float]:
    """Loss under each rule, all with the same rows and noise. ``half_width``: of the box, inf: standardised rows."""
    x, y = table(design, np.random.default_rng([seed, 1]))
    boxed = math.isfinite(half_width)
    scale = half_width if boxed else 1.0
    u = np.column_stack([x, y]) / scale
    u = np.clip(u, -1.0, 1.0) if boxed else u
    n, d = design.rows, design.columns
    rows = np.column_stack([with_bias(u[:, :-1]), u[:, -1]])
    train, test = rows[:n], (u[n:, :-1], y[n:] / scale)
    exact = adassp.Moments(train.T @ train, 0.0)
    ridge = adassp.read(exact, 1e-6 * n)
    best = log_likelihood(ridge, adassp.residual_variance(ridge, n), *test)
    multiplier = 1.0 / (gdp_mu(epsilon, DELTA) * math.sqrt(LEFT))
    squares = [1.0 / scale**2] * (d + 1)
    most = 1.0 + (DEVIATIONS / scale) ** 2 * (d + 1)
    out = []
    for rule in rules:
        squared = rule.squared_bound(squares, most, n, multiplier)
        budget = BudgetSpec(noise_multiplier=multiplier).open(np.random.default_rng([seed, 2]))
        moments = adassp.release(train, squared, multiplier, budget)
        found = adassp.read(moments, 0.02)
        variance = adassp.residual_variance(found, adassp.counted(moments, n))
        out.append(best - log_likelihood(found, variance, *test))
    return out


def main() -> None:
    rules = [adassp.ClipRule(m, part) for m, part in itertools.product(MARGINS, NOISE_PARTS)]
    overall = np.zeros(len(rules))
    for half_width, epsilon in itertools.product((math.inf, DEVIATIONS), EPSILONS):
        mean = np.mean([losses(d, half_width, rules, epsilon, k) for k, d in enumerate(DESIGNS)], axis=0)
        overall += mean / (2 * len(EPSILONS))
        show(f"{'box' if math.isfinite(half_width) else 'standardised'}, epsilon {epsilon:g}", mean)
    show("all", overall)
    print("smallest:", rules[int(np.argmin(overall))])


def show(title: str, mean: np.ndarray) -> None:
    """Mean losses, a line a margin, a column a noise part."""
    print(f"{title}; noise part {', '.join(f'{p:g}' for p in NOISE_PARTS)}")
    for margin, line in zip(MARGINS, mean.reshape(len(MARGINS), -1), strict=True):
        print(f"  margin {margin:<4g}", " ".join(f"{v:.4f}" for v in line), flush=True)


if __name__ == "__main__":
    main()
