"""The audit as a program: rows of one adapter, of one with a declared leak, and of one that is broken."""

from __future__ import annotations

import pytest

from workflow import audit, audit_cases

SOUND, LEAKY = ("dp_linear_regression", "bnn_regression"), ("dp_vi", "bnn_regression")


def test_a_sound_adapter_passes_and_its_mutants_are_caught():
    checks, broken = audit.tables([SOUND])
    assert list(checks["check"]) == list(audit.CHECKS)
    assert set(checks["result"]) == {audit.PASSED}
    budgets = audit_cases.broken_budgets(*SOUND)
    assert len(broken) == len(audit_cases.broken(*SOUND)) + len(budgets) >= 8
    assert 0.9 < float(checks.set_index("check").loc["sensitivity", "reached"]) <= 1
    assert (broken["killed"] == 1).all()
    assert broken["killed_by"].str.len().min() > 0


def test_a_declared_leak_is_shown_and_the_rest_is_checked_without_it():
    rows = list(audit.check_rows(*LEAKY))
    leaks = [r for r in rows if r["result"] == audit.LEAK]
    assert "posterior" in {r["check"] for r in leaks}
    assert [r["result"] for r in rows if r not in leaks] == [audit.PASSED] * len(audit.CHECKS)


def test_a_broken_adapter_fails_with_what_was_found():
    assert audit.faults(*SOUND) == {}
    found = audit.faults(*SOUND, next(m for m in audit_cases.broken(*SOUND) if m.name == "half noise"))
    assert set(found) <= set(audit.CHECKS)
    assert "times its declared sensitivity" in found["sensitivity"]


def test_an_unknown_method_is_named(monkeypatch, capsys, tmp_path):
    given = ["audit", "--checks", str(tmp_path / "a"), "--mutants", str(tmp_path / "b"), "--methods", "dp_vii"]
    monkeypatch.setattr("sys.argv", given)
    with pytest.raises(SystemExit):
        audit.main()
    assert "no private adapter dp_vii" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
