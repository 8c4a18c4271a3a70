"""The distribution of the noise that mechanisms draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy import stats

from privacy.audit.replays import ANY_BLOCK, run
from privacy.budget import AdditiveMechanism, BudgetSpec
from privacy.ledger import Event, Mechanism

#: of :func:`noise_fault`: numbers that are heard, and the false-alarm rate.
SAMPLES, NOISE_ALPHA = 3000, 1e-6
#: of :func:`noise_fault`: fits, where each draws few numbers; numbers of a first look, which finds gross faults.
MOST_FITS, _FIRST_LOOK = 500, 250
#: two standardised normals nearer to one another than this are one and the same draw: by chance it happens to a pair of
#: 3,000 with probability 3,000^2 / (2 sqrt(pi)) / 2 x 1e-12 = 1e-6.
_REPEATED = 1e-12
#: false-alarm rate of :class:`Serial`, besides that of the distribution.
SERIAL_ALPHA = 1e-9
#: distribution of the noise over its scale where it is not the standard normal
_OWN = {Mechanism.LAPLACE: stats.laplace, Mechanism.EXPONENTIAL: stats.gumbel_r}


@dataclass
class Listener:
    """Hears the noise of an ordinary fit as its mechanisms draw it, single releases and blocks, and its batches.

    ``heard``: (event, rows (releases, size)). ``alter``: makes other noise of it, rows in and rows out; by default
    nothing is changed. ``largest_block``: releases of which an engine may ask the noise at once.
    """

    heard: list[tuple[Event, np.ndarray]] = field(default_factory=list)
    alter: Callable[[np.ndarray], np.ndarray] | None = None
    largest_block: int = ANY_BLOCK
    keys: list[int] = field(default_factory=list)
    mechanisms: list[AdditiveMechanism] = field(default_factory=list)
    one_by_one: ClassVar[bool] = False

    def release(self, event: Event, value: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The noisy output."""
        rows = np.array(noise, dtype=np.float64).reshape(1, -1)
        self.block(event, rows)
        return value + rows.reshape(np.shape(noise))

    def block(self, event: Event, noise: np.ndarray) -> None:
        """Noise of several releases, a row each."""
        if self.alter is not None:
            noise[...] = self.alter(noise)
        self.heard.append((event, np.array(noise)))

    def drawn(self, event: Event, value: np.ndarray) -> np.ndarray:
        """A release that is itself a draw; it is handed on."""
        return value

    def made(self, mechanism) -> None:
        """A mechanism was handed out."""
        self.mechanisms.append(mechanism)

    def sampled(self, event: Event, sampler) -> None:
        """The batches of an event are known."""
        self.keys.append(int(sampler.key))

    def standardised(self) -> np.ndarray:
        """Noise over its declared scale, flat: standard normal where it is as declared.

        Laplace noise, and the Gumbel noise of an exponential mechanism, is mapped to normal by its own distribution
        function first.
        """
        parts = [standardised(event, noise) for event, noise in self.heard]
        return np.concatenate(parts) if parts else np.empty(0)


def standardised(event: Event, noise: np.ndarray) -> np.ndarray:
    """Noise of an event over its declared scale, flat, mapped to standard normal where it is as declared."""
    z = np.ravel(noise).astype(np.float64) / event.noise_scale
    own = _OWN.get(event.mechanism)
    return z if own is None else stats.norm.ppf(own.cdf(z))


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
    deviations, which sees a distribution without tails in a few hundred numbers; alpha/3 each.
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


class Serial:
    """Sums of products of neighbouring numbers: of successive releases, and within a release."""

    def __init__(self) -> None:
        self._sums = {"successive releases": [0.0, 0], "the numbers of a release": [0.0, 0]}

    def add(self, listener: Listener) -> None:
        """Add the noise of one fit, event by event."""
        parts: dict[tuple[Event, int], list[np.ndarray]] = {}
        for event, noise in listener.heard:
            key = replace(event, steps=0), noise.shape[-1]
            parts.setdefault(key, []).append(standardised(event, noise).reshape(-1, noise.shape[-1]))
        for rows in map(np.concatenate, parts.values()):
            both = (rows[:-1], rows[1:]), (rows[:, :-1], rows[:, 1:])
            for total, (a, b) in zip(self._sums.values(), both, strict=True):
                total[0] += float((a * b).sum())
                total[1] += a.size

    def fault(self) -> str:
        """S = sum of n products of independent normals is a quadratic form with eigenvalues in [-1, 1].

        Their squares sum to n / 2. So |S| exceeds sqrt(2 n x) + 2 x with probability 2 exp(-x) at most (Laurent and
        Massart 2000, lemma 1). Two sums are looked at twice.
        """
        x = np.log(8 / SERIAL_ALPHA)
        for what, (total, n) in self._sums.items():
            if abs(total) > np.sqrt(2 * n * x) + 2 * x:
                return f"the noise of {what} has a correlation of {total / n:.2g} at n = {n}"
        return ""


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

    Checked are distribution and scale (:func:`noise_law`, false-alarm rate ``alpha`` of the two looks together; power
    by :func:`noise_law_power`), that neighbouring numbers are uncorrelated (false-alarm rate ``SERIAL_ALPHA``), and
    that no number is drawn twice: not in another step, by another mechanism or by the fit of another seed.
    """
    z, fits, serial = np.empty(0), 0, Serial()
    for wanted in (min(_FIRST_LOOK, samples), samples):
        while z.size < wanted and fits < MOST_FITS:
            listener = Listener()
            run(method, task, settings, spec, seed + fits, listener)
            z, fits = np.concatenate([z, listener.standardised()]), fits + 1
            serial.add(listener)
        if z.size < 2:
            return "no mechanism drew any noise"
        law = noise_law(z, 1.0, alpha / 2)
        if not law.accepted:
            told = f"{law.p_variance:.2g} (variance), {law.p_shape:.2g} (shape), {law.p_tails:.2g} (tails)"
            return f"p = {told} at n = {law.n}"
        repeated = int(np.sum(np.diff(np.sort(z)) < _REPEATED))
        if repeated:
            return f"{repeated} of {z.size} numbers were drawn before"
        if text := serial.fault():
            return text
    return ""
