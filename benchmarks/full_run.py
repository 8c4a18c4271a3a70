"""Seconds of fits of a full run by the code of an earlier checkout and by this one, in pairs on one machine.

    python -m benchmarks.full_run FOLDER [benchmarks/reference/full_run.csv] [--share 0.9] [--results results]

FOLDER is the earlier checkout. RESULTS has the data sets, as a run writes them. A group is a method on a
data set in an experiment. Groups are taken by their committed hours, largest first, until ``--share`` of all hours is
covered. In each group the cell whose seconds are the median is fitted on its first splits, for about a second. The two
checkouts fit at the same moment in two processes, so a busy machine slows both. Use two cores or more. The seconds do
not include compilation.

Committed hours of two dates cannot be compared, because they are of different machines. The ratios of this table can.

The table is written after each group, and the same command resumes. Columns:

* experiment, dataset, method, cell, splits
* before, now : seconds of the splits by each checkout; empty if it has no such cell
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from datasets.files import ROOT, write_csv
from workflow.committed import Reference
from workflow.experiments import Cell, cells
from workflow.papers import experiments

KEYS = ["experiment", "dataset", "protocol", "method", "setting"]
GROUP = ["experiment", "dataset", "method"]
COLUMNS = [*GROUP, "cell", "splits", "before", "now"]
#: seconds of fits per group, at least one split and at most MOST
WANTED, MOST = 1.0, 10
#: runs in either checkout, so it calls only what both have; prints the seconds of the splits, or null
FIT = """
import dataclasses, json, sys
from pathlib import Path
sys.path.insert(0, ".")
if __name__ == "__main__":
    from workflow.cell import run
    from workflow.experiments import cells
    wanted, data, out = json.loads(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    splits, path = wanted.pop("splits"), Path(wanted.pop("path"))
    there = cells(path, "full") if path.exists() else []
    same = [c for c in there if all(getattr(c, k) == v for k, v in wanted.items())]
    if len(same) == 1:
        cell = dataclasses.replace(same[0], splits=splits)
        run([cell], data, out)
        fits = json.loads((out / "fits" / f"{cell.id}.json").read_text())["splits"]
    print("seconds", json.dumps(sum(f["seconds"] for f in fits) if len(same) == 1 else None))
"""


def groups(reference: Reference, share: float) -> list[tuple[Cell, float, float]]:
    """(the median cell, its committed seconds per split, hours of its group) of the largest groups, by hours."""
    found: dict[tuple[str, str, str], list[tuple[float, Cell]]] = {}
    for name, path in experiments().items():
        seconds = reference.seconds(name)
        for cell in cells(path, "full"):
            if cell.id in seconds:
                found.setdefault((name, cell.dataset, cell.method), []).append((seconds[cell.id], cell))
    rows = []
    for group in found.values():
        took, cell = sorted(group, key=lambda row: (row[0], row[1].id))[(len(group) - 1) // 2]
        rows.append((cell, took, sum(t * c.splits for t, c in group) / 3600))
    rows.sort(key=lambda row: -row[2])
    total, covered, out = sum(row[2] for row in rows), 0.0, []
    for row in rows:
        if covered >= share * total:
            break
        out.append(row)
        covered += row[2]
    return out


def pair(roots: Sequence[Path], cell: Cell, splits: int, data: Path) -> list[float | None]:
    """Seconds of the first ``splits`` of a cell in each checkout, at the same moment; None if it is not there."""
    wanted: dict[str, Any] = {k: getattr(cell, k) for k in KEYS} | {"splits": splits}
    path = experiments()[cell.experiment].relative_to(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for k, root in enumerate(roots):
            asked = json.dumps(wanted | {"path": str(path)})
            call = [sys.executable, "-c", FIT, asked, str(data.resolve()), f"{folder}/{k}"]
            running.append(subprocess.Popen(call, cwd=root, stdout=subprocess.PIPE, text=True))
        said = [child.communicate()[0] for child in running]
    if failed := next((child for child in running if child.returncode), None):
        raise RuntimeError(f"{cell.id}: a fit ended with {failed.returncode}; the lines above say why")
    return [json.loads(text.rsplit("seconds ", 1)[1]) for text in said]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "benchmarks/reference/full_run.csv")
    parser.add_argument("--share", type=float, default=0.9, help="of the committed hours (default: 0.9)")
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="folder of a run with the data sets")
    args = parser.parse_args()
    known = pd.read_csv(args.out, dtype=str, keep_default_na=False).to_dict("records") if args.out.is_file() else []
    for cell, took, _ in groups(Reference(), args.share):
        if (cell.experiment, cell.dataset, cell.method) in {tuple(row[k] for k in GROUP) for row in known}:
            continue
        data = args.results / "data" / f"{cell.dataset}.npz"
        if not data.is_file():
            sys.exit(f"{data} is missing; make it: ./bench --cores 1 {data}")
        splits = max(1, min(cell.splits, MOST, math.ceil(WANTED / max(took, 1e-3))))
        before, now = ("" if t is None else f"{t:.4g}" for t in pair((args.before, ROOT), cell, splits, data))
        group = [cell.experiment, cell.dataset, cell.method, cell.id, splits, before, now]
        known.append(dict(zip(COLUMNS, group, strict=True)))
        write_csv(args.out, pd.DataFrame(known, columns=COLUMNS))
        print(*group, flush=True)


if __name__ == "__main__":
    main()
