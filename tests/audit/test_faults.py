"""Faults of developers: the committed table says of each which checks see it, without a sound copy beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from audit import cases, faults
from datasets.files import ROOT
from privacy import audit

TABLE = pd.read_csv(ROOT / "audit/faults.csv", keep_default_na=False).set_index("fault")


def test_the_table_has_every_fault_in_a_sentence_of_its_own():
    assert list(TABLE.index) == [f.name for f in faults.FAULTS]
    assert list(TABLE["what"]) == [f.what for f in faults.FAULTS]
    assert len(TABLE) >= 25
    assert len(set(TABLE["what"])) == len(TABLE)


def test_at_least_twenty_are_killed_and_each_survivor_has_its_reason():
    survived = TABLE["killed_by"] == faults.SURVIVED
    assert (~survived).sum() >= 20
    assert {f.name for f in faults.FAULTS if f.survives} == set(TABLE.index[survived])


def test_each_check_has_a_sentence_and_kills_a_fault():
    """Of this table or of that of the broken copies; a check that kills nothing would have to go."""
    copies = pd.read_csv(ROOT / "reports/reference/mutants.csv", usecols=["killed_by"])["killed_by"]
    killers = set(" ".join(TABLE["killed_by"]).split()) | set(copies)
    assert set(audit.CHECKS) <= killers
    assert all(audit.KILLS.values())


def test_each_check_alone_kills_a_fault_or_names_the_one_that_it_is_meant_for():
    table = faults.alone(TABLE.reset_index()).set_index("check")
    without = set(table.index[table["alone"] == ""])
    assert without == set(faults.MEANT)
    for check, fault in faults.MEANT.items():
        assert check in TABLE.loc[fault, "killed_by"].split()
    assert list(table.index) == list(audit.CHECKS)


#: a fault for each of the checks that came with this list, and the check that must see it; cheap ones.
SEEN = {
    "the second event of a method": "searched",
    "noise of a block again": "same_path",
    "raw counts mask a release of ranges": "forged",
    "the mechanism cuts at four deviations": "tails",
    "bare after 100 steps": "late",
    "batches of 16 bits": "secrets",
    "supports refuses a wide target": "supports",
    "calibrated to more than the budget": "enforced",
    "noise of the fit's stream": "noise_used",
    "a ledger without an epsilon": "ledger",
    "the first rows are kept": "diagnostics",
}


def of(name: str) -> faults.Fault:
    return next(f for f in faults.FAULTS if f.name == name)


@pytest.mark.parametrize(("name", "check"), SEEN.items())
def test_a_fault_is_seen_by_its_check(name, check):
    fault = of(name)
    broken = fault.make(cases.get(fault.adapter))
    assert getattr(cases.audit_of(fault.adapter, fault.case, broken), check)()
    assert check in TABLE.loc[name, "killed_by"].split()


@pytest.mark.nightly
@pytest.mark.parametrize("name", [f.name for f in faults.FAULTS])
def test_the_table_is_what_the_audit_finds(name):
    assert faults.row(of(name))["killed_by"] == TABLE.loc[name, "killed_by"]


def test_a_broken_copy_leaves_the_real_adapter_as_it_is():
    fault = of("coverage reads n")
    method, task = cases.get(fault.adapter), cases.tiny_task(fault.case)
    one = audit.run(method, task, cases.tiny_settings(method), cases.SPEC, 1)
    audit.run(fault.make(method), task, cases.tiny_settings(method), cases.SPEC, 1)
    two = audit.run(method, task, cases.tiny_settings(method), cases.SPEC, 1)
    np.testing.assert_array_equal(audit.flat_parameters(one), audit.flat_parameters(two))
