"""Plans of the private chains: number of steps, step sizes, clips and noise multipliers.

A plan is computed from public numbers, released moments and the noise multiplier that the budget leaves. It reads no
private row. No constant was tuned on a data set.

Notation: n rows, D coordinates, q sampling rate. The gradient of one row in phi (``_targets.Size``) has the clip C, and
tau is the trace of its Fisher information. The parameter of Gaussian differential privacy is mu: T releases with
multiplier s cost mu = sqrt(T) / s.

The budget and the number of steps T. In SGLD the privacy noise is the noise of the temperature, so the step size is

    h = (2 q / (s C))^2.

With full batches, h T = 4 mu^2 / C^2 for every T. More steps therefore only make each step smaller. So T is the number
at which h equals the first of ``STABLE`` divided by the stiffness. It is at least ``LEAST`` and, for computing time, at
most :func:`most_steps`. If the budget allows a larger step than is stable, C is increased instead, which reduces the
bias. If no row's gradient reaches C, the rest of the budget is not spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from methods.mcmc._targets import Size

#: SGLD: target and upper limit of h times the largest possible curvature Lambda. A direction of that curvature has
#: 1 / (1 - h Lambda / 4) times the posterior's variance, so 1.14 and 2 times. The chain is stable below 4.
STABLE = (0.5, 2.0)
#: SGNHT: upper limit of eta times the root of the largest possible curvature (stable below 2). The target is half of
#: it.
STABLE_MOMENTUM = 0.5
#: SGNHT: upper limit of eta A. Beyond 1/2, the noise 2 eta A of a step exceeds what friction can remove at
#: |p|^2 / D = 1.
STABLE_FRICTION = 0.25
#: HMC: step size times the root of the largest possible curvature. The accept step corrects the leapfrog error.
STABLE_LEAPFROG = 0.7
#: smallest number of steps of a chain, and of accept steps.
LEAST, LEAST_TESTS = 200, 50
#: largest number of steps of a chain: about WORK multiply-adds per pass, but within the limits MOST.
MOST, WORK = (1000, 4000), 1e9
#: largest number of leapfrog steps of a proposal.
LEAPFROG = 10
#: mean energy that the noise of the gradients adds to one proposal of DP-HMC. It lowers acceptance by a factor of about
#: exp(-1).
ENERGY = 1.0

#: number of steps -> noise multiplier of each of them, such that together they use up the part of the budget.
Multiplier = Callable[[int], float]


def most_steps(size: Size, rate: float) -> int:
    """The largest number of noisy gradients that computing time allows."""
    return int(min(max(WORK / (rate * size.rows * size.coordinates), MOST[0]), MOST[1]))


def _whole(value: float, least: int, most: int) -> int:
    return int(min(max(math.ceil(min(value, 1e9)), least), max(least, most)))


@dataclass(frozen=True)
class Langevin:
    """A plan of SGLD or SGNHT: ``steps`` T at sampling ``rate`` q, with ``clip`` C and ``noise_multiplier`` s.

    ``step_size`` is h of SGLD or eta of SGNHT. ``friction`` is A of SGNHT, and 0 for SGLD.
    """

    steps: int
    rate: float
    step_size: float
    clip: float
    noise_multiplier: float
    friction: float = 0.0

    def relaxations(self, size: Size) -> float:
        """The length of the run in relaxation times of a direction of typical curvature n tau / D."""
        typical = size.rows * size.trace / size.coordinates
        if not self.friction:
            return 0.5 * self.step_size * self.steps * typical
        return self.step_size * self.steps * min(typical / self.friction, 0.5 * self.friction)


def langevin(size: Size, mu: float, multiplier: Multiplier, *, steps: int | None, clip: float, rate: float) -> Langevin:
    """The plan of SGLD. ``clip`` is C over the target's norm. With ``steps`` None the module's rule gives T."""
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
    """The plan of SGNHT, with eta = 2 A (q / (s C))^2.

    A is ``friction`` times 2 sqrt(n tau / D), which is critical damping at the typical curvature. ``clip`` and
    ``steps`` are those of :func:`langevin`.
    """
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
    """A plan of DP-penalty: ``steps`` k proposals of ``width`` in phi, each with ``noise_multiplier`` s.

    A row's log-likelihood ratio is clipped at ``slope`` per unit of distance in phi; None means no clip.
    """

    steps: int
    width: float
    slope: float | None
    noise_multiplier: float


def walk(size: Size, mu: float, multiplier: Multiplier, *, steps: int | None, clip: float | None, noise: float) -> Walk:
    """The plan of DP-penalty, whose log acceptance ratio has noise of standard deviation S = ``noise``.

    A row's log-likelihood ratio has standard deviation sqrt(tau / D) per unit of distance. It is clipped at ``clip``
    times that. At a proposal of width w

        S = c s,  with  c = clip sqrt(tau) w  and  s = sqrt(k) / mu,

    so S = ``noise`` gives k w^2 = (noise mu)^2 / (clip^2 tau) for every k. The width is at most that of the optimal
    random walk, 2.38 / sqrt(n tau) (Roberts, Gelman & Gilks 1997). The number k is the one at which w reaches that
    width. If mu allows more, half of the excess (on the log scale) reduces S, and half widens the clip.

    With ``clip`` None nothing is clipped, and the bound that holds for all scaled rows takes the place of the clip. For
    a step of random direction it is sqrt(D / tau) times the bound on a row's gradient.
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
    """The bound of a row's gradient, or 3 times its norm if it has no bound, in the unit of ``clip``."""
    bound = size.bound if math.isfinite(size.bound) else 3.0 * size.norm
    return bound * math.sqrt(size.coordinates / size.trace)


@dataclass(frozen=True)
class Hamiltonian:
    """A plan of DP-HMC: ``steps`` k proposals of ``leapfrog`` L steps of ``step_size``.

    Gradients have ``clip`` C and ``gradient_multiplier``. Ratios have ``slope``, the clip per unit of distance in phi
    or None, and ``ratio_multiplier``.
    """

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
    """The plan of DP-HMC, whose log acceptance ratio has noise of standard deviation S = ``noise``.

    A trajectory of time t = L eta moves by about t sqrt(D). Let b = ``ratio_clip``, and let f be the part of mu^2 that
    the ratios get.

    - Ratios: S = b sqrt(tau) t s = ``noise`` gives k t^2 = (noise mu)^2 f / (b^2 tau).
    - Gradients: their noise adds the energy t^2 C^2 (L + 1) k D / (2 L mu^2 (1 - f)) to a proposal. It is held at
      ``ENERGY``.

    The part f makes both allow the same t, up to the factor (L + 1) / L. The time t is at most a quarter of the period
    of a typical direction, and at most the time of ``LEAPFROG`` stable steps. The number k is the one at which t
    reaches that limit. It takes at most :func:`most_steps` gradients. If mu allows more, C and b grow by the square
    root of the excess factor, and the noise falls by that root.
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
