"""The single chains of this code that the audit records and replays.

They start at the mean of the prior, or at a start that is charged to their budget. The source starts at its posterior,
which is private knowledge. A chain releases its points and whether each was accepted. The share of clipped rows is not
released, because it is read from the rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from audit.programs import OwnFit
from models.task import PublicKnowledge, Task
from papers.raisa2021thesis import checks, models, run
from papers.raisa2021thesis.chains import Setting
from papers.raisa2021thesis.models import Model
from privacy.budget import Budget, BudgetSpec
from privacy.ledger import Relation

#: number of rows; largest number of iterations, and the largest in checks that make many chains
ROWS, STEPS, SHORT = 12, 1000, 8
MODEL = Model(2, ROWS, curve=1.0)
SETTINGS = {
    "DP Penalty": Setting(tau=1.0, width=0.3, bound=0.5),
    "DP Penalty OCU+GWMH": Setting(tau=1.0, width=0.3, bound=0.5, guided=True),
    "DP HMC": Setting(tau=1.0, bound=0.5, leapfrog=3, eta=0.05, tau_gradient=1.0, bound_gradient=0.5),
}
#: budget of the audited chains
SPEC = BudgetSpec(epsilon=12.0, delta=MODEL.delta)


def task() -> Task:
    """A task with the rows of the banana model."""
    rng = np.random.default_rng(0)
    x = models.truth(2) + rng.standard_normal((ROWS, 2)) / np.sqrt(np.diag(models.precision_of(MODEL)))
    return Task("toy", None, x, None, PublicKnowledge(ROWS, (None, None)))  # type: ignore[arg-type]


def fitted(setting: Setting, paid: bool, task: Task, steps: int, budget: Budget, rng: np.random.Generator):
    model = Model(2, task.public.n, curve=MODEL.curve)
    p = models.problem_of(model, task.x)
    k = steps if budget.epsilon is None else min(steps, run.iterations(setting, model, budget.epsilon))
    start = np.zeros(2)
    if paid:
        start = checks.paid_start(p, run.mu_of(setting, model.rows, k), budget)
        k = int((1 - checks.SHARE) * k)
    made = run.charged(setting, model.rows, k, budget)
    found = run.walked(p, setting, start[None], k, [made], rng)
    return {"theta": found.theta[0], "accepted": found.accepted[0]}


def own(name: str, setting: Setting, paid: bool = False) -> OwnFit:
    return OwnFit(name, Relation.REPLACE_ONE, task(), SPEC, partial(fitted, setting, paid), STEPS, SHORT)


FITS = (
    *(own(name, setting) for name, setting in SETTINGS.items()),
    own("DP Penalty from a paid start", SETTINGS["DP Penalty"], paid=True),
)
