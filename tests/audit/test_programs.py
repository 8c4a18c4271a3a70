"""The single fit of each paper's own program is recorded, replayed and audited as a method's is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from audit.programs import OwnFit, toy
from privacy import audit
from privacy.audit.replays import same_event
from privacy.budget import BudgetSpec
from privacy.ledger import Event, Mechanism, Relation
from privacy.repeats import OneFit
from workflow import papers
from workflow.papers import resolve

FITS = [fit for _, program in papers.programs().values() for fit in resolve(program.fits)]


def each(fits):
    return pytest.mark.parametrize("own", [pytest.param(fit, id=fit.name.replace(" ", "_")) for fit in fits])


def test_every_program_has_a_fit_that_is_audited():
    assert all(resolve(program.fits) for _, program in papers.programs().values())
    assert len({fit.name for fit in FITS}) == len(FITS)


@each(FITS)
def test_passes_every_check(own):
    assert own.found() == {}
    assert set(own.unasked) < set(audit.CHECKS)
    assert {"sensitivity", "posterior", "events", "forged", "searched", "ledger"} <= set(own.asked)


@each(FITS)
def test_its_releases_are_recorded(own):
    """All that a fit charges is released before the eyes of the recorder."""
    recorder = audit.Recorder()
    fit = audit.run(own, own.task, own.settings, own.spec, 1, recorder)
    assert len(recorder.values) >= len(fit.ledger) > 0
    assert all(any(same_event(e, event) for e in recorder.events) for event in fit.ledger)


@pytest.mark.nightly
@each(FITS)
def test_broken_budgets_are_caught(own):
    """A fit whose only release is a draw has no noise to break, and its event is written with the draw."""
    assert [fault.name for fault, found in own.broken_budgets() if not found] == []


@each(FITS)
def test_a_raw_number_beside_the_releases_is_caught(own):
    def leaking(task, *more):
        return own.run(task, *more) | {"mean": task.x.mean(axis=0)}

    assert "posterior" in replace(own, run=leaking).found(first=True)


# ------------------------------------------------------------------------------------------------- a fit of one's own
def drawing(declares: float = 1.0):
    """A Gaussian release of the clipped mean, and a draw about it; ``declares``: over the true sensitivity."""

    def run(task, settings, budget, rng):
        noise, event = OneFit(budget, rng), Event("a draw", Mechanism.WRITTEN_BOUND, Relation.REPLACE_ONE, 1.0, 0.0,
                                                  renyi_curve=((2.0, 0.1),))  # fmt: skip
        total = noise.gaussian("sum of the rows", task.x.clip(-1, 1).sum(axis=0), sensitivity=2 * 2**0.5 * declares,
                               noise_multiplier=2.0, relation=Relation.REPLACE_ONE, proof="tests")  # fmt: skip
        return {"w": noise.draw(event, 2, lambda z: total + z)[0]}

    # the curve of the draw has one order, which costs an epsilon of 10
    return OwnFit("drawing", Relation.REPLACE_ONE, toy(12, 2, 1.0), BudgetSpec(epsilon=12.0, delta=1e-5), run)


def test_a_sound_fit_passes_and_half_its_sensitivity_is_found():
    assert drawing().found() == {}
    assert "sensitivity" in drawing(0.5).found()
    assert len(list(drawing().faults())) >= 5


def test_a_draw_that_is_not_shown_to_the_recorder_is_found():
    own = drawing()

    def hidden(task, settings, budget, rng):
        released = own.run(task, settings, budget, rng)["w"]
        return {"w": released, "again": task.x.clip(-1, 1).sum(axis=0) + rng.standard_normal(2)}

    assert "posterior" in replace(own, run=hidden).found()


def test_a_check_without_settings_of_its_own_is_not_asked():
    assert "late" not in drawing().asked
    assert "late" in replace(drawing(), long=3).asked
    assert "noise" not in replace(drawing(), unasked={"noise": "none"}).asked


@pytest.mark.parametrize(("declares", "faults"), [(1.0, set()), (0.5, {"sensitivity"})])
def test_an_exponential_mechanism_at_delta_0_is_audited(declares, faults):
    """Its noise is Gumbel noise, and its scores move by at most the sensitivity in the largest norm."""

    def run(task, settings, budget, rng):
        mechanism = budget.exponential("candidates", sensitivity=declares, noise_scale=2.0 * declares, steps=3,
                                       relation=Relation.ADD_REMOVE, proof="tests")  # fmt: skip
        x = task.x[:, 0].clip(-1, 1)
        scores = np.array([x[x > 0].sum(), -x[x < 0].sum(), 0.1])
        return {"chosen": np.array([mechanism.choose(scores) for _ in range(3)])}

    own = OwnFit("choosing", Relation.ADD_REMOVE, toy(12, 2, 1.0), BudgetSpec(epsilon=4.0, delta=0.0), run)
    assert faults <= set(own.found()) <= faults | {"searched"}
