"""The single fits that the audit records and replays: the corrected reading, with and without public rows.

The noise scale of the published release is computed from the private rows. So its ledger is infinite, and there is no
claim that an audit could refute.
"""

from __future__ import annotations

import numpy as np

from audit.programs import OwnFit, toy
from models.task import Task
from papers.honkela2018robust import release
from papers.honkela2018robust.data import Fold
from privacy.budget import Budget, BudgetSpec
from privacy.ledger import Relation

EPSILON = 1.0
#: clipping multiples of inputs and targets
MULTIPLES = (1.0, 1.5)
SPEC = BudgetSpec(epsilon=EPSILON, delta=1e-5)


def fold_of(task: Task) -> Fold:
    """A fold whose private rows are those of the task. The others are public."""
    public = toy(10, task.x.shape[1], 1.0, seed=1)
    return Fold(0, public.x, public.y, task.x, task.y, public.x, public.y)


def with_public_rows(task: Task, settings, budget: Budget, rng: np.random.Generator):
    found = release.corrected(fold_of(task), task.public.n, MULTIPLES)
    released = release.corrected_release(found, EPSILON, budget)
    return {"coefficients": release.linear_bayes(released, found.bounds, MULTIPLES[0], EPSILON)}


def without_public_rows(task: Task, settings, budget: Budget, rng: np.random.Generator):
    found = release.charged(fold_of(task), task.public.n, MULTIPLES, EPSILON / 2, budget)
    released = release.corrected_release(found, EPSILON / 2, budget)
    return {"coefficients": release.linear_bayes(released, found.bounds, MULTIPLES[0], EPSILON / 2)}


FITS = (
    OwnFit("robust private regression (corrected)", Relation.REPLACE_ONE, toy(12, 3, 1.0), SPEC, with_public_rows),
    OwnFit("robust private regression (scale of the targets charged)", Relation.REPLACE_ONE, toy(12, 3, 1.0), SPEC,
           without_public_rows),
)  # fmt: skip
