"""Realistic faults of developers, each built into a copy of a real adapter, and the checks of the audit that find them.

    python -m audit.faults --out results/extra/audit_faults.csv --kept results/audit

``audit/faults.csv`` has a line per fault: its name, class, adapter and case, and one sentence that says what the
developer did wrong. These are written by hand, and ``audit.fault_code.MAKERS`` has the code of each name. The other
columns are the results: which checks find it, or that none does.

Most faults are made for one adapter: a fault on one code path, after many steps, for rare numbers, or in what a method
does with released numbers. The broken budgets of ``privacy.faults`` and the copies of ``privacy.wrapped`` work for
every adapter, and are tried here on one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from audit import cases, resume
from audit.fault_code import MAKERS, viewed
from datasets.files import ROOT, write_csv
from privacy import audit, mutants
from privacy.faults import FAULTS as BUDGET_FAULTS
from privacy.faults import view_of
from privacy.wrapped import WRAPPED

SURVIVED = "survived"
#: the committed table
TABLE = ROOT / "audit" / "faults.csv"
COLUMNS = ["fault", "class", "adapter", "case", "what", "survives", "killed_by", "found", "seconds"]


@dataclass(frozen=True)
class Fault:
    """One fault. ``make`` makes the broken copy of the real adapter.

    ``kind`` is the class of fault, and ``what`` says what was done wrong. ``survives`` says why no check finds it, and
    is empty if one does.
    """

    name: str
    kind: str
    adapter: str
    case: str
    make: Callable
    what: str
    survives: str = ""


EVERY = "every adapter"


def _faults() -> Iterator[Fault]:
    """The faults of one adapter in the order of the table, then those that fit every adapter."""
    for line in pd.read_csv(TABLE, keep_default_na=False).to_dict("records"):
        if line["class"] != EVERY:
            name, *words = (line[c] for c in ("fault", "class", "adapter", "case"))
            yield Fault(name, *words, MAKERS[name], line["what"], line["survives"])
    case = "bounded_logistic_regression"
    for fault in BUDGET_FAULTS:
        adapter = f"{case}/{'dp_sgd' if fault.check == 'sampling' else 'dpvi'}"
        make = viewed(lambda budget, task, rng, fault=fault: view_of(budget, fault))
        yield Fault(f"{fault.name} ({EVERY})", EVERY, adapter, case, make, fault.what)
    for wrapped in WRAPPED:
        yield Fault(f"{wrapped.name} ({EVERY})", EVERY, f"{case}/dpvi", case, wrapped.of, wrapped.what)


FAULTS: tuple[Fault, ...] = tuple(_faults())

#: check -> the fault that it is meant for, for the checks that are not the only one to find any fault
MEANT: dict[str, str] = {
    "sensitivity": "half the sensitivity (every adapter)",
    "posterior": "release thrown away (every adapter)",
    "events": "a sensitivity that follows the rows",
    "same_path": "noise x .7 in the kernel of DP-SEP",
}


def alone(table: pd.DataFrame) -> pd.DataFrame:
    """One row per check, cheap ones first: the class of fault that it is for, and how many of ``table`` it finds.

    Columns: check, kills, sees (number of faults), alone (faults that no other check finds, separated by "; "), and
    meant (the fault that a check is meant for, if it finds none alone).
    """
    rows = []
    for check, words in audit.KILLS.items():
        seen = table[[check in found.split() for found in table["killed_by"]]]
        only = list(seen.loc[seen["killed_by"] == check, "fault"])
        meant = "" if only else MEANT.get(check, "")
        rows.append({"check": check, "kills": words, "sees": len(seen), "alone": "; ".join(only), "meant": meant})
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------------------ the table
def row(fault: Fault) -> dict:
    """The checks that find this fault. All are run, and a leak that the adapter declares is closed first."""
    began = time.process_time()
    ask, leaks = cases.faults(fault.adapter, fault.case), cases.closed(fault.adapter, fault.case)
    if leaks:
        with mutants.loaded(cases.get(fault.adapter), leaks) as method:
            found = ask(fault.make(method))
    else:
        found = ask(fault.make(cases.get(fault.adapter)))
    killed_by, first = " ".join(found) or SURVIVED, next(iter(found.values()), "")
    told = (fault.name, fault.kind, fault.adapter, fault.case, fault.what, fault.survives, killed_by, first)
    return dict(zip(COLUMNS, (*told, f"{time.process_time() - began:.1f}"), strict=True))


def table(wanted: Sequence[Fault], folder: Path | None = None) -> pd.DataFrame:
    """One row per fault. Progress goes to the error stream. ``folder``: as for ``audit.tables``."""
    rows = []
    for fault in wanted:
        name = resume.file_name("fault", fault.name, fault.adapter, fault.case)
        key = resume.key_of([*resume.files_of(cases.get(fault.adapter)), Path(__file__), ROOT / "audit/fault_code.py"])
        told = resume.kept(None if folder is None else folder / name, key, partial(row, fault)).result
        print(
            f"{told['fault']}: {told['killed_by']} ({told['seconds']} s) {told['found']}", file=sys.stderr, flush=True
        )
        rows.append(told)
    return pd.DataFrame(rows, columns=COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Which checks of the audit see each fault of a developer.")
    parser.add_argument("--out", required=True, type=Path, help="CSV, one row per fault")
    parser.add_argument("--only", nargs="*", default=[], help="names of faults; default: all")
    parser.add_argument("--kept", type=Path, help="folder that keeps the row of each fault; default: none")
    args = parser.parse_args()
    wanted = [fault for fault in FAULTS if not args.only or fault.name in args.only]
    write_csv(args.out, table(wanted, args.kept))


if __name__ == "__main__":
    main()
