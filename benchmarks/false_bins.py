"""What the range release's rate of false bins costs: strikes, widths and lost rows, on synthetic rows alone.

    python -m benchmarks.false_bins            # print the table
    python -m benchmarks.false_bins --commit   # write it to benchmarks/reference/false_bins.csv

``privacy.scaling.private_ranges`` takes a bin of magnitude for occupied where its noisy count is above what an empty
one reaches with probability ``rate`` over all bins and columns, or ``far_rate`` where it lies further than ``near``
bins from the certain ones. A false bin widens a range by powers of two, and the noise of the moments grows with it; one
lower rate for all hides bins that are occupied. The suite's rule is the first of each group. Columns are normal,
log-normal, uniform on [0, 1] or small counts (Poisson, mean 2), in turn, ten inputs. A tenth of mu squared of
(epsilon, 1e-5) is spent as in ``methods._shared.frames``, half of it here. Over ``NOISES`` noises on the same rows:

* ``struck``: share of the releases in which a column's range reaches more than one bin beyond its largest value;
* ``width_if_struck``: largest ratio of such a range to that of the same column without noise, median;
* ``hidden``: share of the columns that get the widest range, because the noise hides every bin;
* ``outside``: share of the rows' values that lie outside their range and are clipped.

No data set of the suite is read.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import itertools
import math
import os
import sys
from pathlib import Path
from unittest.mock import patch

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd

from datasets.files import write_csv
from methods._shared.frames import SHARE
from privacy import scaling
from privacy.budget import BudgetSpec

DELTA, COLUMNS, NOISES = 1e-5, 10, 1000
EPSILONS = (0.1, 1.0, 8.0)
ROWS = (1500, 10_000, 40_000)
#: rate, rate of far bins, how many bins are near; from the second to the fourth one rate for all
RULES = (
    (scaling.FALSE_BIN, scaling.FAR_FALSE_BIN, scaling.NEAR),
    (0.05, 0.05, 0),
    (0.01, 0.01, 0),
    (0.001, 0.001, 0),
    (0.05, 0.001, 1),
    (0.05, 0.001, 4),
    (0.05, 0.0001, 2),
)
LAWS = (
    lambda rng, n: rng.standard_normal(n),
    lambda rng, n: np.exp(rng.standard_normal(n)),
    lambda rng, n: rng.uniform(0.0, 1.0, n),
    lambda rng, n: rng.poisson(2.0, n).astype(float),
)
TABLE = Path(__file__).parent / "reference" / "false_bins.csv"
WIDEST = 2.0 ** scaling.EXPONENTS[1]


def rows(n: int, seed: int) -> np.ndarray:
    """(n, COLUMNS)."""
    rng = np.random.default_rng([seed, n])
    return np.column_stack([LAWS[j % len(LAWS)](rng, n) for j in range(COLUMNS)])


def found(values: np.ndarray, counts: np.ndarray, epsilon: float, rule: tuple, seed: int) -> np.ndarray:
    """Bought ranges (columns, 2) by one noise; ``counts``: ``range_counts`` of the values, computed once."""
    budget = BudgetSpec(epsilon=epsilon, delta=DELTA).open(
        np.random.default_rng([seed, len(values), int(10 * epsilon)])
    )
    each = scaling.scaling_noise_multiplier(epsilon, DELTA, SHARE) * math.sqrt(2.0)
    told = dict(zip(("FALSE_BIN", "FAR_FALSE_BIN", "NEAR"), rule, strict=True))
    with patch.multiple(scaling, range_counts=lambda _: counts.copy(), **told):
        return np.array(scaling.private_ranges(values, len(values), budget, each))


def summary(n: int, epsilon: float, rule: tuple, noises: int = NOISES) -> dict[str, float]:
    values = rows(n, 0)
    counts, most = scaling.range_counts(values), np.abs(values).max(axis=0)
    reach = 2.0 ** (np.floor(np.log2(most)) + 1.0)  # the end of the bin of the largest value
    struck, widths, hidden, outside = 0, [], [], []
    for seed in range(noises):
        low, high = found(values, counts, epsilon, rule, seed).T
        ends = np.maximum(np.abs(low), np.abs(high))
        seen = ends < WIDEST
        beyond = np.where(seen, ends / reach, 0.0)
        # the rule that widens a range by a bin at each end is no strike
        if (hit := beyond[beyond > 2.0]).size:
            struck += 1
            widths.append(hit.max())
        hidden.append(1.0 - seen.mean())
        outside.append(np.mean((values < low) | (values > high)) if seed < 20 else np.nan)
    median = float(np.median(widths)) if widths else math.nan
    told = {"struck": struck / noises, "width_if_struck": median, "hidden": np.mean(hidden)}
    return {**told, "outside": float(np.nanmean(outside))}


def table(sizes=ROWS, epsilons=EPSILONS, rules=RULES, noises: int = NOISES) -> pd.DataFrame:
    """One row a size, epsilon and rule."""
    out = []
    for n, epsilon, rule in itertools.product(sizes, epsilons, rules):
        told = {k: f"{v:.4g}" for k, v in summary(n, epsilon, rule, noises).items()}
        out.append(
            {"rows": n, "epsilon": epsilon, **dict(zip(("rate", "far_rate", "near"), rule, strict=True)), **told}
        )
        print(*out[-1].values(), flush=True)
    return pd.DataFrame(out)


def main() -> None:
    made = table()
    if "--commit" in sys.argv[1:]:
        write_csv(TABLE, made)


if __name__ == "__main__":
    main()
