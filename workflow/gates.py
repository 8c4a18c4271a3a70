"""The gates against ourselves: recompute samples of the committed reference and compare.

    python -m workflow.gates check                 a small sample of every pair (experiment, method): the first split
    python -m workflow.gates check --changed       pairs whose code changed since it was verified: first, last and one
                                                   rotating split at the smallest and largest budget; what agrees moves
                                                   on in reports/reference/verified.csv, what does not is stale there
    python -m workflow.gates status                which pairs are verified, stale or not verified, and why
    python -m workflow.gates short-runs --write    write reports/reference/short_runs.csv anew
    python -m workflow.gates no-data               cells of this run that say no_data although their data is there

``check`` exits with 1 where a number left its band (config/gates.yaml), and where it compared none. ``--only
EXPERIMENT`` or ``--only EXPERIMENT/METHOD`` limits it. The gate against the papers is `python -m reports.build check`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from datasets.files import ROOT
from workflow import check, closure, reverify, verified
from workflow.verified import Pair


def status() -> int:
    """Print every pair that is not verified; their number."""
    found = closure.states()
    rows = verified.read()
    for pair, state in found.items():
        if state != verified.VERIFIED:
            print(
                f"{'/'.join(pair)}: {state}"
                + (f" ({rows[pair]['reason']})" if rows.get(pair, {}).get("reason") else "")
            )
    left = sum(s != verified.VERIFIED for s in found.values())
    print(
        f"{len(found) - left} of {len(found)} pairs verified"
        + ("; `check --changed` recomputes the others" * bool(left))
    )
    return left


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


def selected(pairs: Iterable[Pair], only: Sequence[str]) -> list[Pair]:
    """The pairs that ``--only`` names. Exits where one of them names none."""
    every = list(pairs)
    for word in only:
        if not any(word in (e, f"{e}/{m}") for e, m in every):
            raise SystemExit(f"gate: --only {word}: no such EXPERIMENT or EXPERIMENT/METHOD; `status` lists them")
    return [(e, m) for e, m in every if not only or e in only or f"{e}/{m}" in only]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "status", "short-runs", "no-data"])
    parser.add_argument("--changed", action="store_true", help="check: only pairs whose code changed, larger samples")
    parser.add_argument("--only", action="append", default=[], metavar="EXPERIMENT[/METHOD]")
    parser.add_argument("--write", action="store_true", help="short-runs: write the committed file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--results", default=ROOT / "results", type=Path)
    args = parser.parse_args()
    if args.what == "no-data":
        wrong = no_data_cells(args.results / "fits", args.results / "data")
        for cell in wrong:
            print(f"gate: {cell} says no_data, but its data is there; run it again with ./bench --forcerun fit")
        sys.exit(1 if wrong else 0)
    if args.what == "status":
        sys.exit(1 if status() else 0)
    checker = check.Checker(args.results / "data", args.jobs)
    wanted = selected(checker.pairs, args.only)
    if args.what == "short-runs":
        if not args.write:
            parser.error("short-runs needs --write")
        check.say(f"{check.write_short_runs(checker, wanted)} pairs written to {check.SHORT_RUNS}")
        sys.exit(0)
    sys.exit(1 if (reverify.check_changed if args.changed else check.check)(checker, wanted) else 0)


if __name__ == "__main__":
    main()
