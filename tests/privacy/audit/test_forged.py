"""Replays with made-up outputs, and what sees rows beside a fit: each fault is found, a sound toy passes."""

from __future__ import annotations

import numpy as np
import pytest

from methods.contract import Diverged
from privacy import audit
from privacy.budget import BudgetSpec
from privacy.ledger import Relation
from tests.privacy.toys import Toy, toy_task, variant

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0)
TASK = toy_task()
S = Toy.Settings(steps=5, rate=1.0)


def after(change):
    """A toy whose releases are changed by ``change(task, value, released)``."""

    class Changed(Toy):
        def fit(self, task, settings, budget, rng):
            made = budget.gaussian

            def gaussian(*args, **more):
                mechanism = made(*args, **more)
                release = mechanism.release
                mechanism.release = lambda value: change(task, value, release(value))
                return mechanism

            budget.gaussian = gaussian
            return super().fit(task, settings, budget, rng)

    return Changed()


def rare_fallback(task, value, out):
    return value if np.abs(out).max() > 1e4 else out


def masked(task, value, out):
    return np.where(value > 0, out, 0.0)


def cut(task, value, out):
    return value + np.clip(out - value, -4, 4)


def reason(task, value, out):
    if np.abs(out).max() > 1e4:
        raise Diverged(f"the largest target is {np.abs(task.y).max():.6g}")
    return out


def status(task, value, out):
    if np.abs(out).max() > 1e4 and len(task.x) > 3:
        raise Diverged("a gradient diverges")
    return out


@pytest.mark.parametrize("relation", list(Relation))
def test_a_sound_toy_passes(relation):
    assert audit.forged_fault(variant(privacy=relation, declared=2.0), TASK, S, SPEC, 0) == ""
    assert audit.supports_fault(Toy(), TASK) == ""


def test_a_failure_that_reads_no_row_passes():
    def public(task, value, out):
        if np.abs(out).max() > 1e4:
            raise Diverged("a gradient diverges")
        return out

    assert audit.forged_fault(after(public), TASK, S, SPEC, 0) == ""


@pytest.mark.parametrize("change", [rare_fallback, masked, cut, reason, status])
def test_what_is_done_with_rare_outputs_is_seen(change):
    assert audit.forged_fault(after(change), TASK, S, SPEC, 0) != ""


def test_with_the_outputs_of_its_own_noise_a_rare_fallback_is_not_seen():
    """So that the forged ones are what sees it."""
    d, other = next((d, e) for _, d, e in audit.neighbours(TASK, Toy.privacy))
    assert audit.replay(after(rare_fallback), d, other, S, SPEC, 0).posterior_change == 0


def test_what_is_prepared_is_seen():
    class Prepared(Toy):
        def prepare(self, task, settings):
            self.centre = float(task.x.mean())

        def told(self, rows):
            return {"centre": getattr(self, "centre", 0.0)}

    assert "centre of the diagnostics differ" in audit.forged_fault(Prepared(), TASK, S, SPEC, 0)


def test_a_task_that_is_refused_for_its_rows_is_seen():
    def refuses(self, task):
        return "a number is too large" if np.abs(task.x).max() > 1e4 else None

    assert "a number is too large" in audit.supports_fault(variant(supports=refuses), TASK)


def test_strangers_share_nothing_but_what_is_public():
    found = dict(audit.strangers(TASK, Relation.ADD_REMOVE))
    assert all(other.public == TASK.public for other in found.values())
    assert found["few rows"].n == 2
    assert {other.n for other in dict(audit.strangers(TASK, Relation.REPLACE_ONE)).values()} == {TASK.n}
