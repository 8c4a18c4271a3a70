"""The budget: it charges before the first release, refuses to overspend, and its noise has the law it states."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from privacy.accountants import epsilon_of, renyi_divergence
from privacy.audit import Listener, Recorder, noise_law
from privacy.audit.replays import NORMS
from privacy.budget import Budget, BudgetExceeded, BudgetSpec, Mode, PoissonSampler, clipped_sum_event
from privacy.calibration import gaussian_noise_multiplier, noise_multiplier
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling
from privacy.scaling import remaining_noise_multiplier

RNG = np.random.default_rng
ROOT = Path(__file__).resolve().parents[2]


def gaussian(budget, multiplier=2.0, **more):
    args = {"sensitivity": 1.5, "relation": Relation.ADD_REMOVE, "proof": "test"} | more
    return budget.gaussian("sum", noise_multiplier=multiplier, **args)


def poisson(budget, n, rate):
    """The batches of a mechanism at that rate."""
    return gaussian(budget, sampling=Sampling.POISSON, sampling_rate=rate).batches(n)


def laplace(budget, **more):
    args = {"sensitivity": 1.5, "noise_scale": 3.0, "relation": Relation.REPLACE_ONE, "proof": "test"} | more
    return budget.laplace("sum", **args)


def written(curve, steps=1, relation=Relation.ADD_REMOVE):
    return Event("draw", Mechanism.WRITTEN_BOUND, relation, 1.0, 0.0, steps=steps, renyi_curve=tuple(curve))


def opened(**spec):
    return BudgetSpec(**spec).open(RNG(0))


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"noise_multiplier": -1.0}, "noise_multiplier"),
        ({"mode": Mode.ENFORCE}, "enforce"),
        ({"mode": "enforce", "epsilon": 1.0}, "enforce"),
        ({"mode": "enforce", "delta": 1e-5}, "enforce"),
        # an epsilon without its delta would not be held, whatever else is
        ({"mode": "enforce", "epsilon": 1.0, "renyi": (2.0, 1.0)}, "needs epsilon and delta"),
    ],
)
def test_bad_budgets_are_refused_by_name(args, word):
    with pytest.raises(ValueError, match=word):
        BudgetSpec(**args)


def test_enforce_takes_what_fits_and_refuses_one_step_more():
    spec = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
    sigma = gaussian_noise_multiplier(1.0, 1e-5, steps=10)
    budget = spec.open(RNG(0))
    gaussian(budget, sigma, steps=9)
    gaussian(budget, sigma)
    assert epsilon_of(budget.ledger, 1e-5).epsilon == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(BudgetExceeded, match="budget is 1"):
        gaussian(budget, sigma)
    assert sum(e.steps for e in budget.ledger) == 10  # the refused event is not in the ledger


def test_enforce_takes_what_the_calibration_gives_under_poisson_sampling():
    sigma = noise_multiplier(1.0, 1e-5, 0.05, 200)
    budget = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE).open(RNG(0))
    gaussian(budget, sigma, sampling=Sampling.POISSON, sampling_rate=0.05, steps=200)
    assert 0.99 < epsilon_of(budget.ledger, 1e-5).epsilon <= 1.0  # calibrated to 1e-3 in the multiplier


def test_enforce_refuses_a_bare_release_and_record_writes_it():
    with pytest.raises(BudgetExceeded):
        BudgetSpec(epsilon=1e6, delta=1e-5, mode=Mode.ENFORCE).open(RNG(0)).no_noise("x", relation=Relation.ADD_REMOVE)
    budget = BudgetSpec().open(RNG(0))
    budget.no_noise("x", relation=Relation.ADD_REMOVE)
    assert [e.mechanism for e in budget.ledger] == [Mechanism.NO_NOISE]
    assert epsilon_of(budget.ledger, 1e-5).epsilon == math.inf


def test_record_overspends_without_a_word():
    budget = BudgetSpec(epsilon=1e-3, delta=1e-5).open(RNG(0))
    gaussian(budget, 0.1)
    assert epsilon_of(budget.ledger, 1e-5).epsilon > 10


# ------------------------------------------------------------------------------------------------ Renyi limits


def test_a_budget_is_held_at_its_order_over_all_events():
    budget = opened(renyi=(2.0, 1.0), mode="enforce")
    assert type(budget) is Budget
    budget.spend(written([(2.0, 0.6)], relation=Relation.REPLACE_ONE))
    # a Gaussian release costs order / (2 sigma^2) = 0.4 here: it just fits, and nothing fits after it
    budget.gaussian("sum", sensitivity=1.0, noise_multiplier=2.5**0.5, relation=Relation.REPLACE_ONE, proof="by hand")
    with pytest.raises(BudgetExceeded, match="Renyi order 2; the budget is 1"):
        budget.spend(written([(2.0, 1e-6)], relation=Relation.REPLACE_ONE))
    assert len(budget.ledger) == 2


def test_mechanisms_are_held_at_the_order_and_what_is_refused_is_not_in_the_ledger():
    """At order 2 a Gaussian release of multiplier 2 costs 2 / (2 2^2) = 1/4: four of them fit into 1."""
    budget = opened(renyi=(2, 1), mode="enforce")
    gaussian(budget, steps=3)
    gaussian(budget)
    assert renyi_divergence(budget.ledger, 2) == pytest.approx(1.0, rel=1e-12)
    for refused in (gaussian, laplace):
        with pytest.raises(BudgetExceeded, match="'sum' would bring the cost to epsilon"):
            refused(budget, relation=Relation.ADD_REMOVE)
    with pytest.raises(BudgetExceeded, match="epsilon = inf at Renyi order 2"):
        budget.no_noise("x", relation=Relation.ADD_REMOVE)
    (event,) = budget.ledger
    assert event.steps == 4


def test_an_order_that_the_bound_does_not_cover_is_refused_and_record_writes_all():
    with pytest.raises(BudgetExceeded, match="epsilon = inf"):
        opened(renyi=(3.0, 1.0), mode="enforce").spend(written([(2.0, 0.1)]))
    recorded = opened(renyi=(3.0, 1.0))
    recorded.spend(written([(2.0, 50.0)]))
    assert len(recorded.ledger) == 1


def test_both_budgets_hold_where_both_are_given():
    spec = {"epsilon": 0.01, "delta": 1e-5, "renyi": (2.0, 1.0), "mode": "enforce"}
    with pytest.raises(BudgetExceeded, match="at delta"):
        opened(**spec).spend(written([(2.0, 0.5)]))
    with pytest.raises(BudgetExceeded, match="at Renyi order"):
        opened(**spec | {"epsilon": 1e9}).spend(written([(2.0, 1.5)]))
    for limits in (spec | {"epsilon": 1e9}, {"renyi": (2.0, 1.0), "mode": "enforce"}):
        both = opened(**limits)
        both.spend(written([(2.0, 0.5)], steps=2))
        assert len(both.ledger) == 1  # what fits both is accepted


def test_the_renyi_limit_of_a_budget_is_read_or_asked_for():
    for budget in (opened(epsilon=1.0), opened(epsilon=1.0, delta=1e-5, mode="enforce")):
        assert type(budget) is Budget
        assert budget.renyi is None
        with pytest.raises(ValueError, match=r"toy: the budget states no Renyi order.*give renyi: \[order, epsilon\]"):
            budget.require_renyi("toy")
    budget = opened(renyi=[2, 1])
    assert budget.require_renyi("toy") == budget.renyi == (2.0, 1.0)
    assert {type(v) for v in budget.renyi} == {float}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("renyi", [(0.5, 1.0), (math.nan, 1.0), (math.inf, 1.0), (2.0, 0.0), (2.0, math.inf)])
def test_a_renyi_budget_out_of_range_is_refused(renyi, mode):
    with pytest.raises(ValueError, match=r"budget: renyi = \[.*Renyi (order|epsilon) .*; give a finite number"):
        BudgetSpec(renyi=renyi, mode=mode)


@pytest.mark.parametrize("renyi", [2.0, (2.0,), (2.0, 1.0, 1e-5), ("two", 1.0), (None, 1.0)])
def test_a_renyi_budget_that_is_not_two_numbers_is_refused(renyi):
    with pytest.raises(ValueError, match=r"budget: renyi = .*; give two numbers: \[order, epsilon\]"):
        BudgetSpec(renyi=renyi)


def test_there_is_one_way_to_open_a_budget():
    """A budget is made in one place of the project, ``BudgetSpec.open``; whatever the limits, it is of one class."""
    packages = ("privacy", "methods", "evaluation", "audit", "reports", "workflow", "benchmarks")
    sources = {path: path.read_text(encoding="utf-8") for p in packages for path in (ROOT / p).rglob("*.py")}
    made = [path.name for path, text in sources.items() for _ in re.finditer(r"(?<!class )\bBudget\(", text)]
    assert made == ["budget.py"]
    assert "return Budget(" in inspect.getsource(BudgetSpec.open)
    limits = {"epsilon": 1.0, "delta": 1e-5}, {"renyi": (2.0, 1.0)}
    for limit in (*limits, limits[0] | limits[1]):
        for mode in Mode:
            assert type(opened(**limit, mode=mode)) is Budget


# -------------------------------------------------------------------------------------------------- mechanisms

#: the two mechanisms that add noise, by the function above that asks a budget for one
both_mechanisms = pytest.mark.parametrize("made", [gaussian, laplace])


@both_mechanisms
@pytest.mark.parametrize("steps", [1, 3])
def test_no_release_beyond_those_announced(made, steps):
    mechanism = made(BudgetSpec().open(RNG(0)), steps=steps)
    for _ in range(steps):
        mechanism.release(np.zeros(2))
    with pytest.raises(BudgetExceeded, match="'sum': 1 more releases asked, 0 left of those announced"):
        mechanism.release(np.zeros(2))
    if made is gaussian:
        with pytest.raises(BudgetExceeded, match="announced"):
            mechanism.noise(1, 2)


@both_mechanisms
def test_more_releases_than_steps_are_refused_where_a_row_may_enter_each(made):
    budget = BudgetSpec().open(RNG(0))
    with pytest.raises(ValueError, match="5 releases for 2 steps; under full_batch a row may enter every release"):
        made(budget, steps=2, releases=5)
    assert len(budget.ledger) == 0
    made(budget, steps=2, releases=1).release(np.zeros(2))


@both_mechanisms
def test_an_audit_sees_each_release_with_its_event_and_its_count(made):
    """Recorded and ordinary releases draw the same numbers; a replay hands out what was recorded."""
    ordinary, recorder = made(BudgetSpec().open(RNG(4)), steps=2), Recorder()
    audited = made(BudgetSpec().open(RNG(4), recorder), steps=2)
    assert (ordinary.audited, audited.audited) == (False, True)
    values = np.array([1.0, 2.0]), np.array([[3.0]])
    out = [audited.release(v) for v in values]
    for one, two in zip(out, [ordinary.release(v) for v in values], strict=True):
        np.testing.assert_array_equal(one, two)
    assert recorder.events == [audited.event] * 2
    for seen, value in zip(recorder.values, values, strict=True):
        np.testing.assert_array_equal(seen, value)
    with pytest.raises(BudgetExceeded, match="announced"):
        audited.release(np.zeros(2))
    replayed = made(BudgetSpec().open(RNG(4), Recorder(recorder.outputs, recorder.events)), steps=2)
    np.testing.assert_array_equal(replayed.release(np.zeros(2)), out[0])


def test_an_epoch_scheme_counts_releases_apart_from_steps():
    budget = BudgetSpec().open(RNG(0))
    mechanism = gaussian(budget, sampling=Sampling.SHUFFLED_EPOCHS, relation=Relation.REPLACE_ONE, steps=2, releases=20)
    mechanism.noise(20, 3)
    assert [e.steps for e in budget.ledger] == [2]


@both_mechanisms
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_release_refuses_numbers_that_void_the_bound(made, bad):
    recorder = Recorder()
    mechanism = made(BudgetSpec().open(RNG(0), recorder))
    with pytest.raises(ValueError, match="NaN or infinity reached a release; clip must map it to a finite value"):
        mechanism.release(np.array([0.0, bad]))
    assert recorder.values == []
    mechanism.release(np.zeros(2))  # what was refused is not counted


@pytest.mark.parametrize("args", [{"sensitivity": 0.0}, {"sensitivity": math.inf}, {"multiplier": 0.0}])
def test_bad_mechanisms_are_refused(args):
    with pytest.raises(ValueError, match="above 0"):
        gaussian(BudgetSpec().open(RNG(0)), **args)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_noise_has_the_stated_law(dtype):
    """False-alarm rate 1e-3 each; at n = 4000 a factor 3/2 is missed with probability below 1e-9."""
    mechanism = gaussian(BudgetSpec().open(RNG(11)), steps=3000)
    block = mechanism.noise(1000, 4, dtype=dtype)
    assert block.dtype == dtype
    assert noise_law(block, 3.0).accepted
    assert not noise_law(block, 2.0).accepted
    assert not noise_law(block, 4.5).accepted
    single = np.array([mechanism.release(np.full(2, 7.0)) for _ in range(2000)]) - 7.0
    assert noise_law(single, 3.0).accepted


def test_release_and_block_draw_the_same_numbers():
    one, two = (gaussian(BudgetSpec().open(RNG(5)), steps=6) for _ in range(2))
    np.testing.assert_allclose([one.release(np.zeros(3)) for _ in range(6)], two.noise(6, 3), rtol=1e-15)


def test_an_audited_mechanism_gives_no_block():
    mechanism = gaussian(BudgetSpec().open(RNG(0), Recorder()))
    assert mechanism.audited
    with pytest.raises(RuntimeError, match="audited"):
        mechanism.noise(1, 1)


def test_every_bit_of_the_key_counts():
    """NumPy makes floats of a list of a key and a step where their kinds differ: 53 of 64 bits."""
    sampler = PoissonSampler(1000, 0.5, RNG(3))
    batch = sampler.draw(2)
    exact = np.random.Generator(np.random.Philox(key=[int(sampler.key), 2])).random(1000)
    np.testing.assert_array_equal(batch, np.flatnonzero(exact < 0.5))
    sampler.key = np.uint64(int(sampler.key) ^ 1)
    assert not np.array_equal(sampler.draw(2), batch)


@pytest.fixture(params=[PoissonSampler.GAPS_ABOVE, 0], ids=["coins", "gaps"])
def way_of_drawing(request, monkeypatch):
    monkeypatch.setattr(PoissonSampler, "GAPS_ABOVE", request.param)


def test_poisson_batches_have_the_rate_and_ignore_the_noise_stream(way_of_drawing):
    n, rate, steps = 50, 0.2, 400
    budget = BudgetSpec().open(RNG(3))
    sampler = poisson(budget, n, rate)
    batches = [sampler.draw(t) for t in range(steps)]
    counts = np.bincount(np.concatenate(batches), minlength=n)
    # two-sided binomial test of all inclusions together, and of the batch sizes' variance; false-alarm rate 1e-4 each
    assert stats.binomtest(int(counts.sum()), n * steps, rate).pvalue > 1e-4
    sizes = np.array([len(b) for b in batches])
    spread = (steps - 1) * sizes.var(ddof=1) / (n * rate * (1 - rate))
    assert 2 * min(stats.chi2.cdf(spread, steps - 1), stats.chi2.sf(spread, steps - 1)) > 1e-4
    gaussian(budget, steps=2).noise(1, 5)
    np.testing.assert_array_equal(sampler.draw(7), batches[7])


def test_each_row_enters_by_itself_at_the_rate(way_of_drawing):
    """Each row's rate, pairs of neighbours, and sizes against Binomial. False-alarm rate 1e-4 each."""
    n, rate, steps = 30, 0.1, 4000
    sampler, hits = poisson(BudgetSpec().open(RNG(8)), n, rate), np.zeros((steps, n), bool)
    for t in range(steps):
        hits[t, sampler.draw(t)] = True
    z = (hits.mean(axis=0) - rate) / math.sqrt(rate * (1 - rate) / steps)
    assert stats.chi2.sf(z @ z, n) > 1e-4
    both = (hits[:, 1:] & hits[:, :-1]).mean(axis=0)
    w = (both - rate**2) / math.sqrt(rate**2 * (1 - rate**2) / steps)
    assert np.abs(w).max() < stats.norm.isf(0.5e-4 / (n - 1))
    sizes = np.bincount(np.minimum(hits.sum(axis=1), 8), minlength=9)
    expected = steps * np.append(stats.binom.pmf(np.arange(8), n, rate), stats.binom.sf(7, n, rate))
    assert stats.chisquare(sizes, expected).pvalue > 1e-4


def test_gaps_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch):
    """A table of a tenth of the rows has the same batch up to its end: its parts are smaller. A tiny rate ends too."""
    monkeypatch.setattr(PoissonSampler, "GAPS_ABOVE", 0)
    large, small = (poisson(BudgetSpec().open(RNG(3)), n, 0.4).draw(5) for n in (300_000, 3_000))
    np.testing.assert_array_equal(large[: len(small)], small)
    assert large[len(small)] >= 3_000
    assert len(PoissonSampler(10, 1e-18, RNG(1)).draw(0)) == 0
    np.testing.assert_array_equal(PoissonSampler(10, 1.0, RNG(1)).draw(0), np.arange(10))


def test_removing_the_last_row_moves_no_other_row(way_of_drawing):
    whole, less = (poisson(BudgetSpec().open(RNG(3)), n, 0.3) for n in (40, 39))
    for t in range(50):
        batch = whole.draw(t)
        np.testing.assert_array_equal(batch[batch < 39], less.draw(t))


def test_samplers_of_one_budget_differ():
    budget = BudgetSpec().open(RNG(3))
    a, b = poisson(budget, 200, 0.5), poisson(budget, 200, 0.5)
    assert not np.array_equal(a.draw(0), b.draw(0))
    assert not np.array_equal(a.draw(0), a.draw(1))


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5])
def test_bad_rates_are_refused(rate):
    with pytest.raises(ValueError, match="rate"):
        poisson(BudgetSpec().open(RNG(0)), 10, rate)


def test_batches_belong_to_a_mechanism_and_to_one_stream():
    """A step reads one batch, at the rate of its event; another scheme has no Poisson batches."""
    mechanism = gaussian(BudgetSpec().open(RNG(0)), sampling=Sampling.POISSON, sampling_rate=0.25, steps=3)
    batches = mechanism.batches(1000)
    assert batches.rate == 0.25
    with pytest.raises(ValueError, match="has its batches already"):
        mechanism.batches(1000)
    other = gaussian(BudgetSpec().open(RNG(0)), sampling=Sampling.POISSON, sampling_rate=0.25, steps=3)
    own = other.batches(1000, RNG(9))
    assert own.key == np.random.default_rng(9).integers(2**63)
    assert not np.array_equal(own.draw(0), batches.draw(0))
    whole = gaussian(BudgetSpec().open(RNG(0)))
    np.testing.assert_array_equal(whole.batches(5).draw(0), np.arange(5))
    for scheme in (Sampling.SHUFFLED_EPOCHS, Sampling.FIXED_PARTITION, Sampling.WITHOUT_REPLACEMENT):
        mechanism = gaussian(BudgetSpec().open(RNG(0)), sampling=scheme, relation=Relation.REPLACE_ONE)
        with pytest.raises(ValueError, match=f"its scheme is {scheme}"):
            mechanism.batches(5)


@pytest.mark.parametrize("scheme", [Sampling.SHUFFLED_EPOCHS, Sampling.FIXED_PARTITION])
def test_an_epoch_scheme_is_refused_under_add_remove(scheme):
    """Without one row all later batches of the epoch are other batches: the sensitivity of one step bounds nothing."""
    with pytest.raises(ValueError, match="declare replace_one, or draw Poisson batches"):
        gaussian(BudgetSpec().open(RNG(0)), sampling=scheme, relation=Relation.ADD_REMOVE)


def test_a_view_that_states_a_multiplier_charges_the_whole_budget():
    budget = BudgetSpec(epsilon=1.0, delta=1e-5, mode="enforce").open(RNG(0))
    view = budget.stating(3.0)
    assert (view.noise_multiplier, view.epsilon, budget.epsilon) == (3.0, None, 1.0)
    with pytest.raises(BudgetExceeded):
        gaussian(view, multiplier=0.1)
    gaussian(view, multiplier=30.0)
    assert len(budget.ledger) == len(view.ledger) == 1


def test_noise_on_a_quantity_that_nothing_bounds_costs_an_infinite_epsilon():
    budget = BudgetSpec(noise_multiplier=1.0).open(np.random.default_rng(0))
    mechanism = budget.unbounded_gaussian("unclipped sum", noise_scale=2.0, relation=Relation.REPLACE_ONE)
    assert mechanism.release(np.zeros(3)).std() > 0
    (event,) = budget.ledger
    assert event.noise_multiplier == 0.0
    from privacy.accountants import epsilon_of

    assert math.isinf(epsilon_of(budget.ledger, 1e-5).epsilon)
    with pytest.raises(BudgetExceeded):
        BudgetSpec(epsilon=1, delta=1e-5, mode="enforce").open(np.random.default_rng(0)).unbounded_gaussian(
            "unclipped sum", noise_scale=2.0, relation=Relation.REPLACE_ONE
        )


# ------------------------------------------------------------------------------------- the Laplace mechanism


def test_laplace_noise_has_the_law_of_the_scale():
    """Kolmogorov-Smirnov and mean absolute value at n = 20000; false-alarm rate 1e-6 each."""
    noise = laplace(BudgetSpec().open(RNG(0))).release(np.full(20_000, 7.0)) - 7.0
    assert stats.kstest(noise, stats.laplace(scale=3.0).cdf).pvalue > 1e-6
    # |noise| is exponential with mean 3, so its mean has the standard deviation 3 / sqrt(n)
    assert abs(np.abs(noise).mean() - 3.0) < stats.norm.isf(5e-7) * 3.0 / math.sqrt(20_000)


def test_laplace_noise_after_the_listeners_map_and_with_half_the_noise():
    """The listener maps Laplace noise to normal: accepted as it is, refused at half the scale (rate 1e-6)."""
    listener = Listener()
    laplace(BudgetSpec().open(RNG(1), listener)).release(np.zeros(5000))
    z = listener.standardised()
    assert noise_law(z, 1.0, 1e-6).accepted
    assert len(z) == 5000
    listener.heard[:] = [(event, 0.5 * noise) for event, noise in listener.heard]
    assert not noise_law(listener.standardised(), 1.0, 1e-6).accepted


def test_replay_hands_out_the_stored_output_and_keeps_the_new_value():
    first = Recorder()
    out = laplace(BudgetSpec().open(RNG(2), first)).release(np.array([1.0, 2.0]))
    second = Recorder(first.outputs)
    again = laplace(BudgetSpec().open(RNG(2), second)).release(np.array([2.0, 2.0]))
    np.testing.assert_array_equal(out, again)
    np.testing.assert_array_equal(second.values[0], [2.0, 2.0])


def test_a_laplace_event_is_charged_in_advance_and_merged():
    budget = BudgetSpec().open(RNG(0))
    laplace(budget, steps=2)
    laplace(budget)
    (event,) = budget.ledger
    assert (event.mechanism, event.steps, event.sensitivity, event.noise_scale) == (Mechanism.LAPLACE, 3, 1.5, 3.0)
    # three releases with sensitivity / scale = 1 / 2 are 1.5-DP; any accountant may know better, none worse
    assert 1.0 < epsilon_of(budget.ledger, 1e-12).epsilon <= 1.5 + 1e-9


def test_enforce_refuses_laplace_releases_that_cost_too_much_or_that_nothing_bounds():
    spec = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
    budget = spec.open(RNG(0))
    laplace(budget, sensitivity=1.0, noise_scale=1.0)
    with pytest.raises(BudgetExceeded):
        laplace(budget, sensitivity=1.0, noise_scale=1.0)
    assert sum(e.steps for e in budget.ledger) == 1
    with pytest.raises(BudgetExceeded):
        laplace(spec.open(RNG(0)), sensitivity=math.inf)


def test_unbounded_laplace_releases_cost_infinity():
    budget = BudgetSpec().open(RNG(0))
    laplace(budget, sensitivity=math.inf)
    assert epsilon_of(budget.ledger, 1e-5).epsilon == math.inf


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"sensitivity": math.nan}, "sensitivity"),
        ({"noise_scale": 0.0}, "noise_scale"),
        ({"noise_scale": math.inf}, "noise_scale"),
    ],
)
def test_bad_laplace_arguments_are_refused_by_name(args, word):
    with pytest.raises(ValueError, match=word):
        laplace(BudgetSpec().open(RNG(0)), **args)


PURE = BudgetSpec(epsilon=1.0, delta=0.0, mode=Mode.ENFORCE)


def test_without_delta_laplace_and_exponential_epsilons_add_up():
    budget = PURE.open(RNG(0))
    laplace(budget)  # 1.5 / 3 = 1/2
    exponential(budget)  # 2 x 0.5 / 4 = 1/4
    with pytest.raises(BudgetExceeded, match=r"epsilon = 1\.25 at delta = 0; the budget is 1\. "):
        laplace(budget)
    assert len(budget.ledger) == 2  # what was refused is not charged
    exponential(budget)


def test_without_delta_anything_else_is_refused_by_its_reason():
    with pytest.raises(BudgetExceeded, match=r"^'sum': at delta = 0 only Laplace releases and exponential mechanisms"):
        gaussian(PURE.open(RNG(0)))
    with pytest.raises(BudgetExceeded, match=r"^'x': private numbers are released without noise"):
        PURE.open(RNG(0)).no_noise("x", relation=Relation.ADD_REMOVE)
    with pytest.raises(ValueError, match="Gaussian noise has no finite epsilon at delta = 0"):
        gaussian_noise_multiplier(1.0, 0.0)


def exponential(budget, **more):
    args = {"sensitivity": 0.5, "noise_scale": 4.0, "relation": Relation.REPLACE_ONE, "proof": "test"} | more
    return budget.exponential("choice", **args)


@pytest.mark.parametrize("changed", [{"sensitivity": 0.0}, {"noise_scale": math.inf}])
def test_an_exponential_mechanism_needs_finite_numbers(changed):
    with pytest.raises(ValueError, match=next(iter(changed))):
        exponential(PURE.open(RNG(0)), **changed)


def test_an_exponential_mechanism_draws_by_the_exponential_of_the_scores():
    """Chi-squared over 20,000 draws at 1e-4, its false-alarm rate; the seed is fixed."""
    scores, scale, draws = np.array([0.0, 1.0, 3.0, -2.0]), 2.0, 20_000
    chooser = exponential(BudgetSpec().open(RNG(3)), noise_scale=scale, steps=draws)
    counts = np.bincount([chooser.choose(scores) for _ in range(draws)], minlength=4)
    expected = draws * np.exp(scores / scale) / np.exp(scores / scale).sum()
    assert stats.chisquare(counts, expected).pvalue > 1e-4
    with pytest.raises(BudgetExceeded, match="0 left"):
        chooser.choose(scores)
    with pytest.raises(ValueError, match="one per candidate"):
        exponential(BudgetSpec().open(RNG(3))).choose(np.zeros((2, 2)))


def test_a_choice_is_recorded_and_replayed():
    """Only the number of the candidate leaves; the score that moves most counts."""
    scores, other = np.array([0.0, 1.0]), np.array([0.5, 0.75])
    first = Recorder()
    chosen = exponential(BudgetSpec().open(RNG(0), first)).choose(scores)
    second = Recorder(first.outputs, first.events)
    assert exponential(BudgetSpec().open(RNG(0), second)).choose(other) == chosen
    assert np.linalg.norm(first.values[0] - second.values[0], NORMS[Mechanism.EXPONENTIAL]) == 0.5


# ------------------------------------------------------------------------------------------------ clipped sums
def clipped_sum(budget, **more):
    args = {"clip": 1.5, "noise_multiplier": 2.0, "relation": Relation.REPLACE_ONE} | more
    return budget.clipped_sum("sum", **args)


@pytest.mark.parametrize(("relation", "sensitivity"), [(Relation.REPLACE_ONE, 3.0), (Relation.ADD_REMOVE, 1.5)])
def test_a_clipped_sum_states_what_its_clip_gives(relation, sensitivity):
    budget = BudgetSpec().open(RNG(0))
    sums = clipped_sum(budget, relation=relation, sampling_rate=0.1, steps=7)
    (event,) = budget.ledger
    assert event == sums.event
    assert (event.sensitivity, event.contribution, event.noise_multiplier) == (sensitivity, 1.5, 2.0)
    assert (event.sampling, event.sampling_rate, event.steps) == (Sampling.POISSON, 0.1, 7)
    assert clipped_sum(budget).event.sampling is Sampling.FULL_BATCH


def test_a_clipped_sum_clips_whatever_it_is_given():
    recorder = Recorder()
    sums = clipped_sum(BudgetSpec().open(RNG(0), recorder), steps=4)
    huge = np.array([[1e200, 1e200], [math.nan, 1.0], [math.inf, 0.0]])
    sums.release(np.array([[0.3, -0.4], [0.0, 15.0], [0.0, 0.0]]))
    sums.release(np.vstack([huge, [[-3e100, 0.0]]]))
    sums.release(np.zeros((0, 2)))
    # a vector below the clip stays, one above has its norm, one without a finite norm is 0
    np.testing.assert_allclose(recorder.values, [[0.3, 1.1], [-1.5, 0.0], [0.0, 0.0]], rtol=1e-15, atol=1e-15)
    with pytest.raises(ValueError, match="shape"):
        sums.release(np.zeros(2))
    assert not hasattr(sums, "noise")  # a block of noise could be added to a sum that nobody clipped


def test_the_noise_of_a_clipped_sum_has_its_scale():
    """Standard deviation of 40,000 draws: 5 standard errors are 1.8 %, false alarm 6e-7; the seed is fixed."""
    sums = clipped_sum(BudgetSpec().open(RNG(4)))
    assert sums.noise_scale == 6.0
    assert np.std(sums.release(np.zeros((1, 40_000)))) == pytest.approx(6.0, rel=0.018)


def test_a_contribution_that_nothing_clips_is_refused():
    budget = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0).open(RNG(0))
    claim = Event("sum", Mechanism.GAUSSIAN, Relation.REPLACE_ONE, 2.0, 2.0, Sampling.POISSON, 0.1, contribution=1.0)
    for charge in (budget.spend, budget.stating(1.0).spend, lambda event: budget.draw(event, lambda: np.zeros(1))):
        with pytest.raises(ValueError, match=r"^'sum' states that a row contributes at most 1, but nothing here clips"):
            charge(claim)
    with pytest.raises(TypeError, match="contribution"):
        gaussian(budget, contribution=1.0)
    assert not len(budget.ledger)


@pytest.mark.parametrize("bad", [{"clip": 0.0}, {"clip": math.inf}, {"noise_multiplier": 0.0}])
def test_bad_arguments_of_a_clipped_sum_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        clipped_sum(BudgetSpec().open(RNG(0)), **bad)


def test_a_view_charges_clipped_sums_to_the_whole_budget():
    budget = BudgetSpec(epsilon=1e-3, delta=1e-5, mode=Mode.ENFORCE).open(RNG(0))
    with pytest.raises(BudgetExceeded):
        clipped_sum(budget.stating(1.0))
    assert not len(budget.ledger)


def test_an_enforced_budget_takes_the_planned_clipped_sums():
    """The plan has the same event in other units, and less noise than without the contribution."""
    terms = {"relation": Relation.REPLACE_ONE, "sampling_rate": 0.05, "steps": 100}
    plan = clipped_sum_event("plan", clip=3.0, noise_multiplier=1.0, **terms)
    sigma = remaining_noise_multiplier(Ledger(), plan, 1.0, 1e-5)
    budget = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE).open(RNG(0))
    clipped_sum(budget, clip=0.2, noise_multiplier=sigma, **terms)
    assert 0.99 < epsilon_of(budget.ledger, 1e-5).epsilon <= 1.0
    assert sigma < remaining_noise_multiplier(Ledger(), replace(plan, contribution=None), 1.0, 1e-5) / 5
    with pytest.raises(BudgetExceeded):
        gaussian(BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE).open(RNG(0)), sigma, sensitivity=0.4,
                 relation=Relation.REPLACE_ONE, sampling=Sampling.POISSON, sampling_rate=0.05, steps=100)  # fmt: skip
