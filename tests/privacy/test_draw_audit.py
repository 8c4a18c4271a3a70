"""Nothing but the draw leaves a fit: each way in which more does is seen by its check."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from methods.contract import Fit
from privacy.budget import BudgetSpec
from privacy.draw_audit import CHECKS, DrawAudit
from privacy.ledger import Event, Mechanism, Relation
from tests.privacy.toys import toy_task

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5)


@dataclass(frozen=True)
class Drawn:
    values: dict

    def parameters(self):
        return self.values


class Draws:
    """One draw around the mean of the rows, cut to a public box."""

    privacy = Relation.ADD_REMOVE
    tells = scales = charges = refuses = looks = keeps = False
    kept = 0.0

    def supports(self, task):
        return "a row is too large" if self.looks and np.abs(task.x).max() > 1e3 else None

    def prepare(self, task, settings):
        self.kept = float(task.x.mean()) if self.keeps else 0.0

    def fit(self, task, settings, budget, rng):
        if self.refuses and np.abs(task.x).max() > 1e3:
            raise ValueError("a row is too large")
        budget.spend(Event(
            what="a draw", mechanism=Mechanism.WRITTEN_BOUND, relation=self.privacy, noise_scale=0.0, proof="toys",
            sensitivity=float(np.abs(task.x).max()) if self.charges else 1.0, generator="a toy",
            renyi_curve=((2.0, 0.1),),
        ))  # fmt: skip
        centre = np.clip(task.x, -2.0, 2.0).mean(axis=0)
        told = {"loss": float(np.abs(centre).sum())} if self.tells else {"power": 1.0, "kept": self.kept}
        values = {"theta": centre + rng.standard_normal(2), "bound": np.full(2, 2.0)}
        if self.scales:
            values["bound"] = np.abs(task.x).max(axis=0)
        return Fit(Drawn(values), budget.ledger, told)


def found(**faults):
    method = type("Variant", (Draws,), faults)()
    made = DrawAudit(method, toy_task(), None, SPEC, 1)
    return {check for check in CHECKS if getattr(made, check)()}


def test_a_sound_draw_passes():
    assert found() == set()


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        *(("tells", "diagnostics"), ("scales", "posterior"), ("charges", "events"), ("refuses", "runs")),
        *(("looks", "supports"), ("keeps", "diagnostics")),
    ],
)
def test_each_fault_is_seen_by_its_check_alone(fault, check):
    assert found(**{fault: True}) == {check}
