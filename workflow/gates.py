"""The gate against ourselves: recompute a fixed sample of cells and compare with the committed reference.

    python -m workflow.gates check                 recompute and compare; exit 1 when a number moved outside its band
    python -m workflow.gates one-epoch --write     write reports/reference/one_epoch.csv anew

The gate against the papers is `python -m reports.build check`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import yaml

from workflow.experiments import Cell, cells
from workflow.files import write_text
from workflow.imports import ROOT

REFERENCE = ROOT / "reports" / "reference"


def samples() -> list[dict]:
    """The samples of config/gates.yaml, each with the settings that all share."""
    config = yaml.safe_load((ROOT / "config/gates.yaml").read_text(encoding="utf-8"))
    shared = {k: v for k, v in config.items() if k != "samples"}
    return [shared | one for one in config["samples"]]


def sample(gate: dict) -> list[Cell]:
    """The first cell of every method on a sample's data set, at full scale, less those left out with a reason."""
    found: dict[str, Cell] = {}
    for cell in cells(f"config/experiments/{gate['experiment']}.yaml", "full"):
        if cell.dataset == gate["dataset"] and cell.method not in gate["left_out"]:
            found.setdefault(cell.method, cell)
    return list(found.values())


def scores(cell: Cell, splits: int, data_path: str) -> dict[tuple[int, str], float]:
    """Fit and score the first splits of a cell: {(split, metric): value}; a failed split gives (split, status): nan."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    import datasets
    from workflow.draws import of_split
    from workflow.record import parameter_file
    from workflow.score import score_draws, score_split
    from workflow.worker import failure, fit, make_task

    data = datasets.load(data_path)
    if data.status != "ok":
        raise SystemExit(f"gate: {data.reason}")
    method = cell.adapter()
    settings = cell.build_settings()
    wanted = list(range(min(splits, cell.splits)))
    out: dict[tuple[int, str], float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        tasks = [make_task(cell, data, k) for k in wanted]
        if method.supports(tasks[0]) is not None:
            return {(k, "not_supported"): math.nan for k in wanted}
        method.prepare(tasks[0], settings)
        for k, task in zip(wanted, tasks, strict=True):
            try:
                # One thread, as in a cell: the order of summation is part of the numbers.
                with np.errstate(all="ignore"), threadpool_limits(1):
                    ((_, row),) = fit(method, [(cell, k)], {k: task}, settings, 0.0, Path(scratch))
            except Exception as e:
                row = failure(cell, k, e)
            if row["status"] != "ok":
                out[k, row["status"]] = math.nan
                continue
            with np.load(Path(scratch) / parameter_file(cell.id, k)) as z:
                fitted = cell, k, row["posterior_kind"], {n: z[n] for n in z.files}, data
            values = score_draws(cell, k, of_split(*fitted), data) if cell.drawn else score_split(*fitted)
            out.update({(k, m): float(v) for m, (v, _) in values.items()})
    return out


def committed(gate: dict) -> list[dict]:
    from reports import compact

    try:
        rows = compact.read(REFERENCE, gate["experiment"])
    except (FileNotFoundError, ValueError) as e:
        raise SystemExit(f"gate: {e}") from None
    return rows[rows["dataset"] == gate["dataset"]].to_dict("records")


def check(data: Path) -> int:
    """Number of cells outside their band, each said on a line of its own. ``data``: folder of the npz files."""
    every = samples()
    recomputed, bad, smallest = 0, 0, []
    for gate in every:
        path = str(data / f"{gate['dataset']}.npz")
        done, wrong = check_sample(gate, path, smallest) if gate["splits"] else (0, 0)
        more, worse = check_one_epoch(gate, path) if gate.get("one_epoch") else (0, 0)
        recomputed, bad = recomputed + done + more, bad + wrong + worse
    if smallest:
        widest = max(smallest)
        print(
            f"gate: smallest relative shift that every comparison would see: {widest[0]:.2g} ({widest[1]}, {widest[2]})"
        )
    print(f"gate: recomputed {recomputed} cells, {bad} outside their band")
    return bad if recomputed else 1


def check_sample(gate: dict, data_path: str, smallest: list) -> tuple[int, int]:
    """Cells recomputed and comparisons outside their band, of one sample; ``smallest`` collects relative bands."""
    reference = committed(gate)
    recomputed = bad = 0
    for cell in sample(gate):
        mine = [r for r in reference if r["cell"] == cell.id]
        if not mine:
            print(f"gate: {cell.id}: not in the committed reference; run the full scale and commit it")
            bad += 1
            continue
        if any(r["status"] == "no_data" for r in mine):
            print(f"gate: {cell.id}: the reference says no_data, but the data is here")
            bad += 1
            continue
        recomputed += 1
        for (k, metric), value in scores(cell, gate["splits"], data_path).items():
            row = [r for r in mine if r["split"] == str(k) and (r["metric"] or r["status"]) == metric]
            if not row:
                print(f"gate: {cell.id}: split {k} now ends as '{metric}'; the reference has something else")
                bad += 1
                continue
            if math.isnan(value):
                continue
            old = float(row[0]["value"])
            band, how = _band(cell, metric, old, mine, gate)
            smallest.append((band / (abs(old) or 1.0), cell.method, metric))
            if not abs(value - old) <= band:
                print(f"gate: {cell.id}: split {k} {metric} is {value!r}, was {old!r}; allowed {band:.3g} ({how})")
                bad += 1
    return recomputed, bad


def check_one_epoch(gate: dict, data_path: str) -> tuple[int, int]:
    """The same for a sample's ``one_epoch`` methods after one epoch, against ``one_epoch.csv``."""
    golden = REFERENCE / "one_epoch.csv"
    if not golden.exists():
        print(f"gate: {golden.relative_to(ROOT)} is missing; `python -m workflow.gates one-epoch --write` makes it")
        return 0, 1
    recomputed = bad = 0
    with open(golden, newline="", encoding="utf-8") as f:
        old_rows = {(r["method"], r["metric"]): float(r["value"]) for r in csv.DictReader(f)}
    for key, value in one_epoch(gate, data_path).items():
        recomputed += 1
        if key not in old_rows:
            print(f"gate: one epoch of {key[0]}: {key[1]} is not in {golden.name}")
            bad += 1
        elif not abs(value - old_rows[key]) <= gate["tolerance"]["one_epoch"] * max(1.0, abs(old_rows[key])):
            print(f"gate: one epoch of {key[0]}: {key[1]} is {value!r}, was {old_rows[key]!r}")
            bad += 1
    return recomputed, bad


def _band(cell: Cell, metric: str, old: float, mine: list[dict], gate: dict) -> tuple[float, str]:
    if cell.method in gate["closed_form"]:
        return gate["tolerance"]["closed_form"] * max(1.0, abs(old)), "closed form"
    if "band" in gate and cell.method not in gate["chaotic"]:
        return gate["band"] * max(1.0, abs(old)), "not chaotic"
    values = [float(r["value"]) for r in mine if r["metric"] == metric]
    n = len(values)
    mean = math.fsum(values) / n
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / max(n - 1, 1))
    return gate["tolerance"]["standard_errors"] * sd / math.sqrt(n), "half a standard error"


def one_epoch(gate: dict, data_path: str) -> dict[tuple[str, str], float]:
    """Scores of the ``one_epoch`` methods on split 0 after one epoch: too early for chaos, so a small change shows."""
    out = {}
    for cell in sample(gate):
        if cell.method in gate["one_epoch"]:
            short = tuple((k, 1 if k == "epochs" else v) for k, v in cell.settings)
            for (_, metric), value in scores(replace(cell, settings=short), 1, data_path).items():
                out[cell.method, metric] = value
    return out


def write_one_epoch(found: dict[tuple[str, str], float]) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["method", "metric", "value"])
    for (method, metric), value in sorted(found.items()):
        writer.writerow([method, metric, repr(value)])
    write_text(REFERENCE / "one_epoch.csv", buffer.getvalue())


def no_data_cells(fits: Path, data: Path) -> list[str]:
    """Cells that say no_data although their data set is there."""
    import datasets

    wrong = []
    for path in sorted(fits.glob("*.json")):
        record = json.loads(path.read_text())
        if any(r["status"] == "no_data" for r in record["splits"]):
            npz = data / f"{record['dataset']}.npz"
            if npz.exists() and datasets.load(npz).status == "ok":
                wrong.append(record["cell"])
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "one-epoch", "no-data"])
    parser.add_argument("--write", action="store_true", help="one-epoch: write the committed file")
    parser.add_argument("--results", default=ROOT / "results", type=Path)
    args = parser.parse_args()
    if args.what == "check":
        sys.exit(1 if check(args.results / "data") else 0)
    if args.what == "no-data":
        wrong = no_data_cells(args.results / "fits", args.results / "data")
        for cell in wrong:
            print(f"gate: {cell} says no_data, but its data is there; run it again with ./bench --forcerun fit")
        sys.exit(1 if wrong else 0)
    found: dict[tuple[str, str], float] = {}
    for gate in samples():
        if gate.get("one_epoch"):
            found |= one_epoch(gate, str(args.results / "data" / f"{gate['dataset']}.npz"))
    if args.write:
        write_one_epoch(found)
    else:
        for (method, metric), value in sorted(found.items()):
            print(method, metric, repr(value))


if __name__ == "__main__":
    main()
