"""Tables of the privacy audit: the committed one is complete, and a bad audit cannot be committed."""

from __future__ import annotations

import pandas as pd
import pytest

from methods import contract
from privacy.faults import FAULTS
from reports import audit_tables, committed
from reports.blocks import latex, markdown
from reports.config import ReportError
from reports.ledger import CONDITIONAL
from reports.reference import FOLDER
from workflow import audit_cases
from workflow.audit import CHECKS, COLUMNS, MUTANT_COLUMNS


def made_up(result="passed", killed=1):
    key = {"method": "dp_vi_honest", "kind": "bnn_regression", "case": "bnn_regression"}
    checks = [
        key | {"relation": "add_remove", "check": c, "result": "passed", "found": "", "reached": ""} for c in CHECKS
    ]
    checks[1] |= {"reached": "0.987"}
    checks[1] |= {"result": result, "found": "" if result == "passed" else "moved by 2"}
    told = {"what": "w", "killed_by": "sensitivity" if killed else "", "found": ""}
    mutants = [
        key | {"mutant": "no noise", "killed": 1} | told,
        key | {"mutant": "half noise", "killed": killed} | told,
    ]
    return pd.DataFrame(checks, columns=COLUMNS), pd.DataFrame(mutants, columns=MUTANT_COLUMNS)


def put(folder, found):
    for name, frame in zip((audit_tables.CHECKS, audit_tables.MUTANTS), found, strict=True):
        frame.to_csv(folder / name, index=False)
    return folder


def test_the_committed_audit_is_of_every_private_method_with_committed_scores():
    """Where a new one has scores: `./bench audit`, then `python -m reports.audit_tables --commit`."""
    checks, mutants = audit_tables.read(None)
    scored = {m for name in committed.experiments(FOLDER) for m in committed.read(FOLDER, name)["method"].unique()}
    cases = [(n, c) for n, c in audit_cases.cases() if audit_cases.get(n).name in scored]
    assert len(cases) > 70
    wanted = {(audit_cases.get(n).name, c): sorted(m.name for m in audit_cases.broken(n, c)) for n, c in cases}
    budgets = {f.name for f in FAULTS}
    own = mutants[~mutants["mutant"].isin(budgets)].groupby(["method", "case"])["mutant"].apply(sorted).to_dict()
    assert {key: own.get(key) for key in wanted} == wanted
    given = mutants[mutants["mutant"].isin(budgets)].groupby(["method", "case"])["mutant"].nunique()
    leaky = {(audit_cases.get(n).name, c) for n, c in audit_cases.leaky()}
    assert {key for key, count in given.items() if count >= 5} == set(wanted) - leaky
    assert set(wanted) <= set(checks[["method", "case"]].itertuples(index=False, name=None))
    assert set(checks["check"]) == set(CHECKS) == set(audit_tables.WORDS)
    assert set(checks["result"]) == {"passed", "leak"}
    assert (mutants["killed"] == 1).all()


def test_every_declared_leak_of_standardisation_is_seen_at_work():
    checks, _ = audit_tables.read(None)
    seen = checks.loc[checks["result"] == "leak", ["method", "case"]].drop_duplicates()
    assert set(seen.itertuples(index=False, name=None)) == {
        (audit_cases.get(n).name, c) for n, c in audit_cases.leaky()
    }


def test_the_table_counts_checks_and_mutants():
    table, long = audit_tables.audit_table(*made_up("failed", 0))
    text = markdown(table)
    assert f"{len(CHECKS) - 1} of {len(CHECKS)}" in text
    assert "1 of 2" in text
    assert "moved by 2" in text
    assert "half noise" in text
    assert set(long["mutants"]) == {2}
    assert set(long["mutants_caught"]) == {1}
    assert "no noise" in latex(table)  # the notes say what a mutant is


@pytest.mark.parametrize(
    ("bad", "words"), [(("failed", 1), "fails 'sensitivity'"), (("passed", 0), "'half noise' lives")]
)
def test_a_bad_audit_is_not_committed(tmp_path, bad, words):
    (tmp_path / "reference").mkdir()
    with pytest.raises(ReportError, match=words):
        audit_tables.commit(put(tmp_path, made_up(*bad)), tmp_path / "reference")
    assert not list((tmp_path / "reference").iterdir())


def test_a_good_audit_is_committed_whole(tmp_path):
    (tmp_path / "reference").mkdir()
    audit_tables.commit(put(tmp_path, made_up()), tmp_path / "reference")
    checks, mutants = audit_tables.read(None, tmp_path / "reference")
    assert (len(checks), len(mutants)) == (len(CHECKS), 2)


def test_without_a_run_the_remedy_is_named(tmp_path):
    with pytest.raises(ReportError, match=r"\./bench audit"):
        audit_tables.commit(tmp_path, tmp_path)


def test_every_leak_of_every_method_is_in_the_table():
    _, frame = audit_tables.leaks_table()
    told = {(n, leak.sentence) for k, n in contract.pairs() for leak in contract.get(n, k).leaks}
    shown = set(frame[["method", "leak"]].itertuples(index=False, name=None))
    assert told <= shown
    ranges = {(n, k) for k, n in contract.pairs() if (m := contract.get(n, k)).privacy and m.reads_ranges}
    assert {leak for _, leak in shown - told} == {next(t for _, t in shown if CONDITIONAL in t)}
    assert set(frame.loc[frame["leak"].str.contains(CONDITIONAL), ["method", "kind"]].apply(tuple, axis=1)) == ranges
