"""The published numbers of the source, its single runs, and the releases from which they are computed.

``published.csv`` with ``annotations.csv`` has 2,681 numbers at full precision. Numbers that repeat another, and
timings, are not counted. ``single_runs.csv.gz`` has the runs behind the means. ``history.csv`` and
``history_runs.csv.gz`` have those of an earlier commit of the authors' code. ``releases.csv`` has every noisy release.
``second_noise.csv`` has the noise that the authors' code of DP-DA-MCMC adds to it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from workflow.published import KEY, read

HERE = Path(__file__).parent
SOURCE = "chen2025dppf"
REAL = "real_data"
PARTICLES, CHAINS = ("pf_conj", "pf_nonconj"), ("mcmc_conj", "mcmc_nonconj")
FIXED, POOLED = ("pf_fixed_conj", "pf_fixed_nonconj"), "tab_nonconj"
#: the true parameters of the simulated rows.
TRUTH = {"mu": 1.0, "phi": 1.0, "tau": 1.0, "beta0": 0.0, "beta1": 2.0, "theta2": 1.0}


@cache
def numbers(folder: Path = HERE) -> pd.DataFrame:
    """One row per published number that is neither a copy nor a timing, as strings: the six keys, values and notes."""
    rows = [r for r in read(folder) if not r["same_as"] and not r["metric"].startswith("seconds")]
    return pd.DataFrame(rows)


@cache
def _runs() -> pd.DataFrame:
    return pd.read_csv(HERE / "single_runs.csv.gz", dtype={"setting": str})


@cache
def runs_by_key() -> dict[tuple[str, str, str], pd.Series]:
    """(table, setting, metric) -> values by run number."""
    return {k: g.set_index("run")["value"] for k, g in _runs().groupby(["table", "setting", "metric"], sort=False)}


def runs_of(table: str, setting: str, metric: str) -> np.ndarray:
    """The published single runs that have a value, in the order of their numbers; (N,)."""
    return runs_by_key()[table, setting, metric].sort_index().dropna().to_numpy()


def fields(setting: str) -> dict[str, str]:
    """Values of a setting such as ``epsilon=2;n=100;prior=heavy``, by name."""
    return dict(part.split("=") for part in setting.split(";"))


@cache
def releases() -> pd.DataFrame:
    """``releases.csv`` as numbers."""
    return pd.read_csv(HERE / "releases.csv")


def release(dataset: str, epsilon: float, n: int, history: bool = False) -> np.ndarray:
    """The released numbers: sums (5,) of y, xy, yy, x, xx, or (2,) of x, xx.

    ``history``: the releases of seed 1 at n = 400, which only the earlier commit used. Raises ValueError if there is
    none.
    """
    f = releases()
    found = f[(f["dataset"] == dataset) & (f["epsilon"] == epsilon) & (f["n"] == n)]
    found = found[found["used_by"].str.startswith("history") == history]
    if len(found) != 1:
        raise ValueError(
            f"releases.csv: {len(found)} releases of {dataset} at epsilon {epsilon:g}, n {n}; there is one"
        )
    return found.filter(like="released_").iloc[0].dropna().to_numpy(dtype=np.float64)


@cache
def second_noise() -> np.ndarray:
    """Standard Laplace numbers (100, 5) that run k = 1, .., 100 of DP-DA-MCMC adds to (y, xy, yy, x, xx)."""
    f = pd.read_csv(HERE / "second_noise.csv").set_index("run").sort_index()
    return f.filter(like="laplace_").to_numpy(dtype=np.float64)


@cache
def extra_row() -> np.ndarray:
    """Mask (100,) of the runs of DP-DA-MCMC that start with one more row."""
    return (pd.read_csv(HERE / "second_noise.csv").set_index("run").sort_index()["rows_at_start"] == "n+1").to_numpy()


__all__ = ["KEY", "SOURCE", "TRUTH", "fields", "numbers", "release", "releases", "runs_of", "second_noise"]
