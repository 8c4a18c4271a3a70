"""Budgets stated as a Renyi divergence at one order, and the cost of a whole ledger at that order.

A method sees the same :class:`privacy.budget.Budget`; only :meth:`RenyiBudget.spend` asks another question. The suite
opens every budget through :func:`open_budget`.
"""

from __future__ import annotations

import math

import numpy as np

from privacy.accountants import NotApplicable, _dp_accounting_curve, _key, _Term, _terms, _third_party
from privacy.budget import Budget, BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Event, Ledger, Mechanism

#: the smallest order that a library is asked for.
_LOWEST_ORDER = 1.1


def divergence(ledger: Ledger, order: float) -> float:
    """Bound of the Renyi divergence of order ``order`` >= 1 (1: Kullback-Leibler) of all events together, nats.

    The sum over the events: written bounds from their curves, Gaussian and Laplace releases from dp-accounting. The
    divergence never falls with its order, so an order that a curve lacks (or 1, for a library) is answered by the next
    one above. ``inf`` where a release has no noise or no bound covers it. Raises ValueError for an order below 1.
    """
    check_order(order, "divergence")
    if not len(ledger):
        return 0.0
    try:
        _, _, terms = _terms(tuple(sorted(map(_key, ledger), key=repr)))
        return math.fsum(_at(t, float(order)) for t in terms)
    except NotApplicable:
        return math.inf


def _at(t: _Term, order: float) -> float:
    if t.mechanism is Mechanism.WRITTEN_BOUND:
        return t.steps * min((bound for a, bound in t.curve if a >= order), default=math.inf)
    if t.mechanism is Mechanism.NO_NOISE or t.multiplier == 0:
        return math.inf
    if t.mechanism is Mechanism.GAUSSIAN and t.scheme == "plain":
        return t.steps * order / (2.0 * t.multiplier**2)
    with _third_party():
        return float(_dp_accounting_curve(t, np.array([max(order, _LOWEST_ORDER)]))[0])


def check_order(order: float, what: str = "budget") -> None:
    """Raises ValueError for an order that is not a finite number of at least 1."""
    if not (1 <= order < math.inf):
        raise ValueError(
            f"{what}: Renyi order {order}; give a finite number of at least 1 (1 is the Kullback-Leibler divergence)"
        )


def check_budget(order: float, epsilon: float, what: str = "budget") -> None:
    """Raises ValueError for an order below 1 or an epsilon that is not a finite number above 0."""
    check_order(order, what)
    if not (0 < epsilon < math.inf):
        raise ValueError(f"{what}: Renyi epsilon {epsilon} at order {order}; give a finite number above 0")


def order_and_epsilon(budget: Budget, method: str) -> tuple[float, float]:
    """(order, epsilon) of a Renyi budget. Raises ValueError where the budget states none, or one out of range."""
    if budget.spec.renyi is None:
        raise ValueError(f"{method}: the budget states no Renyi order and epsilon; give renyi: [order, epsilon]")
    order, epsilon = (float(v) for v in budget.spec.renyi)
    check_budget(order, epsilon, method)
    return order, epsilon


class RenyiBudget(Budget):
    """A budget whose limit is a Renyi divergence at one order (and an (epsilon, delta) too, where both are given)."""

    def spend(self, event: Event) -> None:
        """Write the event. In mode ``enforce`` raise BudgetExceeded if the ledger would then cost too much."""
        order, allowed = self.spec.renyi
        if self.spec.mode is Mode.ENFORCE:
            trial = Ledger([*self.ledger.events])
            trial.record(event)
            cost = divergence(trial, order)
            if not (cost <= allowed * (1 + 1e-9)):
                raise BudgetExceeded(
                    f"'{event.what}' would bring the cost to epsilon = {cost:.4g} at Renyi order {order:g}; the budget "
                    f"is {allowed:g}. Raise the noise multiplier, make fewer steps, or calibrate the release to it."
                )
            if self.spec.epsilon is not None and self.spec.delta is not None:
                super().spend(event)
                return
        self.ledger.record(event)


def open_budget(spec: BudgetSpec, rng: np.random.Generator, recorder: object | None = None) -> Budget:
    """The budget that ``spec`` states. Raises ValueError for a Renyi order below 1 or an epsilon not above 0."""
    if spec.renyi is None:
        return spec.open(rng, recorder)
    check_budget(*(float(v) for v in spec.renyi))
    return RenyiBudget(spec, rng, recorder)
