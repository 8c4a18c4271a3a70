"""The budget: it charges before the first release, refuses to overspend, and its noise has the law it states."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from privacy.accountants import epsilon_of
from privacy.audit import Recorder, noise_law
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.calibration import gaussian_noise_multiplier, noise_multiplier
from privacy.ledger import Mechanism, Relation, Sampling

RNG = np.random.default_rng


def gaussian(budget, multiplier=2.0, **more):
    args = {"sensitivity": 1.5, "relation": Relation.ADD_REMOVE, "proof": "test"} | more
    return budget.gaussian("sum", noise_multiplier=multiplier, **args)


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"noise_multiplier": -1.0}, "noise_multiplier"),
        ({"mode": Mode.ENFORCE}, "enforce"),
        ({"mode": "enforce", "epsilon": 1.0}, "enforce"),
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


@pytest.mark.parametrize("steps", [1, 3])
def test_no_release_beyond_those_announced(steps):
    mechanism = gaussian(BudgetSpec().open(RNG(0)), steps=steps)
    for _ in range(steps):
        mechanism.release(np.zeros(2))
    with pytest.raises(BudgetExceeded, match="announced"):
        mechanism.release(np.zeros(2))
    with pytest.raises(BudgetExceeded, match="announced"):
        mechanism.noise(1, 2)


def test_an_epoch_scheme_counts_releases_apart_from_steps():
    budget = BudgetSpec().open(RNG(0))
    mechanism = gaussian(budget, sampling=Sampling.SHUFFLED_EPOCHS, steps=2, releases=20)
    mechanism.noise(20, 3)
    assert [e.steps for e in budget.ledger] == [2]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_release_refuses_numbers_that_void_the_bound(bad):
    mechanism = gaussian(BudgetSpec().open(RNG(0)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        mechanism.release(np.array([0.0, bad]))


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


def test_poisson_batches_have_the_rate_and_ignore_the_noise_stream():
    n, rate, steps = 50, 0.2, 400
    budget = BudgetSpec().open(RNG(3))
    sampler = budget.poisson(n, rate)
    batches = [sampler.draw(t) for t in range(steps)]
    counts = np.bincount(np.concatenate(batches), minlength=n)
    # two-sided binomial test of all inclusions together, and of the batch sizes' variance; false-alarm rate 1e-4 each
    assert stats.binomtest(int(counts.sum()), n * steps, rate).pvalue > 1e-4
    sizes = np.array([len(b) for b in batches])
    spread = (steps - 1) * sizes.var(ddof=1) / (n * rate * (1 - rate))
    assert 2 * min(stats.chi2.cdf(spread, steps - 1), stats.chi2.sf(spread, steps - 1)) > 1e-4
    gaussian(budget, steps=2).noise(1, 5)
    np.testing.assert_array_equal(sampler.draw(7), batches[7])


def test_removing_the_last_row_moves_no_other_row():
    whole, less = (BudgetSpec().open(RNG(3)).poisson(n, 0.3) for n in (40, 39))
    for t in range(50):
        batch = whole.draw(t)
        np.testing.assert_array_equal(batch[batch < 39], less.draw(t))


def test_samplers_of_one_budget_differ():
    budget = BudgetSpec().open(RNG(3))
    a, b = budget.poisson(200, 0.5), budget.poisson(200, 0.5)
    assert not np.array_equal(a.draw(0), b.draw(0))
    assert not np.array_equal(a.draw(0), a.draw(1))


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5])
def test_bad_rates_are_refused(rate):
    with pytest.raises(ValueError, match="rate"):
        BudgetSpec().open(RNG(0)).poisson(10, rate)


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
