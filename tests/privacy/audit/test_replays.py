"""Record and replay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy import audit
from privacy.budget import BudgetSpec
from privacy.ledger import Relation
from tests.privacy.toys import Toy, toy_task, variant

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0)
TASK = toy_task()
S = Toy.Settings()


def test_recording_changes_nothing_and_replay_repeats_it():
    recorder = audit.Recorder()
    recorded = audit.run(Toy(), TASK, S, SPEC, 3, recorder)
    plain = audit.run(Toy(), TASK, S, SPEC, 3)
    np.testing.assert_array_equal(recorded.posterior.w, plain.posterior.w)
    again = audit.Recorder(recorder.outputs, recorder.events)
    replayed = audit.run(Toy(), TASK, S, SPEC, 3, again)
    np.testing.assert_array_equal(replayed.posterior.w, recorded.posterior.w)
    np.testing.assert_array_equal(again.values, recorder.values)


@given(audit.neighbour_pairs(TASK, Relation.ADD_REMOVE), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_right_toy_holds_on_any_pair(pair, seed):
    r = audit.replay(Toy(), *pair, S, SPEC, seed)
    assert r.ratio <= 1 + audit.ROUNDING
    assert r.posterior_change == 0
    assert not r.events_differ


@given(audit.neighbour_pairs(TASK, Relation.REPLACE_ONE), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_replacing_a_row_moves_up_to_twice_the_clip(pair, seed):
    r = audit.replay(variant(privacy=Relation.REPLACE_ONE, declared=2.0), *pair, S, SPEC, seed)
    assert r.ratio <= 1 + audit.ROUNDING


def test_the_measure_is_sharp():
    """Full batch: the removed outlier moves each release by the whole clip, the replaced one by almost twice."""
    full = replace(S, rate=1.0)
    d = audit.with_last_row(TASK, np.array([1e9, 0.0]), 0.0)
    gap = audit.replay_gap(Toy(), d, audit.first_rows(d, 11), full, SPEC, 0)[0]
    assert (gap.declared, gap.releases, gap.moved) == (1.0, S.steps, S.steps)
    assert gap.measured == pytest.approx(1.0, abs=1e-12)
    other = audit.with_last_row(TASK, np.array([-1e9, 0.0]), 0.0)
    assert audit.replay_gap(Toy(), d, other, full, SPEC, 0)[0].ratio == pytest.approx(2.0, abs=1e-6)


def test_pattern_of_releases_that_depends_on_rows_is_refused():
    class Stops(Toy):
        def fit(self, task, settings, budget, rng):
            return super().fit(task, replace(settings, steps=5 if task.x[-1, 0] > 1e5 else 6), budget, rng)

    far = audit.with_last_row(TASK, np.array([1e6, 0.0]), 0.0)
    with pytest.raises(audit.StructureDiffers, match="5 on the neighbour"):
        audit.replay(Stops(), TASK, far, S, SPEC, 0)
    with pytest.raises(audit.StructureDiffers, match="no counterpart"):
        audit.replay(Stops(), far, TASK, S, SPEC, 0)
    assert audit.checks(Stops(), TASK, S, SPEC, 0)["runs"]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_parameter_that_only_one_fit_can_compute_differs(wrong):
    """NaN is not above any limit. Equal releases that lead to NaN on one of two neighbours are a leak."""
    assert audit.parameter_distance({"w": np.array([1.0, wrong])}, {"w": np.array([1.0, 2.0])}) == np.inf
    assert audit.parameter_distance({"w": np.array([1.0, wrong])}, {"w": np.array([1.0, wrong])}) == 0
    assert audit.parameter_distance({"w": np.array([1.0, wrong])}, {"w": np.array([1.5, wrong])}) == 0.5

    class Leaks(Toy):
        def fit(self, task, settings, budget, rng):
            fit = super().fit(task, settings, budget, rng)
            if np.abs(task.x).max() > 1e5:
                fit.posterior.w[0] = wrong
            return fit

    assert "equal releases, posterior parameters differ by inf" in audit.checks(Leaks(), TASK, S, SPEC, 0)["posterior"]


def test_a_release_that_moves_by_nan_exceeds_its_sensitivity(monkeypatch):
    """A mechanism refuses such a value. A mechanism that does not is seen here."""
    monkeypatch.setattr("privacy.budget.np.isfinite", np.ones_like)

    class Overflows(Toy):
        def fit(self, task, settings, budget, rng):
            fit = super().fit(task, replace(settings, rate=1.0), budget, rng)
            mechanism = budget.gaussian(
                "second", sensitivity=1.0, noise_multiplier=1.0, relation=self.privacy, proof="x"
            )
            mechanism.release(np.array([np.nan if np.abs(task.x).max() > 1e5 else 0.0]))
            return fit

    found = audit.replay(Overflows(), TASK, audit.with_last_row(TASK, np.array([1e6, 0.0]), 0.0), S, SPEC, 0)
    assert found.ratio == np.inf
    assert found.gaps[1].moved == 1
