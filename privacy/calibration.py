"""The noise multiplier for a given (epsilon, delta), rounded up: it never costs more than the target."""

from __future__ import annotations

import math
import warnings
from functools import lru_cache

from scipy.optimize import brentq

from privacy.accountants import epsilon_of, gdp_mu
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling

#: accountant of :func:`noise_multiplier` -> names in privacy.accountants whose smallest bound decides
ACCOUNTANTS = {
    "pld": ("dp_accounting_pld", "gdp"),
    "rdp": ("dp_accounting_rdp", "autodp_rdp", "gdp"),
    "dp_accounting_rdp": ("dp_accounting_rdp",),
    "autodp_rdp": ("autodp_rdp",),
}
_TOLERANCE = 1e-3


class PrivacyWarning(UserWarning):
    """A warning that a budget promises less than it seems to."""


def check_delta(delta: float, n: int) -> None:
    """Warn if ``delta >= 1/n``: publishing one row in full, chosen at random, would satisfy such a delta.

    Raises ValueError for a delta outside (0, 1) or n below 1.
    """
    _check(1.0, delta)
    if n < 1:
        raise ValueError(f"n = {n}: give the number of rows, at least 1")
    if delta >= 1 / n:
        warnings.warn(
            f"delta = {delta:g} is not below 1/n = {1 / n:g}: releasing a random row in full would satisfy it; "
            f"choose delta well below 1/{n}",
            PrivacyWarning,
            stacklevel=2,
        )


@lru_cache(maxsize=1024)
def gaussian_noise_multiplier(epsilon: float, delta: float, steps: int = 1) -> float:
    """The smallest noise multiplier for ``steps`` full-batch Gaussian releases: exactly sqrt(steps) / mu.

    This is the analytic Gaussian mechanism of Balle & Wang 2018. It holds for whichever neighbouring relation the
    sensitivity is stated under. The last digits are rounded up.
    """
    _check(epsilon, delta)
    _check_steps(steps)
    return math.sqrt(steps) / gdp_mu(epsilon, delta) * (1 + 1e-12)


@lru_cache(maxsize=1024)
def noise_multiplier(
    epsilon: float,
    delta: float,
    sampling_rate: float,
    steps: int,
    relation: Relation = Relation.ADD_REMOVE,
    accountant: str = "pld",
) -> float:
    """The noise multiplier (noise standard deviation over sensitivity) for Poisson-subsampled Gaussian releases.

    A root search finds it to a relative width of 1e-3. The accountant's epsilon at the returned value has been computed
    and is at most the target.

    Parameters
    ----------
    epsilon, delta : the target.
    sampling_rate : probability that a row is in a batch. 1 means full batches.
    steps : number of releases.
    relation : must be ADD_REMOVE unless sampling_rate = 1.
    accountant : one of ``ACCOUNTANTS``.

    Raises
    ------
    ValueError : arguments out of range, or Poisson batches under REPLACE_ONE.
    """
    _check(epsilon, delta)
    _check_steps(steps)
    relation = Relation(relation)
    if accountant not in ACCOUNTANTS:
        raise ValueError(f"accountant '{accountant}' is unknown; give one of {', '.join(ACCOUNTANTS)}")
    if not (0 < sampling_rate <= 1):
        raise ValueError(f"sampling_rate = {sampling_rate}: give a number in (0, 1]")
    if sampling_rate == 1 and accountant == "pld":
        return gaussian_noise_multiplier(epsilon, delta, steps)
    if sampling_rate < 1 and relation is Relation.REPLACE_ONE:
        raise ValueError(
            "Poisson batches under replace_one are not calibrated here; use relation add_remove, or give the event of "
            "privacy.budget.clipped_sum_event to privacy.scaling.remaining_noise_multiplier"
        )

    def cost(multiplier: float, names: tuple[str, ...]) -> float:
        return _epsilon(multiplier, delta, sampling_rate, steps, relation, names)

    # The Renyi bound is fast and at least as large as the others, so it gives the bracket of the search.
    high = _bracket(lambda m: cost(m, ("dp_accounting_rdp",)) <= epsilon)
    names = ACCOUNTANTS[accountant]
    while cost(high, names) > epsilon:
        high *= 1.1
    low = high / 1.25
    while cost(low, names) <= epsilon:
        high, low = low, low / 1.25
    # On a logarithmic scale the root search needs few evaluations. The value is then raised until it is enough.
    gap = lambda x: math.log(max(cost(math.exp(x), names), 1e-12) / epsilon)  # noqa: E731
    value = math.exp(brentq(gap, math.log(low), math.log(high), xtol=_TOLERANCE / 4, rtol=1e-12))
    while cost(value, names) > epsilon:
        value *= 1 + _TOLERANCE / 4
    return value


def _bracket(enough) -> float:
    """The smallest power of 1.1 that is enough."""
    low, high = 0, 0
    if enough(1.0):
        step = 1
        while enough(1.1 ** (low - step)):
            low, step = low - step, 2 * step
        low, high = low - step, low
    else:
        step = 1
        while not enough(1.1 ** (high + step)):
            high, step = high + step, 2 * step
        low, high = high, high + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(1.1**middle) else (middle, high)
    return 1.1**high


def _epsilon(multiplier, delta, rate, steps, relation, names) -> float:
    event = Event(
        "calibration",
        Mechanism.GAUSSIAN,
        relation,
        1.0,
        multiplier,
        Sampling.POISSON if rate < 1 else Sampling.FULL_BATCH,
        rate,
        steps,
    )
    ledger = Ledger([event])
    found = epsilon_of(ledger, delta, only=names).all
    return min((e for e in found.values() if not isinstance(e, str)), default=math.inf)


def _check(epsilon: float, delta: float) -> None:
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise ValueError(f"epsilon = {epsilon}: give a finite number above 0")
    if not (0 < delta < 1):
        pure = "; Gaussian noise has no finite epsilon at delta = 0" if delta == 0 else ""
        raise ValueError(f"delta = {delta}: give a number between 0 and 1, both excluded{pure}")


def _check_steps(steps: int) -> None:
    if int(steps) != steps or steps < 1:
        raise ValueError(f"steps = {steps}: give a whole number of at least 1")
