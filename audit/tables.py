"""Audit every private adapter on toy tasks, and test which broken copies of an adapter the audit finds.

    python -m audit.tables --checks results/extra/privacy_audit.csv --mutants results/extra/mutants.csv \\
        --kept results/audit --fits papers.wang2018.fits:FITS

Each adapter is audited on every kind of model that it fits (``audit.cases``, ``privacy.audit.Audit``), with one row per
check. The row of the sensitivity says which part of it a release has reached. Then the adapter gets broken budgets
(``privacy.faults``), is broken itself one line at a time (``privacy.mutants``), and is audited again, with one row per
broken copy. A check that passes on both the adapter and its broken copy measures nothing. If an adapter declares
private standardisation among its leaks, extra rows show the effect of the leak, and all others are for a copy in which
it is closed. ``--fits`` names the single fits of papers with their own code (``audit.programs``), whose kind is
``own_code``. No data are needed. The command takes minutes and resumes where it was stopped. The tests compare each row
with the tables (tests/audit/test_private_methods.py).
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from audit import cases, resume
from audit.programs import OwnFit
from datasets.files import ROOT, write_sealed
from privacy import audit, draw_audit, mutants

#: the checks of ``privacy.audit.checks``, in its order.
CHECKS = cases.ORDER
PASSED, FAILED, LEAK = "passed", "failed", "leak"
#: the kind of model in the rows of a paper with its own code; their case is the paper
OWN_CODE = "own_code"
COLUMNS = ["method", "kind", "case", "relation", "check", "result", "found", "reached", "n", "false_alarm", "power"]
COLUMNS += ["against"]
MUTANT_COLUMNS = ["method", "kind", "case", "mutant", "what", "killed", "killed_by", "found"]


def check_rows(name: str, case: str) -> Iterator[dict]:
    """One row per check of one case. A declared leak is closed first and has its own rows."""
    key = key_of(name, case) | {"relation": str(cases.get(name).privacy)}
    if (name, case) in cases.leaky():
        for check, text in cases.faults(name, case)(cases.get(name)).items():
            yield key | {"check": check, "result": LEAK, "found": text}
    with mutants.loaded(cases.get(name), cases.closed(name, case)) as method:
        made = cases.audit_of(name, case, method)
        found = cases.found_by(made)
        for check in CHECKS:
            told = {"result": FAILED if check in found else PASSED, "found": found.get(check, "")}
            if (words := cases.BY_CONSTRUCTION.get((method.name, check))) and getattr(made, check)():
                told = {"result": LEAK, "found": words}
            share = {"reached": f"{made.reached:.3f}"} if check == "sensitivity" else {}
            if check == "searched":
                share = {"reached": f"{min(made.shares.values(), default=0.0):.3f}"}
            yield key | {"check": check} | told | share | rests_on(made.evidence(check))


def rests_on(evidence: audit.Evidence) -> dict[str, str]:
    """The columns ``n``, ``false_alarm``, ``power`` and ``against`` of the evidence."""
    power = "" if math.isnan(evidence.power) else f"{evidence.power:.4g}"
    told = {"n": str(evidence.n), "false_alarm": f"{evidence.false_alarm:.2g}"}
    return told | {"power": power, "against": evidence.against}


def draw_rows(name: str, case: str) -> Iterator[dict]:
    """One row per check of a method whose release is a draw."""
    made = cases.draw_audit_of(name, case)
    for check in draw_audit.CHECKS:
        text = getattr(made, check)()
        declared = check == "runs" and cases.may_fail(name)
        result = PASSED if not text else LEAK if declared else FAILED
        told = {"check": check, "result": result, "found": text, "n": str(len(made.pairs)), "false_alarm": "0"}
        yield key_of(name, case) | {"relation": str(cases.get(name).privacy)} | told


def mutant_rows(name: str, case: str) -> Iterator[dict]:
    """One row per broken copy of one case, with the first check that finds it. A declared leak is closed first."""
    with mutants.loaded(cases.get(name), cases.closed(name, case)) as method:
        for fault in cases.broken_budgets(name, case, method=method):
            yield _mutant_row(name, case, fault, *cases.caught(name, case, fault, method))
    yield from wrapped_rows(name, case)
    for mutant in cases.broken(name, case):
        found = faults(name, case, mutant, first=True)
        yield _mutant_row(name, case, mutant, " ".join(found), next(iter(found.values()), ""))


def wrapped_rows(name: str, case: str) -> Iterator[dict]:
    """One row per copy that is broken outside of its budget. A declared leak is closed first."""
    with mutants.loaded(cases.get(name), cases.closed(name, case)) as method:
        for fault, check, text in cases.wrapped_rows(name, case, method):
            yield _mutant_row(name, case, fault, check, text)


def _mutant_row(name: str, case: str, fault, check: str, text: str) -> dict:
    told = {"mutant": fault.name, "what": fault.what, "killed": int(bool(check)), "killed_by": check, "found": text}
    return key_of(name, case) | told


def faults(name: str, case: str, *patches: mutants.Mutant, first: bool = False) -> dict[str, str]:
    """The checks that the adapter with these patches fails -> what was found. A declared leak is closed first."""
    patches = (*cases.closed(name, case), *patches)
    return mutants.kills(cases.get(name), patches, cases.faults(name, case, first))


def key_of(name: str, case: str) -> dict[str, str]:
    """The columns method, kind and case."""
    return {"method": cases.get(name).name, "kind": cases.MODELS[case].kind, "case": case}


def case_rows(name: str, case: str) -> list[list[dict]]:
    """The rows [checks, mutants] of one case."""
    if cases.get(name).releases_a_draw:
        return [list(draw_rows(name, case)), list(wrapped_rows(name, case))]
    return [list(check_rows(name, case)), list(mutant_rows(name, case))]


def own_rows(own: OwnFit, paper: str) -> list[list[dict]]:
    """The rows [checks, mutants] of the single fit of a paper with its own code. Its mutants are broken budgets."""
    key, made = {"method": own.name, "kind": OWN_CODE, "case": paper}, own.audit()
    checks, broken, failed = [], [], False
    for check in own.asked:
        if failed and check in audit.WHOLE_FITS:
            continue
        text = getattr(made, check)()
        failed |= check == "runs" and bool(text)
        told = {"relation": str(own.privacy), "check": check, "result": FAILED if text else PASSED, "found": text}
        shares = {"sensitivity": made.reached, "searched": min(made.shares.values(), default=0.0)}
        share = {"reached": f"{shares[check]:.3f}"} if check in shares else {}
        checks.append(key | told | share | rests_on(made.evidence(check)))
    for fault, found in own.broken_budgets():
        told = {"mutant": fault.name, "what": fault.what, "killed": int(bool(found)), "killed_by": " ".join(found)}
        broken.append(key | told | {"found": next(iter(found.values()), "")})
    return [checks, broken]


def fits_of(named: Sequence[str]) -> list[tuple[OwnFit, str]]:
    """(fit, paper) of each "papers.KEY.module:tuple"."""
    found = []
    for text in named:
        module, _, name = text.partition(":")
        found += [(own, module.split(".")[1]) for own in getattr(importlib.import_module(module), name)]
    return found


def tables(
    wanted: Sequence[tuple[str, str]], folder: Path | None = None, fits: Sequence[tuple[OwnFit, str]] = ()
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables of checks and mutants of these cases and ``fits``. Progress and costs go to the error stream.

    ``folder`` keeps the rows of each case, which are reused if nothing changed (``audit.resume``).
    """
    asked = [(name, case, resume.files_of(cases.get(name)), partial(case_rows, name, case)) for name, case in wanted]
    for own, paper in fits:
        files = [*resume.files_of(own), *ROOT.glob(f"papers/{paper}/*.py"), ROOT / "audit/programs.py"]
        asked.append((own.name, paper, sorted(set(files)), partial(own_rows, own, paper)))
    checks, broken, seconds, computed = [], [], 0.0, 0
    for k, (name, case, files, make) in enumerate(asked, 1):
        path = None if folder is None else folder / resume.file_name(name, case)
        found = resume.kept(path, resume.key_of(files), make)
        checks += found.result[0]
        broken += found.result[1]
        seconds, computed = seconds + found.seconds, computed + found.now
        took = f"{found.seconds:.1f} CPU s" if found.now else "kept"
        print(f"audit: {k} of {len(asked)}: {name} on {case}: {took}", file=sys.stderr, flush=True)
    print(
        f"audit: {computed} of {len(asked)} cases computed, the others kept; all of them take {seconds / 60:.1f} CPU "
        "minutes",
        file=sys.stderr,
        flush=True,
    )
    return pd.DataFrame(checks, columns=COLUMNS), pd.DataFrame(broken, columns=MUTANT_COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Audit every private adapter, and its mutants.")
    parser.add_argument("--checks", required=True, type=Path, help="CSV, one row per check")
    parser.add_argument("--mutants", required=True, type=Path, help="CSV, one row per broken copy")
    parser.add_argument("--methods", nargs="*", help="adapters, by name or <kind>/<method>; default: all")
    parser.add_argument("--fits", nargs="*", default=[], help="papers.KEY.fits:FITS of papers with their own code")
    parser.add_argument("--kept", type=Path, help="folder that keeps the rows of each case; default: none")
    parser.add_argument("--first", action="store_true", help="the first case of each adapter only")
    args = parser.parse_args()
    known = {n for n, _ in (*cases.cases(), *cases.drawn())}
    if unknown := sorted(set(args.methods or ()) - known):
        parser.error(f"no private adapter {unknown[0]}; there are {', '.join(sorted(known))}")
    wanted = [c for c in (*cases.cases(), *cases.drawn()) if c[0] in (known if args.methods is None else args.methods)]
    if args.first:
        wanted = list({name: (name, case) for name, case in reversed(wanted)}.values())[::-1]
    for path, table in zip((args.checks, args.mutants), tables(wanted, args.kept, fits_of(args.fits)), strict=True):
        write_sealed(path, table.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    main()
