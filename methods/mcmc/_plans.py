"""What a chain does, from public numbers, released moments and the noise multiplier that the budget leaves: no data.

Notation: mu of Gaussian differential privacy, T releases of multiplier s cost sqrt(T) / s; n rows, D coordinates, and
of one row's gradient in phi (``_targets.Size``): tau the trace of its Fisher information, C the clip; q the sampling
rate. No constant was tuned on a data set.

The spending of the budget. A chain whose temperature noise is its privacy noise has h = (2 q / (s C))^2, so that with
full batches h T = 4 mu^2 / C^2 whatever T is: T buys smaller steps only. T is therefore the number at which h is small
(``STABLE`` over the stiffness), but at least ``LEAST`` and at most :func:`most_steps`, for time. A budget that allows a
larger step than is stable is spent on a larger C instead (less bias), and where no row reaches C it is not spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from methods.mcmc._targets import Size

#: h times the largest possible curvature Lambda, aimed at and at most: a direction has 1 / (1 - h Lambda / 4) times the
#: posterior's variance, so 1.14 and 2 times if it held all of the trace, and the chain is stable below 4.
STABLE = (0.5, 2.0)
#: eta times the root of the largest possible curvature, for SGNHT, at most (stable below 2); half of it is aimed at.
STABLE_MOMENTUM = 0.5
#: eta A at most: beyond 1/2 the noise 2 eta A of a step is more than any friction takes out of |p|^2 / D = 1.
STABLE_FRICTION = 0.25
#: the same for leapfrog steps, whose error the accept step corrects.
STABLE_LEAPFROG = 0.7
#: fewest steps of a chain, and fewest accept steps.
LEAST, LEAST_TESTS = 200, 50
#: most steps of a chain: WORK multiply-adds a pass over the gradients, within these two.
MOST, WORK = (1000, 4000), 1e9
#: most leapfrog steps of a proposal.
LEAPFROG = 10
#: mean energy that the noise of the gradients brings to one proposal of DP-HMC: it costs acceptance like exp(-1).
ENERGY = 1.0

#: steps -> noise multiplier of each that uses up the part of the budget.
Multiplier = Callable[[int], float]


def most_steps(size: Size, rate: float) -> int:
    """The most noisy gradients that are worth their time."""
    return int(min(max(WORK / (rate * size.rows * size.coordinates), MOST[0]), MOST[1]))


def _whole(value: float, least: int, most: int) -> int:
    return int(min(max(math.ceil(min(value, 1e9)), least), max(least, most)))


@dataclass(frozen=True)
class Langevin:
    """``steps`` T at sampling ``rate`` q with ``step_size`` (h, or eta), ``clip`` C and ``noise_multiplier`` s."""

    steps: int
    rate: float
    step_size: float
    clip: float
    noise_multiplier: float
    friction: float = 0.0

    def relaxations(self, size: Size) -> float:
        """Relaxation times of a typical direction, curvature n tau / D, in the whole run."""
        typical = size.rows * size.trace / size.coordinates
        if not self.friction:
            return 0.5 * self.step_size * self.steps * typical
        return self.step_size * self.steps * min(typical / self.friction, 0.5 * self.friction)


def langevin(size: Size, mu: float, multiplier: Multiplier, *, steps: int | None, clip: float, rate: float) -> Langevin:
    """SGLD. ``clip``: over the target's norm; ``steps``: None for the number by the budget (module)."""
    aim, largest = (a / size.stiffness for a in STABLE)
    c = clip * size.norm
    wanted = 4.0 * mu**2 / (aim * c**2)
    count = _whole(wanted, LEAST, most_steps(size, rate)) if steps is None else steps
    s = multiplier(count)
    h = min(largest, (2.0 * rate / (s * c)) ** 2)
    c = min(max(2.0 * rate / (s * math.sqrt(h)), c), size.bound)
    return Langevin(count, rate, h, c, 2.0 * rate / (c * math.sqrt(h)))


def thermostat(
    size: Size, mu: float, multiplier: Multiplier, *, steps: int | None, clip: float, rate: float, friction: float
) -> Langevin:
    """SGNHT: A is ``friction`` times 2 sqrt(typical curvature), critical damping there; eta = 2 A (q / (s C))^2."""
    c = clip * size.norm
    a = 2.0 * friction * math.sqrt(size.rows * size.trace / size.coordinates)
    largest = min(STABLE_MOMENTUM / math.sqrt(size.stiffness), STABLE_FRICTION / a)
    wanted = 2.0 * a * mu**2 / (0.5 * largest * c**2)
    count = _whole(wanted, LEAST, most_steps(size, rate)) if steps is None else steps
    s = multiplier(count)
    eta = min(largest, 2.0 * a * (rate / (s * c)) ** 2)
    c = min(max(rate * math.sqrt(2.0 * a / eta) / s, c), size.bound)
    return Langevin(count, rate, eta, c, rate * math.sqrt(2.0 * a / eta) / c, a)


@dataclass(frozen=True)
class Walk:
    """``steps`` k proposals of ``width`` in phi, ratios cut at ``slope`` a unit of distance, multiplier s of each."""

    steps: int
    width: float
    slope: float | None
    noise_multiplier: float


def walk(size: Size, mu: float, multiplier: Multiplier, *, steps: int | None, clip: float | None, noise: float) -> Walk:
    """DP-penalty. A row's ratio has deviation sqrt(tau / D) a unit of distance, and is cut at ``clip`` times that.

    S = c s with c = clip sqrt(tau) w at a proposal of width w, and s = sqrt(k) / mu; S = ``noise`` gives k w^2 =
    (noise mu)^2 / (clip^2 tau), whatever k. The width is at most that of the best random walk, 2.38 / sqrt(n tau)
    (Roberts, Gelman & Gilks 1997), and k the number at which it gets there. Where mu allows more, half of it (on the
    log scale) goes to a smaller S, half to a wider clip. Where nothing is cut (``clip`` None) the bound of the box
    stands for the clip: sqrt(D / tau) times its norm for a step of random direction.
    """
    best = 2.38 / math.sqrt(size.rows * size.trace)
    cut = clip if clip is not None else _bound_as_clip(size)
    reach = (noise * mu) ** 2 / (cut**2 * size.trace)
    k = _whole(reach / best**2, LEAST_TESTS, MOST[0]) if steps is None else steps
    s = multiplier(k)
    allowed = noise / (s * cut * math.sqrt(size.trace))
    width = min(best, allowed)
    slope = None if clip is None else cut * math.sqrt(allowed / width * size.trace / size.coordinates)
    return Walk(k, width, slope, s)


def _bound_as_clip(size: Size) -> float:
    """Over a row's deviation: its bound, or 3 times its norm where it has none."""
    bound = size.bound if math.isfinite(size.bound) else 3.0 * size.norm
    return bound * math.sqrt(size.coordinates / size.trace)


@dataclass(frozen=True)
class Hamiltonian:
    """``steps`` k proposals of ``leapfrog`` L steps of ``step_size``; gradients and ratios with their multipliers."""

    steps: int
    leapfrog: int
    step_size: float
    clip: float
    gradient_multiplier: float
    slope: float | None
    ratio_multiplier: float


def hamiltonian(
    size: Size, mu: float, multiplier: Multiplier, *,
    steps: int | None, clip: float, ratio_clip: float | None, noise: float,
) -> Hamiltonian:  # fmt: skip
    """DP-HMC. With trajectories of time t = L eta, which move by about t sqrt(D), and b = ``ratio_clip``:

    ratios: S = b sqrt(tau) t s = ``noise`` gives k t^2 = (noise mu)^2 f / (b^2 tau) for their part f of mu^2;
    gradients: their noise brings the energy t^2 C^2 (L + 1) k D / (2 L mu^2 (1 - f)) to a proposal, held at ENERGY.

    f makes both allow the same t (up to (L + 1) / L). t is at most a quarter of the period of a typical direction, and
    what a path of LEAPFROG stable steps reaches; k is the number at which it gets there, with at most ``MOST``
    gradients. Where mu allows more, C and b grow by the root of that factor, and the noise falls by it.
    """
    c = clip * size.norm
    b = ratio_clip if ratio_clip is not None else _bound_as_clip(size)
    odds = 2.0 * ENERGY * b**2 * size.trace / (c**2 * size.coordinates * noise**2)
    part = odds / (1.0 + odds)
    stable = STABLE_LEAPFROG / math.sqrt(size.stiffness)
    longest = min(0.5 * math.pi * math.sqrt(size.coordinates / (size.rows * size.trace)), LEAPFROG * stable)
    reach = (noise * mu) ** 2 * part / (b**2 * size.trace)
    most = most_steps(size, 1.0) // (LEAPFROG + 2)
    k = _whole(reach / longest**2, LEAST_TESTS, most) if steps is None else steps
    ratio_multiplier = multiplier(k) / math.sqrt(part)
    allowed = noise / (ratio_multiplier * b * math.sqrt(size.trace))
    time = min(allowed, longest)
    leapfrog = _whole(time / stable, 1, LEAPFROG)
    gradient_multiplier = multiplier(k * (leapfrog + 1)) / math.sqrt(1.0 - part)
    slack = allowed / time
    slope = None if ratio_clip is None else b * math.sqrt(slack * size.trace / size.coordinates)
    c = min(c * math.sqrt(slack), size.bound)
    return Hamiltonian(k, leapfrog, time / leapfrog, c, gradient_multiplier, slope, ratio_multiplier)
