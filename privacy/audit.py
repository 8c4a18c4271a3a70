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
from typing import Any

import numpy as np
from scipy import stats

from privacy.budget import BudgetExceeded, BudgetSpec
from privacy.ledger import Event, Mechanism, Relation, Sampling

#: allowance for rounding in the ratio of a measured to a declared sensitivity: norms of sums in double precision
ROUNDING = 1e-7
_EPOCHS = frozenset({Sampling.SHUFFLED_EPOCHS, Sampling.FIXED_PARTITION})


class StructureDiffers(RuntimeError):
    """The neighbour's run made other releases (number, order or shape): the pattern of releases leaks rows."""


# ------------------------------------------------------------------------------------------- record and replay


@dataclass
class Recorder:
    """Listens to the releases of one fit; pass it to ``BudgetSpec.open``.

    Without ``outputs`` it records: ``values`` (before the noise) and ``outputs`` (after). With the ``outputs`` of an
    earlier run it replays: each release returns the stored output, and the new values are stored.
    """

    outputs: list[np.ndarray] | None = None
    events: list[Event] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.replaying = self.outputs is not None
        self.outputs = list(self.outputs) if self.replaying else []

    def release(self, event: Event, value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The noisy output (recording) or the stored one (replaying). Raises :class:`StructureDiffers`."""
        noise = rng.normal(0.0, event.noise_scale, value.shape)  # drawn in both modes: the streams stay in step
        i = len(self.values)
        self.events.append(event)
        self.values.append(np.array(value, dtype=np.float64))
        if not self.replaying:
            self.outputs.append(value + noise)
        elif i >= len(self.outputs) or self.outputs[i].shape != value.shape:
            raise StructureDiffers(
                f"release {i + 1} ('{event.what}', shape {value.shape}) has no counterpart in the recorded run"
            )
        return self.outputs[i].copy()

    def standardised_noise(self) -> np.ndarray:
        """(output - value) / noise scale of all releases, flat: standard normal where the noise is as declared."""
        parts = [
            (o - v).ravel() / e.noise_scale for o, v, e in zip(self.outputs, self.values, self.events, strict=True)
        ]
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
    ``events_differ`` : the two ledgers differ, so a declared number depends on the rows.
    """

    gaps: tuple[Gap, ...]
    posterior_change: float
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
    first = Recorder()
    fit = run(method, task, settings, spec, seed, first)
    second = Recorder(first.outputs)
    again = run(method, neighbour, settings, spec, seed, second)
    if len(second.values) != len(first.values):
        raise StructureDiffers(f"{len(first.values)} releases on the data, {len(second.values)} on the neighbour")
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
        fit.ledger.to_json() != again.ledger.to_json(),
        first,
        fit.ledger,
    )


def replay_gap(method, task, neighbour, settings, spec: BudgetSpec, seed: int) -> tuple[Gap, ...]:
    """Declared sensitivity, largest measured change and their ratio, per event; see :func:`replay`."""
    return replay(method, task, neighbour, settings, spec, seed).gaps


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


def with_last_row(task, x: np.ndarray, y: float | None):
    """The task with its last row replaced; ``public`` unchanged."""
    rows = np.array(task.x)
    rows[-1] = x
    if task.y is None:
        return replace(task, x=rows)
    targets = np.array(task.y)
    targets[-1] = y
    return replace(task, x=rows, y=targets)


def first_rows(task, n: int):
    """The first ``n`` rows of the task; ``public`` unchanged."""
    return replace(task, x=task.x[:n], y=None if task.y is None else task.y[:n])


def neighbours(task, relation: Relation) -> Iterator[tuple[str, Any, Any]]:
    """(name, D, D') for a fixed list of hard pairs, differing in the last row; ``public`` is the same in both.

    ADD_REMOVE: D has the altered row, D' lacks it. REPLACE_ONE: D has the row as it is, D' the altered one. ZERO_OUT: D has the altered row, D' a row of zeros. The last pairs have one row (two against one
    under ADD_REMOVE: a task without rows is no task).
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
            elif relation is Relation.ZERO_OUT:
                yield name + tag, d, with_last_row(d, np.zeros_like(x), 0.0)
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
        if relation is Relation.ZERO_OUT:
            return d, with_last_row(d, np.zeros(width), 0.0)
        return d, with_last_row(d, other_x, other_y)

    return st.builds(pair, row, number, row, number)


# ---------------------------------------------------------------------------------------------- the noise law


@dataclass(frozen=True)
class NoiseLaw:
    """Result of :func:`noise_law`: ``accepted`` at false-alarm rate alpha; the two p-values; number of samples."""

    accepted: bool
    p_variance: float
    p_shape: float
    n: int


def noise_law(samples: np.ndarray, sigma: float, alpha: float = 1e-3) -> NoiseLaw:
    """Are ``samples`` independent N(0, sigma^2)? Chi-square test of the variance and Kolmogorov-Smirnov, alpha/2 each."""
    z = np.ravel(samples) / sigma
    n = z.size
    if n < 2:
        raise ValueError(f"{n} samples; give at least 2")
    tail = stats.chi2.cdf(float(z @ z), n)
    p_variance = float(2 * min(tail, 1 - tail))
    p_shape = float(stats.kstest(z, "norm").pvalue)
    return NoiseLaw(min(p_variance, p_shape) >= alpha / 2, p_variance, p_shape, n)


def noise_law_power(n: int, ratio: float, alpha: float = 1e-3) -> float:
    """Probability that the variance part of :func:`noise_law` rejects noise of ``ratio`` x sigma at ``n`` samples."""
    low, high = stats.chi2.ppf([alpha / 4, 1 - alpha / 4], n)
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


def clopper_pearson(k: int, n: int, confidence: float) -> tuple[float, float]:
    """One-sided limits (lower, upper) of a proportion, each at ``confidence``."""
    low = 0.0 if k == 0 else float(stats.beta.ppf(1 - confidence, k, n - k + 1))
    high = 1.0 if k == n else float(stats.beta.ppf(confidence, k + 1, n - k))
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
    best: dict[str, tuple[float, tuple]] = {"dp": (-math.inf, ()), "gdp": (-math.inf, ())}
    cuts = np.unique(np.quantile(np.concatenate([a[:half_a], b[:half_b]]), np.linspace(0.005, 0.995, 199)))
    for choice in ((sign, swap, cut) for sign in (1, -1) for swap in (False, True) for cut in cuts):
        low, high = _rates(a[:half_a], b[:half_b], choice, side)
        for kind, bound in (("dp", _dp_bound(low, high, delta)), ("gdp", _mu_bound(low, high))):
            if bound > best[kind][0]:
                best[kind] = (bound, choice)
    held = {k: _rates(a[half_a:], b[half_b:], c, side) if c else (0.0, 1.0) for k, (_, c) in best.items()}
    from privacy.accountants import gdp_epsilon

    mu = max(_mu_bound(*held["gdp"]), 0.0)
    return LowerBound(
        max(_dp_bound(*held["dp"], delta), 0.0),
        gdp_epsilon(mu, delta),
        mu,
        min(len(a) - half_a, len(b) - half_b),
        confidence,
    )


def _rates(a: np.ndarray, b: np.ndarray, choice: tuple, side: float) -> tuple[float, float]:
    """Lower limit of P(S) on the numerator and upper limit of P'(S) on the other."""
    sign, swap, cut = choice
    top, bottom = (b, a) if swap else (a, b)
    return (
        clopper_pearson(int(np.sum(sign * top > sign * cut)), len(top), side)[0],
        clopper_pearson(int(np.sum(sign * bottom > sign * cut)), len(bottom), side)[1],
    )


def _dp_bound(low: float, high: float, delta: float) -> float:
    return math.log((low - delta) / high) if low > delta else -math.inf


def _mu_bound(low: float, high: float) -> float:
    if low <= 0 or high >= 1:
        return -math.inf
    return float(stats.norm.ppf(low) - stats.norm.ppf(high))


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

    The score is the posterior's parameters projected on the difference of means over spread; direction and threshold
    come from the first half of the runs, the bound from the second.
    """
    children = np.random.SeedSequence(seed).generate_state(2 * runs, np.uint64)
    a = np.array([flat_parameters(run(method, task, settings, spec, int(s))) for s in children[:runs]])
    b = np.array([flat_parameters(run(method, neighbour, settings, spec, int(s))) for s in children[runs:]])
    half = runs // 2
    spread = np.var(a[:half], axis=0) + np.var(b[:half], axis=0)
    direction = np.divide(
        a[:half].mean(axis=0) - b[:half].mean(axis=0), spread, out=np.zeros(a.shape[1]), where=spread > 0
    )
    return epsilon_lower_bound(a @ direction, b @ direction, delta, confidence)


# -------------------------------------------------------------------------------------------------- all checks


def checks(
    method, task, settings, spec: BudgetSpec, seed: int, noise_samples: int = 2000, alpha: float = 1e-6
) -> dict[str, str]:
    """Every check that needs no statistics of many fits; name -> "" (passed) or what was found.

    ``runs`` (no exception on any pair), ``sensitivity`` (measured over declared), ``posterior`` (nothing but releases
    reaches the posterior), ``events`` (no declared number depends on rows), ``steps`` (releases against the
    ledger's count), ``ledger`` (finite epsilon), ``noise`` (law of the recorded noise, false-alarm rate ``alpha``),
    ``noise_used`` (another noise seed gives another posterior), ``same_path`` (recorded and ordinary fit agree).
    """
    from privacy.accountants import epsilon_of

    names = ("runs", "sensitivity", "posterior", "events", "steps", "ledger", "noise", "noise_used", "same_path")
    found = dict.fromkeys(names, "")
    noise = []
    for pair, d, dprime in neighbours(task, method.privacy):
        try:
            r = replay(method, d, dprime, settings, spec, seed)
        except (StructureDiffers, BudgetExceeded, ValueError, RuntimeError) as error:
            found["runs"] = found["runs"] or f"{pair}: {type(error).__name__}: {error}"
            continue
        worst = max(r.gaps, key=lambda g: g.ratio, default=None)
        if worst and worst.ratio > 1 + ROUNDING and not found["sensitivity"]:
            found["sensitivity"] = f"{pair}: '{worst.what}' moved by {worst.ratio:.4g} times its declared sensitivity"
        if r.posterior_change > 0 and not found["posterior"]:
            found["posterior"] = f"{pair}: equal releases, posterior parameters differ by {r.posterior_change:.3g}"
        if r.events_differ:
            found["events"] = f"{pair}: the ledgers differ"
        found["steps"] = found["steps"] or _steps_fault(pair, r)
        noise.append(r.recorded.standardised_noise())
    if noise:
        z = np.concatenate(noise[:1])  # one run's: the runs share their random stream
        if z.size >= 2:
            law = noise_law(z[:noise_samples], 1.0, alpha)
            if not law.accepted:
                found["noise"] = f"p = {law.p_variance:.2g} (variance), {law.p_shape:.2g} (shape) at n = {law.n}"
    if not found["runs"]:
        fit = run(method, task, settings, spec, seed)
        recorded = run(method, task, settings, spec, seed, Recorder())
        distance = parameter_distance(fit.posterior.parameters(), recorded.posterior.parameters())
        scale = float(np.max(np.abs(flat_parameters(fit))))
        if distance > 1e-6 * scale:  # single precision inside a block of noise is allowed, another noise is not
            found["same_path"] = f"recorded and ordinary fit differ by {distance:.3g}"
        cost = epsilon_of(fit.ledger, spec.delta or 1e-5)
        if not (0 < cost.epsilon < math.inf):
            found["ledger"] = f"epsilon = {cost.epsilon} ({cost.accountant})"
        if not _noise_matters(method, task, settings, spec, seed):
            found["noise_used"] = "another noise seed gives the same posterior"
    return found


def _steps_fault(pair: str, r: Replay) -> str:
    for event, gap in zip(r.ledger, r.gaps, strict=True):
        made = gap.moved if event.sampling in _EPOCHS else gap.releases
        if made > event.steps:
            return f"{pair}: '{event.what}' {made} releases count, the ledger says {event.steps}"
        if event.sampling in (Sampling.POISSON, Sampling.WITHOUT_REPLACEMENT):
            # the differing row is read by Binomial(releases, rate) of them; false-alarm rate 1e-9
            most = stats.binom.isf(1e-9, gap.releases, event.sampling_rate)
            if gap.moved > most:
                return f"{pair}: '{event.what}' {gap.moved} releases moved, sampling rate allows {most:.0f}"
    return ""


def _noise_matters(method, task, settings, spec: BudgetSpec, seed: int) -> bool:
    """Does the posterior change when only the budget's stream changes?"""
    fit_seed, one, two = np.random.SeedSequence(seed).spawn(3)
    fits = [
        method.fit(task, settings, spec.open(np.random.default_rng(s)), np.random.default_rng(fit_seed))
        for s in (one, two)
    ]
    return parameter_distance(*(f.posterior.parameters() for f in fits)) > 0
