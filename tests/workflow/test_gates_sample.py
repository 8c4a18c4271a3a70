"""Which cells and splits the gate recomputes."""

from types import SimpleNamespace

import pytest

from workflow import compare, gates, recompute
from workflow.committed import Reference
from workflow.experiments import Cell, families

CAPS = compare.tolerances()["short"]


@pytest.fixture(scope="module")
def reference():
    return Reference()


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
    return gates.choose(scene, [entry], commit, {entry} if changed else ())


def test_the_cheapest_cell_at_the_first_split_and_one_drawn_from_the_commit():
    mine = [at(e, dataset=d) for d in ("wine", "power") for e in (1.0, 0.1, 8.0)]
    (one,) = chosen(mine, {mine[4].id: 0.1})
    assert one.cells == (mine[4].id,)
    first, second = one.splits
    assert (first, second) == (0, gates.drawn_split(mine[4], "abc"))


def test_the_drawn_split_follows_the_commit_and_reaches_every_split_but_the_first():
    """Each of 9 splits is missed by 200 draws with probability (8/9)^200 = 6e-11; the draws are fixed by the names."""
    assert {gates.drawn_split(cell(), f"commit {k}") for k in range(200)} == set(range(1, 10))
    assert gates.drawn_split(cell(), "abc") == gates.drawn_split(cell(), "abc")
    assert gates.drawn_split(cell(splits=1), "abc") == 0


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
    found = {c.method: recompute.together(c, reference.families) for c in reference.cells.values()}
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
    short = recompute.shortened(mine[1], CAPS).id
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
    assert gates.size(cell(budget=tuple(smaller.items()))) < gates.size(cell(budget=tuple(larger.items())))


@pytest.mark.parametrize("changed", ["none", pytest.param("all", marks=pytest.mark.nightly)])
def test_every_method_in_every_experiment_has_a_sample_and_every_short_run_its_row(reference, changed):
    committed = {key[:3] for key in reference.short_rows()}
    changed = set(reference.entries) if changed == "all" else ()
    units = gates.choose(reference, list(reference.entries), "abc", changed)
    assert {(u.experiment, m) for u in units for m in u.methods} == set(reference.entries)
    short = {(u.experiment, reference.cells[i]) for u in units if u.short for i in u.cells}
    assert {(e, c.method, recompute.shortened(c, CAPS).id) for e, c in short} == committed


@pytest.mark.nightly
def test_which_short_run_is_repeated_does_not_depend_on_what_fits_cost(reference, monkeypatch):
    real = Reference.seconds
    limit = compare.tolerances()["expensive_seconds"]

    def other(self, experiment):
        """Other costs, on the same side of the limit."""
        cost = real(self, experiment)
        moved = {c: s * (1 + int(c[-2:], 16) % 5) for c, s in cost.items()}
        return {c: s if cost[c] > limit else min(s, limit) for c, s in moved.items()}

    def short_runs():
        units = [u for u in gates.choose(reference, list(reference.entries), "abc") if u.short]
        return {(u.experiment, recompute.shortened(reference.cells[i], CAPS).id) for u in units for i in u.cells}

    before = short_runs()
    monkeypatch.setattr(Reference, "seconds", other)
    assert short_runs() == before


def test_only_methods_whose_own_files_differ_are_changed(reference, monkeypatch):
    monkeypatch.setattr(gates, "differing", lambda folder: frozenset())
    assert gates.changed_entries(reference) == set()
    monkeypatch.setattr(gates, "differing", lambda folder: frozenset({"methods/ep/_pbp/sites.py"}))
    found = gates.changed_entries(reference)
    assert ("dpsep_uci", "dp_sep_corrected") in found
    assert ("dpsep_uci", "ridge") not in found
    one = reference.entries["dpsep_uci", "dp_sep_corrected"][0]
    assert {"methods/ep/dp_sep_corrected.py", "methods/ep/_pbp/sites.py"} <= set(one.own_files)
    assert "methods/contract.py" not in one.own_files
