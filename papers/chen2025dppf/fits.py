"""The single fits that the audit records and replays: the releases with the noise that their epsilon needs.

The samplers read only a release. The source's releases were made by its own code with public seeds, so its runs here
release nothing.
"""

from __future__ import annotations

import numpy as np

from audit.programs import OwnFit, toy
from models.task import Task
from papers.chen2025dppf import releases
from privacy.budget import Budget, BudgetSpec
from privacy.ledger import Relation

EPSILON = 1.0
SPEC = BudgetSpec(epsilon=EPSILON, delta=1e-5)


def regression(task: Task, settings, budget: Budget, rng: np.random.Generator):
    values = releases.sums(task.x[:, 0], task.y)
    return {"sums": releases.corrected_release("chen_lr", values, EPSILON, budget)}


def location_scale(task: Task, settings, budget: Budget, rng: np.random.Generator):
    return {"sums": releases.corrected_release("chen_ls", releases.sums(task.x[:, 0]), EPSILON, budget)}


FITS = (
    OwnFit("sums of regression (corrected scale)", Relation.REPLACE_ONE, toy(12, 1, 5.0), SPEC, regression),
    OwnFit("sums of location-scale (corrected scale)", Relation.REPLACE_ONE, toy(12, 1, 5.0), SPEC, location_scale),
)
