"""Tables of the privacy audit: the checks of each private method, the mutants that they caught, and the leaks.

    python -m reports.audit_tables --extra results/extra --out results/parts/audit [--commit]

The command reads ``privacy_audit.csv`` and ``mutants.csv`` of ``audit.tables``. The lower bounds
(``reports.lower_bounds``) are the committed ones.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from audit import faults
from audit.tables import LEAK, OWN_CODE, PASSED
from datasets.files import write_text
from methods import contract
from privacy.audit import COIN_ALPHA, MOST_SEEDS, NOISE_ALPHA, SAMPLES, SEEDS, noise_law_power
from privacy.faults import FAULTS
from privacy.wrapped import WRAPPED
from reports import leaks, lower_bounds, tables, two_posteriors
from reports.blocks import Block, Entry, Footnotes, Table, entry
from reports.config import ReportError
from reports.reference import FOLDER
from reports.site.words import kind_title

FILES = CHECKS, MUTANTS = "privacy_audit.csv", "mutants.csv"
TOY = "Toy tasks of a dozen rows"


def read(extra: Path | None, folder: Path = FOLDER) -> tuple[pd.DataFrame, ...] | None:
    """The checks and mutants of a run, or the committed ones. None if there are neither."""
    for place in filter(None, (extra, folder)):
        if all((place / name).is_file() for name in FILES):
            return tuple(pd.read_csv(place / name, keep_default_na=False) for name in FILES)
    return None


def build(found: tuple[pd.DataFrame, ...]) -> list[tuple[Table, pd.DataFrame]]:
    """The tables of the audit, its checks, the lower bounds, the leaks and two posteriors, each with its long frame."""
    bounds = lower_bounds.table(lower_bounds.read())
    return [audit_table(*found), checks_table(), bounds, leaks.table(), two_posteriors.table()]


def audit_table(checks: pd.DataFrame, mutants: pd.DataFrame) -> tuple[Table, pd.DataFrame]:
    """One block per kind of model, one row per method and toy task: checks passed, mutants caught, effects of leaks."""
    footnotes, blocks = Footnotes(), []
    for kind, of_kind in checks.groupby("kind", sort=True):
        rows = []
        for (method, case), here in of_kind.groupby(["method", "case"], sort=True):
            broken = mutants[(mutants["method"] == method) & (mutants["case"] == case)]
            rows.append((_name(method, kind, case), _entries(here, broken, footnotes)))
        heads = ["neighbours", "checks passed", "bound reached", "power: 2/3 of the noise", "power: 1.5 x the rate"]
        heads += ["mutants caught", "declared leaks at work"]
        title = "papers with their own code" if kind == OWN_CODE else kind_title(str(kind))
        blocks.append(Block(title, "Method", heads, rows))
    notes = (
        "Each private method on a toy task, record and replay on its neighbours and the noise it draws. No check "
        "needs another version of the method. A paper with its own code has a row per method, which is one fit of it.",
        "Bound reached: the largest move of a release over the declared sensitivity, on fixed pairs and on pairs "
        "that are searched on the adapter at hand, for the event of which least is reached. If it is below 1, the "
        "audit would miss a declaration that is too small by less than that. Timings of a fit are not compared.",
        f"Noise: up to {SAMPLES} numbers (fewer where a fit draws few) at a false-alarm rate of {NOISE_ALPHA:g}; of "
        f"{SAMPLES}, noise of 9/10 of its scale is refused with probability "
        f"{noise_law_power(SAMPLES, 0.9, NOISE_ALPHA / 2):.4f}. Sampling: {SEEDS} to {MOST_SEEDS} fits at a "
        f"false-alarm rate of {COIN_ALPHA:g} for all its statistics together.",
        "A mutant is a deliberately broken copy of the method. Its budget is broken (no noise, less noise, other "
        "batches, steps or charges than it says), or one line is (no clipping, a number of the data that is not "
        "charged). It is caught if a check fails that the method passes. What a declared leak does is measured on the "
        "method as it is, and everything else on a copy in which the leak is closed. A released sample adds no noise. "
        "Its bound is proved next to the code and checked by brute force in the tests.",
    )
    table = Table("privacy_audit", "Privacy audit of every private method", TOY, blocks, notes, footnotes.texts)
    return table, checks.merge(caught(mutants), how="left", on=["method", "kind", "case"])


def _name(method: str, kind: str, case: str) -> str:
    if kind == OWN_CODE:
        return f"{method}, {case}"
    return contract.get(method, kind).title + ("" if case == kind else f", {case.replace('_', ' ')}")


def checks_table() -> tuple[Table, pd.DataFrame]:
    """One row per check: the faults that it is for, and the faults of ``audit/faults.csv`` that only it finds."""
    found = faults.alone(pd.read_csv(faults.TABLE, keep_default_na=False))
    rows = []
    for row in found.to_dict("records"):
        alone = row["alone"] or (f"none; meant for: {row['meant']}" if row["meant"] else "none")
        rows.append((row["check"], [entry(row["kills"]), entry(str(row["sees"])), entry(alone)]))
    notes = (
        f"Faults as developers make them, and {len(FAULTS) + len(WRAPPED)} that fit every adapter: "
        "audit/faults.csv has all of them, with the checks that see each.",
        "A check that is the only one to see no fault is cheaper than those that see its faults too.",
    )
    block = Block("", "Check", ["what it finds", "faults it sees", "faults that it alone sees"], rows)
    return Table("audit_checks", "What each check of the audit finds", TOY, [block], notes), found


def _power(checks: pd.DataFrame, check: str) -> str:
    """The power of that check at its n; empty if it has none."""
    here = checks[(checks["check"] == check) & (checks["power"].astype(str) != "")]
    return "" if here.empty else f"{float(here['power'].iloc[0]):.3f} (n = {here['n'].iloc[0]})"


def caught(mutants: pd.DataFrame) -> pd.DataFrame:
    """The numbers of mutants and of caught ones: columns method, kind, case, mutants, mutants_caught."""
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
        entry(next((str(r) for r in rest.loc[rest["check"] == "searched", "reached"]), "by proof")),
        *(entry(_power(rest, check)) for check in ("noise", "sampling")),
        entry(f"{len(broken) - len(survived)} of {len(broken)}", marks=footnotes(*alive)),
        entry("" if len(leaks) else "none", marks=footnotes(*leaks["found"])),
    ]


def commit(extra: Path, folder: Path = FOLDER) -> None:
    """Copy the tables of a run into the reference.

    Raises ReportError unless each check passed or shows a declared leak, and each mutant is caught.
    """
    checks, mutants = _of_run(extra)
    failed, alive = checks[~checks["result"].isin([PASSED, LEAK])], mutants[mutants["killed"] != 1]
    if len(failed):
        row = failed.iloc[0]
        raise ReportError(f"{row['method']} on {row['case']} fails '{row['check']}' ({row['found']}); fix the method")
    if len(alive):
        row = alive.iloc[0]
        raise ReportError(f"{row['method']} on {row['case']}: the mutant '{row['mutant']}' lives; fix the audit")
    for name in FILES:
        write_text(folder / name, (extra / name).read_text(encoding="utf-8"))


def _of_run(extra: Path) -> tuple[pd.DataFrame, ...]:
    if (found := read(extra, extra)) is None:
        raise ReportError(f"no {CHECKS} and {MUTANTS} in {extra}; run `./bench audit` first")
    return found


def main() -> None:
    tables.command("reports.audit_tables", "audit", lambda extra: build(_of_run(extra)), commit)


if __name__ == "__main__":
    main()
