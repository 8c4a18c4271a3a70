"""The single fits of these estimators that the audit records and replays.

Rows and targets are clipped to norm 1, the domain that all estimators presuppose. The number of rows is public.
Readings with an infinite epsilon in the ledger are left out, because an audit cannot refute them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from audit.programs import OwnFit, toy
from models.task import Task
from papers.wang2018 import run
from papers.wang2018.estimators.moments import AUTHORS, CORRECTED, PRINTED, Moments
from privacy.budget import Budget, BudgetSpec
from privacy.ledger import Relation
from privacy.repeats import OneFit

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5)
#: for a fit whose only release is a posterior sample
DRAW = {
    "noise": "the release is a draw, which no mechanism makes",
    "tails": "as for the noise",
    "noise_used": "the draw is of the stream of the fit",
    "secrets": "as for the noise",
}
#: method -> readings with a finite ledger
READINGS = {
    "ssp": (AUTHORS, CORRECTED),
    "adassp": (AUTHORS, PRINTED, CORRECTED),
    "objpert": (AUTHORS, PRINTED, CORRECTED),
    "ops_balanced": (PRINTED, CORRECTED),
    "ops_worstcase": (CORRECTED,),
    "adaops": (CORRECTED,),
}


def moments_of(task: Task) -> Moments:
    """Moments of the rows clipped to norm 1, with the public number of rows."""
    length = np.maximum(np.linalg.norm(task.x, axis=1, keepdims=True), 1.0)
    found = Moments.of(task.x / length, np.clip(task.y, -1, 1))
    return Moments(found.gram, found.cross, task.public.n)


def fitted(method: str, reading: str, epsilon: float, task: Task, settings, budget: Budget, rng: np.random.Generator):
    w = run.engine(method)(moments_of(task), epsilon, SPEC.delta, reading, OneFit(budget, rng))
    return {"coefficients": w[0]}


def own(method: str, reading: str) -> OwnFit:
    draws = {} if method in ("ssp", "adassp", "adaops") else DRAW
    # a program that overspends by construction has a finding of its own
    spends = {"enforced": "the noise is calibrated to the program's constants, not to the budget"}
    unasked = draws if reading == CORRECTED else draws | spends
    if method == "adaops":
        unasked = {"enforced": "the ledger keeps the budget at a smaller delta, as its proof says"}
    # at smaller budgets, AdaOPS' first releases have no effect on a dozen rows
    epsilon = 100.0 if method == "adaops" else 1.0
    spec = replace(SPEC, epsilon=epsilon)
    return OwnFit(f"{method} ({reading})", Relation.ADD_REMOVE, toy(12, 3, 1.0), spec,
                  partial(fitted, method, reading, epsilon), unasked=unasked)  # fmt: skip


FITS = tuple(own(method, reading) for method, readings in READINGS.items() for reading in readings)
