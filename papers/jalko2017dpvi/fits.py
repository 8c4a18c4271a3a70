"""The single fit of this method that the audit records and replays, in the corrected reading.

The authors' batches are drawn with replacement, which no event of a ledger amplifies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from audit.programs import OwnFit, toy
from models.task import Task
from papers.jalko2017dpvi import dpvi
from privacy.budget import Budget, BudgetSpec
from privacy.ledger import Relation

FIXED = {"enforced": "the noise is that of the published setting, and is calibrated to no budget"}
SETTING = dpvi.Setting(sigma=1.0, clip=0.2, kappa=0.5, steps=60)


def fitted(task: Task, setting: dpvi.Setting, budget: Budget, rng: np.random.Generator):
    """One audited fit of the corrected reading to the rows of ``task``.

    Labels are the signs of the targets. A column of ones is added, so a negated row is a different row.
    """
    sigma = budget.noise_multiplier if budget.noise_multiplier is not None else setting.sigma
    x, labels = np.column_stack([np.ones(task.n), task.x]), (np.asarray(task.y) > 0).astype(float)
    found = dpvi.one_fit(x, labels, replace(setting, sigma=sigma), budget, rng, task.public.n)
    return {"mean": found.mean[0], "sd": found.sd[0]}


FITS = (
    OwnFit(
        "DPVI (corrected)",
        Relation.ADD_REMOVE,
        toy(12, 3, 1.0),
        BudgetSpec(delta=1e-5, noise_multiplier=1.0),
        fitted,
        SETTING,
        replace(SETTING, steps=20),
        replace(SETTING, steps=1000),
        FIXED,
    ),
)
