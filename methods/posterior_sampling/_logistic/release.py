"""One draw from a logistic posterior as the release: check the rows, charge the budget, draw once.

Releases from the same rows are drawn in one batch.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from methods._shared.frames import InFrame
from methods._shared.logistic.sampler import Plan, Target, sample
from methods.contract import ALL_SPLITS, Apart, Counterpart, Diverged, Fit, Leak, LeakKind, Method
from models.logistic_regression import LogisticRegression, LogisticSample, rows_of, signed_rows
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Event, Relation

#: for every method whose release is the last state of a chain
MARKOV_CHAIN = Leak(
    LeakKind.SAMPLER,
    "the guarantee is for an exact sample; the draw is the end of a Markov chain, whose distance is not counted (what "
    "was measured of it, and what that would add to delta: tables sampler_distance)",
)
#: for the same methods: the error that ``methods._shared.logistic.sampler`` raises
NO_DRAW = Leak(
    LeakKind.FAILING,
    "where the mode is not found, a trajectory leaves the finite range or no draw lies in the ball the fit fails, and "
    "that it does is not counted",
)


@dataclass(frozen=True)
class SamplerSettings:
    """The length of the chain that ends in the draw. Raises ValueError for a number below 1."""

    #: Hamiltonian trajectories of one run (choice of this suite).
    trajectories: int = 10
    #: leapfrog steps of a trajectory, one gradient each (choice of this suite).
    leapfrog_steps: int = 8

    def __post_init__(self) -> None:
        Plan(self.trajectories, self.leapfrog_steps)  # checks both

    @property
    def plan(self) -> Plan:
        return Plan(self.trajectories, self.leapfrog_steps)


@dataclass(frozen=True)
class Release:
    """Distribution ``target`` of the one draw, the ``event`` that it costs, and diagnostics of the choice."""

    target: Target
    event: Event
    told: Mapping[str, float]


class LogisticPosteriorDraw(Method):
    """A method that releases one draw of a logistic posterior. A subclass says which one (:meth:`release`).

    Diagnostics are functions of public numbers. Those of the sampler read the rows and are left out, because only the
    draw was charged.
    """

    models = ("logistic_regression",)
    privacy = Relation.REPLACE_ONE
    counterparts = (
        Counterpart(
            apart=Apart.NO_TWIN,
            reason="no method without privacy fits this kind of model; on scaled inputs it is compared with EP",
        ),
    )
    reads_ranges = True
    #: the release is one draw from a posterior: there is no noise to add and none to record.
    releases_a_draw = True
    splits_at_once = ALL_SPLITS
    leaks = (
        Leak(
            LeakKind.RANGES,
            "where the model's scaling is 'data', the range of each input is that of the private rows",
            scaling=("data",),
        ),
        MARKOV_CHAIN,
        NO_DRAW,
        Leak(
            LeakKind.FAILING,
            "a row above the norm bound ends the fit with a message that names it, and that is not counted",
        ),
    )
    Settings = SamplerSettings

    @abc.abstractmethod
    def release(self, model: LogisticRegression, n: int, settings: Any, budget: Budget) -> Release:
        """The distribution to draw from, from public numbers only. ``n`` is the public number of training rows.

        Raises ValueError for a budget that lacks a number that the method needs.
        """

    def fit(self, task: Task, settings: Any, budget: Budget, rng: np.random.Generator) -> Fit:
        """Make one draw, which is the mechanism itself and so uses ``rng``.

        Raises ValueError for an unsuitable budget and for invalid rows, labels or ranges
        (``models.logistic_regression.rows_of``). Raises BudgetExceeded if the draw would overspend.
        """
        return self.fit_many([task], settings, [budget], [rng])[0]

    def fit_many(
        self, tasks: Sequence[Task], settings: Any, budgets: Sequence[Budget], rngs: Sequence[np.random.Generator]
    ) -> list[Fit]:
        """Make draws that share a task in one batch. A draw then differs from :meth:`fit` only by rounding."""
        fits: list[Fit | None] = [None] * len(tasks)
        for task in {id(t): t for t in tasks}.values():
            here = [i for i, t in enumerate(tasks) if t is task]
            drawn = self._draw(task, settings, [budgets[i] for i in here], [rngs[i] for i in here])
            for i, one in zip(here, drawn, strict=True):
                fits[i] = one
        return fits

    def _draw(self, task: Task, settings: Any, budgets: Sequence[Budget], rngs: Sequence) -> list[Fit]:
        rows, plan = rows_of(task), settings.plan
        releases = [self.release(task.model, task.public.n, settings, b) for b in budgets]
        for release, budget in zip(releases, budgets, strict=True):
            budget.spend(release.event)
        draws = sample(signed_rows(rows.x, rows.y), [r.target for r in releases], rngs, plan)
        if not np.isfinite(draws.weights).all():
            raise Diverged(f"{rows.name}: a draw is not finite; check the scale of the rows")
        return [
            Fit(LogisticSample(draws.weights[k], rows.scaling), budget.ledger, dict(release.told))
            for k, (release, budget) in enumerate(zip(releases, budgets, strict=True))
        ]


class BoundedLogisticDraw(InFrame):
    """A method that releases one draw of a logistic posterior on inputs scaled to [-1, 1]. A subclass says which one.

    Rows have norm at most sqrt(D), and there is an intercept. The relation is add or remove one row.
    """

    models = ("bounded_logistic_regression",)
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart("ep", 0.15, "one posterior sample, and EP averages over all; .05 seen, and .3 at epsilon = 1"),
    )
    #: the release is one draw from a posterior: there is no noise to add and none to record.
    releases_a_draw = True
    leaks = (MARKOV_CHAIN, NO_DRAW)
    Settings = SamplerSettings

    @abc.abstractmethod
    def law(self, model, d: int, settings: Any, budget: Budget) -> tuple[Target, Event]:
        """The distribution of one draw from d inputs, and its cost, from public numbers only.

        Raises ValueError for a budget with nothing left for the draw, and BudgetExceeded for one that is too small.
        """

    def fit_unit(self, task: Task, settings: Any, budget: Budget, rng: np.random.Generator) -> Fit:
        """Make one draw from scaled rows. Raises the errors of :meth:`law`."""
        from methods.posterior_sampling import _bounded_logistic as draws

        target, event = self.law(task.model, task.x.shape[1], settings, budget)
        return draws.draw(task, target, event, budget, rng, settings, self.name)
