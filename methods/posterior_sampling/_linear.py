"""Posterior sampling for linear regression: calibrate, charge the budget, and draw the weights once."""

from __future__ import annotations

import abc
import math

import numpy as np

from methods._shared import linear_draw_guarantee as guarantee
from methods._shared import row_blocks
from methods._shared.frames import InFrame
from methods.contract import Apart, Counterpart, Diverged, Fit, MethodError
from models.linear_regression import LinearGaussian, with_bias
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class LinearPosteriorDraw(InFrame):
    """A method that releases one draw of the weights, with the noise variance fixed at the public v0.

    v0 is the mean of its prior, or the mode if there is no mean. Published guarantees are for replacing one row, n
    public. Here the bound is derived for adding or removing one row (``guarantee.supremum``), so that the accountant
    can compose it with the releases of the scaling. A subclass says how the distribution is tempered: :meth:`tempered`.

    Diagnostics: power (of the likelihood), strength (factor of the prior precision), critical_order of the bound.
    """

    models = ("bounded_linear_regression",)
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart(
            apart=Apart.GUARANTEE,
            reason="the divergence of an untempered draw is finite near order 1 only, which no accountant takes",
        ),
    )
    releases_a_draw = True
    leaks = ()

    @abc.abstractmethod
    def tempered(self, budget: Budget, v0: float, a: float, norm2: float, n: int) -> tuple[float, float]:
        """(power, strength), from public numbers only."""

    def fit_unit(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Make one draw, which is the mechanism itself and so uses ``rng``.

        Raises ValueError for a budget without epsilon and delta. Raises MethodError if no tempering fits it.
        """
        if budget.epsilon is None or budget.delta is None:
            raise ValueError(f"{self.name}: the budget states no epsilon and delta; give both")
        n, d = task.public.n, task.x.shape[1]
        v0, a = public_law(task.model)
        norm2 = float(d + 1)
        try:
            power, strength = self.tempered(budget, v0, a, norm2, n)
        except ValueError as why:
            raise MethodError(f"{task.name}: {why}") from why
        t, a = power / v0, a * strength
        budget.spend(guarantee.draw_event(t, a, norm2, n))

        def moments(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            design = with_bias(x)
            weighted = t * design.T
            return np.column_stack([weighted @ design, weighted @ y])

        found = row_blocks.total(moments, task.x, task.y)
        factor = np.linalg.cholesky(a * np.eye(d + 1) + found[:, :-1])
        mean = np.linalg.solve(factor.T, np.linalg.solve(factor, found[:, -1]))
        w = mean + np.linalg.solve(factor.T, rng.standard_normal(d + 1))
        if not np.isfinite(w).all():
            raise Diverged(f"{task.name}: the draw is not finite; check the rows")
        told = {"power": power, "strength": strength, "critical_order": guarantee.critical_order(t, a, norm2)}
        return Fit(LinearGaussian(w, None, v0, Standardiser(np.zeros(d), np.ones(d), 0.0, 1.0)), budget.ledger, told)


def public_law(model) -> tuple[float, float]:
    """v0, and the prior precision of a weight, precision / v0, from the task's model or that for scaled inputs."""
    v0 = model.scale / (model.shape - 1.0) if model.shape > 1.0 else model.scale / (model.shape + 1.0)
    return v0, model.precision / v0


def refusal(name: str, task: Task) -> str | None:
    """The reason why the untempered draw has no finite epsilon (no order above 1.01 has a bound), or None."""
    v0, a = public_law(task.model)
    top = guarantee.critical_order(1.0 / v0, a, task.x.shape[1] + 1.0)
    if top > 1.01 and math.isfinite(top):
        return None
    return (
        f"{name}: one draw of the untempered posterior has a finite Renyi divergence below order {top:.4g} only, "
        "too near 1 for any accountant: no finite epsilon covers it; take the diffused or the concentrated draw"
    )
