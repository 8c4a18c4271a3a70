"""The two files of a private fit that may leave the machine.

    python -m workflow.release --results secret --list
    python -m workflow.release CELL SPLIT --results secret --out FOLDER

``posterior.npz`` holds the parameters of one posterior. ``guarantee.json`` holds the budget, the ledger, its epsilon,
and what that epsilon does not count. All other files of a run stay (docs/how-to/release-a-private-fit.md).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from datasets.files import write_json, write_npz
from privacy.ledger import Ledger
from privacy.release import GUARANTEE, POSTERIOR, ReleaseError, contents
from workflow import environment
from workflow.store import parameters_of, record_of_file

#: fields of a cell's record that were fixed before a row was read
ASKED = ("dataset", "method", "setting", "model", "settings", "budget")
#: delta of the epsilon if the budget states none
DELTA = 1e-5


def write_release(
    out: Path,
    kind: str,
    parameters: Mapping[str, np.ndarray],
    ledger: Ledger,
    delta: float,
    asked: Mapping[str, Any],
    leaks: Sequence[str] = (),
) -> list[Path]:
    """Write the files of one fit into the folder ``out``, which must be empty or new. Returns their paths.

    The other arguments are those of ``privacy.release.contents``. Raises what that raises, and ReleaseError for a
    folder that is not empty.
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ReleaseError(f"{out} is not an empty folder; name one that is empty or not there")
    arrays, words = contents(kind, parameters, ledger, delta, asked, leaks)
    write_npz(out / POSTERIOR, arrays)
    write_json(out / GUARANTEE, words)
    return [out / POSTERIOR, out / GUARANTEE]


def release(results: Path, cell: str, split: int, out: Path) -> list[Path]:
    """Write the files of one split of a cell of a run with secret noise; see :func:`write_release`.

    Raises ReleaseError for an unknown cell or split, public noise, a method without a guarantee, or a status that is
    not ok. Raises Damaged for damaged files.
    """
    from methods import contract

    path = Path(results) / "fits" / f"{cell}.json"
    if not path.is_file():
        raise ReleaseError(f"{path} is not there; `python -m workflow.release --results {results} --list` names cells")
    record = record_of_file(path)
    if record.get("noise") != environment.SECRET:
        raise ReleaseError(
            f"{cell}: its noise follows from public seeds, so no guarantee holds; run it with --config noise=secret"
        )
    row = next((r for r in record["splits"] if r["split"] == split), None)
    if row is None or row["status"] != "ok":
        told = "is not there" if row is None else f"has the status {row['status']}"
        raise ReleaseError(f"{cell}: split {split} {told}; choose one whose status is ok")
    model = record["model"]
    method = contract.get(record["method"], model.get("kind"))
    if method.privacy is None:
        raise ReleaseError(f"{record['method']} claims no guarantee; release the fit of a private method")
    scope = record["dataset"], model.get("kind"), model.get("scaling")
    leaks = [leak.sentence for leak in method.leaks if leak.applies(*scope)]
    events = Ledger.from_json([e | {"sensitivity": float(e["sensitivity"])} for e in row["ledger"]])
    asked = {name: record[name] for name in ASKED}
    with np.load(path.with_suffix(".npz")) as store:
        parameters = parameters_of(store, split)
    stated = record["budget"].get("delta")
    delta = DELTA if stated is None else float(stated)
    return write_release(out, row["posterior_kind"], parameters, events, delta, asked, leaks)


def listed(results: Path) -> list[str]:
    """Cells of a run with secret noise, each with its splits whose status is ok."""
    out = []
    for path in sorted((Path(results) / "fits").glob("*.json")):
        record = record_of_file(path)
        splits = [r["split"] for r in record["splits"] if r["status"] == "ok"]
        if record.get("noise") == environment.SECRET and splits:
            out.append(f"{path.stem} {' '.join(map(str, splits))}")
    return out


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.release", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cell", nargs="?", help="id of a cell")
    parser.add_argument("split", nargs="?", type=int, help="number of one of its splits")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the run")
    parser.add_argument("--out", type=Path, help="an empty folder, or one that is not there")
    parser.add_argument("--list", action="store_true", help="print the cells with secret noise, and their splits")
    options = parser.parse_args(argv)
    if options.list:
        print("\n".join(listed(options.results)))
        return 0
    if options.split is None or options.out is None:
        parser.error("name a cell, a split and --out FOLDER, or ask with --list")
    try:
        paths = release(options.results, options.cell, options.split, options.out)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    guarantee = json.loads(paths[-1].read_text(encoding="utf-8"))
    print(f"release: {', '.join(map(str, paths))}: epsilon {guarantee['epsilon']:.4g} at delta {guarantee['delta']:g}")
    print("release: the epsilons of all releases about the same rows add up; publish one of them")
    for sentence in guarantee["not counted"]:
        print(f"release: not counted: {sentence}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
