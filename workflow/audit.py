"""Audit of every private adapter on toy tasks, and of the audit: which broken copies of an adapter does it catch?

    python -m workflow.audit --checks results/extra/privacy_audit.csv --mutants results/extra/mutants.csv

Each adapter is audited on every kind of model that it fits (``workflow.audit_cases``, ``privacy.audit.Audit``): one row
a check; that of the sensitivity says which part of it a release has reached. Then the adapter is given broken budgets
(``privacy.faults``) and is broken itself, one line at a time (``privacy.mutants``), and audited again: one row each. A
check that passes on the adapter and on its broken copy alike measures nothing. Where an adapter names private
standardisation among its leaks, more rows say what the leak does, and all others are of a copy in which it is closed.
Needs no data; takes minutes. The tests ask for each row what the tables say (tests/privacy/test_private_methods.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from privacy import mutants
from workflow import audit_cases
from workflow.files import write_text

#: of ``privacy.audit.checks``, in its order; ``equal_path`` is that of ``audit_cases.faults``.
CHECKS = audit_cases.ORDER
PASSED, FAILED, LEAK = "passed", "failed", "leak"
COLUMNS = ["method", "kind", "case", "relation", "check", "result", "found", "reached"]
MUTANT_COLUMNS = ["method", "kind", "case", "mutant", "what", "killed", "killed_by", "found"]


def check_rows(name: str, case: str) -> Iterator[dict]:
    """One row a check of one case."""
    key = key_of(name, case) | {"relation": str(audit_cases.get(name).privacy)}
    if (name, case) in audit_cases.leaky():
        for check, text in audit_cases.faults(name, case)(audit_cases.get(name)).items():
            yield key | {"check": check, "result": LEAK, "found": text}
    found = faults(name, case)
    for check in CHECKS:
        told = {"result": FAILED if check in found else PASSED, "found": found.get(check, "")}
        yield key | {"check": check, **told, "reached": reached(name, case) if check == "sensitivity" else ""}


def mutant_rows(name: str, case: str) -> Iterator[dict]:
    """One row a broken budget and a mutant of one case; the first check that sees it."""
    if (name, case) not in audit_cases.leaky():
        for fault in audit_cases.broken_budgets(name, case):
            check, text = audit_cases.caught(name, case, fault)
            told = {"killed": int(bool(check)), "killed_by": check, "found": text}
            yield key_of(name, case) | {"mutant": fault.name, "what": fault.what} | told
    for mutant in audit_cases.broken(name, case):
        found = faults(name, case, mutant, first=True)
        told = {"killed": int(bool(found)), "killed_by": " ".join(found), "found": next(iter(found.values()), "")}
        yield key_of(name, case) | {"mutant": mutant.name, "what": mutant.what} | told


def faults(name: str, case: str, *patches: mutants.Mutant, first: bool = False) -> dict[str, str]:
    """Checks that the adapter with these patches fails -> what was found; a declared leak is closed first."""
    patches = (*audit_cases.closed(name, case), *patches)
    return mutants.kills(audit_cases.module_of(name), patches, audit_cases.faults(name, case, first))


def reached(name: str, case: str) -> str:
    """Largest part of the declared sensitivity that a release moves by; a declared leak is closed first."""
    with mutants.loaded(audit_cases.module_of(name), audit_cases.closed(name, case)) as module:
        return f"{audit_cases.reached(name, case, mutants.method_of(module)):.3f}"


def key_of(name: str, case: str) -> dict[str, str]:
    """method, kind of model, case."""
    return {"method": audit_cases.get(name).name, "kind": audit_cases.MODELS[case].kind, "case": case}


def tables(cases: Sequence[tuple[str, str]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Checks and mutants of these cases; says on the error stream where it is."""
    checks, broken = [], []
    for k, (name, case) in enumerate(cases, 1):
        checks += check_rows(name, case)
        broken += mutant_rows(name, case)
        print(f"audit: {k} of {len(cases)}: {name} on {case}", file=sys.stderr, flush=True)
    return pd.DataFrame(checks, columns=COLUMNS), pd.DataFrame(broken, columns=MUTANT_COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Audit every private adapter, and its mutants.")
    parser.add_argument("--checks", required=True, type=Path, help="CSV, one row a check")
    parser.add_argument("--mutants", required=True, type=Path, help="CSV, one row a mutant")
    parser.add_argument("--methods", nargs="*", help="adapters, by name or <kind>/<method>; default: all")
    args = parser.parse_args()
    cases = [c for c in audit_cases.cases() if not args.methods or c[0] in args.methods]
    if unknown := sorted(set(args.methods or ()) - {n for n, _ in audit_cases.cases()}):
        parser.error(f"no private adapter {unknown[0]}; there are {', '.join(audit_cases.private())}")
    for path, table in zip((args.checks, args.mutants), tables(cases), strict=True):
        write_text(path, table.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    main()
