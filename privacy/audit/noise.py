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

#: settings of :func:`noise_fault`: how many numbers are tested, and the false-alarm rate.
SAMPLES, NOISE_ALPHA = 3000, 1e-6
#: settings of :func:`noise_fault`: the largest number of fits, and the numbers of a first test that finds gross faults.
MOST_FITS, _FIRST_LOOK = 500, 250
#: two standardised normals that are closer than this count as the same draw. The difference of two has the density
#: 1 / (2 sqrt(pi)) at 0, so among n draws chance alone brings two this close with probability
#: (n^2 / 2) x 2e-14 / (2 sqrt(pi)) at most. That is 1e-7 for 5,900 draws, more than any audited fit is tested on.
_REPEATED, _REPEATED_ALPHA = 1e-14, 1e-7
#: false-alarm rate of :class:`Serial`.
SERIAL_ALPHA = 1e-9
#: distribution of noise / scale for mechanisms whose noise is not normal
_OWN = {Mechanism.LAPLACE: stats.laplace, Mechanism.EXPONENTIAL: stats.gumbel_r}


@dataclass
class Listener:
    """Copies the noise of an ordinary fit as its mechanisms draw it, in single releases and in blocks.

    ``heard`` collects pairs (event, noise of shape (releases, size)), and ``keys`` the keys of the batches. ``alter``
    replaces the noise, rows in and rows out; by default nothing changes. ``largest_block`` is the largest number of
    releases whose noise a method may request at once.
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
        """Copy the noise of several releases, one row per release."""
        if self.alter is not None:
            noise[...] = self.alter(noise)
        self.heard.append((event, np.array(noise)))

    def drawn(self, event: Event, value: np.ndarray) -> np.ndarray:
        """Return a release that is itself a draw, unchanged."""
        return value

    def made(self, mechanism) -> None:
        """Keep a mechanism that the budget has made."""
        self.mechanisms.append(mechanism)

    def sampled(self, event: Event, sampler):
        """The sampler of an event's batches, whose key is kept."""
        self.keys.append(int(sampler.key))
        return sampler

    def standardised(self) -> np.ndarray:
        """All noise divided by its declared scale, flat. It is standard normal if it is as declared.

        Laplace noise, and the Gumbel noise of an exponential mechanism, is mapped to normal by its distribution
        function.
        """
        parts = [standardised(event, noise) for event, noise in self.heard]
        return np.concatenate(parts) if parts else np.empty(0)


def standardised(event: Event, noise: np.ndarray) -> np.ndarray:
    """Noise of an event divided by its declared scale, flat. It is standard normal if it is as declared."""
    z = np.ravel(noise).astype(np.float64) / event.noise_scale
    own = _OWN.get(event.mechanism)
    return z if own is None else stats.norm.ppf(own.cdf(z))


@dataclass(frozen=True)
class NoiseLaw:
    """Result of :func:`noise_law`: whether it ``accepted`` the samples, its three p-values, and their number."""

    accepted: bool
    p_variance: float
    p_shape: float
    p_tails: float
    n: int


def noise_law(samples: np.ndarray, sigma: float, alpha: float = 1e-3) -> NoiseLaw:
    """Test whether ``samples`` are draws of N(0, sigma^2).

    Three tests get alpha/3 each: chi-square for the variance, Kolmogorov-Smirnov for the shape, and a binomial test of
    how many lie beyond two standard deviations. The last one detects a distribution without tails in a few hundred
    numbers. Raises ValueError for fewer than 2 samples.
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
    """The probability that the variance test of :func:`noise_law` rejects ``n`` draws of scale ``ratio`` x sigma."""
    low, high = stats.chi2.ppf([alpha / 6, 1 - alpha / 6], n)
    return float(stats.chi2.cdf(low / ratio**2, n) + stats.chi2.sf(high / ratio**2, n))


@lru_cache(maxsize=64)
def noise_power(n: int, laplace: bool, alpha: float, ratio: float = 2 / 3, repeats: int = 200) -> float:
    """The probability that :func:`noise_law` at ``alpha`` refuses noise of ``ratio`` times its scale.

    For normal noise this is the formula of the variance test alone. For Laplace noise it is simulated.
    """
    if not laplace:
        return noise_law_power(n, ratio, alpha)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(repeats):
        refused += not noise_law(stats.norm.ppf(stats.laplace.cdf(ratio * rng.laplace(size=n))), 1.0, alpha).accepted
    return refused / repeats


class Serial:
    """A test of serial correlation: sums of products of neighbouring numbers, in successive releases and within one."""

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
        """Return "" if the noise is uncorrelated, otherwise the correlation.

        S, the sum of n products of independent normals, is a quadratic form with eigenvalues in [-1, 1], whose squares
        sum to n / 2. So |S| exceeds sqrt(2 n x) + 2 x with probability 2 exp(-x) at most (Laurent and Massart 2000,
        lemma 1). Each of the two sums is tested twice.
        """
        x = np.log(8 / SERIAL_ALPHA)
        for what, (total, n) in self._sums.items():
            if not abs(total) <= np.sqrt(2 * n * x) + 2 * x:
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
    """Return "" if the mechanisms draw the noise that they declare, otherwise the fault.

    As many ordinary fits are made as are needed for ``samples`` numbers. Three properties are checked, at a false-alarm
    rate of ``alpha`` together:

    * The distribution and its scale, by :func:`noise_law`. It is run on the first numbers and on all of them, each at
      half of what the other two properties leave. Its power is :func:`noise_law_power`.
    * Neighbouring numbers are uncorrelated, at false-alarm rate ``SERIAL_ALPHA``.
    * No number is drawn twice: not in another step, by another mechanism or by the fit of another seed. The false-alarm
      rate is 1e-7 at most.
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
        law = noise_law(z, 1.0, (alpha - SERIAL_ALPHA - _REPEATED_ALPHA) / 2)
        if not law.accepted:
            told = f"{law.p_variance:.2g} (variance), {law.p_shape:.2g} (shape), {law.p_tails:.2g} (tails)"
            return f"p = {told} at n = {law.n}"
        repeated = int(np.sum(np.diff(np.sort(z)) < _REPEATED))
        if repeated:
            return f"{repeated} of {z.size} numbers were drawn before"
        if text := serial.fault():
            return text
    return ""
