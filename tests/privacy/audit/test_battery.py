"""The battery catches each fault of a toy and passes the right one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privacy import audit, faults
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec, ClippedSum
from privacy.ledger import Ledger, Relation
from tests.privacy.toys import ClippedToy, Toy, toy_task, variant

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0)
TASK = toy_task()
S = Toy.Settings()


def test_right_toy_passes_every_check():
    assert not any(audit.checks(Toy(), TASK, S, SPEC, 0).values())


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ({"clips": False}, "sensitivity"),
        ({"declared": 0.5}, "sensitivity"),
        ({"privacy": Relation.REPLACE_ONE}, "sensitivity"),
        ({"read_moments": True}, "sensitivity"),
        ({"uses_noise": False}, "posterior"),
        ({"uses_noise": False}, "noise_used"),
        ({"steps_declared": 0.5}, "runs"),
        ({"bare_after": 50}, "posterior"),
        ({"refuses": 1e5}, "runs"),
        ({"told": staticmethod(lambda rows: {"final_loss": float((rows**2).mean())})}, "diagnostics"),
        ({"told": staticmethod(lambda rows: {"largest": np.abs(rows).max()})}, "diagnostics"),
        ({"fast_noise": 0.5}, "same_path"),
        pytest.param({"fast_noise": 0.0}, "same_path", marks=pytest.mark.nightly),
    ],
)
def test_each_fault_is_caught_by_its_check(fault, check):
    assert audit.checks(variant(**fault), TASK, S, SPEC, 0)[check]


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("no noise", "noise"),
        ("two thirds of the noise", "noise"),
        ("more noise than declared", "noise"),
        ("weak blocks", "noise"),
        ("uniform noise", "noise"),
        ("noise used twice", "noise"),
        ("public noise", "noise"),
        ("release thrown away", "posterior"),
        ("half of the noise used", "posterior"),
        ("half of a block used", "same_path"),
        ("half the sensitivity", "sensitivity"),
        ("more noise in the ledger", "steps"),
        ("a third of the steps", "steps"),
        ("a third of the steps announced", "runs"),
        ("full batches", "sampling"),
        ("batches in turn", "sampling"),
        ("batches of one size", "sampling"),
        ("public batches", "sampling"),
        ("batches at a higher rate", "sampling"),
        ("a smaller rate in the ledger", "steps"),
    ],
)
def test_each_broken_budget_is_caught_by_its_check(name, check):
    fault = faults.of(name)
    found = audit.Audit(Toy(), TASK, S, faults.FaultySpec(SPEC, fault), 0)
    assert getattr(found, check)()
    assert check not in ("noise", "sampling") or not found.runs()  # and nothing but the noise or the batches is wrong


def test_every_broken_budget_is_tried():
    (mark,) = test_each_broken_budget_is_caught_by_its_check.pytestmark
    assert [name for name, _ in mark.args[1]] == [f.name for f in faults.FAULTS]


# ------------------------------------------------------------------------------------------------ contributions
def test_a_clipped_sum_passes_every_check():
    assert not any(audit.checks(ClippedToy(), TASK, S, SPEC, 0).values())


def test_half_the_contribution_is_caught():
    """The declared sensitivity is right, so nothing but the contribution is."""
    found = audit.Audit(ClippedToy(), TASK, S, faults.FaultySpec(SPEC, faults.HALF_CONTRIBUTION), 0)
    assert found.sensitivity() == "'clipped sum': one row contributes 2 times what is stated"
    assert found.reached <= 1 + audit.ROUNDING
    specs = SPEC, faults.FaultySpec(SPEC, faults.HALF_CONTRIBUTION)
    true, claimed = (epsilon_of(audit.run(ClippedToy(), TASK, S, spec, 0).ledger, 1e-5).epsilon for spec in specs)
    assert claimed < true


def test_a_sum_that_is_not_clipped_is_caught(monkeypatch):
    monkeypatch.setattr(ClippedSum, "_clipped", lambda self, vectors: vectors)
    assert audit.Audit(ClippedToy(), TASK, S, SPEC, 0).sensitivity()


def test_a_contribution_that_cannot_be_measured_is_not_believed():
    found = audit.Audit(variant(ClippedToy, own_batches=True), TASK, S, SPEC, 0).sensitivity()
    assert "no release moves if a row is left out" in found


def test_a_ledger_that_states_a_contribution_by_itself_is_caught():
    class Claims(Toy):
        privacy, declared = Relation.REPLACE_ONE, 2.0

        def fit(self, task, settings, budget, rng):
            fit = super().fit(task, settings, budget, rng)
            return replace(fit, ledger=Ledger([replace(e, contribution=1.0) for e in fit.ledger]))

    assert "the ledger holds no event as that of the release" in audit.Audit(Claims(), TASK, S, SPEC, 0).steps()


def test_false_alarms_of_the_sampling_check():
    """At a rate of 1 in 5 (300 simulated coins a fit): 40 right toys; more than 18 alarms have probability 1e-4."""
    task, few = toy_task(8), replace(S, steps=20)
    alarms = sum(bool(audit.sampling_fault(Toy(), task, few, SPEC, 100 * k, seeds=4, alpha=0.2)) for k in range(40))
    assert alarms <= stats.binom.isf(1e-4, 40, 0.2)


def test_declared_number_that_depends_on_rows_is_caught():
    class Declares(Toy):
        def fit(self, task, settings, budget, rng):
            return super().fit(task, replace(settings, clip=1.0 + abs(float(task.x[-1, 0]))), budget, rng)

    assert audit.checks(Declares(), TASK, S, SPEC, 0)["events"]
