"""Lower bounds on epsilon from many fits on two neighbours.

Each fit gives one score: the log-likelihood ratio of its releases (:func:`loss`), or a projection of its posterior draw
(:func:`draw_scores`). The bound holds for any score that an observer can compute, so a bad score only costs power.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from privacy.audit.pairs import first_rows, neighbours, with_last_row
from privacy.audit.replays import NORMS, REFUSED, Recorder, both_runs, flat_parameters, run
from privacy.budget import BudgetSpec
from privacy.ledger import Event, Mechanism, Relation, Sampling


@dataclass(frozen=True)
class LowerBound:
    """A lower bound on epsilon with its confidence.

    ``mu`` is a lower bound on mu, and ``epsilon_gdp`` the epsilon that follows. Both assume a mu-GDP mechanism.
    """

    epsilon: float
    epsilon_gdp: float
    mu: float
    n: int
    confidence: float


def clopper_pearson(k, n: int, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """One-sided Clopper-Pearson limits (lower, upper) of a proportion at ``confidence`` each, per count in ``k``."""
    k = np.asarray(k, dtype=float)
    low = np.where(k == 0, 0.0, stats.beta.ppf(1 - confidence, np.maximum(k, 1), n - k + 1))
    high = np.where(k == n, 1.0, stats.beta.ppf(confidence, k + 1, np.maximum(n - k, 1)))
    return low, high


def event_bound(counts: tuple[int, int], runs: tuple[int, int], delta: float, confidence: float) -> float:
    """A lower bound on epsilon from one event that was fixed beforehand: its counts in the runs on D and on D'.

    epsilon >= log((p - delta) / q), at least 0. p is the lower limit on the data set on which the event is more
    frequent, and q the upper limit on the other, each at (1 + confidence) / 2.
    """
    (k, n), (other, m) = sorted(zip(counts, runs, strict=True), key=lambda pair: -pair[0] / pair[1])
    side = (1 + confidence) / 2
    low, high = clopper_pearson(k, n, side)[0], clopper_pearson(other, m, side)[1]
    return max(float(_dp_bound(np.atleast_1d(low), np.atleast_1d(high), delta)[0]), 0.0)


def events(
    method, tasks, settings, spec: BudgetSpec, event, fits: int, seed: int, first: int | None = None
) -> np.ndarray:
    """Whether an event of the released posterior happens, in each of ``fits`` fits on D and on D': (2, fits) bool.

    ``tasks`` are D and D', and ``event`` maps a posterior to whether it happens. ``first``: only so many of the fits,
    with the seeds that they have among all. Floating-point warnings are off.
    """
    seeds = np.random.SeedSequence(seed).generate_state(2 * fits, np.uint64).reshape(2, fits)[:, :first]
    with np.errstate(all="ignore"):
        return np.array(
            [
                [bool(event(run(method, task, settings, spec, int(s)).posterior)) for s in of]
                for task, of in zip(tasks, seeds, strict=True)
            ]
        )


def epsilon_lower_bound(
    scores_d: Sequence[float], scores_dprime: Sequence[float], delta: float, confidence: float = 0.95
) -> LowerBound:
    """A lower bound on epsilon from the scores of independent runs on D and on D'.

    An event S is a threshold on the score and its side. It is chosen on the first half of the runs, with the data set
    that is in the numerator. The second half gives Clopper-Pearson limits of both probabilities, each at
    (1 - confidence)/2. The bound is epsilon >= log((p - delta) / q) for probabilities p on one data set and q on the
    other (Jagielski, Ullman & Oprea 2020). ``epsilon_gdp`` uses mu >= z(p) - z(q) of Nasr et al. 2023, which holds for
    a mu-GDP mechanism only. Scores may be infinite. Raises ValueError for fewer than 4 scores, and for a NaN.
    """
    a, b = np.asarray(scores_d, float), np.asarray(scores_dprime, float)
    if a.ndim != 1 or b.ndim != 1 or min(len(a), len(b)) < 4:
        raise ValueError("give two one-dimensional samples of at least 4 scores each")
    if np.isnan(a).any() or np.isnan(b).any():
        raise ValueError(
            "a score is NaN, which no threshold can order; give the fit's score, or an infinity for a refusal"
        )
    side = 1 - (1 - confidence) / 2
    half_a, half_b = len(a) // 2, len(b) // 2
    seen = np.concatenate([a[:half_a], b[:half_b]])
    cuts = np.unique(np.quantile(seen.clip(-1e300, 1e300), np.linspace(0.005, 0.995, 199)))
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
    """The power of :func:`epsilon_lower_bound` on one Gaussian release of known epsilon, with ``n`` runs per data set.

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


def loss(method, task, neighbour, settings, spec: BudgetSpec, seed: int, on_neighbour: bool = False) -> float:
    """log p(released | D) - log p(released | D') of everything that one fit on D releases.

    With ``on_neighbour`` the fit is on D'. It is recorded, and the other data set gets its outputs in a replay. Given
    the outputs, each release is a value plus noise of the declared scale, so the ratio is a sum over the releases. It
    depends on the outputs, both data sets and the fit's own random numbers. An observer may know these, because events
    that read every row do not rely on their secrecy. The result is infinite if one data set makes a release, or a
    result, that the other does not make. Raises ValueError for an event that reads a part of the rows (:func:`known`).
    """
    here, there = (neighbour, task) if on_neighbour else (task, neighbour)
    first = Recorder()
    ended = _ended(method, here, settings, spec, seed, first)
    second = Recorder(first.outputs, first.events)
    ended_there = _ended(method, there, settings, spec, seed, second)
    sign = -1.0 if on_neighbour else 1.0
    if ended != ended_there or len(first.values) != len(second.values):
        return sign * math.inf
    total = 0.0
    for event, out, mine, other in zip(first.events, first.outputs, first.values, second.values, strict=True):
        if not known(event):
            raise ValueError(f"'{event.what}': the ratio of a release that reads a part of the rows is not known here")
        near, far = (np.abs(out - value) / event.noise_scale for value in (mine, other))
        total += float(np.sum(far - near if event.mechanism is Mechanism.LAPLACE else (far**2 - near**2) / 2))
    return sign * total


def known(event: Event) -> bool:
    """Whether :func:`loss` covers the event: Gaussian or Laplace noise on a value that every row enters."""
    sampled = event.sampling in (Sampling.POISSON, Sampling.WITHOUT_REPLACEMENT) and event.sampling_rate < 1
    return event.mechanism in (Mechanism.GAUSSIAN, Mechanism.LAPLACE) and not sampled


def _ended(method, task, settings, spec: BudgetSpec, seed: int, recorder: Recorder) -> str:
    """Run a fit and return the name of the exception with which it ends, or "". Floating-point warnings are off."""
    try:
        with np.errstate(all="ignore"):
            run(method, task, settings, spec, seed, recorder)
    except REFUSED as error:
        return type(error).__name__
    return ""


def losses(method, task, neighbour, settings, spec: BudgetSpec, runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """:func:`loss` of ``runs`` independent fits on D and of as many on D': two arrays (runs,)."""
    seeds = np.random.SeedSequence(seed).generate_state(2 * runs, np.uint64)
    one = [loss(method, task, neighbour, settings, spec, int(s)) for s in seeds[:runs]]
    other = [loss(method, task, neighbour, settings, spec, int(s), True) for s in seeds[runs:]]
    return np.array(one), np.array(other)


def draw_scores(
    method, task, neighbour, settings, spec: BudgetSpec, runs: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of ``runs`` posterior draws given D, and of as many given D': two arrays (runs,).

    The score is the draw's projection on the linear discriminant, the direction that separates two normal distributions
    of equal covariance best. It is estimated on the first half of the runs, like the threshold of
    :func:`epsilon_lower_bound`. If a parameter is constant on each side and differs, it is the score.
    """
    seeds = np.random.SeedSequence(seed).generate_state(2 * runs, np.uint64)
    a = np.array([flat_parameters(run(method, task, settings, spec, int(s))) for s in seeds[:runs]])
    b = np.array([flat_parameters(run(method, neighbour, settings, spec, int(s))) for s in seeds[runs:]])
    half = runs // 2
    x, y = a[:half], b[:half]
    if (fixed := (x == x[0]).all(axis=0) & (y == y[0]).all(axis=0) & (x[0] != y[0])).any():
        return a[:, fixed][:, 0], b[:, fixed][:, 0]
    spread = np.sqrt(np.var(x, axis=0) + np.var(y, axis=0))
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    covariance = np.cov((x - x.mean(axis=0)) * scale, rowvar=False) + np.cov((y - y.mean(axis=0)) * scale, rowvar=False)
    difference = (x.mean(axis=0) - y.mean(axis=0)) * scale
    direction = scale * (np.linalg.pinv(np.atleast_2d(covariance), rcond=1e-6, hermitian=True) @ difference)
    return a @ direction, b @ direction


def power(
    scores_d: np.ndarray, scores_dprime: np.ndarray, epsilons: Mapping[float, float], resamples: int = 100
) -> tuple[dict[float, float], float]:
    """How often a lower bound exceeds a claimed epsilon, as a share of bootstrap resamples of the scores.

    ``epsilons`` maps delta to the claimed epsilon. Returns the share per delta, which assumes nothing of the mechanism,
    and the share under Gaussian differential privacy at the smallest delta (one mu fixes epsilon at every delta).
    """
    rng = np.random.default_rng(0)
    least, counts, normal = min(epsilons), dict.fromkeys(epsilons, 0), 0
    for _ in range(resamples):
        a, b = (rng.choice(scores, len(scores)) for scores in (scores_d, scores_dprime))
        for delta, epsilon in epsilons.items():
            found = epsilon_lower_bound(a, b, delta)
            counts[delta] += found.epsilon > epsilon
            normal += delta == least and found.epsilon_gdp > epsilon
    return {delta: count / resamples for delta, count in counts.items()}, normal / resamples


def candidates(task, relation: Relation) -> Iterator[tuple[str, Any, Any]]:
    """(name, D, D') of :func:`neighbours` with several rows, and of pairs that differ in a row at a corner of the
    documented ranges."""
    yield from (pair for pair in neighbours(task, relation) if "n = 1" not in pair[0])
    sizes = np.abs(task.x).max(axis=0)
    ranges = task.public.x_bounds or (None,) * len(sizes)
    corner = np.array([s if r is None else max(map(abs, r)) for s, r in zip(sizes, ranges, strict=True)])
    target = 0.0
    if task.y is not None:
        target = float(max(map(abs, task.public.y_bounds)) if task.public.y_bounds else np.abs(task.y).max())
    for sign in (1.0, -1.0) if task.y is not None else (1.0,):
        for factor, among in ((None, "the rows"), (1.0, "its copies"), (-1.0, "its negations"), (0.0, "zeros")):
            base = task
            if factor is not None:
                base = replace(task, x=np.tile(factor * corner, (task.n, 1)))
                base = base if task.y is None else replace(base, y=np.full(task.n, factor * sign * target))
            d = with_last_row(base, corner, sign * target)
            other = with_last_row(d, -corner, -sign * target)
            name = f"corner of the ranges, {'' if sign > 0 else 'negative target, '}among {among}"
            yield name, d, first_rows(d, d.n - 1) if relation is Relation.ADD_REMOVE else other


def worst_pair(method, task, settings, spec: BudgetSpec, seed: int):
    """(name, D, D', part) of the candidate pair whose releases change most.

    ``part`` is the distance of the releases divided by the distance that the ledger declares, both in noise scales. It
    is the root of the sum of squares for Gaussian noise, and the sum for Laplace noise. Raises ValueError if no pair
    can be replayed.
    """
    best = None
    for name, d, other in candidates(task, method.privacy):
        try:
            with np.errstate(all="ignore"):
                first, second, fit, _ = both_runs(method, d, other, settings, spec, seed)
        except REFUSED:
            continue
        norms = [NORMS.get(e.mechanism, 2) for e in first.events]
        exponent = 1 if set(norms) == {1} else 2
        moved = sum(
            (np.linalg.norm(np.ravel(v - w), norm) / e.noise_scale) ** exponent
            for e, v, w, norm in zip(first.events, first.values, second.values, norms, strict=True)
        )
        declared = sum(e.steps / e.noise_multiplier**exponent for e in fit.ledger)
        part = float((moved / declared) ** (1 / exponent))
        if best is None or part > best[3]:
            best = name, d, other, part
    if best is None:
        raise ValueError(f"{method.name}: no pair of neighbours can be replayed")
    return best


def worst_pair_of_draws(method, task, settings, spec: BudgetSpec, seed: int, draws: int = 60):
    """(name, D, D') of the candidate pair on which the mean of a drawn parameter differs most, in standard deviations.

    ``draws`` posterior draws are made on each side. Raises ValueError if no pair has draws on both sides.
    """
    best, seeds = None, np.random.SeedSequence(seed).generate_state(2 * draws, np.uint64)
    for name, d, other in candidates(task, method.privacy):
        try:
            with np.errstate(all="ignore"):
                a = np.array([flat_parameters(run(method, d, settings, spec, int(s))) for s in seeds[:draws]])
                b = np.array([flat_parameters(run(method, other, settings, spec, int(s))) for s in seeds[draws:]])
        except REFUSED:
            continue
        spread = np.sqrt(np.var(a, axis=0) + np.var(b, axis=0))
        gap = np.abs(a.mean(axis=0) - b.mean(axis=0))
        apart = float(np.max(np.divide(gap, spread, out=np.where(gap == 0, 0.0, np.inf), where=spread > 0)))
        if best is None or apart > best[3]:
            best = name, d, other, apart
    if best is None:
        raise ValueError(f"{method.name}: no pair of neighbours has draws on both sides")
    return best[:3]


def _rates(
    a: np.ndarray, b: np.ndarray, sign: int, swap: bool, cuts: np.ndarray, side: float
) -> tuple[np.ndarray, np.ndarray]:
    """For S = {sign x score > sign x cut}: lower limit of P(S) in the numerator, upper limit in the denominator."""
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
