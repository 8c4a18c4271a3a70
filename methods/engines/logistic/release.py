"""One release: check the rows, charge the budget, draw once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from methods.contract import Diverged, Fit
from methods.engines.logistic.sampler import Plan, Target, sample
from models.logistic_regression import LogisticSample, TrainingRows, signed_rows
from privacy.budget import Budget
from privacy.ledger import Event

#: What one draw tells that its charge does not count, for every method of this engine.
LEAKS = (
    "where the model's scaling is 'data', the range of each input is that of the private rows",
    "the guarantee is for an exact sample; the draw is the end of a Markov chain, whose distance is not counted",
)


@dataclass(frozen=True)
class SamplerSettings:
    """How long the chain runs that ends in the draw. Raises ValueError for a number below 1."""

    #: Hamiltonian trajectories of one run (choice of this suite).
    trajectories: int = 10
    #: leapfrog steps of a trajectory, one gradient each (choice of this suite).
    leapfrog_steps: int = 8

    def __post_init__(self) -> None:
        Plan(self.trajectories, self.leapfrog_steps)  # checks both

    @property
    def plan(self) -> Plan:
        return Plan(self.trajectories, self.leapfrog_steps)


def order_and_epsilon(budget: Budget, method: str) -> tuple[float, float]:
    """(order, epsilon) of a Renyi budget. Raises ValueError where the budget states none."""
    if budget.spec.renyi is None:
        raise ValueError(f"{method}: the budget states no Renyi order and epsilon; give renyi: [order, epsilon]")
    order, epsilon = budget.spec.renyi
    return float(order), float(epsilon)


def one_draw(
    rows: TrainingRows,
    target: Target,
    event: Event,
    plan: Plan,
    budget: Budget,
    rng: np.random.Generator,
    told: Mapping[str, float],
) -> Fit:
    """Charge ``event`` and draw one weight vector from ``target``; the draw itself is the mechanism, so it uses
    ``rng``.

    Diagnostics: ``told``; gradients (of all runs) and mode_gradients; acceptance and energy_error (mean absolute,
    nats). Raises what ``rows_of`` and the sampler raise, BudgetExceeded where the event would overspend.
    """
    budget.spend(event)
    draws = sample(signed_rows(rows.x, rows.y), [target], [rng], plan)
    if not np.isfinite(draws.weights).all():
        raise Diverged(f"{rows.name}: a draw is not finite; check the scale of the rows")
    return Fit(
        LogisticSample(draws.weights[0], rows.scaling),
        budget.ledger,
        {
            **told,
            "gradients": float(plan.gradients * draws.runs[0]),
            "mode_gradients": float(draws.mode_gradients[0]),
            "acceptance": float(draws.acceptance[0]),
            "energy_error": float(draws.energy_error[0]),
        },
    )
