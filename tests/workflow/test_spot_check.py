"""Which committed cells are recomputed for a spot check, and what is said of their numbers."""

import dataclasses
import math

import pytest

from workflow import spot_check
from workflow.experiments import Cell
from workflow.sample import Sample
from workflow.spot_check import DIFFERS, EQUAL, NOT_RUN, WITHIN, Row, Unit

CELL = Cell(
    experiment="dpsep_uci", dataset="wine", protocol="literature", method="ridge", setting="", model=(), settings=(),
    budget=(), splits=3, scale="full", timeout_s=1.0,
)  # fmt: skip


def scored(split, metric, value, **more):
    row = {"cell": CELL.id, "split": split, "metric": metric, "value": value, "status": "ok", "reason": ""}
    return row | {"epsilon": "", "delta": "", "relation": "", "accountant": ""} | more


def rows(here, committed, splits=(0,)):
    return spot_check.rows_of(CELL, here, committed, splits)


def test_equal_within_and_different_numbers():
    old = [scored("0", "rmse", "0.5"), scored("0", "log", "1.0"), scored("0", "bad", "2.0"), scored("1", "rmse", "9")]
    new = [scored(0, "rmse", "0.5"), scored(0, "log", repr(1.0 + 1e-10)), scored(0, "bad", "2.1")]
    found = {r.measure: r for r in rows(new, old)}
    assert {m: r.verdict for m, r in found.items()} == {"rmse": EQUAL, "log": WITHIN, "bad": DIFFERS}
    assert (found["bad"].committed, found["bad"].here) == ("2", "2.1")
    assert "split 1 of 3" in found["rmse"].why
    assert found["rmse"].paper == "vinaroz2023dpsep"


def test_a_mean_over_several_splits_has_the_verdict_of_the_worst():
    old = [scored(str(k), "rmse", str(k + 1.0)) for k in range(3)]
    new = [scored(k, "rmse", str(k + 1.0 + (k == 1))) for k in range(3)]
    (one,) = rows(new, old, range(3))
    assert (one.verdict, one.committed) == (DIFFERS, "2")
    assert float(one.here) == pytest.approx(7 / 3)


def test_another_status_or_epsilon_differs():
    old = [scored("0", "rmse", "1", epsilon="1", delta="1e-05")]
    (status,) = rows([scored(0, "", "", status="failed", reason="ValueError: no")], old)[:1]
    assert status.verdict == DIFFERS
    found = rows([scored(0, "rmse", "1", epsilon="2", delta="1e-05")], old)
    assert {(r.measure, r.verdict) for r in found} == {("epsilon", DIFFERS), ("rmse", EQUAL)}
    two = [old[0], scored("0", "test_log_likelihood", "1", epsilon="1", delta="1e-05")]
    twice = rows([r | {"split": 0, "epsilon": "2"} for r in two], two)
    assert [r.measure for r in twice if r.verdict == DIFFERS] == ["epsilon"], "a difference is said once"
    near = rows([scored(0, "rmse", "1", epsilon="0.9999999999", delta="1e-05")], old)
    assert [(r.committed, r.here, r.verdict) for r in near if r.measure == "epsilon"] == [("1", "0.9999999999", WITHIN)]
    agreed = rows([scored(0, "rmse", "1", epsilon="1", delta="1e-05")], old)
    assert {(r.measure, r.verdict, r.here) for r in agreed if r.measure == "epsilon"} == {("epsilon", EQUAL, "1")}


def test_a_cell_that_failed_then_and_fails_now_agrees():
    old = [scored("0", "", "", status="diverged", reason="NaN")]
    (one,) = rows([scored(0, "", "", status="diverged", reason="NaN")], old)
    assert (one.verdict, one.committed) == (EQUAL, "diverged")


def test_what_is_not_committed_differs():
    (one,) = rows([scored(0, "rmse", "1")], [])
    assert one.verdict == DIFFERS


def test_words():
    assert spot_check.word(math.nan, math.nan, 0.0) == EQUAL
    assert spot_check.word(1.0, math.nan, 1.0) == DIFFERS
    assert spot_check.word(1.0, 1.5, 0.5) == WITHIN


def unit(name, seconds, methods, paper="p", experiment="e"):
    one = Sample(experiment, "wine", (name,), methods, (0,), (), seconds)
    return Unit(paper, "wine", methods, (name,), seconds, one)


def chosen(units, why_not=lambda u: "", cpu=100.0):
    found, missing = spot_check.choose(sorted(units, key=lambda u: u.seconds), why_not, cpu)
    return {u.cells[0] for u in found}, {r.method: r.why for r in missing}


def test_the_cheapest_cell_of_each_method_paper_and_pair():
    units = [unit("a1", 1, ("a",)), unit("a2", 2, ("a",)), unit("b1", 3, ("b",)), unit("a3", 4, ("a",), "q", "f")]
    assert chosen(units) == ({"a1", "b1", "a3"}, {})


def test_one_unit_speaks_for_all_its_methods():
    assert chosen([unit("ab", 1, ("a", "b")), unit("b1", 2, ("b",))])[0] == {"ab"}


def test_what_is_too_dear_is_not_run_and_says_what_it_needs():
    found, missing = chosen([unit("a1", 1, ("a",)), unit("b1", 500, ("b",))])
    assert found == {"a1"}
    assert missing == {"b": "needs about 500 CPU s: ./bench doubt b1"}


def test_where_data_are_missing_the_next_cell_is_taken():
    units = [unit("a1", 1, ("a",)), unit("a2", 2, ("a",)), unit("b1", 3, ("b",))]
    found, missing = chosen(units, lambda u: "no data: x" if u.cells[0] in ("a1", "b1") else "")
    assert found == {"a2"}
    assert missing == {"b": "no data: x"}


def row(cell, verdict, method="m"):
    return Row(cell, "p", method, "wine", "rmse", "1", "1", verdict, "")


def test_the_sentence_counts_cells_not_numbers():
    some = [row("a", EQUAL), row("a", WITHIN), row("b", EQUAL)]
    assert spot_check.sentence(some) == "2 of 2 sampled cells recomputed on this machine agree"
    wrong = [*some, row("b", DIFFERS), row("c", NOT_RUN, "dear")]
    told = "1 of 2 sampled cells recomputed on this machine agree; b differs (1 method not run)"
    assert spot_check.sentence(wrong) == told
    assert spot_check.sentence([row("c", NOT_RUN)]) == "no cell was recomputed on this machine"


def test_papers_with_a_program_of_their_own_have_cells_with_distinct_ids():
    assert set(spot_check.programs()) == {"wang2018", "jalko2017dpvi", "raisa2021thesis"}
    for module in spot_check.programs().values():
        listed = [c.id for c in spot_check.own_cells(module)]
        assert len(set(listed)) == len(listed) > 2
        assert set(listed) <= set(spot_check.own_ids(module))


def test_a_row_has_the_fields_that_the_report_reads():
    fields = ["cell", "paper", "method", "dataset", "measure", "committed", "here", "verdict", "why"]
    assert [f.name for f in dataclasses.fields(Row)] == fields
