"""Recorded against ordinary fits: false alarms and power."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privacy import audit
from privacy.audit import paths
from privacy.budget import BudgetSpec
from tests.privacy.toys import Toy, toy_task, variant

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0)
TASK = toy_task()
S = Toy.Settings()


def test_same_path_accepts_the_same_noise_in_another_order():
    class Reversed(Toy):
        def fit(self, task, settings, budget, rng):
            made = budget.gaussian

            def gaussian(*args, **more):
                mechanism = made(*args, **more)
                noise = mechanism.noise
                mechanism.noise = lambda *a, **k: noise(*a, **k)[:, ::-1]
                return mechanism

            budget.gaussian = gaussian
            return super().fit(task, settings, budget, rng)

    assert audit.same_path(Reversed(), TASK, S, SPEC, 0) == ""


def test_what_is_found_is_looked_for_again_on_twice_as_many_other_streams(monkeypatch):
    asked = []
    monkeypatch.setattr(paths, "_equal_laws", lambda draw, streams, *_: asked.append(set(streams)) or np.zeros(2))
    assert audit.same_path(variant(fast_noise=1.5), TASK, S, SPEC, 0) != ""
    first, second = asked
    assert len(second) == 2 * len(first)
    assert not first & second


@pytest.mark.nightly
def test_same_path_false_alarms_and_power():
    """Twelve independent seeds at false-alarm rate 0.05: more than 4 alarms have probability 2e-4 (binomial).

    Noise of 1.5 times the size in the fast path is found in at least 10 of 12.
    """

    class Shuffled(Toy):
        def fit(self, task, settings, budget, rng):
            if not budget._recorder:  # other noise of the same law: what the test must not alarm at
                budget._rng.bit_generator.advance(1 << 32)
            return super().fit(task, settings, budget, rng)

    few = Toy.Settings(steps=12)  # the spread of the noise in the end is the same

    def alarms(toy):
        found = [audit.same_path(toy, TASK, few, SPEC, seed, alpha=0.05, permutations=200) for seed in range(12)]
        return sum(f != "" for f in found)

    assert stats.binom.sf(4, 12, 0.05) < 2.1e-4
    assert alarms(Shuffled()) <= 4
    assert alarms(variant(fast_noise=1.5)) >= 10
