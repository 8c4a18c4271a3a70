"""How a recomputed number is compared with the committed one."""

import dataclasses
import math

import pytest

from workflow import compare
from workflow.compare import DIFFERS, EQUAL, WITHIN, Number, Row, rows_for_reader
from workflow.experiments import Cell, cells, experiment_files, load
from workflow.papers import experiments as files


@pytest.fixture
def other_kernels(monkeypatch):
    """As on a processor that cannot run the kernels of the committed scores."""
    monkeypatch.setattr(compare, "same_kernels", lambda: False)


NETWORK = next(c for c in cells(files()["common_network"], "full") if c.method == "sep")


def row(split, metric, value, of=NETWORK, **changes):
    given = {"cell": of.id, "status": "ok", "reason": "", "epsilon": "1", "delta": "1e-05", "relation": "add_remove"}
    return {**given, "accountant": "a", "split": split, "metric": metric, "value": str(value), **changes}


OLD = [row(str(k), "rmse", 1.0 + 0.1 * k) for k in range(10)]


def bad(new, splits=(0,), old=OLD, of=NETWORK):
    return [n for n in compare.compare(of, new, old, splits) if n.verdict == DIFFERS]


def test_equal_rows_agree():
    found = compare.compare(NETWORK, [row(0, "rmse", 1.0), row(9, "rmse", 1.9)], OLD, (0, 9))
    assert [n.verdict for n in found] == [EQUAL, EQUAL]


def test_a_shift_of_every_size_has_its_word(other_kernels):
    """Half a standard error of the committed splits is the tolerance of chaotic training."""
    sd = math.sqrt(sum((0.1 * k - 0.45) ** 2 for k in range(10)) / 9)
    allowed, how = compare.tolerance(NETWORK, "rmse", 1.0, OLD)
    assert (allowed, how) == (pytest.approx(0.5 * sd / math.sqrt(10)), "half a standard error")
    verdicts = [
        compare.compare(NETWORK, [row(0, "rmse", 1.0 + k * allowed)], OLD, (0,))[0].verdict for k in (0, 0.99, 1.01)
    ]
    assert verdicts == [EQUAL, WITHIN, DIFFERS]


def test_the_red_line_names_number_file_shift_and_tolerance(other_kernels):
    (one,) = bad([row(0, "rmse", 2.0)])
    text = compare.sentence(one, "scores/x.csv.gz")
    assert text.startswith(f"{NETWORK.id}, split 1: rmse is 2.0, committed 1.0 in scores/x.csv.gz; shift 1, tolerance ")
    assert text.endswith("(half a standard error)")


@pytest.mark.parametrize(
    ("column", "here", "was", "same"),
    [
        ("epsilon", "0.99999999999", "1", True),  # rounding of the search for the noise
        ("epsilon", "1.000001", "1", False),
        ("epsilon", "inf", "inf", True),
        ("epsilon", "1", "inf", False),
        ("epsilon", "", "1", False),
        ("delta", "1.00000000001e-05", "1e-05", False),
        ("relation", "replace", "add_remove", False),
        ("accountant", "b", "a", False),
    ],
)
def test_what_a_fit_cost_is_the_same_to_rounding(column, here, was, same):
    assert compare.same_cost(column, here, was) is same
    found = bad([row(0, "rmse", 1.0, **{column: here})], old=[row("0", "rmse", 1.0, **{column: was})])
    assert [n.metric for n in found] == ([] if same else [column])


def test_another_chain_may_be_as_far_as_splits_are(other_kernels):
    chain = next(c for c in cells(files()["common_logistic_regression"], "full") if c.method == "nuts")
    sd = math.sqrt(sum((0.1 * k - 0.45) ** 2 for k in range(10)) / 9)
    assert compare.tolerance(chain, "rmse", 1.0, OLD) == (pytest.approx(4 * sd), "another chain")


@pytest.mark.parametrize(("method", "experiment", "relative"), [
    ("ridge", "dpsep_uci", 1e-8), ("vi", "common_density", 1e-6),
    ("dp_vi_vinaroz_corrected", "common_linear_regression", 1e-3),
])  # fmt: skip
def test_tolerances_of_the_config(other_kernels, method, experiment, relative):
    found = next(c for c in cells(files()[experiment], "full") if c.method == method)
    assert compare.tolerance(found, "rmse", 5.0, OLD)[0] == pytest.approx(5 * relative)


def test_with_the_same_kernels_nothing_is_chaotic(monkeypatch):
    monkeypatch.setattr(compare, "same_kernels", lambda: True)
    assert compare.tolerance(NETWORK, "rmse", 5.0, OLD) == (pytest.approx(5e-6), "same kernels")
    closed = next(c for c in cells(files()["dpsep_uci"], "full") if c.method == "ridge")
    assert compare.tolerance(closed, "rmse", 5.0, OLD)[1] == "closed form"


def test_another_status_and_a_metric_that_comes_or_goes_are_named():
    assert [n.metric for n in bad([row(0, "rmse", 1.0, status="diverged", reason="why")])] == ["status"]
    (one,) = bad([row(0, "rmse", 1.0), row(0, "other", 1.0)])
    assert "'other' is found here only" in one.why
    (one,) = bad([])
    assert "'rmse' is committed only" in one.why
    (one,) = bad([row(0, "rmse", 1.0)], old=[])
    assert "not in the committed reference" in one.why


def test_a_split_that_ends_the_same_way_agrees():
    failed = row("3", "", "", status="failed", reason="ValueError: x")
    (one,) = compare.compare(NETWORK, [failed | {"split": 3, "reason": "ValueError: y"}], [failed], (3,))
    assert (one.verdict, one.metric, one.here) == (EQUAL, "status", "failed")


def test_numbers_of_all_splits_together_need_all_splits():
    whole, of = row("", "coverage", 0.5), dataclasses.replace(NETWORK, splits=10)
    every = [row(k, "rmse", 1.0 + 0.1 * k, of) for k in range(10)]
    old = [r | {"cell": of.id} for r in (*OLD, whole)]
    assert bad(every[:1], old=old, of=of) == []
    assert len(bad(every, range(10), old, of)) == 1
    assert bad([*every, whole | {"cell": of.id}], range(10), old, of) == []


def number(**changes):
    given = Number("c", "0", "rmse", "2.0", "2.2", 1.0, WITHIN, "")
    return dataclasses.replace(given, **changes)


def test_the_smallest_shift_that_is_seen_is_the_tolerance_and_the_distance():
    assert number().seen == pytest.approx((1.0 + 0.2) / 2)
    assert number(here="2.0").seen == pytest.approx(0.5)
    assert [number().far(k) for k in (0.05, 0.2)] == [True, False]
    assert number(committed="nan", here="nan").shift == 0
    assert not number(committed="ok", here="failed", tolerance=math.nan).far(0.0)


def test_words():
    assert compare.word(math.nan, math.nan, 0.0) == EQUAL
    assert compare.word(1.0, math.nan, 1.0) == DIFFERS
    assert compare.word(1.0, 1.5, 0.5) == WITHIN


def test_every_name_in_the_config_exists():
    config = compare.tolerances()
    assert set(config) == {"tolerances", "experiments", "short", "expensive_seconds"}
    assert set(config["experiments"]) <= {load(p)["experiment"] for p in experiment_files()}


# -------------------------------------------------------------------------------------------------- lines for a reader

RIDGE = Cell(
    experiment="dpsep_uci", dataset="wine", protocol="literature", method="ridge", setting="", model=(), settings=(),
    budget=(), splits=3, scale="full", timeout_s=1.0,
)  # fmt: skip


def scored(split, metric, value, **more):
    nothing = dict.fromkeys(("epsilon", "delta", "relation", "accountant"), "")
    return row(split, metric, value, RIDGE, **(nothing | more))


def lines(here, committed, splits=(0,)):
    return rows_for_reader(RIDGE, here, committed, splits)


def test_equal_within_and_different_numbers():
    old = [scored("0", "rmse", "0.5"), scored("0", "log", "1.0"), scored("0", "bad", "2.0"), scored("1", "rmse", "9")]
    new = [scored(0, "rmse", "0.5"), scored(0, "log", repr(1.0 + 1e-10)), scored(0, "bad", "2.1")]
    found = {r.measure: r for r in lines(new, old)}
    assert {m: r.verdict for m, r in found.items()} == {"rmse": EQUAL, "log": WITHIN, "bad": DIFFERS}
    assert (found["bad"].committed, found["bad"].here) == ("2", "2.1")
    assert "split 1 of 3" in found["rmse"].why
    assert found["rmse"].paper == "vinaroz2023dpsep"


def test_a_mean_over_several_splits_has_the_verdict_of_the_worst():
    old = [scored(str(k), "rmse", str(k + 1.0)) for k in range(3)]
    new = [scored(k, "rmse", str(k + 1.0 + (k == 1))) for k in range(3)]
    (one,) = lines(new, old, range(3))
    assert (one.verdict, one.committed) == (DIFFERS, "2")
    assert float(one.here) == pytest.approx(7 / 3)


def test_another_status_or_epsilon_differs():
    old = [scored("0", "rmse", "1", epsilon="1", delta="1e-05")]
    assert {r.verdict for r in lines([scored(0, "", "", status="failed", reason="ValueError: no")], old)} == {DIFFERS}
    found = lines([scored(0, "rmse", "1", epsilon="2", delta="1e-05")], old)
    assert {(r.measure, r.verdict) for r in found} == {("epsilon", DIFFERS), ("rmse", EQUAL)}
    two = [old[0], scored("0", "test_log_likelihood", "1", epsilon="1", delta="1e-05")]
    twice = lines([r | {"split": 0, "epsilon": "2"} for r in two], two)
    assert [r.measure for r in twice if r.verdict == DIFFERS] == ["epsilon"], "a difference is said once"
    near = lines([scored(0, "rmse", "1", epsilon="0.9999999999", delta="1e-05")], old)
    assert [(r.committed, r.here, r.verdict) for r in near if r.measure == "epsilon"] == [("1", "0.9999999999", WITHIN)]
    agreed = lines([scored(0, "rmse", "1", epsilon="1", delta="1e-05")], old)
    assert {(r.measure, r.verdict, r.here) for r in agreed if r.measure == "epsilon"} == {("epsilon", EQUAL, "1")}


def test_a_cell_that_failed_then_and_fails_now_agrees():
    old = [scored("0", "", "", status="diverged", reason="NaN")]
    (one,) = lines([scored(0, "", "", status="diverged", reason="NaN")], old)
    assert (one.verdict, one.committed) == (EQUAL, "diverged")


def test_a_row_has_the_fields_that_the_report_reads():
    fields = ["cell", "paper", "method", "dataset", "measure", "committed", "here", "verdict", "why"]
    assert [f.name for f in dataclasses.fields(Row)] == fields


def test_a_score_row_of_a_papers_program_is_compared_measure_by_measure(monkeypatch):
    monkeypatch.setattr(compare, "own_tolerance", lambda was: (1e-6, "some kernels"))
    measures = {"{metric}": "mean", "accuracy": "1 - mean", "epsilon": "ledger_epsilon", "sd": "std"}
    was = {"method": "m", "dataset": "d", "metric": "error", "setting": "epsilon~1;delta=1e-3", "status": "ok",
           "reason": "", "repeats": "40", "mean": "0.25", "std": "", "ledger_epsilon": "2"}  # fmt: skip

    def lines(**changes):
        found = compare.own_numbers(measures, "i", was, was | changes)
        return [(n.metric, n.committed, n.here, n.verdict, n.why) for n in found]

    assert lines() == [
        ("error", "0.25", "0.25", "equal", "40 repetitions"),
        ("accuracy", "0.75", "0.75", "equal", "40 repetitions"),
        ("epsilon", "2", "2", "equal", "delta 1e-3"),
    ]
    assert [line[3] for line in lines(mean=0.2500001, ledger_epsilon="2.1")] == ["within", "within", "differs"]
    assert lines(mean=0.26)[1] == ("accuracy", "0.75", "0.74", "differs", "40 repetitions; some kernels")
    assert lines(status="no_data", reason="no file") == [("status", "ok", "no_data", "not run", "no file")]
    assert lines(status="diverged", reason="nan") == [("status", "ok", "diverged", "differs", "nan")]


@pytest.mark.parametrize("was", [math.inf, -math.inf, math.nan, 1.0])
@pytest.mark.parametrize("here", [math.inf, -math.inf, math.nan, 5.0])
def test_no_tolerance_covers_an_infinity_or_a_nan(other_kernels, here, was):
    """The tolerance of an infinite number is infinite. Two equal infinities are equal, and so are two NaN."""
    same = here == was or (math.isnan(here) and math.isnan(was))
    allowed, _ = compare.own_tolerance(was)
    assert compare.word(here, was, allowed) == (EQUAL if same else DIFFERS)
    number = Number("c", "0", "rmse", repr(was), repr(here), allowed, "", "")
    assert number.far(1e-6) != same
