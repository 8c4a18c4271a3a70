"""Tables of the privacy audit: what was checked of each private method, the broken copies it caught, and the leaks.

    python -m reports.audit_tables --extra results/extra --out results/parts/audit [--commit]

Reads ``privacy_audit.csv`` and ``mutants.csv`` of ``workflow.audit``; leaks are the methods' own words.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

import datasets
from methods import contract
from methods.contract import Method
from privacy.audit import COIN_ALPHA, NOISE_ALPHA, SAMPLES, SEEDS, noise_law_power
from reports import tables
from reports.blocks import Block, Entry, Footnotes, Table, entry
from reports.config import ReportError
from reports.files import write_text
from reports.ledger import CONDITIONAL
from reports.reference import FOLDER

CHECKS, MUTANTS = "privacy_audit.csv", "mutants.csv"
TOY = "Toy tasks of a dozen rows"
#: what a check of ``privacy.audit.checks`` is called in the notes.
WORDS = {
    "runs": "runs on every neighbour",
    "sensitivity": "no release moves by more than it declares",
    "posterior": "nothing but releases reaches the posterior",
    "diagnostics": "nor the diagnostics",
    "events": "no declared number depends on rows",
    "steps": "the events of all releases stand in the ledger, as often as they are made",
    "ledger": "a finite epsilon",
    "noise": "the noise that the mechanisms draw has the declared law and scale, and none is drawn twice",
    "sampling": "rows enter the releases as independent coins at the declared rate",
    "noise_used": "other noise gives another posterior",
    "same_path": "the audited path is that of ordinary runs (law)",
    "equal_path": "and to rounding, where that of the real adapter is",
}


def read(extra: Path | None, folder: Path = FOLDER) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Checks and mutants of a run, or else the committed ones; None where there are neither."""
    for place in filter(None, (extra, folder)):
        if all((place / name).is_file() for name in (CHECKS, MUTANTS)):
            return tuple(pd.read_csv(place / name, keep_default_na=False) for name in (CHECKS, MUTANTS))
    return None


def build(found: tuple[pd.DataFrame, pd.DataFrame]) -> list[tuple[Table, pd.DataFrame]]:
    """The table of the audit, and that of the leaks, each with its long frame."""
    return [audit_table(*found), leaks_table()]


def audit_table(checks: pd.DataFrame, mutants: pd.DataFrame) -> tuple[Table, pd.DataFrame]:
    """A block a kind of model; a row a method and toy task: checks passed, mutants caught, what declared leaks do."""
    footnotes, blocks = Footnotes(), []
    for kind, of_kind in checks.groupby("kind", sort=True):
        rows = []
        for (method, case), here in of_kind.groupby(["method", "case"], sort=True):
            broken = mutants[(mutants["method"] == method) & (mutants["case"] == case)]
            name = contract.get(method, kind).title + ("" if case == kind else f", {case.replace('_', ' ')}")
            rows.append((name, _entries(here, broken, footnotes)))
        heads = ["neighbours", "checks passed", "bound reached", "broken copies caught", "declared leaks at work"]
        blocks.append(Block(str(kind).replace("_", " "), "Method", heads, rows))
    asked = "; ".join(f"{name}: {words}" for name, words in WORDS.items())
    notes = (
        f"Each private method on a toy task, record and replay on its neighbours and the noise it draws. {asked}.",
        "Bound reached: the largest move of a release over the declared sensitivity; where it is below 1 the audit "
        "would miss a declaration that is too small by less than that.",
        f"Noise: up to {SAMPLES} numbers (fewer where a fit draws few) at a false-alarm rate of {NOISE_ALPHA:g}; of "
        f"{SAMPLES}, noise of 9/10 of its scale is refused with probability "
        f"{noise_law_power(SAMPLES, 0.9, NOISE_ALPHA / 2):.4f}. Sampling: {SEEDS} fits at a false-alarm "
        f"rate of {COIN_ALPHA:g} for all its statistics together.",
        "A broken copy is the adapter with a broken budget (other noise, batches or charges than it says) or with one "
        "line broken (no noise, half the noise, no clipping, a wrong count of steps, an unpaid number of the data); it "
        "is caught where a check fails that the adapter passes. What a declared leak "
        "does is measured on the adapter as it is, everything else on a copy in which the leak is closed. Released "
        "draws add no noise: their bounds are proved beside the code and checked by brute force in the tests.",
    )
    table = Table("privacy_audit", "Privacy audit of every private method", TOY, blocks, notes, footnotes.texts)
    return table, checks.merge(caught(mutants), how="left", on=["method", "kind", "case"])


def caught(mutants: pd.DataFrame) -> pd.DataFrame:
    """method, kind, case, mutants, mutants_caught."""
    groups = mutants.groupby(["method", "kind", "case"], sort=False)["killed"]
    return groups.agg(mutants="size", mutants_caught="sum").reset_index()


def _entries(checks: pd.DataFrame, broken: pd.DataFrame, footnotes: Footnotes) -> list[Entry]:
    leaks = checks[checks["result"] == "leak"]
    rest = checks[checks["result"] != "leak"]
    failed, survived = rest[rest["result"] != "passed"], broken[broken["killed"] != 1]
    told = [f"{r['check']}: {r['found']}" for r in failed.to_dict("records")]
    alive = [f"{r['mutant']}: {r['what']}" for r in survived.to_dict("records")]
    return [
        entry(str(checks["relation"].iloc[0]).replace("_", " ")),
        entry(f"{len(rest) - len(failed)} of {len(rest)}", marks=footnotes(*told)),
        entry(next((str(r) for r in rest["reached"] if r != ""), "")),
        entry(f"{len(broken) - len(survived)} of {len(broken)}", marks=footnotes(*alive)),
        entry("" if len(leaks) else "none", marks=footnotes(*leaks["found"])),
    ]


def _sentences(method: Method) -> list[str]:
    """Leaks that a method names, and the ranges that it takes for public."""
    named = [leak.sentence for leak in method.leaks]
    if method.privacy and method.reads_ranges:
        tables = (datasets.get(d) for d in datasets.names("table"))
        where = ", ".join(t.title for t in tables if t.extremes)
        named.append(f"on {where} only: the guarantee is {CONDITIONAL}")
    return named


def leaks_table() -> tuple[Table, pd.DataFrame]:
    """A row a method and kind of model that names a leak: ways around the ledger that no epsilon counts."""
    long = [
        {"method": n, "kind": k, "title": contract.get(n, k).title, "leak": leak}
        for k, n in contract.pairs()
        for leak in _sentences(contract.get(n, k))
    ]
    frame = pd.DataFrame(long, columns=["method", "kind", "title", "leak"])
    rows = [
        (title, [entry(", ".join(here["kind"].str.replace("_", " "))), entry(leak)])
        for (title, leak), here in frame.groupby(["title", "leak"], sort=True)
    ]
    notes = (
        "In the words of the methods themselves, but for ranges, which the data sets tell; a method that is not named "
        "here claims to have none.",
        "An epsilon is that of one fit whose noise is secret. Here seeds are public and the budgets of a split share "
        "their random numbers, so that two stored posteriors give the private sums back; and noise in double "
        "precision, from generators that are not cryptographic, is for research alone.",
    )
    block = Block("", "Method", ["kinds of model", "leak"], rows)
    return Table("leaks", "Leaks: what no epsilon counts", "At every scale", [block], notes), frame


def commit(extra: Path, folder: Path = FOLDER) -> None:
    """Copy both tables of a run into the reference. Raises ReportError for a failed check or a mutant that lives."""
    checks, mutants = _of_run(extra)
    failed, alive = checks[checks["result"] == "failed"], mutants[mutants["killed"] != 1]
    if len(failed):
        row = failed.iloc[0]
        raise ReportError(f"{row['method']} on {row['case']} fails '{row['check']}' ({row['found']}); mend the method")
    if len(alive):
        row = alive.iloc[0]
        raise ReportError(f"{row['method']} on {row['case']}: the mutant '{row['mutant']}' lives; mend the audit")
    for name in (CHECKS, MUTANTS):
        write_text(folder / name, (extra / name).read_text(encoding="utf-8"))


def _of_run(extra: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    if (found := read(extra, extra)) is None:
        raise ReportError(f"no {CHECKS} and {MUTANTS} in {extra}; run `./bench audit` first")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Tables of the privacy audit.")
    parser.add_argument("--extra", default="results/extra", type=Path, help="folder of the audit's CSVs")
    parser.add_argument("--out", default="results/parts/audit", type=Path, help="tables go to OUT/tables")
    parser.add_argument("--commit", action="store_true", help="copy the CSVs into the reference, too")
    args = parser.parse_args()
    try:
        for table, long in build(_of_run(args.extra)):
            tables.write(args.out / "tables", table, long)
        if args.commit:
            commit(args.extra)
    except ReportError as error:
        raise SystemExit(f"reports.audit_tables: {error}") from None


if __name__ == "__main__":
    main()
