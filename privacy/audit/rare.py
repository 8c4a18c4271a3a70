"""Checks for faults that a few fits do not show: cut tails, secrets of few bits, late steps, and overspending."""

from __future__ import annotations

import contextlib
from functools import lru_cache

import numpy as np
from scipy import stats

from privacy.audit.noise import Listener, standardised
from privacy.audit.pairs import neighbours
from privacy.audit.paths import same_path
from privacy.audit.replays import REFUSED, ROUNDING, attempt, replay, run, varied
from privacy.audit.sampling import is_poisson
from privacy.budget import BudgetSpec, Mode

#: numbers drawn in each way. A normal number is more than ``FAR`` standard deviations away with probability ``BEYOND``
TAIL_SAMPLES, FAR = 400_000, 4.0
BEYOND = float(2 * stats.norm.sf(FAR))
#: fits whose noise and batches are compared. If secrets have 16 bits, two of them are equal with probability .9995
SECRETS = 1000


def tail_fault(method, task, settings, spec: BudgetSpec, seed: int, alpha: float) -> str:
    """Return "" if as many numbers lie far out as the declared distribution says, otherwise how many do.

    Each kind of mechanism that a fit uses draws ``TAIL_SAMPLES`` numbers by single releases, and as many in a block.
    The number of draws beyond ``FAR`` standard deviations is binomial. For noise that is not normal, points with the
    same tail probability are used. The test is two-sided, with false-alarm rate ``alpha`` over all mechanisms; see
    :func:`tail_power`.
    """
    listener = Listener()
    run(method, task, settings, spec, seed, listener)
    kinds = {type(m): m for m in listener.mechanisms}
    tests = [(m, block) for m in kinds.values() for block in (False, True) if not block or hasattr(m, "noise")]
    low, high = _limits(alpha / max(len(tests), 1))
    for m, block in tests:
        if block:
            numbers = np.empty((1, TAIL_SAMPLES))
            m._fill(numbers)
        else:
            numbers = m._draw((TAIL_SAMPLES,))
        count = int(np.sum(~(np.abs(standardised(m.event, numbers)) <= FAR)))  # one that is no number is far out
        if not low <= count <= high:
            how = "in a block" if block else "one by one"
            return f"'{m.event.what}', {how}: {count} of {TAIL_SAMPLES} numbers are far out, {low} to {high} expected"
    return ""


def _limits(alpha: float) -> tuple[int, int]:
    low, high = stats.binom.ppf([alpha / 2, 1 - alpha / 2], TAIL_SAMPLES, BEYOND)
    return int(low), int(high)


@lru_cache(maxsize=8)
def tail_power(alpha: float, part: float = 0.0) -> float:
    """The probability that noise is refused if only ``part`` of its far numbers occur.

    0 means that the noise is truncated at ``FAR`` standard deviations.
    """
    low, high = _limits(alpha)
    return float(
        stats.binom.cdf(low - 1, TAIL_SAMPLES, part * BEYOND) + stats.binom.sf(high, TAIL_SAMPLES, part * BEYOND)
    )


class _Enough(BaseException):
    """Stops a fit that has drawn all the numbers that are compared."""


class _FirstNoise(Listener):
    """Stops a fit at its first noise, or at that of its first Poisson event, whose batches are known by then."""

    poisson = False

    def block(self, event, noise):
        super().block(event, noise)
        if is_poisson(event) or not self.poisson:
            raise _Enough


def secret_fault(method, task, settings, spec: BudgetSpec, seed: int, fits: int = SECRETS) -> str:
    """Return "" if no two of ``fits`` fits with different seeds have the same noise or the same key of batches.

    By the birthday problem, secrets of b bits collide with probability 1 - exp(-fits^2 / 2^(b + 1)). Fits stop at their
    first noise, so this is cheap. A false alarm needs two equal numbers of 53 bits.
    """
    poisson = any(is_poisson(e) for e in run(method, task, settings, spec, seed).ledger)
    noise, keys = [], []
    for k in range(fits):
        listener = _FirstNoise()
        listener.poisson = poisson
        with contextlib.suppress(_Enough):
            run(method, task, settings, spec, seed + k, listener)
        noise += [np.ravel(rows)[0] for _, rows in listener.heard[:1]]
        keys += listener.keys
    for words, numbers in (("noise", noise), ("key of its batches", keys)):
        if repeated := len(numbers) - len(set(numbers)):
            return f"{repeated} of {fits} fits have the {words} of another"
    return ""


def collision(bits: int, fits: int = SECRETS) -> float:
    """The probability that two of ``fits`` secrets of ``bits`` bits are equal."""
    return float(-np.expm1(-(fits**2) / 2.0 ** (bits + 1)))


def late_fault(method, task, settings, spec: BudgetSpec, seed: int) -> str:
    """Return "" if a fit at the method's default ``settings`` passes from its first to its last step.

    It is recorded and replayed on one hard pair, and the ordinary fit is compared with the recorded one
    (:func:`same_path`).
    """
    pair = next(p for p in neighbours(task, method.privacy) if p[0] == "outlier x 1e6")
    try:
        with np.errstate(all="ignore"):
            r = replay(method, *pair[1:], settings, spec, seed)
    except REFUSED as error:
        return f"{pair[0]}: {type(error).__name__}: {error}"
    if r.ratio > 1 + ROUNDING:
        return f"{pair[0]}: a release moved by {r.ratio:.4g} times its declared sensitivity"
    if r.posterior_change > 0 or r.diagnostics_differ or r.events_differ:
        return f"{pair[0]}: equal releases, and the posterior, the diagnostics or the ledgers differ"
    return same_path(method, task, settings, spec, seed)


def overspending(method, task, settings, spec: BudgetSpec, seed: int) -> str:
    """Return "" if a method that calibrates its noise keeps to its (epsilon, delta) in mode ``enforce``.

    A method that needs a noise multiplier does not calibrate, and passes.
    """
    free = varied(spec, noise_multiplier=None, mode=Mode.RECORD)
    if attempt(method, task, settings, free, seed).ended:
        return ""
    ended = attempt(method, task, settings, varied(free, mode=Mode.ENFORCE), seed).ended
    return ended
