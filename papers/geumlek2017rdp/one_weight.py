"""Posteriors with one weight: exact distribution and distribution of the sampler's draws, by quadrature.

The rows are numbers z_i, so the posterior is a density on a line and its quantiles are integrals. The distribution of
the draws of ``sampler`` is computed in the same way. Let r_t be the density of the run after t trajectories relative to
the target. A trajectory (new momentum, step of random length, leapfrog, Metropolis) is a Markov kernel K that is
reversible with respect to the target. Hence r_t = K r_{t-1}. This is an expectation over momentum and step length, for
a trajectory that STARTS at u. With q the end of the trajectory and a its acceptance probability,

    r_t(u) = E[a r_{t-1}(q) + (1 - a) r_{t-1}(u)].

r_0 is the density of the Laplace approximation over that of the target.

Proof. K is self-adjoint in L2 of the target, so E_target[f K r] = E_target[r K f]. The right side is the mean of f one
trajectory after a start with density r. QED

Gauss-Hermite nodes integrate the momentum, and Gauss-Legendre nodes the step. log r_t is a cubic spline on a grid. The
dynamics are implemented here a second time, so that draws can be compared with them.

If the prior is weak, a separable posterior falls so abruptly on one side that trajectories are too irregular for the
nodes. ``error`` is the distance of the result from a density, and from the result with half as many nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.interpolate import CubicHermiteSpline, CubicSpline
from scipy.optimize import brentq
from scipy.special import expit, logsumexp, roots_hermitenorm, roots_legendre

from methods._shared.logistic.sampler import JITTER, Plan, Target, laplace

#: the grid ends at points that satisfy two conditions: the density is below exp(-DEPTH) of that at the mode, and no
#: start within REACH standard deviations of the Laplace approximation has the energy to get there.
DEPTH, REACH = 45.0, 5.0
#: width of the grid in standard deviations of the Laplace approximation, largest number of points, and numbers of
#: nodes for momentum and step.
WIDTH, POINTS, MOMENTA, STEPS = 0.02, 3001, 64, 6
#: points on each side that extend the grid, if another distribution is compared.
TAIL = 200
_NOWHERE = np.empty(0)


@dataclass(frozen=True)
class Law:
    """The distributions on a grid ``w`` (g,): log densities (g,) of the target, of the run's start and of a draw.

    ``error``: the larger of |1 - integral of the drawn density| and the change of ``distance`` at half as many nodes.
    """

    w: np.ndarray
    log_exact: np.ndarray
    log_start: np.ndarray
    log_drawn: np.ndarray
    error: float = math.nan

    @property
    def distance(self) -> float:
        """Total variation distance between a draw and the target."""
        return self._distance(self.log_drawn)

    @property
    def start_distance(self) -> float:
        """Total variation distance between the run's start and the target.

        No draw is farther, since a kernel that leaves the target invariant does not increase the distance.
        """
        return self._distance(self.log_start)

    @property
    def known(self) -> bool:
        """Whether ``error`` is at most a tenth of the distance, or below 1e-6."""
        return bool(self.error <= max(0.1 * self.distance, 1e-6))

    def exact_cdf(self, at: np.ndarray) -> np.ndarray:
        """P(weight <= at) under the target."""
        return self._cdf(self.log_exact)(np.clip(at, self.w[0], self.w[-1]))

    def drawn_cdf(self, at: np.ndarray) -> np.ndarray:
        """P(draw <= at) under the distribution of a draw."""
        return self._cdf(self.log_drawn)(np.clip(at, self.w[0], self.w[-1]))

    def quantile(self, level: float) -> float:
        """The w below which the target has mass ``level``."""
        mass = self._cdf(self.log_exact)
        return float(brentq(lambda w: float(mass(w)) - level, self.w[0], self.w[-1], xtol=1e-12))

    def _cdf(self, log: np.ndarray) -> CubicHermiteSpline:
        density = np.exp(log)
        return CubicHermiteSpline(self.w, _cumulative(self.w, density), density)

    def _distance(self, log: np.ndarray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return 0.5 * _integral(self.w, np.abs(np.exp(log) - np.exp(self.log_exact)))


def law(z: np.ndarray, target: Target, plan: Plan | None = None, cover: np.ndarray = _NOWHERE) -> Law:
    """The distributions given signed rows z (n, 1), without the ball of ``target``. The grid covers all of ``cover``.

    Raises ValueError for rows of more than one column, and ``methods.contract.Diverged`` as the sampler does.
    """
    plan = plan or Plan()
    fine = _law(z, target, plan, cover, POINTS, WIDTH, MOMENTA, STEPS)
    rough = _law(z, target, plan, cover, POINTS // 2, 2 * WIDTH, MOMENTA // 2, STEPS // 2)
    with np.errstate(over="ignore", invalid="ignore"):
        mass = _integral(fine.w, np.exp(fine.log_drawn))
        error = max(abs(1.0 - mass), abs(fine.distance - rough.distance))
    return replace(fine, error=error if math.isfinite(error) else math.inf)


def _law(z, target: Target, plan: Plan, cover: np.ndarray, points: int, width: float, momenta: int, steps: int) -> Law:
    if z.shape[1] != 1:
        raise ValueError(f"the law of one weight: the rows have {z.shape[1]} columns; give one")
    values, counts = np.unique(z[:, 0], return_counts=True)
    (around,), _ = laplace(z, [target])
    mode, scale = float(around.mode[0]), float(around.whitening[0, 0])

    def energy(u):
        w = mode + scale * u
        terms = sum(c * np.logaddexp(0.0, -v * w) for v, c in zip(values, counts, strict=True))
        return target.power * terms + 0.5 * target.precision * w * w

    def slope(u):
        w = mode + scale * u
        terms = sum(c * v * expit(-v * w) for v, c in zip(values, counts, strict=True))
        return scale * (target.precision * w - target.power * terms)

    u = _grid(energy, points, width, (cover - mode) / scale)
    log_target = -energy(u)
    log_target -= log_target.max()
    log_target -= math.log(_integral(u, np.exp(log_target)))
    p, weight_p = roots_hermitenorm(momenta)
    s, weight_s = roots_legendre(steps)
    h = 0.5 * math.pi / plan.leapfrog_steps * (1.0 + JITTER * s)
    q, momentum = np.broadcast_arrays(u[:, None, None], p[None, :, None] + 0.0 * h)
    before = energy(q) + 0.5 * momentum**2
    g = slope(q)
    for _ in range(plan.leapfrog_steps):
        momentum = momentum - 0.5 * h * g
        q = q + h * momentum
        g = slope(q)
        momentum = momentum - 0.5 * h * g
    log_weight = np.log(np.outer(weight_p / weight_p.sum(), weight_s / weight_s.sum()))
    log_move = log_weight + np.minimum(0.0, before - energy(q) - 0.5 * momentum**2)
    log_stay = np.log(np.maximum(1.0 - np.exp(log_move).sum(axis=(1, 2)), 1e-300))
    q = np.clip(q, u[0], u[-1])
    log_start = -0.5 * u**2 - 0.5 * math.log(2.0 * math.pi)
    log_ratio = log_start - log_target
    for _ in range(plan.trajectories):
        arrived = logsumexp((log_move + CubicSpline(u, log_ratio)(q)).reshape(len(u), -1), axis=1)
        log_ratio = np.logaddexp(arrived, log_ratio + log_stay)
    back = math.log(scale)
    return Law(mode + scale * u, log_target - back, log_start - back, log_ratio + log_target - back)


def neighbours(z: np.ndarray, other: np.ndarray, target: Target, plan: Plan | None = None) -> tuple[Law, Law]:
    """The distributions for two data sets. Each is on a grid that extends as far as the other's."""
    ends = [_law(rows, target, Plan(1, 1), _NOWHERE, 3, 1.0, 2, 1).w[[0, -1]] for rows in (z, other)]
    return law(z, target, plan, ends[1]), law(other, target, plan, ends[0])


def _grid(energy, points: int, width: float, cover: np.ndarray) -> np.ndarray:
    """A whitened grid where the target, its Laplace approximation or a trajectory from it has relevant mass.

    Beyond that the distribution is smooth, and the grid goes up to ``cover`` in growing steps.
    """
    floor = float(energy(np.zeros(1))[0])
    height = max(floor + DEPTH, float(energy(np.array([-REACH, REACH])).max()))
    ends = []
    for sign in (-1.0, 1.0):
        end = 9.0
        while float(energy(np.array([sign * end]))[0]) < height:
            end *= 1.25
        ends.append(sign * end)
    parts = [np.linspace(*ends, min(points, int((ends[1] - ends[0]) / width)) | 1)]
    if len(cover) and (further := ends[0] - cover.min()) > width:
        parts.insert(0, ends[0] - np.geomspace(min(2 * width, 0.1 * further), further, TAIL)[::-1])
    if len(cover) and (further := cover.max() - ends[1]) > width:
        parts.append(ends[1] + np.geomspace(min(2 * width, 0.1 * further), further, TAIL))
    return np.concatenate(parts)


def _integral(x: np.ndarray, y: np.ndarray) -> float:
    return float(_cumulative(x, y)[-1])


def _cumulative(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return cumulative_simpson(y, x=x, initial=0.0)


def hidden(law: Law, other: Law, epsilon: float, *, drawn: bool) -> float:
    """The smallest delta at which two distributions are (epsilon, delta)-indistinguishable in both directions.

    It is the integral of (p - e^epsilon q)_+ in the direction with the larger value (Balle & Wang 2018). ``drawn``: of
    the draws, else of the targets. The normalisation error of a distribution (``Law.error``) is included unchanged.
    """
    return _hidden(*_both(law, other, drawn), epsilon)


def epsilon_at(law: Law, other: Law, delta: float, *, drawn: bool) -> float:
    """Smallest epsilon >= 0 (to 1e-4, from above) at which :func:`hidden` is at most ``delta``."""
    both = _both(law, other, drawn)
    low, high = 0.0, 1.0
    if _hidden(*both, low) <= delta:
        return 0.0
    while _hidden(*both, high) > delta:
        low, high = high, 2.0 * high
        if high > 1e6:
            return math.inf
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _hidden(*both, middle) <= delta else (middle, high)
    return high


def _both(law: Law, other: Law, drawn: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A grid for both distributions and the log densities on it, minus infinity outside a distribution's own grid."""
    w = np.unique(np.concatenate([law.w, other.w]))
    logs = []
    for one in (law, other):
        log = CubicSpline(one.w, one.log_drawn if drawn else one.log_exact)(np.clip(w, one.w[0], one.w[-1]))
        logs.append(np.where((w >= one.w[0]) & (w <= one.w[-1]), log, -np.inf))
    return w, *logs


def _hidden(w: np.ndarray, p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    def one_way(a, b):
        above = np.isfinite(a) & (a > epsilon + b)
        gap = np.zeros(len(w))
        gap[above] = -np.exp(a[above]) * np.expm1(np.maximum(epsilon + b[above] - a[above], -700.0))
        return float(np.trapezoid(gap, w))

    return max(one_way(p, q), one_way(q, p))
