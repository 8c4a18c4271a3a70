"""One exact draw from a tempered logistic posterior on scaled inputs: the draw, and its privacy cost under add/remove.

The distribution is

    p(theta) proportional to exp(-power sum_i l_i(theta) - precision |theta|^2 / 2).

The signed rows z = (2 y - 1) [x, 1] have norm at most c = sqrt(D), since every scaled number is in [-1, 1]. Rows
divided by c, with c theta instead of theta, have norm at most 1 and the same margins. Nothing else depends on that
scale.

Relation: add or remove one row, with n public. Power and precision are functions of public numbers, so they are the
same for neighbours. All statements are for EXACT samples, as in ``methods.posterior_sampling._logistic.guarantee``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from methods._shared.logistic.sampler import Plan, Target, sample
from methods._shared.logistic_gaussian.posterior import signed
from methods.contract import Diverged, Fit
from methods.posterior_sampling._logistic.guarantee import ORDERS, renyi_of_pure
from models.bounded_logistic import LogisticPoint
from models.task import Task
from privacy.budget import GENERATOR, Budget, BudgetExceeded, Mode
from privacy.ledger import Event, Ledger, Mechanism, Relation

_HERE = "methods.posterior_sampling._bounded_logistic"
#: the calibration stops when the two ends of its interval differ by this share.
_PRECISION = 1e-4


def norm_bound(d: int) -> float:
    """c = sqrt(d + 1), the largest norm of [x, 1] for x (d,) with inputs scaled to [-1, 1]."""
    return math.sqrt(d + 1.0)


def renyi_bound(order: float, power: float, precision: float, c: float) -> float:
    """Renyi divergence of one draw between add/remove neighbours, at most: power^2 c^2 order / (2 precision).

    Proof. It is that of ``methods.posterior_sampling._logistic.guarantee.renyi_bound``, steps 1 and 3 to 5, with
    another step 2. Both distributions are precision-strongly log-concave; step 1 requires nothing more. They differ in
    one term:

        Z = log(dP / dQ) = -+ power l(theta) + constant,
        |grad Z| = power (1 - sigmoid(z . theta)) |z| <= K = power c.

    This K is half of the 2 power c of a replaced record. So the divergence of order a is at most a K^2 / (2 precision).
    QED

    It is the curve of a Gaussian release with noise multiplier sqrt(precision) / (power c).
    """
    return power**2 * c**2 * order / (2.0 * precision)


def pure_bound(power: float, c: float, radius: float) -> float:
    """Pure epsilon under add/remove of one draw from the distribution truncated to |theta| <= radius: power c radius.

    Proof. In the ball |z . theta| <= T = c radius, and l(t) = log(1 + exp(-t)) falls from l(-T) to l(T) = l(-T) - T. So
    power l lies in an interval of length power T. P has the density exp(-power l) / E_Q exp(-power l) with respect to
    Q, which lies within exp(+- power T). QED  (Replacing a record costs twice that.)
    """
    return power * c * radius


def draw_event(power: float, precision: float, c: float) -> Event:
    """Ledger event of one draw from the whole space, with the curve of :func:`renyi_bound`."""
    curve = tuple((float(a), renyi_bound(a, power, precision, c)) for a in ORDERS)
    return _event("one draw from the posterior", curve, power * c, "renyi_bound")


def pure_event(power: float, c: float, radius: float) -> Event:
    """Ledger event of one draw from the ball, with the curve that the pure epsilon of :func:`pure_bound` implies."""
    epsilon = pure_bound(power, c, radius)
    curve = tuple((float(a), renyi_of_pure(a, epsilon)) for a in ORDERS)
    return _event("one draw from the truncated posterior", curve, power * c, "pure_bound")


def _event(what: str, curve: tuple[tuple[float, float], ...], slope: float, proof: str) -> Event:
    return Event(
        what=what,
        mechanism=Mechanism.WRITTEN_BOUND,
        relation=Relation.ADD_REMOVE,
        sensitivity=slope,
        noise_scale=0.0,
        proof=f"{_HERE}.{proof}",
        generator=f"a Markov chain driven by: {GENERATOR}",
        renyi_curve=curve,
    )


def cost(event: Event, budget: Budget) -> float:
    """Epsilon of the whole ledger and this event together, at the budget's delta."""
    from privacy.accountants import epsilon_of

    return epsilon_of(Ledger([*budget.ledger, event]), budget.delta).epsilon


def largest(event_of: Callable[[float], Event], budget: Budget, name: str) -> float:
    """Largest number (to 0.01 %, from below) at which the event fits the budget. The event's cost must grow with it.

    If the budget states no (epsilon, delta), the curve must stay below that of a Gaussian release with the stated noise
    multiplier. Raises ValueError for a budget that states neither, or that has nothing left.
    """

    if budget.epsilon is not None and budget.delta is not None:

        def fits(v: float) -> bool:
            return cost(event_of(v), budget) <= budget.epsilon

    elif budget.noise_multiplier is not None and budget.noise_multiplier > 0:
        share = 1.0 / (2.0 * budget.noise_multiplier**2)

        def fits(v: float) -> bool:
            return all(value <= share * order for order, value in event_of(v).renyi_curve)

    else:
        raise ValueError(f"{name}: the budget states no (epsilon, delta) and no noise_multiplier above 0; give one")
    low, high = 0.0, 1.0
    while fits(high):
        low, high = high, 4.0 * high
    while low == 0.0:
        if high < 1e-12:
            raise ValueError(f"{name}: nothing of the budget is left for a draw; give the ranges a smaller share")
        if fits(high / 4.0):
            low = high / 4.0
        else:
            high /= 4.0
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def afford(event: Event, budget: Budget, name: str) -> None:
    """Raise BudgetExceeded, which names the epsilon needed, if the draw exceeds an enforced (epsilon, delta).

    A Renyi limit is checked when the event is charged.
    """
    if budget.spec.mode is not Mode.ENFORCE or budget.epsilon is None or budget.delta is None:
        return
    if (needed := cost(event, budget)) > budget.epsilon:
        raise BudgetExceeded(
            f"{name}: a draw from the model's own posterior needs epsilon = {needed:.4g} at delta = {budget.delta:g}; "
            f"the budget is {budget.epsilon:g}, and this method has nothing to calibrate"
        )


def draw(
    task: Task, target: Target, event: Event, budget: Budget, rng: np.random.Generator, settings, name: str
) -> Fit:
    """Charge the event, then make the draw.

    Raises Diverged under the conditions of the sampler.
    """
    z = signed(task, strict=False)
    budget.spend(event)
    found = sample(z, [target], [rng], Plan(settings.trajectories, settings.leapfrog_steps))
    if not np.isfinite(found.weights).all():
        raise Diverged(f"{task.name}: {name} drew a value that is not finite")
    told = {"power": target.power, "precision": target.precision}  # the sampler's diagnostics read the rows
    return Fit(LogisticPoint(found.weights[0]), budget.ledger, told)
