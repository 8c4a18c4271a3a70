"""A lower bound on epsilon end to end, from posteriors alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from privacy.audit.replays import flat_parameters, run
from privacy.budget import BudgetSpec


@dataclass(frozen=True)
class LowerBound:
    """Lower bound on epsilon with its confidence; ``mu`` is the lower bound on mu if the mechanism is mu-GDP."""

    epsilon: float
    epsilon_gdp: float
    mu: float
    n: int
    confidence: float


def clopper_pearson(k, n: int, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """One-sided limits (lower, upper) of a proportion, each at ``confidence``; elementwise in the counts ``k``."""
    k = np.asarray(k, dtype=float)
    low = np.where(k == 0, 0.0, stats.beta.ppf(1 - confidence, np.maximum(k, 1), n - k + 1))
    high = np.where(k == n, 1.0, stats.beta.ppf(confidence, k + 1, np.maximum(n - k, 1)))
    return low, high


def epsilon_lower_bound(
    scores_d: Sequence[float], scores_dprime: Sequence[float], delta: float, confidence: float = 0.95
) -> LowerBound:
    """Lower bound on epsilon from the scores of independent runs on D and on D'.

    The threshold, its side and which of the two data sets is the numerator are chosen on the first half of the
    runs; the second half gives Clopper-Pearson limits, (1 - confidence)/2 for each of the two error rates:
    epsilon >= log((P(S) - delta) / P'(S)) (Jagielski, Ullman & Oprea 2020). ``epsilon_gdp`` uses
    mu >= z(P(S)) - z(P'(S)) (Nasr et al. 2023) and holds for a mu-GDP mechanism only.
    """
    a, b = np.asarray(scores_d, float), np.asarray(scores_dprime, float)
    if a.ndim != 1 or b.ndim != 1 or min(len(a), len(b)) < 4:
        raise ValueError("give two one-dimensional samples of at least 4 scores each")
    side = 1 - (1 - confidence) / 2
    half_a, half_b = len(a) // 2, len(b) // 2
    cuts = np.unique(np.quantile(np.concatenate([a[:half_a], b[:half_b]]), np.linspace(0.005, 0.995, 199)))
    best: dict[str, tuple[float, tuple]] = {"dp": (-math.inf, ()), "gdp": (-math.inf, ())}
    for sign, swap in ((1, False), (1, True), (-1, False), (-1, True)):
        low, high = _rates(a[:half_a], b[:half_b], sign, swap, cuts, side)
        for kind, bounds in (("dp", _dp_bound(low, high, delta)), ("gdp", _mu_bound(low, high))):
            i = int(np.argmax(bounds))
            if bounds[i] > best[kind][0]:
                best[kind] = (float(bounds[i]), (sign, swap, cuts[i : i + 1]))
    held = {
        k: _rates(a[half_a:], b[half_b:], *choice, side) if choice else (np.zeros(1), np.ones(1))
        for k, (_, choice) in best.items()
    }
    from privacy.accountants import gdp_epsilon

    mu = max(float(_mu_bound(*held["gdp"])[0]), 0.0)
    return LowerBound(
        max(float(_dp_bound(*held["dp"], delta)[0]), 0.0),
        gdp_epsilon(mu, delta),
        mu,
        min(len(a) - half_a, len(b) - half_b),
        confidence,
    )


def audit_power(
    noise_multiplier: float, delta: float, n: int, repeats: int, rng: np.random.Generator, confidence: float = 0.95
) -> dict[str, float]:
    """What :func:`epsilon_lower_bound` finds on one Gaussian release of known epsilon, with ``n`` runs on each side.

    Returns the exact epsilon, the median of both lower bounds over ``repeats``, and the share of repeats in which
    each exceeds the exact epsilon (false alarms; at most 1 - confidence by construction).
    """
    from privacy.accountants import gdp_epsilon

    exact = gdp_epsilon(1 / noise_multiplier, delta)
    found = []
    for _ in range(repeats):
        d = 1.0 + noise_multiplier * rng.standard_normal(n)
        e = epsilon_lower_bound(d, noise_multiplier * rng.standard_normal(n), delta, confidence)
        found.append((e.epsilon, e.epsilon_gdp))
    array = np.array(found)
    return {
        "epsilon": exact,
        "median": float(np.median(array[:, 0])),
        "median_gdp": float(np.median(array[:, 1])),
        "false_alarms": float(np.mean(array[:, 0] > exact)),
        "false_alarms_gdp": float(np.mean(array[:, 1] > exact)),
    }


def distinguishing_game(
    method, task, neighbour, settings, spec: BudgetSpec, runs: int, seed: int, delta: float, confidence: float = 0.95
) -> LowerBound:
    """Lower bound on epsilon from ``runs`` fits on each of D and D'.

    The score is the posterior's parameters in the direction that tells two normal laws of one covariance apart best
    (linear discriminant; parameters that are close to a function of others are left out); direction and threshold come
    from the first half of the runs, the bound from the second.
    """
    children = np.random.SeedSequence(seed).generate_state(2 * runs, np.uint64)
    a = np.array([flat_parameters(run(method, task, settings, spec, int(s))) for s in children[:runs]])
    b = np.array([flat_parameters(run(method, neighbour, settings, spec, int(s))) for s in children[runs:]])
    half = runs // 2
    x, y = a[:half], b[:half]
    spread = np.sqrt(np.var(x, axis=0) + np.var(y, axis=0))
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    covariance = np.cov((x - x.mean(axis=0)) * scale, rowvar=False) + np.cov((y - y.mean(axis=0)) * scale, rowvar=False)
    difference = (x.mean(axis=0) - y.mean(axis=0)) * scale
    direction = scale * (np.linalg.pinv(np.atleast_2d(covariance), rcond=1e-6, hermitian=True) @ difference)
    return epsilon_lower_bound(a @ direction, b @ direction, delta, confidence)


def _rates(
    a: np.ndarray, b: np.ndarray, sign: int, swap: bool, cuts: np.ndarray, side: float
) -> tuple[np.ndarray, np.ndarray]:
    """For S = {sign x score > sign x cut}: lower limit of P(S) on the numerator, upper limit on the other."""
    top, bottom = (b, a) if swap else (a, b)
    counts = []
    for scores in (top, bottom):
        ordered = np.sort(scores)
        above = len(scores) - np.searchsorted(ordered, cuts, side="right")
        counts.append(above if sign > 0 else np.searchsorted(ordered, cuts, side="left"))
    return clopper_pearson(counts[0], len(top), side)[0], clopper_pearson(counts[1], len(bottom), side)[1]


def _dp_bound(low: np.ndarray, high: np.ndarray, delta: float) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > delta, np.log(np.maximum(low - delta, 0.0) / high), -math.inf)


def _mu_bound(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.where((low > 0) & (high < 1), stats.norm.ppf(low) - stats.norm.ppf(high), -math.inf)
