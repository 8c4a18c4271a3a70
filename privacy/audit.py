"""Privacy is measured here: record and replay, the noise law, and a lower bound on epsilon end to end.

Record and replay. Run on D and store, for each release, the value before the noise and the noisy output; run on a
neighbour D' with the same random streams and hand out the STORED outputs. Conditioned on the outputs, an adaptive
mechanism is private if each release moves by at most its declared sensitivity; so the largest measured move must not
exceed the declared one, and everything that is not a release (the posterior, the declared events) must not move at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from privacy.budget import BudgetExceeded, BudgetSpec
from privacy.ledger import EPOCHS, Event, Mechanism, Relation, Sampling

#: allowance for rounding in the ratio of a measured to a declared sensitivity: norms of sums in double precision
ROUNDING = 1e-7
#: the part of its declared sensitivity by which a release moves that a row has entered: a row that is fitted well moves
#: little; what no row of the batch moves differs by rounding of sums at most
SEEN = 1e-13
#: of :func:`noise_fault`: numbers that are heard, and the false-alarm rate.
SAMPLES, NOISE_ALPHA = 3000, 1e-6
#: of :func:`same_path`: fits on each path; with 100, half the noise was missed where posteriors have heavy tails
PATH_RUNS = 200
#: of :func:`sampling_fault`: fits, the most of them where a rate is small, and the false-alarm rate of all its
#: statistics together.
SEEDS, MOST_SEEDS, COIN_ALPHA = 10, 60, 1e-3


class StructureDiffers(RuntimeError):
    """The neighbour's run made other releases (number, order or shape): the pattern of releases leaks rows."""


#: exceptions by which a fit refuses rows, or a replay ends
REFUSED = (StructureDiffers, BudgetExceeded, ValueError, RuntimeError, ArithmeticError)


# ------------------------------------------------------------------------------------------- record and replay


@dataclass
class Recorder:
    """Listens to the releases of one fit; pass it to ``BudgetSpec.open``.

    Without ``outputs`` it records: ``values`` (before the noise) and ``outputs`` (after). With the ``outputs`` of an
    earlier run it replays: each release returns the stored output, and the new values are stored; ``expected`` are the
    events of that run. The noise is always the mechanism's own.
    """

    outputs: list[np.ndarray] | None = None
    expected: list[Event] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    #: releases come one by one, never as a block of noise.
    one_by_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.replaying = self.outputs is not None
        self.outputs = list(self.outputs) if self.replaying else []

    def release(self, event: Event, value: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The noisy output (recording) or the stored one (replaying). Raises :class:`StructureDiffers`."""
        i = len(self.values)
        self.events.append(event)
        self.values.append(np.array(value, dtype=np.float64))
        if not self.replaying:
            self.outputs.append(value + noise)
        elif i >= len(self.outputs) or self.outputs[i].shape != value.shape or not self._due(i, event):
            raise StructureDiffers(
                f"release {i + 1} ('{event.what}', shape {value.shape}) has no counterpart in the recorded run"
            )
        return self.outputs[i].copy()

    def _due(self, i: int, event: Event) -> bool:
        return not self.expected or self.expected[i].what == event.what


@dataclass
class Listener:
    """Hears the noise of an ordinary fit as its mechanisms draw it, single releases and blocks; changes nothing."""

    heard: list[tuple[Event, np.ndarray]] = field(default_factory=list)
    one_by_one: ClassVar[bool] = False

    def release(self, event: Event, value: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The noisy output."""
        self.heard.append((event, np.array(noise)))
        return value + noise

    def block(self, event: Event, noise: np.ndarray) -> None:
        """Noise of several releases, a row each."""
        self.heard.append((event, np.array(noise)))

    def standardised(self) -> np.ndarray:
        """Noise over its declared scale, flat: standard normal where it is as declared.

        Laplace noise is mapped to normal by its own distribution function first.
        """
        parts = []
        for event, noise in self.heard:
            z = np.ravel(noise).astype(np.float64) / event.noise_scale
            parts.append(stats.norm.ppf(stats.laplace.cdf(z)) if event.mechanism is Mechanism.LAPLACE else z)
        return np.concatenate(parts) if parts else np.empty(0)


@dataclass(frozen=True)
class Gap:
    """Declared against measured sensitivity of one event over one pair of neighbours.

    ``ratio`` = measured / declared: above 1 the declared sensitivity is wrong. ``moved`` releases of ``releases``
    differ between the two runs.
    """

    what: str
    declared: float
    measured: float
    releases: int
    moved: int
    ratio: float


@dataclass(frozen=True)
class Replay:
    """Result of :func:`replay`.

    ``posterior_change`` : largest absolute difference of any posterior parameter, given equal outputs.
    ``diagnostics_differ`` : names of diagnostics that differ, given equal outputs.
    ``events_differ`` : the two ledgers differ, so a declared number depends on the rows.
    """

    gaps: tuple[Gap, ...]
    posterior_change: float
    diagnostics_differ: tuple[str, ...]
    events_differ: bool
    recorded: Recorder
    ledger: Any

    @property
    def ratio(self) -> float:
        return max((g.ratio for g in self.gaps), default=0.0)


def run(method, task, settings, spec: BudgetSpec, seed: int, recorder: Recorder | None = None):
    """One fit; the fit's stream and the budget's stream are children 0 and 1 of ``seed``."""
    fit_seed, noise_seed = np.random.SeedSequence(seed).spawn(2)
    budget = spec.open(np.random.default_rng(noise_seed), recorder)
    return method.fit(task, settings, budget, np.random.default_rng(fit_seed))


def replay(method, task, neighbour, settings, spec: BudgetSpec, seed: int) -> Replay:
    """Record on ``task``, replay on ``neighbour`` (``public`` unchanged), compare.

    Raises :class:`StructureDiffers` where the two runs do not make the same releases.
    """
    first, second, fit, again = _both(method, task, neighbour, settings, spec, seed)
    gaps = []
    for event in fit.ledger:
        norm = 1 if event.mechanism is Mechanism.LAPLACE else 2
        mine = [i for i, e in enumerate(first.events) if _same(e, event)]
        moves = [float(np.linalg.norm((first.values[i] - second.values[i]).ravel(), norm)) for i in mine]
        top = max(moves, default=math.nan)
        tiny = ROUNDING * event.sensitivity if math.isfinite(event.sensitivity) else 0.0
        ratio = 0.0 if not moves or math.isinf(event.sensitivity) else top / event.sensitivity
        gaps.append(Gap(event.what, event.sensitivity, top, len(moves), sum(m > tiny for m in moves), ratio))
    return Replay(
        tuple(gaps),
        parameter_distance(fit.posterior.parameters(), again.posterior.parameters()),
        unequal(fit.diagnostics, again.diagnostics),
        fit.ledger.to_json() != again.ledger.to_json(),
        first,
        fit.ledger,
    )


def _both(method, task, neighbour, settings, spec: BudgetSpec, seed: int):
    """Recorder of the run on ``task`` and of its replay on ``neighbour``, and the two fits. Raises as replay."""
    first = Recorder()
    fit = run(method, task, settings, spec, seed, first)
    second = Recorder(first.outputs, first.events)
    again = run(method, neighbour, settings, spec, seed, second)
    if len(second.values) != len(first.values):
        raise StructureDiffers(f"{len(first.values)} releases on the data, {len(second.values)} on the neighbour")
    return first, second, fit, again


def replay_gap(method, task, neighbour, settings, spec: BudgetSpec, seed: int) -> tuple[Gap, ...]:
    """Declared sensitivity, largest measured change and their ratio, per event; see :func:`replay`."""
    return replay(method, task, neighbour, settings, spec, seed).gaps


def unequal(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, ...]:
    """Names under which two mappings do not hold the same; NaN equals NaN."""

    def same(x, y) -> bool:
        try:
            return bool(np.array_equal(np.asarray(x, np.float64), np.asarray(y, np.float64), equal_nan=True))
        except (TypeError, ValueError):
            return x == y

    return tuple(sorted(k for k in {*a, *b} if k not in a or k not in b or not same(a[k], b[k])))


def parameter_distance(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> float:
    """Largest absolute difference; infinite where names or shapes differ."""
    if a.keys() != b.keys() or any(np.shape(a[k]) != np.shape(b[k]) for k in a):
        return math.inf
    return max((float(np.max(np.abs(np.asarray(a[k]) - np.asarray(b[k])), initial=0.0)) for k in a), default=0.0)


def flat_parameters(fit) -> np.ndarray:
    """All posterior parameters of a fit as one vector."""
    p = fit.posterior.parameters()
    return np.concatenate([np.ravel(np.asarray(p[k], dtype=np.float64)) for k in sorted(p)])


def _same(a: Event, b: Event) -> bool:
    return replace(a, steps=0) == replace(b, steps=0)  # the ledger merges equal events by adding their steps


# ------------------------------------------------------------------------------------------------- neighbours

ROWS: dict[str, Callable[[np.ndarray, float], tuple[np.ndarray, float]]] = {
    "as it is": lambda x, y: (x, y),
    "outlier x 1e6": lambda x, y: (x * 1e6 + 1e6, y),
    "negated": lambda x, y: (-x, -y),
    "zeros": lambda x, y: (np.zeros_like(x), 0.0),
    "extreme target": lambda x, y: (x, 1e6),
    "extreme negative target": lambda x, y: (x, -1e6),
}


def with_row(task, i: int, x: np.ndarray, y: float | None):
    """The task with row ``i`` replaced; ``public`` unchanged."""
    rows = np.array(task.x)
    rows[i] = x
    if task.y is None:
        return replace(task, x=rows)
    targets = np.array(task.y)
    targets[i] = y
    return replace(task, x=rows, y=targets)


def with_last_row(task, x: np.ndarray, y: float | None):
    """The task with its last row replaced; ``public`` unchanged."""
    return with_row(task, -1, x, y)


def first_rows(task, n: int):
    """The first ``n`` rows of the task; ``public`` unchanged."""
    return replace(task, x=task.x[:n], y=None if task.y is None else task.y[:n])


def neighbours(task, relation: Relation) -> Iterator[tuple[str, Any, Any]]:
    """(name, D, D') for a fixed list of hard pairs, differing in the last row; ``public`` is the same in both.

    ADD_REMOVE: D has the altered row, D' lacks it. REPLACE_ONE: D has the row as it is, D' the altered one. The
    last pairs have one row (two against one under ADD_REMOVE: a task
    without rows is no task).
    """
    few = 2 if relation is Relation.ADD_REMOVE else 1
    alone = replace(first_rows(task, few), public=replace(task.public, n=few))
    for base, tag in ((task, ""), (alone, " (n = 1)")):
        x, y = np.array(base.x[-1]), None if base.y is None else float(base.y[-1])
        altered = {name: with_last_row(base, *f(x, 0.0 if y is None else y)) for name, f in ROWS.items()}
        altered["duplicate"] = with_last_row(base, base.x[0], None if y is None else float(base.y[0]))
        if relation is Relation.REPLACE_ONE:
            altered.pop("as it is")
        for name, d in altered.items():
            if tag and name not in ("as it is", "outlier x 1e6"):
                continue
            if relation is Relation.ADD_REMOVE:
                yield name + tag, d, first_rows(d, d.n - 1)
            else:
                yield name + tag, base, d


def neighbour_pairs(task, relation: Relation):
    """Hypothesis strategy of (D, D'): the last row drawn at any size from 1e-3 to 1e9, removed, replaced or zeroed."""
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp

    # float32 keeps squares of the drawn numbers finite: an overflow inside the model is another test's business
    number = st.floats(-1e9, 1e9, allow_nan=False, width=32)
    width = task.x.shape[1]
    row = hnp.arrays(np.float64, (width,), elements=number)

    def pair(x, y, other_x, other_y):
        d = with_last_row(task, x, y)
        if relation is Relation.ADD_REMOVE:
            return d, first_rows(d, d.n - 1)
        return d, with_last_row(d, other_x, other_y)

    return st.builds(pair, row, number, row, number)


# ---------------------------------------------------------------------------------------------- the noise law


@dataclass(frozen=True)
class NoiseLaw:
    """Result of :func:`noise_law`: ``accepted`` at false-alarm rate alpha; the three p-values; number of samples."""

    accepted: bool
    p_variance: float
    p_shape: float
    p_tails: float
    n: int


def noise_law(samples: np.ndarray, sigma: float, alpha: float = 1e-3) -> NoiseLaw:
    """Are ``samples`` independent N(0, sigma^2)?

    Chi-square test of the variance, Kolmogorov-Smirnov, and a binomial test of how many lie beyond two standard
    deviations, which sees a law without tails in a few hundred numbers; alpha/3 each.
    """
    z = np.ravel(samples) / sigma
    n = z.size
    if n < 2:
        raise ValueError(f"{n} samples; give at least 2")
    tail = stats.chi2.cdf(float(z @ z), n)
    p_variance = float(2 * min(tail, 1 - tail))
    p_shape = float(stats.kstest(z, "norm").pvalue)
    p_tails = float(stats.binomtest(int(np.sum(np.abs(z) > 2)), n, 2 * stats.norm.sf(2)).pvalue)
    return NoiseLaw(min(p_variance, p_shape, p_tails) >= alpha / 3, p_variance, p_shape, p_tails, n)


def noise_law_power(n: int, ratio: float, alpha: float = 1e-3) -> float:
    """Probability that the variance part of :func:`noise_law` rejects noise of ``ratio`` x sigma at ``n`` samples."""
    low, high = stats.chi2.ppf([alpha / 6, 1 - alpha / 6], n)
    return float(stats.chi2.cdf(low / ratio**2, n) + stats.chi2.sf(high / ratio**2, n))


# ------------------------------------------------------------------------------------------------- end to end


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


# -------------------------------------------------------------------------------------------------- all checks


@dataclass(frozen=True)
class Evidence:
    """``n`` pairs, releases or numbers were compared; a true adapter fails with probability ``false_alarm`` at most.

    ``power``: probability that a copy with the fault ``against`` fails; NaN where it is of a kind that has no size.
    """

    n: int
    false_alarm: float
    power: float
    against: str


@lru_cache(maxsize=64)
def noise_power(n: int, laplace: bool, alpha: float, ratio: float = 2 / 3, repeats: int = 200) -> float:
    """Probability that :func:`noise_law` at ``alpha`` refuses noise of ``ratio`` times its scale.

    By its formula for normal noise, which is that of the variance alone; for Laplace noise by simulation.
    """
    if not laplace:
        return noise_law_power(n, ratio, alpha)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(repeats):
        refused += not noise_law(stats.norm.ppf(stats.laplace.cdf(ratio * rng.laplace(size=n))), 1.0, alpha).accepted
    return refused / repeats


def share_power(n: int, rate: float, other: float, alpha: float = COIN_ALPHA) -> float:
    """Probability that the share of releases of :func:`sampling_fault` rejects coins of rate ``other`` in n flips.

    One of its five statistics, two-sided, so at alpha / 5.
    """
    low, high = stats.binom.ppf([alpha / 10, 1 - alpha / 10], n, rate)
    return float(stats.binom.cdf(low - 1, n, other) + stats.binom.sf(high, n, other))


@lru_cache(maxsize=64)
def fits_for(steps: int, rate: float, power: float = 0.99) -> int:
    """Fits of ``steps`` releases from which the share of releases tells 1.5 times the rate with that power.

    At most ``MOST_SEEDS``.
    """
    fits = SEEDS
    while fits < MOST_SEEDS and share_power(fits * steps, rate, min(1.0, 1.5 * rate)) < power:
        fits += 5
    return fits


class Audit:
    """The checks of one adapter on one task, each when it is asked for; what several need is computed once.

    ``samples``, ``alpha``: of :func:`noise_fault`. ``more``: pairs (name, D, D') beside those of :func:`neighbours`;
    ``only``: the names of those that are wanted, all by default.
    """

    def __init__(
        self,
        method,
        task,
        settings,
        spec: BudgetSpec,
        seed: int,
        samples: int = SAMPLES,
        alpha: float = NOISE_ALPHA,
        more: Sequence[tuple[str, Any, Any]] = (),
        only: Sequence[str] = (),
    ):
        self.method, self.task, self.seed, self._more, self._only = method, task, seed, tuple(more), tuple(only)
        self._fit = (method, task, settings, spec, seed)
        self._samples, self._alpha = samples, alpha

    @cached_property
    def replays(self) -> list[tuple[str, Replay | Exception]]:
        """Each pair of :func:`neighbours` by name, with its replay or the exception that ended it."""
        method, task, settings, spec, seed = self._fit
        out: list[tuple[str, Replay | Exception]] = []
        for pair, d, dprime in (*neighbours(task, method.privacy), *self._more):
            if self._only and pair not in self._only:
                continue
            try:
                out.append((pair, replay(method, d, dprime, settings, spec, seed)))
            except REFUSED as error:
                out.append((pair, error))
        return out

    @property
    def reached(self) -> float:
        """Largest part of its declared sensitivity by which a release moves on these pairs."""
        return max((r.ratio for _, r in self.replays if isinstance(r, Replay)), default=0.0)

    def evidence(self, check: str) -> Evidence:
        """What a passed ``check`` rests on; see :class:`Evidence`."""
        replayed = [r for _, r in self.replays if isinstance(r, Replay)]
        if check == "sensitivity":
            moves = sum(g.releases for r in replayed for g in r.gaps)
            share = f"{min(self.reached, 1.0):.3f}"
            return Evidence(moves, 0.0, 1.0, f"a sensitivity declared below {share} of what it is")
        if check == "noise":
            most = max((sum(v.size for v in r.recorded.values) for r in replayed), default=0)
            fits = min(math.ceil(self._samples / most), _MOST_FITS) if most else 0
            n = most * fits
            laplace = any(e.mechanism is Mechanism.LAPLACE for r in replayed for e in r.ledger)
            power = noise_power(n, laplace, self._alpha / 2) if n > 1 else math.nan
            return Evidence(n, self._alpha, power, "2/3 of the declared noise")
        if check == "sampling":
            counts = [(g.releases, e.sampling_rate) for r in replayed[:1] for g, e in zip(r.gaps, r.ledger, strict=True)
                      if _poisson(e)]  # fmt: skip
            if not counts:
                return Evidence(0, 0.0, math.nan, "no Poisson batches")
            fits = max([SEEDS, *(fits_for(*c) for c in counts)])
            powers = [(fits * steps, share_power(fits * steps, rate, min(1.0, 1.5 * rate))) for steps, rate in counts]
            n, power = min(powers, key=lambda p: p[1])
            return Evidence(n, COIN_ALPHA, power, "1.5 times the declared rate")
        if check == "steps":
            return Evidence(len(replayed), 1e-9 * len(replayed), math.nan, "")
        if check == "same_path":
            return Evidence(PATH_RUNS, max(self._alpha, 1e-3) ** 2, math.nan, "")
        return Evidence(len(replayed), 0.0, math.nan, "")

    def _first(self, fault: Callable[[str, Replay], str]) -> str:
        told = (fault(pair, r) for pair, r in self.replays if isinstance(r, Replay))
        return next(filter(None, told), "")

    def runs(self) -> str:
        """No exception on any pair, and the same releases in the same order."""
        failed = [(pair, r) for pair, r in self.replays if not isinstance(r, Replay)]
        return f"{failed[0][0]}: {type(failed[0][1]).__name__}: {failed[0][1]}" if failed else ""

    def sensitivity(self) -> str:
        """No release moves by more than its event declares."""

        def fault(pair: str, r: Replay) -> str:
            worst = max(r.gaps, key=lambda g: g.ratio, default=None)
            if worst is None or worst.ratio <= 1 + ROUNDING:
                return ""
            return f"{pair}: '{worst.what}' moved by {worst.ratio:.4g} times its declared sensitivity"

        return self._first(fault)

    def posterior(self) -> str:
        """Nothing but releases reaches the posterior."""
        words = "equal releases, posterior parameters differ by"
        return self._first(
            lambda pair, r: f"{pair}: {words} {r.posterior_change:.3g}" if r.posterior_change > 0 else ""
        )

    def diagnostics(self) -> str:
        """Nothing but releases reaches the diagnostics."""
        return self._first(
            lambda pair, r: (
                f"{pair}: equal releases, {', '.join(r.diagnostics_differ)} differ" if r.diagnostics_differ else ""
            )
        )

    def events(self) -> str:
        """No declared number depends on rows."""
        return self._first(lambda pair, r: f"{pair}: the ledgers differ" if r.events_differ else "")

    def steps(self) -> str:
        """The events of all releases stand in the ledger, and there are as many as it says."""
        return self._first(_steps_fault)

    def sampling(self) -> str:
        """See :func:`sampling_fault`; at a false-alarm rate of 1e-3."""
        try:
            return sampling_fault(*self._fit)
        except StructureDiffers as error:
            return f"one row moves which releases there are: {error}"

    def ledger(self) -> str:
        """A finite epsilon."""
        from privacy.accountants import epsilon_of

        cost = epsilon_of(run(*self._fit).ledger, self._fit[3].delta or 1e-5)
        return "" if 0 < cost.epsilon < math.inf else f"epsilon = {cost.epsilon} ({cost.accountant})"

    def noise(self) -> str:
        """See :func:`noise_fault`."""
        return noise_fault(*self._fit, self._samples, self._alpha)

    def noise_used(self) -> str:
        """Other noise gives another posterior."""
        return "" if _noise_matters(*self._fit) else "other noise gives the same posterior"

    def same_path(self) -> str:
        """See :func:`same_path`; at a false-alarm rate of 1e-3 where the two are not equal."""
        return same_path(*self._fit, alpha=max(self._alpha, 1e-3))


#: the checks by name, those that are cheap and find much first; what needs a whole fit is asked only after ``runs``.
CHECKS = (
    *("runs", "sensitivity", "posterior", "diagnostics", "events", "steps", "ledger", "noise", "sampling"),
    *("noise_used", "same_path"),
)


def checks(
    method, task, settings, spec: BudgetSpec, seed: int, samples: int = SAMPLES, alpha: float = NOISE_ALPHA
) -> dict[str, str]:
    """Every check of :class:`Audit`; name -> "" (passed) or what was found."""
    audit = Audit(method, task, settings, spec, seed, samples, alpha)
    found = dict.fromkeys(CHECKS, "")
    for name in CHECKS:
        if found["runs"] and name in ("ledger", "noise", "sampling", "noise_used", "same_path"):
            continue
        found[name] = getattr(audit, name)()
    return found


#: of :func:`noise_fault`: fits, where each draws few numbers; numbers of a first look, which finds gross faults.
_MOST_FITS, _FIRST_LOOK = 500, 250
#: two standardised normals nearer to one another than this are one and the same draw: by chance it happens to a pair of
#: 3,000 with probability 3,000^2 / (2 sqrt(pi)) / 2 x 1e-12 = 1e-6.
_REPEATED = 1e-12


def noise_fault(
    method,
    task,
    settings,
    spec: BudgetSpec,
    seed: int,
    samples: int = SAMPLES,
    alpha: float = NOISE_ALPHA,
    fits: int = 1500,
) -> str:
    """ "" if the mechanisms draw what they declare, in as many ordinary fits as give ``samples`` numbers.

    The law and the scale (:func:`noise_law`, false-alarm rate ``alpha`` of the two looks together; power by
    :func:`noise_law_power`), and that no number is drawn twice: not in another step, by another mechanism or by the fit
    of another seed.
    """
    z, fits = np.empty(0), 0
    for wanted in (min(_FIRST_LOOK, samples), samples):
        while z.size < wanted and fits < _MOST_FITS:
            listener = Listener()
            run(method, task, settings, spec, seed + fits, listener)
            z, fits = np.concatenate([z, listener.standardised()]), fits + 1
        if z.size < 2:
            return "no mechanism drew any noise"
        law = noise_law(z, 1.0, alpha / 2)
        if not law.accepted:
            told = f"{law.p_variance:.2g} (variance), {law.p_shape:.2g} (shape), {law.p_tails:.2g} (tails)"
            return f"p = {told} at n = {law.n}"
        repeated = int(np.sum(np.diff(np.sort(z)) < _REPEATED))
        if repeated:
            return f"{repeated} of {z.size} numbers were drawn before"
    return ""


def sampling_fault(
    method, task, settings, spec: BudgetSpec, seed: int, seeds: int = SEEDS, alpha: float = COIN_ALPHA
) -> str:
    """ "" if the rows enter the releases of each Poisson event as independent coins at its sampling rate.

    By record and replay: which releases move where the last row is left out, over ``seeds`` fits, and where each row in
    turn is altered, in one fit. Each statistic (:func:`_coin_statistics`) is held against its law under independent
    coins, by simulation; together they raise a false alarm with probability ``alpha`` at most.
    """
    events = [e for e in run(method, task, settings, spec, seed).ledger if _poisson(e)]
    if not events:
        return ""
    seeds = max([seeds, *(fits_for(e.steps, e.sampling_rate) for e in events)])
    base = _mover(method, task, settings, spec, seed)
    fits = [_entered(method, base, first_rows(base, base.n - 1), settings, spec, seed + k) for k in range(seeds)]
    altered = [_entered(method, base, _altered(base, i), settings, spec, seed) for i in range(base.n)]
    for event in fits[0]:
        if not fits[0][event].size:
            return f"'{event.what}': charged, and never released"
        entered, batches = (np.array([r[event] for r in runs]) for runs in (fits, altered))
        here = {k: float(v[0]) for k, v in _coin_statistics(entered[None], batches[None]).items()}
        law = _coin_law(entered.shape, batches.shape, event.sampling_rate)
        # Rows of one value may be drawn together, as a count: then only sizes that are too even tell a fault.
        alike = len(np.unique(base.x, axis=0)) < base.n
        for name, value in here.items():
            low, high = np.mean(law[name] <= value), np.mean(law[name] >= value)
            p = 2 * (low if alike and name == "sizes of batches" else min(low, high))
            if p < alpha / len(here):
                share = f"the row enters {entered.mean():.3g} of the releases"
                return f"'{event.what}', rate {event.sampling_rate:.3g}: {name} (p = {p:.1g}); {share}"
    return ""


_LAGS = 10


def _coin_statistics(entered: np.ndarray, batches: np.ndarray) -> dict[str, np.ndarray]:
    """(draws,) each. ``entered``: (draws, fits, steps), of one row; ``batches``: (draws, rows, steps), of one fit.

    Another rate moves the share of releases; batches in turn, their dispersion over fits; the same batches for every
    seed, that over steps; a memory, the products of steps up to ``_LAGS`` apart; one size, or one coin for all rows,
    the dispersion of the sizes.
    """
    e = entered.astype(np.float32)
    c = e - e.mean(axis=(1, 2), keepdims=True)
    lags = [np.abs((c[:, :, k:] * c[:, :, :-k]).sum(axis=(1, 2))) for k in range(1, min(_LAGS + 1, e.shape[2]))]
    return {
        "share of releases": e.sum(axis=(1, 2)),
        "dispersion over fits": e.sum(axis=2).var(axis=1),
        "dispersion over steps": e.sum(axis=1).var(axis=1),
        "dependence between steps": np.max(lags, axis=0),
        "sizes of batches": batches.sum(axis=1).astype(np.float32).var(axis=1),
    }


@lru_cache(maxsize=64)
def _coin_law(fits: tuple[int, int], rows: tuple[int, int], rate: float, draws: int = 20_000) -> dict[str, np.ndarray]:
    """``draws`` of each statistic under independent coins."""
    rng = np.random.default_rng(0)
    portions = [
        _coin_statistics(
            rng.random((100, *fits), dtype=np.float32) < rate, rng.random((100, *rows), dtype=np.float32) < rate
        )
        for _ in range(draws // 100)
    ]
    return {name: np.concatenate([p[name] for p in portions]) for name in portions[0]}


def _altered(task, i: int, name: str = "negated"):
    """The task with row ``i`` altered as in ``ROWS``."""
    return with_row(task, i, *ROWS[name](np.array(task.x[i]), 0.0 if task.y is None else float(task.y[i])))


def _mover(method, task, settings, spec: BudgetSpec, seed: int):
    """The task with that alteration of the last row which moves most releases."""
    best, most = task, -1
    for name in ROWS:
        base = _altered(task, task.n - 1, name)
        found = _entered(method, base, first_rows(base, base.n - 1), settings, spec, seed)
        moved = sum(int(e.sum()) for e in found.values())
        best, most = (base, moved) if moved > most else (best, most)
    return best


def _poisson(event: Event) -> bool:
    return event.sampling is Sampling.POISSON and event.sampling_rate < 1


def _entered(method, task, neighbour, settings, spec: BudgetSpec, seed: int) -> dict[Event, np.ndarray]:
    """Poisson event -> did its release move? One truth value a release."""
    first, second, fit, _ = _both(method, task, neighbour, settings, spec, seed)
    out = {}
    for event in filter(_poisson, fit.ledger):
        mine = [i for i, e in enumerate(first.events) if _same(e, event)]
        tiny = SEEN * event.sensitivity if math.isfinite(event.sensitivity) else 0.0
        out[event] = np.array([np.abs(first.values[i] - second.values[i]).max(initial=0.0) > tiny for i in mine])
    return out


def same_path(
    method,
    task,
    settings,
    spec: BudgetSpec,
    seed: int,
    runs: int = PATH_RUNS,
    alpha: float = 1e-3,
    permutations: int = 2400,
) -> str:
    """ "" if recorded and ordinary fits agree, else what was found.

    A fast kernel takes blocks of noise and is not seen by the recorder, so the two paths are compared: equal for
    equal seeds, or else (the kernel may hand the same noise to other coordinates) the same law over ``runs`` noise
    streams each, batches held fixed: median over the parameters of the log ratio of interquartile ranges, and of the
    shift of the medians, each against its permutation law at false-alarm rate ``alpha`` / 2. What is found has to be
    found again on other streams, twice as many: the audit asks some twenty times, so that the rate of one alarm among
    all of them is ``alpha``^2 times that.
    """

    def draw(stream, recorder):
        return flat_parameters(_with_noise(method, task, settings, spec, seed, stream, recorder))

    plain, recorded = draw(0, None), draw(0, Recorder())
    if np.allclose(plain, recorded, rtol=0, atol=1e-6 * float(np.max(np.abs(plain)))):
        return ""
    first = _equal_laws(draw, range(1, 2 * runs + 1), seed, permutations)
    if first.min() >= alpha / 2:
        return ""
    p = _equal_laws(draw, range(2 * runs + 1, 6 * runs + 1), seed, permutations)
    if p.min() >= alpha / 2:
        return ""
    return f"recorded and ordinary fits differ in law: p = {p[0]:.2g} (spread), {p[1]:.2g} (location)"


def _equal_laws(draw, streams: Sequence[int], seed: int, permutations: int) -> np.ndarray:
    """p-values of spread and location, (2,): the even streams are ordinary fits, the odd ones recorded."""
    labels = np.array([k % 2 == 1 for k in streams])
    both = np.array([draw(k, Recorder() if odd else None) for k, odd in zip(streams, labels, strict=True)])
    both = both[:, np.ptp(both, axis=0) > 0]  # public parameters do not vary
    rng = np.random.default_rng(np.random.SeedSequence(seed))

    def statistics(mark):
        q = np.quantile(both[~mark], (0.25, 0.5, 0.75), axis=0), np.quantile(both[mark], (0.25, 0.5, 0.75), axis=0)
        spread = q[0][2] - q[0][0], q[1][2] - q[1][0]
        tiny = np.finfo(float).tiny
        return np.array(
            [
                abs(np.median(np.log((spread[1] + tiny) / (spread[0] + tiny)))),
                np.median(np.abs(q[1][1] - q[0][1]) / (spread[0] + spread[1] + tiny)),
            ]
        )

    here = statistics(labels)
    law = np.array([statistics(rng.permutation(labels)) for _ in range(permutations)])
    return (1 + np.sum(law >= here, axis=0)) / (1 + permutations)


def _steps_fault(pair: str, r: Replay) -> str:
    for event in r.recorded.events:
        if not any(_same(event, charged) for charged in r.ledger):
            return f"{pair}: the ledger holds no event as that of the release '{event.what}'"
    for event, gap in zip(r.ledger, r.gaps, strict=True):
        made = gap.moved if event.sampling in EPOCHS else gap.releases
        if made > event.steps:
            return f"{pair}: '{event.what}' {made} releases count, the ledger says {event.steps}"
        if event.sampling in (Sampling.POISSON, Sampling.WITHOUT_REPLACEMENT):
            # the differing row is read by Binomial(releases, rate) of them; false-alarm rate 1e-9
            most = stats.binom.isf(1e-9, gap.releases, event.sampling_rate)
            if gap.moved > most:
                return f"{pair}: '{event.what}' {gap.moved} releases moved, sampling rate allows {most:.0f}"
    return ""


def _noise_matters(method, task, settings, spec: BudgetSpec, seed: int) -> bool:
    """Does the posterior change when only the noise changes?"""
    one, two = (_with_noise(method, task, settings, spec, seed, i) for i in range(2))
    return parameter_distance(one.posterior.parameters(), two.posterior.parameters()) > 0


def _with_noise(method, task, settings, spec: BudgetSpec, seed: int, stream: int, recorder: Recorder | None = None):
    """The fit of ``seed`` with noise stream number ``stream``; batches come from a spawned child and stay the same."""
    fit_seed, noise_seed = np.random.SeedSequence(seed).spawn(2)
    bits = np.random.PCG64(noise_seed)
    bits.advance(stream << 64)
    budget = spec.open(np.random.Generator(bits), recorder)
    return method.fit(task, settings, budget, np.random.default_rng(fit_seed))
