"""The single fit of each paper's own program is recorded, replayed and audited as a method's is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacy import audit
from privacy.audit.replays import same_event
from workflow import papers
from workflow.papers import resolve

FITS = [fit for _, program in papers.programs().values() for fit in resolve(program.fits)]


def each(fits):
    return pytest.mark.parametrize("own", [pytest.param(fit, id=fit.name.replace(" ", "_")) for fit in fits])


def of(name: str):
    return next(fit for fit in FITS if fit.name == name)


def test_every_program_has_a_fit_that_is_audited():
    assert all(resolve(program.fits) for _, program in papers.programs().values())
    assert len({fit.name for fit in FITS}) == len(FITS) >= 18


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


#: broken budgets at least, so that a test that tries none is seen
LEAST = {"adassp (corrected)": 9, "adaops (corrected)": 9, "DPVI (corrected)": 15, "DP Penalty": 12, "DP HMC": 12}


@each(FITS)
def test_broken_budgets_are_caught(own):
    """A fit whose only release is a draw has no noise to break, and its event is written with the draw."""
    tried = list(own.broken_budgets())
    assert [fault.name for fault, found in tried if not found] == []
    assert len(tried) >= LEAST.get(own.name, 0)


@pytest.mark.parametrize("name", ["objpert (corrected)", "ops_balanced (corrected)", "adaops (corrected)", "DP HMC"])
def test_raw_numbers_beside_the_releases_are_caught(name):
    own = of(name)

    def leaking(task, *more):
        return own.run(task, *more) | {"mean": task.x.mean(axis=0)}

    assert "posterior" in replace(own, run=leaking).found(first=True)


def test_half_the_sensitivity_is_found_without_the_correct_version():
    """The search and the fixed pairs convict a declaration of half of what one row can move."""

    class Half:
        def __init__(self, budget):
            self._budget = budget

        def __getattr__(self, name):
            return getattr(self._budget, name)

        def gaussian(self, *args, sensitivity, noise_multiplier, **more):
            more |= {"sensitivity": sensitivity / 2, "noise_multiplier": 2 * noise_multiplier}
            return self._budget.gaussian(*args, **more)

    own = of("DP Penalty")
    broken = replace(own, run=lambda task, settings, budget, rng: own.run(task, settings, Half(budget), rng))
    assert set(broken.found()) & {"sensitivity", "searched"}


def test_a_row_of_zeros_does_not_end_a_fit_of_robust_private_regression():
    from papers.honkela2018robust.release import unit

    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert np.array_equal(unit(rows), [[0.6, 0.8], [0.0, 0.0]])
