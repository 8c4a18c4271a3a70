"""Which cells and splits stand for a pair, and what of an event is compared."""

import dataclasses

import pytest

from workflow import sample
from workflow.experiments import Cell

CAPS = {"epochs": 1}


def cell(dataset="wine", setting="", budget=(), splits=10, method="dp_sep", **more):
    given = {"settings": (("clip", 1.0), ("epochs", 40)), "protocol": "literature", "experiment": "e"} | more
    return Cell(
        dataset=dataset, method=method, setting=setting, model=(("kind", "bnn_regression"),), budget=budget,
        splits=splits, scale="full", timeout_s=1.0, **given,
    )  # fmt: skip


def at(epsilon, **more):
    return cell(setting=f"epsilon={epsilon}", budget=(("delta", 1e-5), ("epsilon", epsilon)), **more)


def chosen(mine, seconds=None, short=20.0, rotating=3, data=("wine", "power"), family=None):
    costs = {c.id: 1.0 for c in mine} | (seconds or {})
    return sample.choose(mine, family or {}, costs, data, CAPS, short, rotating)


def test_smallest_and_largest_budget_on_the_cheapest_data_set_at_first_last_and_a_rotating_split():
    mine = [at(e, dataset=d) for d in ("wine", "power") for e in (1.0, 0.1, 8.0)]
    found = chosen(mine, {c.id: 0.1 for c in mine if c.dataset == "power"})
    assert {s.dataset for s in found} == {"power"}
    assert [s.cells for s in found] == [(mine[4].id,), (mine[5].id,)]
    assert {s.splits for s in found} == {(0, 3, 9)}
    assert {s.splits for s in chosen(mine, rotating=10)} == {(0, 9)}  # the rotating one may be the first


def test_the_small_sample_is_one_split_at_the_smallest_budget():
    mine = [at(e) for e in (8.0, 0.1, 1.0)]
    (one,) = chosen(mine, rotating=None)
    assert (one.cells, one.splits) == ((mine[1].id,), (0,))


def test_budgets_of_one_family_are_fitted_together():
    mine = [at(e, family="f") for e in (0.1, 1.0, 8.0)]
    (one,) = chosen(mine, family={"f": mine})
    assert one.cells == (mine[0].id, mine[2].id)


def test_readings_of_one_run_are_sampled_together():
    a, b = at(1.0, family="f"), at(1.0, family="f", method="dp_vi_vinaroz")
    (one,) = chosen([a], family={"f": [a, b]})
    assert one.cells == (a.id, b.id)
    assert one.methods == ("dp_sep", "dp_vi_vinaroz")


def test_a_dear_fit_is_cut_short_and_one_that_cannot_be_is_made_once():
    mine = [at(0.1), at(8.0)]
    (one,) = chosen(mine, {c.id: 30.0 for c in mine})
    assert (one.splits, one.short, one.cells) == ((0,), (("epochs", 1),), (mine[0].id,))
    plain = [dataclasses.replace(c, settings=(("clip", 1.0),)) for c in mine]
    (one,) = chosen(plain, {c.id: 30.0 for c in plain})
    assert (one.splits, one.short) == ((0,), ())


def test_a_cheap_cell_with_a_number_of_all_splits_is_recomputed_in_full():
    (one,) = chosen([cell(protocol="simulated_truth", splits=50)], short=20.0)
    assert one.splits == (0, 3, 49)  # a second each: too dear
    mine = cell(protocol="simulated_truth", splits=50)
    (one,) = chosen([mine], {mine.id: 0.01})
    assert one.splits == tuple(range(50))


def test_every_other_choice_of_settings_is_sampled_once():
    """A word or a switch of the settings chooses which code runs; a number does not."""
    words = [(("clip", 1.0), ("noise", w)) for w in ("gaussian", "gaussian", "laplace", "laplace")]
    mine = [cell(setting=str(k), settings=w) for k, w in enumerate(words)]
    mine.append(cell(setting="clip", settings=(("clip", 2.0), ("noise", "gaussian"))))
    mine.append(cell(setting="far", dataset="power", settings=(("clip", 1.0), ("noise", None))))
    found = chosen(mine, {mine[2].id: 2.0, mine[5].id: 9.0})
    assert {(s.cells, s.splits) for s in found} == {
        ((mine[0].id,), (0, 3, 9)),
        ((mine[3].id,), (0,)),
        ((mine[5].id,), (0,)),
    }
    assert {s.dataset for s in found if s.cells == (mine[5].id,)} == {"power"}
    assert [s.cells for s in chosen(mine, rotating=None)] == [(mine[0].id,)]


def test_tuned_and_ablated_settings_are_left_out_where_there_are_others():
    mine = [cell(setting="tuned;epsilon=1"), cell(setting="ablation;x"), cell()]
    assert [s.cells for s in chosen(mine)] == [(mine[2].id,)]
    assert [s.cells for s in chosen(mine[:1])] == [(mine[0].id,)]
    assert chosen(mine, data=("naval",)) == []


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ({"epsilon": 0.1}, {"epsilon": 1.0}),
        ({"renyi": (10.0, 0.1)}, {"renyi": (1.0, 0.2)}),
        ({"noise_multiplier": 3.0}, {"noise_multiplier": 1.0}),
    ],
)
def test_cells_are_ordered_by_what_they_may_spend(smaller, larger):
    assert sample.size(cell(budget=tuple(smaller.items()))) < sample.size(cell(budget=tuple(larger.items())))


EVENT = {
    "what": "sum", "mechanism": "gaussian", "relation": "add_remove", "sensitivity": 1.0, "noise_scale": 2.0,
    "sampling": "poisson", "sampling_rate": 0.1, "steps": 5, "proof": "a.b", "generator": "g", "renyi_curve": [],
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), [
    ("sensitivity", 1.0001), ("sensitivity", "inf"), ("noise_scale", 2.0001), ("steps", 6), ("sampling_rate", 0.2),
    ("relation", "replace_one"), ("what", "mean"), ("mechanism", "laplace"), ("renyi_curve", [[2.0, 0.1]]),
])  # fmt: skip
def test_every_fact_of_an_event_moves_the_digest(key, value):
    digest = sample.events_digest([("c", 0, [EVENT])])
    assert sample.events_digest([("c", 0, [EVENT | {key: value}])]) != digest


def test_the_place_of_a_proof_moves_no_digest_and_no_event_has_none():
    digest = sample.events_digest([("c", 0, [EVENT])])
    assert sample.events_digest([("c", 0, [EVENT | {"proof": "moved", "generator": "said otherwise"}])]) == digest
    assert sample.events_digest([("c", 0, [])]) == sample.events_digest([]) == ""
    assert sample.events_digest([("c", 0, [EVENT, EVENT])]) != digest
