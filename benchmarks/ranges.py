"""Privately estimated ranges compared with those of OpenDP and SmartNoise: failures and widths at equal budget.

    pip install '.[discrete]' -c constraints.txt
    python -m benchmarks.ranges             # print the table: six CPU minutes
    python -m benchmarks.ranges --commit    # write benchmarks/reference/ranges.csv

Each table has ``COLUMNS`` synthetic columns of one shape, each with a random scale and sign. Every way estimates one
range per column, and all its releases compose to one Gaussian release with the same mu (Gaussian DP). This mu is what a
fit at epsilon = 1 and delta = 1e-5 spends on ranges at the default share of ``methods._shared.frames``. Pure epsilons
are converted by concentrated DP: rho = mu^2 / 2 in total, rho = epsilon^2 / 2 per Laplace histogram. OpenDP calibrates
its own mechanism to rho.

* ``this suite``: ``privacy.ranges.private_bounds``.
* ``2^-20 to 2^20``: ``privacy.scaling.private_ranges``, which the committed experiments use.
* ``opendp``: ``make_private_quantile`` for the quantiles .05 and .95, with zero and the signed powers of 2 of all
  doubles as candidates. It takes one quantile per call, so each column takes two.
* ``smartnoise``: ``approx_bounds`` of smartnoise-sql 1.0.10, which its scalers use. Its rule is written here again
  (:func:`smartnoise`), with noise in double precision.

``failed``: fraction of columns without a range, or with a range that has fewer than 80 % of the rows, or that is more
than ``FAR`` times as wide as the middle 90 % of the rows. ``hidden``: fraction without a range, part of the former.
``width``: median width over that of the middle 90 % of the rows, of columns that did not fail. Intervals are 95 %
(Clopper and Pearson) over columns, which share the noise of a table's first release only in its size.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from datasets.files import write_csv
from methods._shared.frames import SHARE
from privacy import ranges, scaling
from privacy.budget import BudgetSpec

COLUMNS, TABLES, DELTA, FAR = 10, 5, 1e-5, 100.0
SIZES, EPSILON = (500, 2000, 20_000), 1.0
TABLE = Path(__file__).parent / "reference" / "ranges.csv"
#: shape -> (rows, rng) -> a column of scale 1
SHAPES = {
    "normal": lambda n, rng: rng.normal(0, 1, n),
    "uniform above 0": lambda n, rng: rng.random(n),
    "exponential": lambda n, rng: rng.exponential(1, n),
    "log-normal": lambda n, rng: rng.lognormal(0, 1.5, n),
    "normal, mean 1e4": lambda n, rng: rng.normal(1e4, 1, n),
    "0 and 1": lambda n, rng: (rng.random(n) < 0.3).astype(float),
    "scale 2^100": lambda n, rng: 2.0**100 * rng.normal(0, 1, n),
}
Pairs = list[tuple[float, float] | None]


def suite(values: np.ndarray, mu: float, rng: np.random.Generator) -> Pairs:
    """The ranges of this suite."""
    # all releases but the one of moments, which makes no range, compose to mu
    whole = math.sqrt(1.0 - ranges.SHARES["moments"]) / mu
    found: Pairs = [None] * values.shape[1]
    bounds = ranges.private_bounds(values, len(values), BudgetSpec().open(rng), whole)
    for j, low, high in zip(bounds.seen, bounds.low, bounds.high, strict=True):
        found[j] = (low, high)
    return found


def histogram(values: np.ndarray, mu: float, rng: np.random.Generator) -> Pairs:
    """The ranges of the committed experiments."""
    found = scaling.private_ranges(values, len(values), BudgetSpec().open(rng), 1.0 / mu)
    widest = 2.0 ** scaling.EXPONENTS[1]
    return [None if pair == (-widest, widest) else pair for pair in found]


def smartnoise(values: np.ndarray, mu: float, rng: np.random.Generator) -> Pairs:
    """The ranges by the rule of SmartNoise: noisy counts of powers of 2 above a threshold, which falls if none is."""
    epsilon, bins = mu / math.sqrt(values.shape[1]), 64
    edges = np.concatenate([-(2.0 ** np.arange(bins - 1, -1, -1)), [0.0], 2.0 ** np.arange(bins)])
    found: Pairs = []
    for column in values.T:
        where = np.searchsorted(edges, np.clip(column, edges[0], np.nextafter(edges[-1], 0)), side="right") - 1
        noisy = np.bincount(where, minlength=2 * bins) + rng.laplace(0, 1 / epsilon, 2 * bins)
        above, failure = np.array([], int), 10e-9
        while not len(above) and failure <= 1 / (4 * bins):
            above = np.flatnonzero(noisy > -math.log(2 - 2 * (1 - failure) ** (1 / (2 * bins - 1))) / epsilon)
            failure *= 10
        found.append((edges[above[0]], edges[above[-1] + 1]) if len(above) else None)
    return found


@cache
def quantile(alpha: float, rho: float) -> Callable:
    """OpenDP's private quantile with this cost in concentrated DP."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    powers = [math.ldexp(1.0, k) for k in range(-1074, 1024)]
    candidates = [*(-p for p in reversed(powers)), 0.0, *powers]
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    return dp.binary_search_chain(
        lambda s: dp.m.make_private_quantile(*space, dp.zero_concentrated_divergence(), candidates, alpha, s),
        d_in=1,
        d_out=rho,
    )


def opendp(values: np.ndarray, mu: float, rng: np.random.Generator) -> Pairs:
    """The ranges by OpenDP's private quantiles. Its noise does not follow from ``rng``."""
    rho = mu**2 / 2 / (2 * values.shape[1])
    low, high = quantile(0.05, rho), quantile(0.95, rho)
    pairs = [(low(c.tolist()), high(c.tolist())) for c in values.T]
    return [pair if pair[0] < pair[1] else None for pair in pairs]


WAYS = {"this suite": suite, "2^-20 to 2^20": histogram, "opendp": opendp, "smartnoise": smartnoise}


def judged(values: np.ndarray, pairs: Pairs) -> list[tuple[bool, bool, float]]:
    """Per column: whether it is hidden, whether it failed, and its relative width."""
    out = []
    for column, pair in zip(values.T, pairs, strict=True):
        if pair is None:
            out.append((True, True, math.nan))
            continue
        inner = float(np.diff(np.quantile(column, [0.05, 0.95]))[0])
        width = (pair[1] / 2 - pair[0] / 2) / inner * 2  # the ends may be the largest doubles
        covered = np.mean((column >= pair[0]) & (column <= pair[1]))
        out.append((False, bool(covered < 0.8 or width > FAR), width))
    return out


def measured(ways: dict, tables: int = TABLES) -> pd.DataFrame:
    """The table of the benchmark."""
    rows, mu = [], 1.0 / scaling.scaling_noise_multiplier(EPSILON, DELTA, SHARE)
    for n in SIZES:
        for i, (shape, draw) in enumerate(SHAPES.items()):
            for name, way in ways.items():
                found = []
                for t in range(tables):
                    rng = np.random.default_rng([i, n, t])  # every way gets the same tables
                    scales = 2.0 ** rng.uniform(-10, 10, COLUMNS) * rng.choice([-1, 1], COLUMNS)
                    values = np.column_stack([s * draw(n, rng) for s in scales])
                    if shape == "0 and 1":
                        values = (values != 0).astype(float)
                    found += judged(values, way(values, mu, rng))
                rows.append(summary(n, shape, name, *(np.array(v) for v in zip(*found, strict=True))))
    return pd.DataFrame(rows)


def summary(n: int, shape: str, way: str, hidden: np.ndarray, failed: np.ndarray, width: np.ndarray) -> dict:
    """One row of the table."""
    from scipy.stats import beta

    k, m = int(failed.sum()), len(failed)
    low = 0.0 if k == 0 else beta.ppf(0.025, k, m - k + 1)
    high = 1.0 if k == m else beta.ppf(0.975, k + 1, m - k)
    middle = np.median(width[~failed]) if k < m else math.nan
    return {
        "rows": n, "shape": shape, "way": way, "columns": m,
        "failed": f"{k / m:.3f}", "low": f"{low:.3f}", "high": f"{high:.3f}", "hidden": f"{hidden.mean():.3f}",
        "width": "" if math.isnan(middle) else f"{middle:.3g}",
    }  # fmt: skip


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", action="store_true")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    args = parser.parse_args(argv)
    table = measured({name: WAYS[name] for name in args.ways})
    print(table.to_string(index=False))
    if args.commit:
        write_csv(TABLE, table)


if __name__ == "__main__":
    main()
