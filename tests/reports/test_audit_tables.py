"""Tables of the privacy audit: the committed one is complete, and a bad audit cannot be committed."""

from __future__ import annotations

import pandas as pd
import pytest

from audit import cases as audit_cases
from audit.tables import CHECKS, COLUMNS, MUTANT_COLUMNS, OWN_CODE
from privacy.faults import FAULTS
from privacy.wrapped import WRAPPED
from reports import audit_tables
from reports.blocks import latex, markdown
from reports.config import ReportError
from reports.reference import FOLDER
from workflow import committed
from workflow.papers import programs, resolve


def made_up(result="passed", killed=1):
    key = {"method": "dp_vi_vinaroz_corrected", "kind": "bnn_regression", "case": "bnn_regression"}
    empty = {"found": "", "reached": "", "n": "9", "false_alarm": "0", "power": "", "against": ""}
    checks = [key | {"relation": "add_remove", "check": c, "result": "passed"} | empty for c in CHECKS]
    checks[1] |= {"reached": "0.987"}
    checks[CHECKS.index("noise")] |= {"power": "0.75", "n": "300"}
    checks[1] |= {"result": result, "found": "" if result == "passed" else "moved by 2"}
    told = {"what": "w", "killed_by": "sensitivity" if killed else "", "found": ""}
    mutants = [
        key | {"mutant": "no noise", "killed": 1} | told,
        key | {"mutant": "half noise", "killed": killed} | told,
    ]
    return pd.DataFrame(checks, columns=COLUMNS), pd.DataFrame(mutants, columns=MUTANT_COLUMNS)


def put(folder, found):
    for name, frame in zip(audit_tables.FILES, found, strict=True):
        frame.to_csv(folder / name, index=False)
    return folder


def test_the_committed_audit_is_of_every_private_method_with_committed_scores():
    """Where a new one has scores: `./bench audit`, then `python -m reports.audit_tables --commit`."""
    checks, mutants = (table[table["kind"] != OWN_CODE] for table in audit_tables.read(None))
    scored = {m for name in committed.experiments(FOLDER) for m in committed.read(FOLDER, name)["method"].unique()}
    cases = [(n, c) for n, c in audit_cases.cases() if audit_cases.get(n).name in scored]
    assert len(cases) > 70
    wanted = {(audit_cases.get(n).name, c): sorted(m.name for m in audit_cases.broken(n, c)) for n, c in cases}
    budgets, outside = ({(f.name, f.what) for f in of} for of in (FAULTS, WRAPPED))
    keys = [tuple(k) for k in mutants[["mutant", "what"]].to_numpy()]
    mutants = mutants.assign(budget=[k in budgets for k in keys], outside=[k in outside for k in keys])
    everywhere = mutants[mutants["outside"]].groupby(["method", "case"])["mutant"].nunique()
    assert set(everywhere) == {len(outside)}
    assert set(wanted) <= set(everywhere.index)
    rest = mutants[~mutants["budget"] & ~mutants["outside"]]
    own = rest.groupby(["method", "case"])["mutant"].apply(sorted).to_dict()
    assert {key: own.get(key, []) for key in wanted} == wanted
    given = mutants[mutants["budget"]].groupby(["method", "case"])["mutant"].nunique()
    assert {key for key, count in given.items() if count >= 6} == set(wanted)
    assert set(wanted) <= set(checks[["method", "case"]].itertuples(index=False, name=None))
    drawn = {(audit_cases.get(n).name, c) for n, c in audit_cases.drawn() if audit_cases.get(n).name in scored}
    assert drawn <= set(checks[["method", "case"]].itertuples(index=False, name=None))
    assert set(checks["check"]) == set(CHECKS)
    rests = checks[(checks["result"] == "passed")]
    assert (pd.to_numeric(rests["n"]) > 0).sum() > 0.9 * len(rests)
    powers = pd.to_numeric(rests.loc[rests["check"] == "noise", "power"])
    assert powers.min() > 0.99  # of noise at 2/3 of what is declared
    reached = pd.to_numeric(rests.loc[rests["check"] == "searched", "reached"])
    assert reached.min() > 0.5  # half of a sensitivity cannot hide, of any event
    assert set(checks["result"]) == {"passed", "leak"}
    assert (mutants["killed"] == 1).all()


def test_the_committed_audit_is_of_every_fit_of_a_paper_with_its_own_code():
    checks, mutants = (table[table["kind"] == OWN_CODE] for table in audit_tables.read(None))
    asked = {(fit.name, key): fit.asked for key, (_, program) in programs().items() for fit in resolve(program.fits)}
    found = checks.groupby(["method", "case"])["check"].apply(tuple).to_dict()
    assert found == asked
    assert set(checks["result"]) == {"passed"}
    assert (mutants["killed"] == 1).all()
    assert len(set(mutants["method"])) > len(asked) / 2  # a draw has no budget to break


def test_every_declared_leak_of_standardisation_is_seen_at_work():
    checks, *_ = audit_tables.read(None)
    seen = checks.loc[checks["result"] == "leak", ["method", "case", "check"]].drop_duplicates()
    failing = {(audit_cases.get(n).name, c) for n, c in audit_cases.drawn() if audit_cases.may_fail(n)}
    wanted = {(audit_cases.get(n).name, c) for n, c in audit_cases.leaky()}
    told = seen[[(m, c) not in audit_cases.BY_CONSTRUCTION for m, c in seen[["method", "check"]].to_numpy()]]
    assert len(seen) - len(told) == len(audit_cases.BY_CONSTRUCTION)  # these are at work, too
    at_work = set(told.loc[told["check"] != "runs", ["method", "case"]].itertuples(index=False, name=None))
    assert at_work == wanted
    assert set(told[["method", "case"]].itertuples(index=False, name=None)) - wanted <= failing


def test_the_table_counts_checks_and_mutants():
    table, long = audit_tables.audit_table(*made_up("failed", 0))
    text = markdown(table)
    assert f"{len(CHECKS) - 1} of {len(CHECKS)}" in text
    assert "1 of 2" in text
    assert "moved by 2" in text
    assert "0.750 (n = 300)" in text
    assert "half noise" in text
    assert set(long["mutants"]) == {2}
    assert set(long["mutants_caught"]) == {1}
    assert "no noise" in latex(table)  # the notes say what a mutant is


def test_a_paper_with_its_own_code_has_a_row_per_method():
    found = [t.assign(method="a sampler", kind=OWN_CODE, case="someone2020paper") for t in made_up()]
    text = markdown(audit_tables.audit_table(*found)[0])
    assert "papers with their own code" in text.lower()
    assert "a sampler, someone2020paper" in text


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (("failed", 1), "fails 'sensitivity'"),
        (("nan", 1), "fails 'sensitivity'"),
        (("passed", 0), "'half noise' lives"),
    ],
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


def test_every_check_has_a_row_with_what_it_alone_sees():
    table, long = audit_tables.checks_table()
    text = markdown(table)
    assert list(long["check"]) == list(CHECKS)
    assert "none; meant for: half the sensitivity (every adapter)" in text
    assert "the mechanism cuts at four deviations" in text
