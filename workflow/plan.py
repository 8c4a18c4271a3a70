"""What a run will do and cost, said before it starts."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import datasets
from workflow import committed
from workflow.experiments import Cell, cells, experiment_files, families
from workflow.imports import ROOT

#: CPU seconds that a cell costs besides its fits: starting Python, importing, scoring, Snakemake's own share.
OVERHEAD_S = 3.0


def reference_seconds() -> dict[tuple, tuple[float, float]]:
    """Seconds a split and epochs that the committed reference took, by (experiment, dataset, method, setting)."""
    folder = ROOT / "reports/reference"
    sums: dict[tuple, list[float]] = defaultdict(list)
    for name in committed.experiments(folder):
        rows = committed.read(folder, name)
        # A split has a row for each metric, and one fit.
        for row in rows[rows["seconds"] != ""].drop_duplicates(["cell", "split"]).to_dict("records"):
            sums[row["experiment"], row["dataset"], row["method"], row["setting"]].append(float(row["seconds"]))
    return {k: sum(v) / len(v) for k, v in sums.items()}


def key_of(cell: Cell) -> tuple[str, str, str, str]:
    """What a cell is called at every scale."""
    return cell.experiment, cell.dataset, cell.method, cell.setting


def estimate(scale: str) -> tuple[list[Cell], float, int]:
    """Cells of a scale, CPU seconds, and how many cells the estimate knows nothing about."""
    known = reference_seconds()
    full = {key_of(c): dict(c.settings) for p in experiment_files() for c in cells(p, "full")}
    everything = [c for p in experiment_files() for c in cells(p, scale)]
    # Each reading of one run counts the whole run: together they cost as much as the dearest.
    one_run = {name for name, group in families(everything).items() if len({c.method for c in group}) > 1}
    alone, together, unknown = 0.0, defaultdict(float), 0
    for c in everything:
        cost, key = OVERHEAD_S, key_of(c)
        if key in known:
            cost += c.splits * known[key] * shorter(dict(c.settings), full.get(key, {}))
        else:
            unknown += 1
        if c.family in one_run:
            together[c.family] = max(together[c.family], cost)
        else:
            alone += cost
    return everything, alone + sum(together.values()), unknown


def shorter(mine: dict, full: dict) -> float:
    """How much less training than at full scale: the ratio of epochs, or of steps."""
    ratios = [mine[k] / full[k] for k in ("epochs", "steps") if mine.get(k) and full.get(k)]
    return ratios[0] if ratios else 1.0


def download_mb(names: set[str], results: Path) -> float:
    """Megabytes still to fetch."""
    mb = 0.0
    for name in names:
        if not (results / "data" / f"{name}.npz").exists():
            mb += sum(raw.megabytes for raw in datasets.get(name).raw)
    return mb


def describe(scale: str, cores: int = 2) -> str:
    """One paragraph: cells, time, download, and where the results will be."""
    todo, seconds, unknown = estimate(scale)
    there = sum((ROOT / "results/fits" / f"{c.id}.json").exists() for c in todo)
    mb = download_mb({c.dataset for c in todo}, ROOT / "results")
    text = f"bench: scale {scale}: {len(todo)} cells ({there} already there), up to {mb:.0f} MB to download; "
    text += f"about {max(1.0, seconds / 60 / cores):.0f} min on {cores} cores when none is there yet"
    if unknown:
        text += f" ({unknown} cells that the committed reference has no timing for count as their overhead only)"
    return text + ".\nResults: results/report/index.html and results/tables/."


if __name__ == "__main__":
    import sys

    print(describe(sys.argv[1] if len(sys.argv) > 1 else "full"))
