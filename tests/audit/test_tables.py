"""The audit as a program: rows of one adapter, of one with a declared leak, and of one that is broken."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from audit import cases, tables
from privacy import audit, faults, mutants
from privacy.ledger import Relation
from privacy.wrapped import WRAPPED

SOUND, LEAKY = ("adassp", "bnn_regression"), ("dp_vi_vinaroz", "bnn_regression")


def test_a_sound_adapter_passes_and_its_mutants_are_caught():
    checks, broken = tables.tables([SOUND])
    assert list(checks["check"]) == list(tables.CHECKS)
    assert set(checks["result"]) == {tables.PASSED}
    budgets = cases.broken_budgets(*SOUND)
    assert len(broken) == len(cases.broken(*SOUND)) + len(budgets) + len(WRAPPED) >= 12
    assert 0.9 < float(checks.set_index("check").loc["sensitivity", "reached"]) <= 1
    assert (broken["killed"] == 1).all()
    assert broken["killed_by"].str.len().min() > 0


def test_a_declared_leak_is_shown_and_the_rest_is_checked_without_it():
    rows = list(tables.check_rows(*LEAKY))
    leaks = [r for r in rows if r["result"] == tables.LEAK]
    assert "posterior" in {r["check"] for r in leaks}
    assert [r["result"] for r in rows if r not in leaks] == [tables.PASSED] * len(tables.CHECKS)


def test_a_broken_adapter_fails_with_what_was_found():
    assert tables.faults(*SOUND) == {}
    found = tables.faults(*SOUND, next(m for m in cases.broken(*SOUND) if m.name == "no clipping"))
    assert set(found) <= set(tables.CHECKS)
    assert "times its declared sensitivity" in found["sensitivity"]


def test_broken_budgets_are_tried_where_a_declared_leak_is_closed():
    with mutants.loaded(cases.get(LEAKY[0]), cases.closed(*LEAKY)) as method:
        tried = {f.name for f in cases.broken_budgets(*LEAKY, method=method)}
        assert {"release thrown away", "half the sensitivity", "a third of the steps announced"} <= tried
        assert cases.caught(*LEAKY, faults.of("release thrown away"), method)[0] == "posterior"


def test_rows_say_what_they_rest_on():
    rows = {
        r["check"]: r
        for r in tables.check_rows("bounded_logistic_regression/dp_vi_vinaroz_corrected", "bounded_logistic_regression")
    }
    assert int(rows["noise"]["n"]) >= 3000
    assert float(rows["noise"]["power"]) > 0.999
    assert rows["sampling"]["against"] == "1.5 times the declared rate"  # the batches of the toy are Poisson
    assert float(rows["sampling"]["power"]) > 0.9
    assert float(rows["sampling"]["false_alarm"]) == 1e-3


def test_a_draw_has_rows_too_and_a_declared_failure_is_a_leak():
    by_check = {
        r["check"]: r["result"] for r in tables.draw_rows("posterior_sampling_glm_diffused", "logistic_regression")
    }
    assert by_check == {
        "runs": tables.LEAK,
        "diagnostics": tables.PASSED,
        "events": tables.PASSED,
        "posterior": tables.PASSED,
        "supports": tables.PASSED,
    }


def test_each_engine_that_buys_ranges_buys_them_in_a_case():
    """Without documented ranges the ledger holds their release, and with them it does not."""
    for kind, names in cases.BUYS.items():
        for name in names:
            events = {}
            for case in (kind, kind + cases.NO_RANGES):
                method = cases.get(name)
                spec, task = cases.SPEC, cases.tiny_task(case)
                fit = audit.run(method, task, cases.tiny_settings(method), spec, 1)
                events[case] = [e.proof for e in fit.ledger]
            bought = "privacy.scaling.range_counts"
            assert bought in events[kind + cases.NO_RANGES]
            assert bought not in events[kind]
            assert (name, kind + cases.NO_RANGES) in cases.cases()


def test_the_search_is_on_the_adapter_at_hand_and_its_share_is_told_for_each_event():
    """Fixed pairs reach less of this bound than half of what the search does."""
    case = ("bernstein_sheldon_2019_corrected", "linear_regression_unknown_noise")
    made = cases.audit_of(*case)
    assert made.reached < 0.5 < min(made.shares.values()) <= 1
    assert made.searched() == ""
    (event,) = made.shares
    assert f"{made.shares[event]:.3f} ({event})" in made.evidence("searched").against


def test_a_fit_of_a_paper_with_its_own_code_has_rows_too(monkeypatch):
    """What it is asked, what a broken budget is caught by, and no whole fit after one that raises."""
    answers = {"runs": "raises", "posterior": "", "noise": "never asked"}
    made = SimpleNamespace(reached=1.0, shares={}, evidence=lambda check: audit.Evidence(3, 0.0, float("nan"), ""))
    vars(made).update({check: lambda text=text: text for check, text in answers.items()})
    broken = [(faults.of("no noise"), {"noise": "none"}), (faults.of("full batches"), {})]
    own = SimpleNamespace(name="a sampler", privacy=Relation.ADD_REMOVE, asked=tuple(answers), audit=lambda: made)
    own.broken_budgets = lambda: iter(broken)
    monkeypatch.setattr(tables, "FITS", (own,), raising=False)
    ((found, paper),) = tables.fits_of(["audit.tables:FITS"])
    checks, copies = tables.own_rows(found, paper)
    assert [(r["check"], r["result"], r["kind"], r["n"]) for r in checks] == [
        ("runs", tables.FAILED, tables.OWN_CODE, "3"),
        ("posterior", tables.PASSED, tables.OWN_CODE, "3"),
    ]
    assert [(r["mutant"], r["killed"], r["killed_by"]) for r in copies] == [
        ("no noise", 1, "noise"),
        ("full batches", 0, ""),
    ]


def test_an_unknown_method_is_named(monkeypatch, capsys, tmp_path):
    given = ["tables", "--checks", str(tmp_path / "a"), "--mutants", str(tmp_path / "b"), "--methods", "dp_vii"]
    monkeypatch.setattr("sys.argv", given)
    with pytest.raises(SystemExit):
        tables.main()
    assert "no private adapter dp_vii" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
