"""Lower bounds on epsilon: what one named pair of neighbours shows if every noisy release of a fit is seen.

An upper bound on epsilon carries a guarantee, and only a lower bound refutes a claim. Both are bounds of the same
number: the smallest epsilon of the mechanism at a given delta.

Each function takes one Gaussian release of a ledger and a pair that moves it by the declared distance whenever the
differing row is read. Everything else that a fit releases is left out, which is post-processing and can only lower the
bound. Whether rows with these contributions exist is a question about the method, not about the ledger: the text of
:attr:`Lower.pair` says what has to be shown.

=================== ===================================================================================================
scheme              pair and computation
=================== ===================================================================================================
full batch, public  the distance in every step: Gaussian differential privacy, exact (Dong, Roth & Su 2022)
order of batches
Poisson, without    all other rows contribute the same vector, so that a step is (1 - q) N(0, s^2) + q N(1, s^2) on one
replacement         data set and N(0, s^2) on the other: :func:`sampled`
secret permutation  the same rows, so that an epoch is a mixture over the slot of the differing row:
                    :func:`secret_permutation`
=================== ===================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from privacy.accountants.exact import gdp_epsilon
from privacy.accountants.terms import checked_delta
from privacy.ledger import Event, Ledger, Mechanism, Sampling

#: resolution of the score of one release, in parts of its standard deviation, and its largest value, in standard
#: deviations of the noise beyond the distance of a row that is read so often that more has the probability _RARE. Every
#: choice gives a lower bound.
_RESOLUTION, _REACH, _RARE = 10, 5.0, 1e-9
#: half of the window that holds the sum of all scores, in standard deviations
_WINDOW = 12.0
#: allowance for rounding per factor of a product in the Fourier transform: 64 units in the last place
_ROUNDING = 2.0**-46


@dataclass(frozen=True)
class Lower:
    """A lower bound on epsilon.

    Attributes
    ----------
    epsilon : the bound, at least 0.
    pair : the pair of neighbours that attains it, in words; "" if there is none.
    seen : what the observer sees.
    """

    epsilon: float
    pair: str = ""
    seen: str = ""


SEEN = "all noisy releases"


def lower_bound(ledger: Ledger, delta: float) -> Lower:
    """The largest lower bound of a single Gaussian release of the ledger, repeated over all its steps.

    ``delta`` is in (0, 1). A ledger without a Gaussian release that this module covers has the bound 0.
    """
    checked_delta(delta)
    found = [of_event(event, delta) for event in ledger if event.mechanism is Mechanism.GAUSSIAN]
    return max(found, key=lambda lower: lower.epsilon, default=Lower(0.0))


def of_event(event: Event, delta: float) -> Lower:
    """The lower bound of one Gaussian release; 0 if it has no steps or if nothing bounds its sensitivity."""
    multiplier, steps = event.noise_multiplier, int(event.steps)
    if steps == 0 or not math.isfinite(event.sensitivity) or not 0 < multiplier < math.inf:
        return Lower(0.0)
    rest = "all other rows contribute the same vector, and one row its opposite"
    if event.sampling is Sampling.SHUFFLED_EPOCHS:
        slots = round(1 / event.sampling_rate)
        return Lower(secret_permutation(multiplier, slots, steps, delta), f"{rest}; order secret", SEEN)
    if event.sampling in (Sampling.POISSON, Sampling.WITHOUT_REPLACEMENT) and event.sampling_rate < 1:
        return Lower(sampled(multiplier, event.sampling_rate, steps, delta), f"{rest}; batches secret", SEEN)
    epsilon = gdp_epsilon(math.sqrt(steps) / multiplier, delta)
    return Lower(epsilon, "one row moves each release by the declared distance", SEEN)


def sampled(multiplier: float, rate: float, steps: int, delta: float) -> float:
    """Epsilon of the natural pair of batches that hold the differing row with probability ``rate``, from below.

    Parameters
    ----------
    multiplier : the noise's standard deviation s over the distance that the row makes when it is read, above 0.
    rate : q in (0, 1), the same in each step and independent of the others (Poisson, or without replacement).
    steps : number of releases, at least 1.
    delta : in (0, 1).

    In units of the distance, and after subtracting what the other rows contribute, a step releases N(0, s^2) on one
    data set and (1 - q) N(0, s^2) + q N(1, s^2) on the other. The bound is that of :func:`_from_scores`.
    """
    if not 0 < rate < 1:
        raise ValueError(f"rate {rate}: give a rate between 0 and 1")
    return repeated(multiplier, (1 - rate, rate), steps, delta)


def repeated(multiplier: float, times: Sequence[float], steps: int, delta: float) -> float:
    """Epsilon of the natural pair of batches that hold the differing row several times, from below.

    Parameters
    ----------
    multiplier, steps, delta : those of :func:`sampled`.
    times : probabilities that a batch holds the row 0, 1, 2, ... times, the last one for so often or more.

    In units of the distance of one reading, a step releases N(0, s^2) on one data set and the mixture over m of
    N(m, s^2) on the other. The bound is that of :func:`_from_scores`, whose best event is one of large scores on the
    mixture, or of small ones on the other data set. To read a row less often than it is read bounds both from below.
    """
    checked_delta(delta)
    scores = _scores(multiplier, times)
    mixture = np.sum([p * s for p, s in zip(times, scores, strict=True)], axis=0)
    return _from_scores([(scores[0], steps)], [(mixture, steps)], delta)


def secret_permutation(multiplier: float, slots: int, epochs: int, delta: float) -> float:
    """Epsilon of the natural pair of a secret fresh permutation per epoch, from below.

    Parameters
    ----------
    multiplier : the noise's standard deviation s over the distance between the two contributions of the row, above 0.
    slots : number of releases per epoch, at least 1. Each row is read in one of them.
    epochs : number of permutations, at least 1.
    delta : in (0, 1).

    All other rows contribute the same vector. In units of the distance, and after subtracting that vector, an epoch
    releases N(0, s^2 I) on one data set. On the other, the slot i of the differing row is uniform, and the epoch
    releases the mixture over i of N(e_i, s^2 I). The sum of the scores of all slots and epochs does not depend on which
    slots these are. On one data set it has slots x epochs terms without the distance. On the other, one term per epoch
    has the distance. The bound is that of :func:`_from_scores`.
    """
    checked_delta(delta)
    if slots == 1:
        return gdp_epsilon(math.sqrt(epochs) / multiplier, delta)
    null, shifted = _scores(multiplier, (1 - 1 / slots, 1 / slots))
    terms = slots * epochs
    return _from_scores([(null, terms)], [(null, terms - epochs), (shifted, epochs)], delta)


def _scores(multiplier: float, times: Sequence[float]) -> list[np.ndarray]:
    """The distributions (K + 1,) of the integer score of one release, with the distance 0, 1, ... times.

    The score is log(1 - q + q exp(x / s^2 - 1 / (2 s^2))) of the released number x, rounded down to a multiple of a
    step, in steps from its smallest value. The rate q is the probability that the row is read. Raises ValueError for a
    multiplier or rate out of range.
    """
    rate = sum(times[1:])
    often = next(m for m in range(1, len(times)) if sum(times[m + 1 :]) < _RARE)
    if not (multiplier > 0 and 0 < rate < 1):
        raise ValueError(f"multiplier {multiplier}, rate {rate}: give a multiplier above 0 and a rate between 0 and 1")
    precision = 1 / multiplier**2
    step = math.log1p(rate * math.sqrt(math.expm1(min(precision, 600.0)))) / _RESOLUTION
    low = math.log1p(-rate)
    high = np.logaddexp(low, math.log(rate) + _REACH / multiplier + (often - 0.5) * precision)
    levels = math.ceil((high - low) / step)
    grid = low + step * np.arange(1, levels + 1)
    edges = (np.log(np.expm1(grid - low)) + low - math.log(rate) + precision / 2) / precision
    above = [np.concatenate([[1.0], ndtr((m - edges) / multiplier), [0.0]]) for m in range(len(times))]
    return [-np.diff(a) for a in above]


_Terms = list[tuple[np.ndarray, int]]


def _from_scores(first: _Terms, second: _Terms, delta: float) -> float:
    """A lower bound on epsilon from the sum of independent integer scores.

    Each data set is a list of (distribution (K + 1,) of one score, number of such scores).

    Proof. A score is computed from a release without the data, and so is the sum of all scores: this is
    post-processing. For every event S and epsilon-delta mechanism, P(S) <= e^epsilon Q(S) + delta, so epsilon is at
    least log((P(S) - delta) / Q(S)). S is {sum >= c} or {sum <= c} for any c, with both data sets in either role.
    """
    best = 0.0
    for top, bottom in ((first, second), (second, first)):
        for turn in (1, -1):
            best = max(
                best, _upper_events([(p[::turn], m) for p, m in top], [(p[::turn], m) for p, m in bottom], delta)
            )
    return best


def _upper_events(top: _Terms, bottom: _Terms, delta: float) -> float:
    """The largest log((P(sum >= c) - delta) / Q(sum >= c)) over c, rounded down; ``top`` has P and ``bottom`` Q.

    Q is small where P is not, so its terms are tilted by e^{t k} to the mean of P, convolved, and tilted back. Two
    errors are subtracted from P and added to Q. What the window cuts off is bounded by Chernoff's inequality. Rounding
    changes each number of a Fourier transform by a part of it, so that the absolute errors of all sums together are at
    most the root of the sum of the squared errors of the transform (Cauchy-Schwarz and Parseval).
    """
    mean, variance, _ = _moments(top, 0.0)
    k = np.arange(len(top[0][0]))
    if _moments(bottom, 0.0)[0] >= mean:
        return 0.0
    high = 1.0 / len(k)
    while _moments(bottom, high)[0] < mean:
        high *= 2
    tilt = brentq(lambda t: _moments(bottom, t)[0] - mean, 0.0, high, xtol=1e-12)
    _, tilted_variance, log_mass = _moments(bottom, tilt)
    half = _WINDOW * math.sqrt(max(variance, tilted_variance)) + len(k)
    size = 1 << math.ceil(math.log2(2 * half + 1))
    start = math.floor(mean - size / 2)
    sums, errors = [], []
    for terms, t, spread in ((top, 0.0, variance), (bottom, tilt, tilted_variance)):
        product = np.ones(size // 2 + 1, dtype=complex)
        for p, m in terms:
            product = product * np.fft.rfft(_tilted(p, t)[0], size) ** m
        sums.append(np.roll(np.fft.irfft(product, size), -(start % size)).clip(0.0))
        rounded = _ROUNDING * sum(m for _, m in terms) * math.sqrt(2) * float(np.linalg.norm(product))
        errors.append(rounded + _outside(terms, t, mean, half, math.sqrt(spread)))
    at = start + np.arange(size)
    above = np.cumsum(sums[0][::-1])[::-1] - errors[0] - delta
    # the sum over k >= c of e^{-t (k - c)} (tilted mass), plus the error
    scaled = np.exp(-tilt * (at - at[0])) * sums[1]
    tail = np.cumsum(scaled[::-1])[::-1] * np.exp(tilt * (at - at[0])) + errors[1]
    possible = above > 0
    return max(0.0, float((np.log(above[possible]) - np.log(tail[possible]) + tilt * at[possible] - log_mass).max()))


def _outside(terms: _Terms, tilt: float, mean: float, half: float, sd: float) -> float:
    """A bound on the tilted mass further than ``half`` from ``mean``, by Chernoff's inequality at some exponents."""
    total, mass = 0.0, _moments(terms, tilt)[2]
    for sign in (1, -1):
        exponents = [-math.inf]
        for t in np.geomspace(0.1, _WINDOW, 12) / sd:
            exponents.append(sign * t * (mean + sign * half) + mass - _moments(terms, tilt + sign * t)[2])
        total += math.exp(-max(exponents))
    return total


def _moments(terms: _Terms, tilt: float) -> tuple[float, float, float]:
    """Mean, variance and log mass of the sum of the scores, each weighted by e^{tilt k}."""
    k = np.arange(len(terms[0][0]))
    mean = variance = log_mass = 0.0
    for p, m in terms:
        weights, mass = _tilted(p, tilt)
        first = float(weights @ k)
        mean += m * first
        variance += m * max(float(weights @ k**2) - first**2, 0.0)
        log_mass += m * mass
    return mean, variance, log_mass


def _tilted(p: np.ndarray, tilt: float) -> tuple[np.ndarray, float]:
    """The distribution proportional to p(k) e^{tilt k}, and the log of its mass before it is normalised."""
    exponents = tilt * np.arange(len(p))
    highest = float(exponents.max())
    weights = p * np.exp(exponents - highest)
    mass = float(weights.sum())
    return weights / mass, highest + math.log(mass)
