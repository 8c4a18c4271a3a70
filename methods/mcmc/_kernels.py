"""The four chains, as pure functions of a target, of releases and of random numbers.

``gradient(theta, scale, step)``, (D,), is the noisy sum of clipped gradients over a batch, divided by its sampling
rate. ``ratio(energy, proposed, bound)`` is the noisy sum of clipped log-likelihood ratios over their bound. Both are
releases of a mechanism, and tests pass other functions. Every decision of a chain, accept steps included, is a function
of released numbers, public numbers and random numbers that read no row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from methods.contract import Diverged
from methods.mcmc._targets import Target

#: largest size of a coordinate, such that squares of what is computed from it are still finite.
FARTHEST = 1e30
Gradient = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
Ratio = Callable[[np.ndarray, np.ndarray, float], float]


class Path(NamedTuple):
    """The result of a chain: ``draws`` (m, D), the last one included, and the final ``theta`` and ``scale``.

    ``accepted``: share of accepted proposals. ``log_ratio``: mean of the noisy log acceptance ratios before the
    penalty.
    """

    draws: np.ndarray
    theta: np.ndarray
    scale: np.ndarray
    accepted: float = 1.0
    log_ratio: float = 0.0


class Keeper:
    """The draws at up to ``most`` evenly spaced steps after ``burn_in`` of ``steps``, the last one included."""

    def __init__(self, steps: int, burn_in: int, most: int):
        kept = min(most, steps - burn_in)
        self._at = set((steps - 1 - np.linspace(0, steps - burn_in - 1, kept).round()).astype(int).tolist())
        if kept == 1:
            self._at = {steps - 1}
        self._draws: list[np.ndarray] = []

    def after(self, step: int, theta: np.ndarray) -> None:
        """Record theta after step ``step`` (from 0). Raises Diverged if it is not finite or beyond ``FARTHEST``."""
        if not (np.abs(theta) < FARTHEST).all():
            raise Diverged(f"the chain left the finite range at step {step + 1}; make more steps")
        if step in self._at:
            self._draws.append(theta.copy())

    @property
    def draws(self) -> np.ndarray:
        return np.array(self._draws)


class Frozen:
    """The scale of phi. During burn-in it is that of the current iterate.

    After burn-in it is fixed to that of the mean iterate of the second half of burn-in.
    """

    def __init__(self, target: Target, theta: np.ndarray, burn_in: int):
        self._target, self._burn_in = target, burn_in
        self._sum, self._count, self.scale = np.zeros_like(theta), 0, target.unit(theta)

    def at(self, step: int, theta: np.ndarray) -> np.ndarray:
        """The scale for step ``step``, which starts at theta."""
        if step <= self._burn_in:
            if 2 * step >= self._burn_in:
                self._sum, self._count = self._sum + theta, self._count + 1
            self.scale = self._target.unit(self._sum / self._count if step == self._burn_in else theta)
        return self.scale


def sgld(
    target: Target, theta: np.ndarray, gradient: Gradient, *, step_size: float, steps: int, burn_in: int, draws: int
) -> Path:
    """Stochastic gradient Langevin dynamics (Welling & Teh 2011, equation 4) in phi, with h = ``step_size``.

        phi' = phi + (h / 2) (prior gradient + released / q)

    The released sum contains the noise N(0, (2 q / sqrt h)^2 I), so the step has the noise N(0, h I).
    """
    keeper, frozen = Keeper(steps, burn_in, draws), Frozen(target, theta, burn_in)
    for t in range(steps):
        scale = frozen.at(t, theta)
        drift = gradient(theta, scale, t) + scale * target.public_gradient(theta)
        theta = theta + scale * (0.5 * step_size * drift)
        keeper.after(t, theta)
    return Path(keeper.draws, theta, frozen.at(steps, theta))


def sgnht(
    target: Target, theta: np.ndarray, gradient: Gradient, rng: np.random.Generator, *,
    step_size: float, friction: float, steps: int, burn_in: int, draws: int,
) -> Path:  # fmt: skip
    """Stochastic gradient Nose-Hoover thermostat (Ding et al. 2014, algorithm 2) in phi, with eta = ``step_size``.

        p' = p - xi eta p + eta (prior gradient + released / q)
        phi' = phi + eta p'
        xi' = xi + eta (|p'|^2 / D - 1)

    The released sum contains the noise N(0, q^2 2 A / eta I), so p gets the noise N(0, 2 A eta I). The start is
    p ~ N(0, I) and xi = A, with A = ``friction``. Other noise of the gradient is absorbed by xi. Position and xi move
    with the new p, as in the paper. With the old p, the path of a stiff direction would grow without bound unless
    eta < A / Lambda, where Lambda is its curvature.
    """
    keeper, frozen = Keeper(steps, burn_in, draws), Frozen(target, theta, burn_in)
    p, xi, d = rng.standard_normal(len(theta)), friction, len(theta)
    for t in range(steps):
        scale = frozen.at(t, theta)
        force = gradient(theta, scale, t) + scale * target.public_gradient(theta)
        p = p - step_size * (xi * p - force)
        theta = theta + scale * (step_size * p)
        xi += step_size * (float(p @ p) / d - 1.0)
        keeper.after(t, theta)
    return Path(keeper.draws, theta, frozen.at(steps, theta))


def accepts(log_ratio: float, noise_sd: float, rng: np.random.Generator) -> bool:
    """Whether the penalty test accepts a proposal (Ceperley & Dewing 1999).

    ``log_ratio`` has Gaussian noise of standard deviation S = ``noise_sd``, and S^2 / 2 is subtracted from it. The test
    keeps detailed balance exactly, because

        a(lambda) = E min(1, exp(lambda + N(0, S^2) - S^2 / 2))  has  a(lambda) = exp(lambda) a(-lambda).
    """
    return bool(math.log(1.0 - rng.random()) < log_ratio - 0.5 * noise_sd**2)


class Bound(NamedTuple):
    """The clip c of the log-likelihood ratios between two points.

    It is ``slope`` times their distance in phi, or the target's own bound if that is smaller. Both are symmetric in the
    points, as the penalty test requires of S.
    """

    slope: float | None

    def of(self, target: Target, theta: np.ndarray, other: np.ndarray, scale: np.ndarray) -> float:
        """The clip c, which is above 0, and infinite if there is neither a slope nor a bound."""
        own = target.ratio_bound(theta, other)
        cut = math.inf if self.slope is None else self.slope * float(np.linalg.norm((theta - other) / scale))
        return max(min(own, cut), np.finfo(float).tiny ** 0.5)


def penalty(
    target: Target, theta: np.ndarray, scale: np.ndarray, ratio: Ratio, rng: np.random.Generator, *,
    width: float, bound: Bound, noise_multiplier: float, steps: int, burn_in: int, draws: int,
) -> Path:  # fmt: skip
    """Random walk with proposals N(phi, width^2 I) and the penalty test, where S = c ``noise_multiplier``."""
    keeper, energy, tested = Keeper(steps, burn_in, draws), target.energy(theta), np.zeros(2)
    for t in range(steps):
        proposed = theta + scale * (width * rng.standard_normal(len(theta)))
        theta, energy, moved = _decide(target, theta, energy, proposed, scale, ratio, rng, bound, noise_multiplier, 0.0)
        tested += moved
        keeper.after(t, theta)
    return Path(keeper.draws, theta, scale, *(float(v) / steps for v in tested))


def hmc(
    target: Target, theta: np.ndarray, scale: np.ndarray, gradient: Gradient, ratio: Ratio, rng: np.random.Generator, *,
    step_size: float, leapfrog: int, bound: Bound, noise_multiplier: float, steps: int, burn_in: int, draws: int,
) -> Path:  # fmt: skip
    """Hamiltonian proposals by noisy clipped gradients, followed by the penalty test (Raisa et al. 2021), in phi.

    A proposal has ``leapfrog`` = L steps of ``step_size`` and takes L + 1 fresh gradients. For any noise and clipping
    of the gradients, volume is preserved and the path is reversible in distribution. So the penalty test alone
    determines the invariant distribution.
    """
    keeper, energy, tested, asked = Keeper(steps, burn_in, draws), target.energy(theta), np.zeros(2), 0

    def force(point: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += 1
        return gradient(point, scale, asked - 1) + scale * target.public_gradient(point)

    for t in range(steps):
        first = rng.standard_normal(len(theta))
        proposed, p = theta, first + 0.5 * step_size * force(theta)
        for k in range(leapfrog):
            proposed = proposed + scale * (step_size * p)
            p = p + (1.0 if k < leapfrog - 1 else 0.5) * step_size * force(proposed)
        if not np.isfinite(proposed).all():
            raise Diverged(f"a proposal left the finite range at step {t + 1}; make more steps")
        kinetic = 0.5 * float(first @ first - p @ p)
        theta, energy, moved = _decide(
            target, theta, energy, proposed, scale, ratio, rng, bound, noise_multiplier, kinetic
        )
        tested += moved
        keeper.after(t, theta)
    return Path(keeper.draws, theta, scale, *(float(v) / steps for v in tested))


def _decide(target, theta, energy, proposed, scale, ratio, rng, bound, noise_multiplier, kinetic):
    """The state (theta, energy) after one penalty test, and [1 if it moved, else 0; log ratio]."""
    c = bound.of(target, theta, proposed, scale)
    other = target.energy(proposed)
    public = target.public_log_density(proposed) - target.public_log_density(theta)
    released = c * ratio(energy, other, c)
    log_ratio = released + public + kinetic
    if accepts(log_ratio, c * noise_multiplier, rng):
        return proposed, other, np.array([1.0, log_ratio])
    return theta, energy, np.array([0.0, log_ratio])
