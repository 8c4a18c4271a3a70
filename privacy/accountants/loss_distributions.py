"""Accountants by privacy loss distributions (PLD): that of dp-accounting, and prv-accountant for comparison."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from privacy.accountants.exact import gdp, pure, pure_epsilon
from privacy.accountants.renyi import dp_accounting_rdp
from privacy.accountants.terms import NotApplicable, Term, checked_delta, key_of, terms_of, third_party
from privacy.ledger import Ledger, Mechanism

# Grid of the PLD: number of points of one release, length of the composed grid, and the largest share of delta that
# rounding may cost before the grid is made coarser (a coarser pessimistic grid still gives an upper bound).
_PLD_POINTS = 150_000
_PLD_LENGTH = 400_000
_PLD_ROUNDING = 0.05
_PRV_POINTS = 200_000
_PRV_ERROR = 0.01


def pld(terms: list[Term], delta: float) -> float:
    """The PLD accountant on the finest grid that keeps rounding small and the arrays short.

    A coarser pessimistic grid still dominates the mechanism, so its epsilon is an upper bound too.
    """
    for t in terms:
        if t.mechanism not in (Mechanism.GAUSSIAN, Mechanism.LAPLACE, Mechanism.EXPONENTIAL):
            raise NotApplicable(f"no privacy loss distribution for {t.mechanism.value}")
        if t.mechanism is Mechanism.EXPONENTIAL and t.scheme != "plain":
            raise NotApplicable("no privacy loss distribution for sampled exponential mechanisms")
        if t.scheme == "wor":
            raise NotApplicable("no privacy loss distribution for sampling without replacement")
        if t.scheme == "poisson_replace" and t.mechanism is Mechanism.LAPLACE:
            raise NotApplicable("Poisson-sampled Laplace releases under replace_one")
    # The ceiling only sizes the grid. No Renyi accountant covers poisson_replace, so another scheme takes its place.
    alike = [replace(t, scheme="poisson") if t.scheme == "poisson_replace" else t for t in terms]
    try:
        ceiling = dp_accounting_rdp(alike, delta)
    except NotApplicable:
        try:
            ceiling = gdp(terms, delta)
        except NotApplicable:
            ceiling = pure(terms, delta)
    grid = max((ceiling + 1.0) / _PLD_LENGTH, min(_finest(t, delta) for t in terms))
    with third_party():
        for _ in range(8):
            epsilon = _pld_on_grid(terms, delta, grid)
            if epsilon is not None:
                return epsilon
            grid *= 2
    raise NotApplicable("rounding exceeds the tolerance on every grid tried; see the Renyi accountants")


def _finest(t: Term, delta: float) -> float:
    """The grid step that resolves one release, or the smallest step that the array length allows."""
    width = math.sqrt(2 * math.log(t.steps / (1e-4 * delta)))  # standard deviations that are kept
    if t.mechanism is not Mechanism.GAUSSIAN:
        return max(1e-6, min(1e-3, t.rate / t.multiplier / 50, 4 / t.multiplier / 1000))
    if t.scheme == "plain":
        mu = math.sqrt(t.steps) / t.multiplier
        return max(1e-7, min(1e-3, mu / 200, mu * mu), (2 * width * mu + mu * mu) / _PLD_POINTS)
    multiplier = t.contribution_multiplier if t.scheme == "poisson_replace" else t.multiplier
    sd = t.rate * math.sqrt(math.expm1(min(1 / multiplier**2, 600.0)))
    reach = width / multiplier + 1 / multiplier**2  # largest loss of an unsampled release
    reach = math.log1p(t.rate * math.expm1(reach)) if reach < 500 else reach + math.log(t.rate)
    return max(min(2e-4, sd / 8, t.rate / 8), reach / _PLD_POINTS)


def _pld_on_grid(terms: list[Term], delta: float, grid: float) -> float | None:
    """Epsilon, or None if rounding on this grid could change it."""
    import dp_accounting as dpa
    from dp_accounting.pld import privacy_loss_distribution as plds
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    steps = sum(t.steps for t in terms)
    cut = math.log(1e-4 * delta / steps)  # cut tails count as infinite loss: at most delta/10^4 in all, conservative
    whole: Any = None  # a PrivacyLossDistribution, once there is a term
    excess = deficit = 0.0
    for t in terms:
        count = t.steps
        if t.mechanism is Mechanism.LAPLACE:
            one = plds.from_laplace_mechanism(t.multiplier, value_discretization_interval=grid, sampling_prob=t.rate)
        elif t.mechanism is Mechanism.EXPONENTIAL:
            # the worst of all mechanisms with that pure epsilon: randomised response (Kairouz, Oh & Viswanath 2015)
            whole_epsilon = DifferentialPrivacyParameters(pure_epsilon(t), 0.0)
            one = plds.from_privacy_parameters(whole_epsilon, value_discretization_interval=grid)
        else:
            multiplier = t.multiplier
            if t.scheme == "plain":  # Gaussians compose to a Gaussian
                multiplier, count = t.multiplier / math.sqrt(t.steps), 1
            elif t.scheme == "poisson_replace":
                multiplier = t.contribution_multiplier
            one = plds.from_gaussian_mechanism(
                multiplier,
                value_discretization_interval=grid,
                log_mass_truncation_bound=cut,
                sampling_prob=t.rate,
                neighboring_relation=(
                    dpa.NeighboringRelation.REPLACE_ONE
                    if t.scheme == "poisson_replace"
                    else dpa.NeighboringRelation.ADD_OR_REMOVE_ONE
                ),
            )
        for pmf in {id(p): p for p in (one._pmf_remove, one._pmf_add)}.values():  # no public reader of the masses
            dense = pmf.to_dense_pmf()
            off = count * (float(np.sum(dense._probs)) + dense._infinity_mass - 1.0)
            excess, deficit = excess + max(off, 0.0), deficit + max(-off, 0.0)
        one = one.self_compose(count, tail_mass_truncation=1e-4 * delta) if count > 1 else one
        whole = one if whole is None else whole.compose(one, tail_mass_truncation=1e-4 * delta / len(terms))
    # Mass that rounding adds only raises the bound. Mass that it loses is charged to delta, and so is the round-off of
    # the Fourier transform, which is relative to the largest power of the transform, the total mass.
    rounding = deficit + 10 * np.finfo(float).eps * steps * math.exp(min(excess, 50.0))
    if rounding > _PLD_ROUNDING * delta:
        return None
    return float(whole.get_epsilon_for_delta(delta - rounding))


def prv_interval(ledger: Ledger, delta: float, error: float = _PRV_ERROR) -> tuple[float, float, float]:
    """(lower, estimate, upper) epsilon of prv-accountant. ``error`` is half of the requested width.

    Raises NotApplicable if it does not cover an event of the ledger, or if its grid would be too long.
    """
    _, _, terms = terms_of(tuple(map(key_of, ledger)))
    return _prv_interval(terms, checked_delta(delta), error)


def _prv_interval(terms: list[Term], delta: float, error: float) -> tuple[float, float, float]:
    for t in terms:
        if t.mechanism is not Mechanism.GAUSSIAN or t.scheme not in ("plain", "poisson"):
            raise NotApplicable(
                f"covers Gaussian releases, whole or Poisson-sampled, not {t.mechanism.value} {t.scheme}"
            )
    counts = [t.steps for t in terms]
    mesh = error / math.sqrt(sum(counts) / 2 * math.log(12e3 / delta))
    reach = dp_accounting_rdp(terms, delta * 1e-3 / 8 / sum(counts)) + 3
    if 2 * reach / mesh > _PRV_POINTS:
        raise NotApplicable(f"its grid would need {2 * reach / mesh:.1g} points")
    with third_party():
        from prv_accountant import PRVAccountant
        from prv_accountant import privacy_random_variables as prvs

        variables = [
            prvs.GaussianMechanism(noise_multiplier=t.multiplier)
            if t.scheme == "plain"
            else prvs.PoissonSubsampledGaussianMechanism(t.rate, t.multiplier)
            for t in terms
        ]
        acct = PRVAccountant(variables, eps_error=error, delta_error=delta / 1000, max_self_compositions=counts)
        return tuple(float(e) for e in acct.compute_epsilon(delta, counts))


def prv(terms: list[Term], delta: float) -> float:
    """The upper end of prv-accountant's interval, which covers only one direction of the relation."""
    return _prv_interval(terms, delta, _PRV_ERROR)[2]
