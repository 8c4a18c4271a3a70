"""Neighbouring tables on which the posterior sample of the authors' code is not (epsilon, delta)-private.

Both tables have two inputs, and rows of norm 1 with target 1. Of the n rows' squares, t lie along x = (1, -1) / sqrt(2)
and the rest along v = (1, 1) / sqrt(2). The neighbour has one more row, x with target 1 or -1. The result is a lower
bound on the true delta, which is a supremum over all tables.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.stats import beta

from papers.wang2018 import run
from papers.wang2018.estimators import posterior_sampling as sampling
from papers.wang2018.estimators.moments import AUTHORS, PRINTED, Moments
from privacy.budget import BudgetSpec
from privacy.repeats import Repeats

#: numbers of rows of the tables, and the epsilons at which the counterexample is tried.
ROWS, BUDGETS = (1_000, 10_000, 45_000), ("0.1", "1", "10")
#: points of the quadrature along each axis, and its range in standard deviations. A normal distribution has a
#: probability of 1e-15 beyond it.
GRID, REACH = 241, 8.0


def table(t: float, n: int, extra: float | None = None) -> Moments:
    """Moments of the n rows, and of one more row x with target ``extra`` unless it is None.

    The rows are sqrt(t / n) x +- sqrt(1 - t / n) v, with both signs equally often, and all targets are 1. So

        X'X = t xx' + (n - t) vv',  X'y = sqrt(n t) x.
    """
    x, v = np.array([1.0, -1.0]) / math.sqrt(2), np.array([1.0, 1.0]) / math.sqrt(2)
    gram, cross = t * np.outer(x, x) + (n - t) * np.outer(v, v), math.sqrt(n * t) * x
    if extra is None:
        return Moments(gram, cross, n)
    return Moments(gram + np.outer(x, x), cross + extra * x, n + 1)


def posterior(t: float, n: int, found: sampling.Tempering, factor: str, extra: float | None = None):
    """Mean (2,) and covariance (2, 2) of the posterior sample on :func:`table`. ``factor``: AUTHORS or PRINTED."""
    moments = table(t, n, extra)
    h = moments.gram + (sampling.IDENTITY + float(found.penalty)) * np.eye(2)
    upper = np.linalg.cholesky(h).T
    covariance = np.linalg.inv(upper @ upper.T if factor == AUTHORS else h) / float(found.power)
    return np.linalg.solve(h, moments.cross), covariance


def hockey_stick(p, q, epsilon: float) -> float:
    """The integral of max(0, p - exp(epsilon) q) over the plane, by quadrature.

    p, q: normal distributions as (mean, covariance).
    """
    axis = np.linspace(-REACH, REACH, GRID)
    u = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    lower, other = np.linalg.cholesky(p[1]), np.linalg.cholesky(q[1])
    w = p[0] + u @ lower.T
    log_p = -0.5 * np.sum(u**2, axis=1)  # the Jacobian of u -> w is left out on both sides
    z = np.linalg.solve(other, (w - q[0]).T)
    log_q = -0.5 * np.sum(z**2, axis=0) + math.log(np.linalg.det(lower) / np.linalg.det(other))
    ratio = np.minimum(epsilon + log_q - log_p, 0.0)
    return float(np.sum(np.exp(log_p) * -np.expm1(ratio)) * (axis[1] - axis[0]) ** 2 / (2 * math.pi))


def counterexample(mirror: str | None) -> pd.DataFrame:
    """Largest delta over t, the target of the additional row, and both directions, for two inputs.

    The sample of one rule at one budget is normal on both tables. So delta at the claimed epsilon is an integral in the
    plane. It is a lower bound on the true delta, which is a supremum over all tables.
    """
    delta, rows = float(run.config()["delta"]), []
    for n in ROWS:
        for epsilon in BUDGETS:
            for rule in sampling.RULES:
                found = sampling.tempered(rule, n, 2, float(epsilon), delta, AUTHORS)
                for factor in (AUTHORS, PRINTED):
                    best = (0.0, 0.0)
                    for t in np.geomspace(1, n / 4, 13):
                        without = posterior(t, n, found, factor)
                        for y in (1.0, -1.0):
                            more = posterior(t, n, found, factor, y)
                            for p, q in ((more, without), (without, more)):
                                best = max(best, (hockey_stick(p, q, float(epsilon)), t))
                    rows.append(
                        {"rule": rule, "reading": factor, "n": n, "epsilon": epsilon, "delta_claimed": delta,
                         "delta_at_least": best[0], "t": best[1]}
                    )  # fmt: skip
    return pd.DataFrame(rows)


#: values of t at which AdaOPS is tried, samples that choose the event, and samples that estimate its probability.
ALONG, PILOT, DRAWS = (10.0, 30.0, 100.0, 300.0, 1_000.0), 200_000, 1_000_000
#: quantile of the pilot sample from which an exponential tail stands for it.
BODY = 0.99
#: the printed reading without its limit on L, to see whether a violation is due to the limit.
NO_CAP = "printed, no cap"
#: two-sided confidence of each of the two counts.
SURE = 0.99


def counterexample_adaops(mirror: str | None) -> pd.DataFrame:
    """Lower bounds on delta of AdaOPS by sampling, for two inputs.

    The bounds are P(S) - exp(epsilon) Q(S) for a half-plane S of coefficients.

    A pilot sample chooses t, the target of the additional row, which of the two tables is P, and S. New samples
    estimate the two probabilities. ``delta_at_least`` uses the ends of their Clopper-Pearson intervals of 99 % each, so
    it is too high in at most 1 % of cases. It is 0 if they show no violation.
    """
    delta, rows = float(run.config()["delta"]), []
    for n in ROWS:
        for epsilon in BUDGETS:
            for reading in (AUTHORS, PRINTED, NO_CAP):
                rng = run.generator("counterexample", f"adaops {reading} {n}", epsilon, 0)
                draw = _drawer(float(epsilon), delta, reading, rng)
                found = max((c for t in ALONG for c in _candidates(draw, t, n, float(epsilon))), key=lambda c: c[0])
                _, t, (p, q), side, threshold = found
                inside = [int(np.sum(draw(moments, DRAWS) @ side > threshold)) for moments in (p, q)]
                rows.append(
                    {"reading": reading, "n": n, "epsilon": epsilon, "delta_claimed": delta, "t": t, "draws": DRAWS,
                     "inside": inside[0], "inside_neighbour": inside[1],
                     "delta_at_least": max(0.0, sure_difference(*inside, DRAWS, float(epsilon)))}
                )  # fmt: skip
    return pd.DataFrame(rows)


def _drawer(epsilon: float, delta: float, reading: str, rng: np.random.Generator):
    options = {"capped": lambda n, h: np.inf} if reading == NO_CAP else {}
    of = PRINTED if reading == NO_CAP else reading

    def draw(moments: Moments, count: int) -> np.ndarray:
        parts = []
        for size in [PILOT] * (count // PILOT):
            budget = BudgetSpec(epsilon=epsilon, delta=delta, claimed_epsilon=epsilon).open(rng)
            parts.append(sampling.adaops(moments, epsilon, delta, of, Repeats(budget, rng, size), **options))
        return np.concatenate(parts)

    return draw


def _candidates(draw, t: float, n: int, epsilon: float):
    """(delta on the pilot, t, (P, Q), direction, threshold) of the best half-plane along Fisher's discriminant."""
    without = table(t, n)
    first = draw(without, PILOT)
    for y in (1.0, -1.0):
        more = table(t, n, y)
        second = draw(more, PILOT)
        for (p, a), (q, b) in (((without, first), (more, second)), ((more, second), (without, first))):
            side = np.linalg.solve(np.cov(a.T) + np.cov(b.T), a.mean(axis=0) - b.mean(axis=0))
            u, levels = a @ side, np.linspace(0.002, 0.998, 250)
            cuts = np.quantile(u, levels)
            found = 1 - levels - math.exp(epsilon) * above(b @ side, cuts)
            best = int(np.argmax(found))
            yield float(found[best]), t, (p, q), side, float(cuts[best])


def above(w: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Probability above each cut, from a sample ``w``; beyond its quantile ``BODY`` by an exponential tail.

    Shares of the sample would favour the cut that no draw happens to exceed, whose probability they take for 0.
    """
    least = np.quantile(w, BODY)
    excess = np.mean(w[w > least] - least)
    shares = 1 - np.searchsorted(np.sort(w), cuts) / len(w)
    return np.where(cuts > least, (1 - BODY) * np.exp(-np.maximum(cuts - least, 0.0) / excess), shares)


def sure_difference(inside: int, other: int, draws: int, epsilon: float) -> float:
    """Lower confidence limit of P(S) minus exp(epsilon) times the upper limit of Q(S), from counts.

    The limits are the ends of Clopper-Pearson intervals at the level ``SURE``.
    """
    tail = (1 - SURE) / 2
    low = beta.ppf(tail, inside, draws - inside + 1) if inside > 0 else 0.0
    high = beta.ppf(1 - tail, other + 1, draws - other) if other < draws else 1.0
    return float(low - math.exp(epsilon) * high)
