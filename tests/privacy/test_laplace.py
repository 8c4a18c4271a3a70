"""The Laplace mechanism: its noise has the law it states, and its events are charged like any other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from privacy.accountants import epsilon_of
from privacy.audit import Recorder, noise_law
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.laplace import laplace
from privacy.ledger import Mechanism, Relation

RNG = np.random.default_rng


def mechanism(budget, **more):
    args = {"sensitivity": 1.5, "noise_scale": 3.0, "relation": Relation.REPLACE_ONE, "proof": "test"} | more
    return laplace(budget, "sum", **args)


def test_noise_has_the_law_of_the_scale():
    """Kolmogorov-Smirnov and mean absolute value at n = 20000; false-alarm rate 1e-6 each."""
    noise = mechanism(BudgetSpec().open(RNG(0))).release(np.full(20_000, 7.0)) - 7.0
    assert stats.kstest(noise, stats.laplace(scale=3.0).cdf).pvalue > 1e-6
    # |noise| is exponential with mean 3, so its mean has the standard deviation 3 / sqrt(n)
    assert abs(np.abs(noise).mean() - 3.0) < stats.norm.isf(5e-7) * 3.0 / math.sqrt(20_000)


def test_noise_law_after_the_recorders_map_and_with_half_the_noise():
    """The recorder maps Laplace noise to normal: accepted as it is, refused at half the scale (rate 1e-6)."""
    recorder = Recorder()
    mechanism(BudgetSpec().open(RNG(1), recorder)).release(np.zeros(5000))
    z = recorder.standardised_noise()
    assert noise_law(z, 1.0, 1e-6).accepted
    recorder.outputs[0] = 0.5 * recorder.outputs[0]
    assert not noise_law(recorder.standardised_noise(), 1.0, 1e-6).accepted


def test_replay_hands_out_the_stored_output_and_keeps_the_new_value():
    first = Recorder()
    out = mechanism(BudgetSpec().open(RNG(2), first)).release(np.array([1.0, 2.0]))
    second = Recorder(first.outputs)
    again = mechanism(BudgetSpec().open(RNG(2), second)).release(np.array([2.0, 2.0]))
    np.testing.assert_array_equal(out, again)
    np.testing.assert_array_equal(second.values[0], [2.0, 2.0])


def test_the_event_is_charged_in_advance_and_merged():
    budget = BudgetSpec().open(RNG(0))
    mechanism(budget, steps=2)
    mechanism(budget)
    (event,) = budget.ledger
    assert (event.mechanism, event.steps, event.sensitivity, event.noise_scale) == (Mechanism.LAPLACE, 3, 1.5, 3.0)
    # three releases with sensitivity / scale = 1 / 2 are 1.5-DP; any accountant may know better, none worse
    assert 1.0 < epsilon_of(budget.ledger, 1e-12).epsilon <= 1.5 + 1e-9


def test_no_release_beyond_those_announced():
    noise = mechanism(BudgetSpec().open(RNG(0)), steps=2)
    for _ in range(2):
        noise.release(np.zeros(2))
    with pytest.raises(BudgetExceeded, match="announced"):
        noise.release(np.zeros(2))


def test_enforce_refuses_what_costs_too_much_and_what_nothing_bounds():
    spec = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
    budget = spec.open(RNG(0))
    mechanism(budget, sensitivity=1.0, noise_scale=1.0)
    with pytest.raises(BudgetExceeded):
        mechanism(budget, sensitivity=1.0, noise_scale=1.0)
    assert sum(e.steps for e in budget.ledger) == 1
    with pytest.raises(BudgetExceeded):
        mechanism(spec.open(RNG(0)), sensitivity=math.inf)


def test_unbounded_releases_cost_infinity():
    budget = BudgetSpec().open(RNG(0))
    mechanism(budget, sensitivity=math.inf)
    assert epsilon_of(budget.ledger, 1e-5).epsilon == math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match="finite"):
        mechanism(BudgetSpec().open(RNG(0))).release(np.array([0.0, bad]))


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"sensitivity": math.nan}, "sensitivity"),
        ({"noise_scale": 0.0}, "noise_scale"),
        ({"noise_scale": math.inf}, "noise_scale"),
    ],
)
def test_bad_arguments_are_refused_by_name(args, word):
    with pytest.raises(ValueError, match=word):
        mechanism(BudgetSpec().open(RNG(0)), **args)
