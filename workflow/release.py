"""The two files of a private fit that may leave the machine, and nothing else.

    python -m workflow.release --results secret --list
    python -m workflow.release CELL SPLIT --results secret --out FOLDER

``posterior.npz`` holds the parameters of one posterior, and ``guarantee.json`` what was asked, the ledger, its epsilon
and what that epsilon does not count. Everything else of a run stays (docs/how-to/release-a-private-fit.md).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from datasets.files import write_json, write_npz
from privacy.accountants import epsilon_of
from privacy.ledger import Ledger
from workflow import noise
from workflow.store import parameters_of, record_of_file

POSTERIOR, GUARANTEE = "posterior.npz", "guarantee.json"
#: of a cell's record: what somebody asked for, before a row was read
ASKED = ("dataset", "method", "setting", "model", "settings", "budget")
#: at which an epsilon is computed if the budget states none
DELTA = 1e-5


class ReleaseError(ValueError):
    """What was asked for may not leave the machine; the message says why, and what to do."""


def write_release(
    out: Path,
    kind: str,
    parameters: Mapping[str, np.ndarray],
    ledger: Ledger,
    delta: float,
    asked: Mapping[str, Any],
    leaks: Sequence[str] = (),
) -> list[Path]:
    """Write the files of one fit into the folder ``out``, which is empty or not there, and give their paths.

    Parameters
    ----------
    kind, parameters : of the posterior: the class in ``models.posteriors``, and its arrays by name.
    ledger : of the fit; its epsilon is computed here, at ``delta``.
    asked : what was asked for before a row was read, such as method, settings and budget. It is written as it is, so it
        must hold nothing that follows from rows: no time, no diagnostic, no digest of the table, no seed, no score.
    leaks : sentences on what the epsilon does not count.

    The noise of the fit has to be secret, which is for the caller to know. Raises ReleaseError for a folder that holds
    something, for no release at all, for an infinite epsilon, and for numbers that are not finite.
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ReleaseError(f"{out} is not an empty folder; name one that is empty or not there")
    if not len(ledger):
        raise ReleaseError("the ledger is empty: this fit claims no guarantee; release the fit of a private method")
    cost = epsilon_of(ledger, delta)
    if not math.isfinite(cost.epsilon):
        raise ReleaseError("by its ledger the fit has no finite epsilon; release the fit of another method or reading")
    arrays = {name: np.asarray(value) for name, value in parameters.items()}
    if bad := [name for name, value in arrays.items() if value.dtype.kind in "fc" and not np.isfinite(value).all()]:
        raise ReleaseError(f"the posterior's {bad[0]} has a NaN or infinity; release a fit whose status is ok")
    events = [e | {"sensitivity": _number(e["sensitivity"])} for e in ledger.to_json()]
    words = {
        "asked": dict(asked),
        "posterior": kind,
        "epsilon": cost.epsilon,
        "delta": delta,
        "relation": str(cost.relation),
        "accountant": cost.accountant,
        "ledger": events,
        "not counted": list(leaks),
    }
    write_npz(out / POSTERIOR, arrays)
    write_json(out / GUARANTEE, json.loads(json.dumps(words)))
    return [out / POSTERIOR, out / GUARANTEE]


def _number(value: float) -> float | str:
    """JSON has no infinity."""
    return value if math.isfinite(value) else "inf"


def release(results: Path, cell: str, split: int, out: Path) -> list[Path]:
    """The files of one split of a cell of a run with secret noise; see :func:`write_release`.

    Raises ReleaseError for a cell or split that is not there, whose noise is public, whose method claims no guarantee
    or whose status is not ok, and Damaged for files that are not what was written.
    """
    from methods import contract

    path = Path(results) / "fits" / f"{cell}.json"
    if not path.is_file():
        raise ReleaseError(f"{path} is not there; `python -m workflow.release --results {results} --list` names cells")
    record = record_of_file(path)
    if record.get("noise") != noise.SECRET:
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
    """Cells of a run that have secret noise, each with its splits whose status is ok."""
    out = []
    for path in sorted((Path(results) / "fits").glob("*.json")):
        record = record_of_file(path)
        splits = [r["split"] for r in record["splits"] if r["status"] == "ok"]
        if record.get("noise") == noise.SECRET and splits:
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
