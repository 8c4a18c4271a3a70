"""Which cells and splits are recomputed, and how a recomputed number is compared with the committed one."""

import dataclasses
import math
from types import SimpleNamespace

import pytest

from workflow import papers, regression
from workflow.committed import Reference
from workflow.experiments import Cell, cells, experiment_files, families, load
from workflow.papers import experiments as files
from workflow.regression import DIFFERS, EQUAL, WITHIN, Number, Row, compare, rows_for_reader

CAPS = regression.tolerances()["short"]


@pytest.fixture(scope="module")
def reference():
    return Reference()


@pytest.fixture
def other_kernels(monkeypatch):
    """As on a processor that cannot run the kernels of the committed scores."""
    monkeypatch.setattr(regression, "same_kernels", lambda: False)


# ------------------------------------------------------------------------------------------------------------- choose


def cell(dataset="wine", setting="", budget=(), splits=10, method="dp_sep", **more):
    given = {"settings": (("clip", 1.0),), "protocol": "literature", "experiment": "dpsep_mixture"} | more
    return Cell(
        dataset=dataset, method=method, setting=setting, model=(("kind", "bnn_regression"),), budget=budget,
        splits=splits, scale="full", timeout_s=1.0, **given,
    )  # fmt: skip


def at(epsilon, **more):
    return cell(setting=f"epsilon={epsilon}", budget=(("delta", 1e-5), ("epsilon", epsilon)), **more)


def chosen(mine, seconds=None, changed=False, others=(), short=(), commit="abc"):
    every = [*mine, *others]
    costs = {c.id: 1.0 for c in every} | (seconds or {})
    entry = (mine[0].experiment, mine[0].method)
    scene = SimpleNamespace(
        entries={entry: tuple(mine)}, families=families(every), seconds=lambda experiment: costs,
        short_rows=lambda: dict.fromkeys(short, 0.0),
    )  # fmt: skip
    return regression.choose(scene, [entry], commit, {entry} if changed else ())


def test_the_cheapest_cell_at_the_first_split_and_one_drawn_from_the_commit():
    mine = [at(e, dataset=d) for d in ("wine", "power") for e in (1.0, 0.1, 8.0)]
    (one,) = chosen(mine, {mine[4].id: 0.1})
    assert one.cells == (mine[4].id,)
    first, second = one.splits
    assert (first, second) == (0, regression.drawn_split(mine[4], "abc"))


def test_the_drawn_split_follows_the_commit_and_reaches_every_split_but_the_first():
    """Each of 9 splits is missed by 200 draws with probability (8/9)^200 = 6e-11; the draws are fixed by the names."""
    assert {regression.drawn_split(cell(), f"commit {k}") for k in range(200)} == set(range(1, 10))
    assert regression.drawn_split(cell(), "abc") == regression.drawn_split(cell(), "abc")
    assert regression.drawn_split(cell(splits=1), "abc") == 0


def test_changed_files_add_the_smallest_and_largest_budget_at_the_first_and_last_split():
    mine = [at(e, dataset=d) for d in ("wine", "power") for e in (1.0, 0.1, 8.0)]
    found = chosen(mine, {mine[3].id: 0.1}, changed=True)
    assert {((mine[k].id,), (0, 9)) for k in (4, 5)} <= {(u.cells, u.splits) for u in found}
    assert any(u.cells == (mine[3].id,) for u in found)


def test_methods_that_read_one_run_are_recomputed_together():
    a, b = at(1.0, family="f"), at(1.0, family="f", method="dp_vi_vinaroz")
    (one,) = chosen([a], others=[b, at(8.0, family="f", method="dp_vi_vinaroz")])
    assert one.cells == (a.id, b.id)
    assert one.methods == ("dp_sep", "dp_vi_vinaroz")


def test_all_budgets_that_one_call_of_a_method_fits_are_recomputed_together(reference):
    """The search for the mode stops for all budgets at once: a budget by itself differed by up to 7e-4 here."""
    found = {c.method: regression.together(c, reference.families) for c in reference.cells.values()}
    for method in ("posterior_sampling_glm_diffused", "posterior_sampling_ops"):
        assert len(found[method]) > 1
        assert {c.method for c in found[method]} == {method}
    assert len(found["dp_sgd"]) == 1  # it is given several budgets in one job, and fits them one by one


def test_an_expensive_fit_is_cut_short_and_one_that_cannot_be_is_made_once():
    long = (("clip", 1.0), ("epochs", 40))
    mine = [at(0.1, settings=long), at(8.0, settings=long)]
    (one,) = chosen(mine, {c.id: 30.0 for c in mine}, changed=True)
    assert (one.splits, dict(one.short), one.cells[0] in {c.id for c in mine}) == ((0,), CAPS, True)
    plain = [at(0.1), at(8.0)]
    (one,) = chosen(plain, {c.id: 30.0 for c in plain}, changed=True)
    assert (one.splits, one.short) == ((0,), ())


def test_a_method_with_a_wide_tolerance_has_a_short_run_too_of_the_cell_that_is_committed():
    mine = [at(e, settings=(("clip", 1.0), ("epochs", 40))) for e in (0.1, 8.0)]
    short = regression.shortened(mine[1], CAPS).id
    found = chosen(mine, {mine[0].id: 0.1}, short=[("dpsep_mixture", "dp_sep", short, "rmse")])
    assert {(u.cells, bool(u.short)) for u in found} == {((mine[0].id,), False), ((mine[1].id,), True)}


def test_a_cheap_cell_with_a_number_of_all_splits_is_recomputed_in_full():
    mine = cell(protocol="simulated_truth", splits=50)
    assert len(chosen([mine])[0].splits) == 2  # a second each: too expensive
    assert chosen([mine], {mine.id: 0.01})[0].splits == tuple(range(50))


def test_tuned_and_ablated_settings_are_left_out_if_there_are_others():
    mine = [cell(setting="tuned;epsilon=1"), cell(setting="ablation;x"), cell()]
    assert [u.cells for u in chosen(mine)] == [(mine[2].id,)]
    assert [u.cells for u in chosen(mine[:1])] == [(mine[0].id,)]


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ({"epsilon": 0.1}, {"epsilon": 1.0}),
        ({"renyi": (10.0, 0.1)}, {"renyi": (1.0, 0.2)}),
        ({"noise_multiplier": 3.0}, {"noise_multiplier": 1.0}),
    ],
)
def test_cells_are_ordered_by_what_they_may_spend(smaller, larger):
    assert regression.size(cell(budget=tuple(smaller.items()))) < regression.size(cell(budget=tuple(larger.items())))


@pytest.mark.parametrize("changed", ["none", pytest.param("all", marks=pytest.mark.nightly)])
def test_every_method_in_every_experiment_has_a_sample_and_every_short_run_its_row(reference, changed):
    committed = {key[:3] for key in reference.short_rows()}
    changed = set(reference.entries) if changed == "all" else ()
    units = regression.choose(reference, list(reference.entries), "abc", changed)
    assert {(u.experiment, m) for u in units for m in u.methods} == set(reference.entries)
    short = {(u.experiment, reference.cells[i]) for u in units if u.short for i in u.cells}
    assert {(e, c.method, regression.shortened(c, CAPS).id) for e, c in short} == committed


@pytest.mark.nightly
def test_which_short_run_is_repeated_does_not_depend_on_what_fits_cost(reference, monkeypatch):
    real = Reference.seconds
    limit = regression.tolerances()["expensive_seconds"]

    def other(self, experiment):
        """Other costs, on the same side of the limit."""
        cost = real(self, experiment)
        moved = {c: s * (1 + int(c[-2:], 16) % 5) for c, s in cost.items()}
        return {c: s if cost[c] > limit else min(s, limit) for c, s in moved.items()}

    def short_runs():
        units = [u for u in regression.choose(reference, list(reference.entries), "abc") if u.short]
        return {(u.experiment, regression.shortened(reference.cells[i], CAPS).id) for u in units for i in u.cells}

    before = short_runs()
    monkeypatch.setattr(Reference, "seconds", other)
    assert short_runs() == before


def test_only_methods_whose_own_files_differ_are_changed(reference, monkeypatch):
    monkeypatch.setattr(regression, "differing", lambda folder: frozenset())
    assert regression.changed_entries(reference) == set()
    monkeypatch.setattr(regression, "differing", lambda folder: frozenset({"methods/ep/_pbp/sites.py"}))
    found = regression.changed_entries(reference)
    assert ("dpsep_uci", "dp_sep_corrected") in found
    assert ("dpsep_uci", "ridge") not in found
    one = reference.entries["dpsep_uci", "dp_sep_corrected"][0]
    assert {"methods/ep/dp_sep_corrected.py", "methods/ep/_pbp/sites.py"} <= set(one.own_files)
    assert "methods/contract.py" not in one.own_files


def test_samples_of_papers_with_programs_are_committed_cells_of_one_file_and_method():
    assert set(papers.programs()) >= {"wang2018", "jalko2017dpvi", "raisa2021thesis"}
    units = regression.own_units()
    for key, (_, program) in papers.programs().items():
        mine, known = [u for u in units if u.experiment == key], regression.own_cells(key)
        ids = [i for u in mine for i in u.cells]
        assert len(set(ids)) == len(ids) > 2
        assert {u.seconds for u in mine} == set(program.samples.values())  # each pattern names some
        readings = {(r["method"], r["reading"]) for c in known.values() for r in c.rows}
        assert len({(r["method"], r["reading"]) for i in ids for r in known[i].rows}) == len(readings)
        for unit in mine:
            assert len({(known[i].file, r["method"], r["reading"]) for i in unit.cells for r in known[i].rows}) == 1


def test_a_score_row_of_a_papers_program_is_compared_measure_by_measure(monkeypatch):
    monkeypatch.setattr(regression, "own_tolerance", lambda was: (1e-6, "some kernels"))
    measures = {"{metric}": "mean", "accuracy": "1 - mean", "epsilon": "ledger_epsilon", "sd": "std"}
    was = {"method": "m", "dataset": "d", "metric": "error", "setting": "epsilon~1;delta=1e-3", "status": "ok",
           "reason": "", "repeats": "40", "mean": "0.25", "std": "", "ledger_epsilon": "2"}  # fmt: skip

    def lines(**changes):
        found = regression.own_rows("p", measures, "i", was, was | changes)
        return [(r.measure, r.committed, r.here, r.verdict, r.why) for r in found]

    assert lines() == [
        ("error", "0.25", "0.25", "equal", "40 repetitions"),
        ("accuracy", "0.75", "0.75", "equal", "40 repetitions"),
        ("epsilon", "2", "2", "equal", "delta 1e-3"),
    ]
    assert [line[3] for line in lines(mean=0.2500001, ledger_epsilon="2.1")] == ["within", "within", "differs"]
    assert lines(mean=0.26)[1] == ("accuracy", "0.75", "0.74", "differs", "40 repetitions; some kernels")
    assert lines(status="no_data", reason="no file") == [("status", "ok", "no_data", "not run", "no file")]
    assert lines(status="diverged", reason="nan") == [("status", "ok", "diverged", "differs", "nan")]


# ------------------------------------------------------------------------------------------------------------ compare

NETWORK = next(c for c in cells(files()["common_network"], "full") if c.method == "sep")


def row(split, metric, value, of=NETWORK, **changes):
    given = {"cell": of.id, "status": "ok", "reason": "", "epsilon": "1", "delta": "1e-05", "relation": "add_remove"}
    return {**given, "accountant": "a", "split": split, "metric": metric, "value": str(value), **changes}


OLD = [row(str(k), "rmse", 1.0 + 0.1 * k) for k in range(10)]


def bad(new, splits=(0,), old=OLD, of=NETWORK):
    return [n for n in compare(of, new, old, splits) if n.verdict == DIFFERS]


def test_equal_rows_agree():
    found = compare(NETWORK, [row(0, "rmse", 1.0), row(9, "rmse", 1.9)], OLD, (0, 9))
    assert [n.verdict for n in found] == [EQUAL, EQUAL]


def test_a_shift_of_every_size_has_its_word(other_kernels):
    """Half a standard error of the committed splits is the tolerance of chaotic training."""
    sd = math.sqrt(sum((0.1 * k - 0.45) ** 2 for k in range(10)) / 9)
    allowed, how = regression.tolerance(NETWORK, "rmse", 1.0, OLD)
    assert (allowed, how) == (pytest.approx(0.5 * sd / math.sqrt(10)), "half a standard error")
    verdicts = [compare(NETWORK, [row(0, "rmse", 1.0 + k * allowed)], OLD, (0,))[0].verdict for k in (0, 0.99, 1.01)]
    assert verdicts == [EQUAL, WITHIN, DIFFERS]


def test_the_red_line_names_number_file_shift_and_tolerance(other_kernels):
    (one,) = bad([row(0, "rmse", 2.0)])
    text = regression.sentence(one, "scores/x.csv.gz")
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
    assert regression.same_cost(column, here, was) is same
    found = bad([row(0, "rmse", 1.0, **{column: here})], old=[row("0", "rmse", 1.0, **{column: was})])
    assert [n.metric for n in found] == ([] if same else [column])


def test_another_chain_may_be_as_far_as_splits_are(other_kernels):
    chain = next(c for c in cells(files()["common_logistic_regression"], "full") if c.method == "nuts")
    sd = math.sqrt(sum((0.1 * k - 0.45) ** 2 for k in range(10)) / 9)
    assert regression.tolerance(chain, "rmse", 1.0, OLD) == (pytest.approx(4 * sd), "another chain")


@pytest.mark.parametrize(("method", "experiment", "relative"), [
    ("ridge", "dpsep_uci", 1e-8), ("vi", "common_density", 1e-6),
    ("dp_vi_vinaroz_corrected", "common_linear_regression", 1e-3),
])  # fmt: skip
def test_tolerances_of_the_config(other_kernels, method, experiment, relative):
    found = next(c for c in cells(files()[experiment], "full") if c.method == method)
    assert regression.tolerance(found, "rmse", 5.0, OLD)[0] == pytest.approx(5 * relative)


def test_with_the_same_kernels_nothing_is_chaotic(monkeypatch):
    monkeypatch.setattr(regression, "same_kernels", lambda: True)
    assert regression.tolerance(NETWORK, "rmse", 5.0, OLD) == (pytest.approx(5e-6), "same kernels")
    closed = next(c for c in cells(files()["dpsep_uci"], "full") if c.method == "ridge")
    assert regression.tolerance(closed, "rmse", 5.0, OLD)[1] == "closed form"


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
    (one,) = compare(NETWORK, [failed | {"split": 3, "reason": "ValueError: y"}], [failed], (3,))
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
    assert regression.word(math.nan, math.nan, 0.0) == EQUAL
    assert regression.word(1.0, math.nan, 1.0) == DIFFERS
    assert regression.word(1.0, 1.5, 0.5) == WITHIN


def test_every_name_in_the_config_exists():
    config = regression.tolerances()
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
