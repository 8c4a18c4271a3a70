"""The published numbers of the source in one layout, with the digits that the authors committed.

``published.csv`` with ``annotations.csv`` has the means over folds, including those on GDSC. ``thresholds.csv`` has the
clipping multiples, of which those of the simulated half are judged. ``budget_grid.csv`` has two grids of budget splits,
of which the one in the authors' plot is judged. Each becomes rows with the suite's six keys.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from workflow.published import KEY, read, table

HERE = Path(__file__).parent
SOURCE, SEARCH = "honkela2018robust", "honkela_search"
MULTIPLES = {"multiples_A": "synth_A", "multiples_B": "synth_B"}
SPLITS = "splits"
COLUMNS = [*KEY, "mean", "std", "n_published", "note"]


@cache
def numbers(folder: Path = HERE) -> pd.DataFrame:
    """One row per published number, as strings: the six keys, mean, std, n_published, note."""
    return pd.DataFrame([*read(folder), *multiples(folder), *splits(folder)])[COLUMNS]


def multiples(folder: Path = HERE) -> list[dict[str, str]]:
    """The clipping multiples that were searched on the simulated half, two numbers per setting."""
    rows = table(folder / "thresholds.csv", ["table", "n", "d", "epsilon", "omega_x", "omega_y"])
    out = []
    for name, of in MULTIPLES.items():
        for row in rows:
            if row["table"] == of and row["n"] != "0":  # without private rows nothing is searched
                key = {"source": SOURCE, "table": name, "dataset": SEARCH,
                       "setting": f"epsilon={row['epsilon']};n={row['n']}", "metric": "clipping_multiple"}  # fmt: skip
                out += [key | {"method": w, "mean": row[w], "std": "", "n_published": "1", "note": ""}
                        for w in ("omega_x", "omega_y")]  # fmt: skip
    return out


def splits(folder: Path = HERE) -> list[dict[str, str]]:
    rows = table(folder / "budget_grid.csv", ["grid", "p1_XX", "p2_Xy", "p3_yy", "spearman", "n_runs"])
    return [
        {"source": SOURCE, "table": SPLITS, "dataset": SEARCH, "method": "rplr", "metric": "spearman",
         "setting": f"epsilon=2;n=500;p1={row['p1_XX']};p2={row['p2_Xy']}", "mean": row["spearman"], "std": "",
         "n_published": row["n_runs"], "note": "mean over 5 simulated data sets with 5 noises each"}
        for row in rows if row["grid"] == "plotted"
    ]  # fmt: skip


def fields(setting: str) -> dict[str, float]:
    """Numbers of a setting such as ``epsilon=2;n=100``."""
    return {k: float(v) for k, _, v in (part.partition("=") for part in setting.split(";"))}


def private_rows(setting: str) -> int:
    return int(fields(setting)["n"])


@cache
def multiples_of(folder: Path = HERE) -> dict[tuple[float, int], tuple[float, float]]:
    """(epsilon, n) -> the committed multiples of the simulated half, which its fits use."""
    rows = table(folder / "thresholds.csv")
    return {
        (float(r["epsilon"]), int(r["n"])): (float(r["omega_x"]), float(r["omega_y"]))
        for r in rows
        if r["table"] in MULTIPLES.values() and r["n"] != "0"
    }
