"""Tails, secrets, late steps and overspending: false alarms, power, and the faults that each is for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privacy import audit
from privacy.audit import rare
from privacy.budget import BudgetSpec
from tests.privacy.toys import Toy, toy_task, variant

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0)
TASK = toy_task()
S = Toy.Settings(steps=3)


class Cut:
    """Noise is cut at four deviations, one by one and in blocks."""

    def _draw(self, shape):
        return np.clip(super()._draw(shape), -4 * self.noise_scale, 4 * self.noise_scale)

    def _fill(self, out):
        super()._fill(out)
        np.clip(out, -4 * self.noise_scale, 4 * self.noise_scale, out)


def with_mechanism(mixin):
    """A toy whose mechanism has this mix-in over it."""

    class Changed(Toy):
        def fit(self, task, settings, budget, rng):
            made = budget._hand_out
            budget._hand_out = lambda kind, *rest: made(type("Changed", (mixin, kind), {}), *rest)
            return super().fit(task, settings, budget, rng)

    return Changed()


def test_the_tails_of_the_noise():
    """False-alarm rate 1e-6 for each of the two."""
    assert audit.tail_fault(Toy(), TASK, S, SPEC, 1, 1e-6) == ""
    assert "0 of 400000 numbers are far out" in audit.tail_fault(with_mechanism(Cut), TASK, S, SPEC, 1, 1e-6)


def test_power_and_false_alarms_of_the_tails_are_those_of_the_binomial():
    """4,000 simulated counts; each share lies within 4 standard errors of what is stated (false-alarm rate 6e-5)."""
    rng, alpha = np.random.default_rng(0), 0.01
    low, high = rare._limits(alpha)
    for part in (0.2, 0.5):
        counts = rng.binomial(audit.TAIL_SAMPLES, part * rare.BEYOND, 4000)
        power = audit.tail_power(alpha, part)
        share = np.mean((counts < low) | (counts > high))
        assert abs(share - power) <= 4 * np.sqrt(power * (1 - power) / 4000)
    assert audit.tail_power(alpha) == 1.0
    inside = stats.binom.cdf(high, audit.TAIL_SAMPLES, rare.BEYOND) - stats.binom.cdf(
        low - 1, audit.TAIL_SAMPLES, rare.BEYOND
    )
    assert 1 - inside <= alpha


class FewKeys:
    bits = 8

    def batches(self, n, rng=None):
        return super().batches(n, np.random.default_rng(int(self._rng.integers(2**self.bits))))


class FewSeeds(Toy):
    def fit(self, task, settings, budget, rng):
        budget._rng = np.random.default_rng(int(budget._rng.integers(2**8)))
        return super().fit(task, settings, budget, rng)


def test_secrets_of_few_bits():
    """100 fits: of secrets of 8 bits two are equal but with probability 3e-9; the seeds are fixed."""
    assert 1 - audit.collision(8, 100) < 4e-9
    assert audit.secret_fault(Toy(), TASK, S, SPEC, 1, 100) == ""
    assert "the key of its batches" in audit.secret_fault(with_mechanism(FewKeys), TASK, S, SPEC, 1, 100)
    assert "the noise of another" in audit.secret_fault(FewSeeds(), TASK, S, SPEC, 1, 100)


def test_the_probability_of_a_collision_is_that_of_the_birthday_problem():
    """2,000 trials; within 4 standard errors (false-alarm rate 6e-5) and the formula's own error of .01."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(2**10, size=(2000, 40))
    share = np.mean([len(set(row)) < 40 for row in drawn])
    p = audit.collision(10, 40)
    assert abs(share - p) <= 4 * np.sqrt(p * (1 - p) / 2000) + 0.01


@pytest.mark.parametrize("fault", [{"bare_after": 700}, {"fast_noise": 0.5}])
def test_a_fault_after_many_steps(fault):
    long = replace(S, steps=800)
    assert audit.late_fault(Toy(), TASK, long, SPEC, 1) == ""
    assert audit.late_fault(variant(**fault), TASK, long, SPEC, 1) != ""


class Calibrated(Toy):
    """One full-batch release, calibrated to ``part`` times the budget's mu."""

    part = 1.0

    def fit(self, task, settings, budget, rng):
        from privacy.accountants import gdp_mu

        if budget.epsilon is None:
            raise ValueError("give epsilon")
        view = budget.stating(1.0 / (self.part * gdp_mu(budget.epsilon, budget.delta)))
        return super().fit(task, replace(settings, steps=1, rate=1.0), view, rng)


def test_overspending_is_seen_in_mode_enforce():
    assert audit.overspending(Calibrated(), TASK, S, SPEC, 1) == ""
    greedy = type("Greedy", (Calibrated,), {"part": 1.1})()
    assert "BudgetExceeded" in audit.overspending(greedy, TASK, S, SPEC, 1)


def test_a_method_that_needs_a_noise_multiplier_is_not_asked():
    assert audit.overspending(Toy(), TASK, S, SPEC, 1) == ""


class Holes:
    """One number in a hundred is NaN, in blocks."""

    def _fill(self, out):
        super()._fill(out)
        out[:, ::100] = np.nan


def test_a_number_that_is_nan_is_far_out():
    found = audit.tail_fault(with_mechanism(Holes), TASK, S, SPEC, 1, 1e-6)
    assert "in a block: 40" in found
