"""DP Penalty and DP HMC as in the authors' code, many chains at once.

DP Penalty also has variants that update one component, and a guided walk.

A step proposes theta' at distance d = |theta' - theta|. Each row's log-likelihood ratio is clipped to [-b d, b d]. So
replacing one row moves their sum by at most c = 2 b d. The sum over c, which has sensitivity 1, is released with noise
N(0, tau^2 n). Let T be the temper and S = T c tau sqrt(n). The proposal is accepted if (Ceperley & Dewing 1999)

    ln U < T c release + log prior ratio (+ kinetic) - S^2 / 2.

DP HMC makes its proposals by leapfrog steps. They use sums of gradients, each row's clipped to norm b_g, so the
sensitivity is 2 b_g. The noise has standard deviation 2 b_g tau_g sqrt(n). An iteration has L + 1 new releases.

Only rows with a large norm of G can be clipped (:mod:`.models`), and G is sorted by falling norm. So each sum is a
closed form plus a correction over the first rows. All functions read the data only through these sums, and use them
only after their release (:class:`Releases`). The share of clipped rows is read from the rows and is not a release. It
is for the box plots of the source, and must not leave a private fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import njit

from papers.raisa2021thesis.models import Problem

_BLOCK = 256


@dataclass(frozen=True)
class Setting:
    """The settings of one method on one model.

    They are tau, the proposal's standard deviation ``width`` (a number or (d,)), and b. ``guided``: one coordinate per
    step. DP HMC also has ``leapfrog`` L, step size ``eta``, tau_g and b_g.
    """

    tau: float
    bound: float
    width: float = 0.0
    guided: bool = False
    leapfrog: int = 0
    eta: float = 0.0
    tau_gradient: float = 0.0
    bound_gradient: float = 0.0

    @property
    def gradients(self) -> int:
        """Number of releases of gradients per iteration."""
        return self.leapfrog + 1 if self.leapfrog else 0


@dataclass(frozen=True)
class Chains:
    """R chains of K iterations.

    * ``theta``: (R, K + 1, d), the start first.
    * ``accepted``: (R, K).
    * ``clipped``: (R, K), share of rows that were clipped.
    """

    theta: np.ndarray
    accepted: np.ndarray
    clipped: np.ndarray


@dataclass(frozen=True)
class Releases:
    """The functions that add noise to sums.

    They are ``ratio`` (step, sums over c (R,)), and ``gradient`` (step, leapfrog step, sums).
    """

    ratio: Callable[[int, np.ndarray], np.ndarray]
    gradient: Callable[[int, int, np.ndarray], np.ndarray] | None = None


def noisy(ratios: np.ndarray, gradients: np.ndarray | None = None) -> Releases:
    """Releases with noise that was drawn in advance: ``ratios`` (R, K), ``gradients`` (R, K, L + 1, d)."""
    added = None if gradients is None else lambda t, i, value: value + gradients[:, t, i]
    return Releases(lambda t, value: value + ratios[:, t], added)


@njit(cache=True, error_model="numpy", fastmath=True, nogil=True)
def _ratio_excess(g, first, w, c, cut):  # pragma: no cover (compiled)
    """For each chain: sum over rows below ``first`` of clip(r) - r, with r = w.G + c, and how many are clipped."""
    chains, d = w.shape
    excess, count, r = np.zeros(chains), np.zeros(chains), np.empty(_BLOCK)
    for start in range(0, first.max(), _BLOCK):
        for k in range(chains):
            size = min(_BLOCK, first[k] - start)
            if size <= 0:
                continue
            r[:size] = c[k]
            for j in range(0, d, 2):  # two columns at a time: half the passes over r
                wj, wl = w[k, j], w[k, min(j + 1, d - 1)] if j + 1 < d else 0.0
                if wj != 0.0 or wl != 0.0:
                    row, low = g[j, start : start + size], g[min(j + 1, d - 1), start : start + size]
                    for i in range(size):
                        r[i] += wj * row[i] + wl * low[i]
            total, beyond, b = 0.0, 0.0, cut[k]
            for i in range(size):
                total += min(max(r[i], -b), b) - r[i]
                beyond += 1.0 if abs(r[i]) > b else 0.0
            excess[k] += total
            count[k] += beyond
    return excess, count


@njit(cache=True, error_model="numpy", fastmath=True, nogil=True)
def _gradient_excess(g, first, v, bend, cut):  # pragma: no cover (compiled)
    """For each chain: sum over rows below ``first`` of (factor - 1) (G + v), factor = min(1, cut / |K (G + v)|).

    1 / |.| is computed in single precision, followed by one Newton step. That is as exact as double precision, in half
    the time.
    """
    chains, d = v.shape
    excess, q, f = np.zeros((chains, d)), np.empty(_BLOCK), np.empty(_BLOCK)
    one, half = np.float32(1), 0.5
    for start in range(0, first.max(), _BLOCK):
        for k in range(chains):
            size = min(_BLOCK, first[k] - start)
            if size <= 0:
                continue
            row0, row1, b, v0, v1 = g[0, start : start + size], g[1, start : start + size], bend[k], v[k, 0], v[k, 1]
            for i in range(size):
                e1 = row1[i] + v1
                e0 = row0[i] + v0 + b * e1
                q[i] = max(e0 * e0 + e1 * e1, 1e-30)
            for j in range(2, d):
                row, vj = g[j, start : start + size], v[k, j]
                for i in range(size):
                    q[i] += (row[i] + vj) ** 2
            for i in range(size):
                y = np.float64(one / np.sqrt(np.float32(q[i])))
                f[i] = min(cut * y * (1.5 - half * q[i] * y * y), 1.0) - 1.0
            for j in range(d):
                row, vj, total = g[j, start : start + size], v[k, j], 0.0
                for i in range(size):
                    total += f[i] * (row[i] + vj)
                excess[k, j] += total
    return excess


def _first(norms: np.ndarray, least: np.ndarray) -> np.ndarray:
    """The number of rows with a norm of at least ``least``, or slightly more because of rounding."""
    return len(norms) - np.searchsorted(norms[::-1], least * (1 - 1e-9))


def ratio_sums(p: Problem, theta, other, cut) -> tuple[np.ndarray, np.ndarray]:
    """Sum of the rows' clipped log-likelihood ratios of ``other`` to ``theta``, and how many were clipped.

    Each ratio is clipped to +-``cut``.

    Both have shape (R,).
    """
    a, b = p.phi(theta), p.phi(other)
    w = b - a
    c = ((p.mean - (a + b) / 2) @ p.precision * w).sum(axis=1)
    length = np.maximum(np.linalg.norm(w, axis=1), 1e-300)
    excess, count = _ratio_excess(p.g, _first(p.norms, (cut - np.abs(c)) / length), w, c, cut)
    return p.model.rows * c + excess, count


def gradient_sums(p: Problem, theta, cut: float) -> np.ndarray:
    """Sum (R, d) of the rows' gradients of the log-likelihood in theta, each clipped to norm ``cut``."""
    v = (p.mean - p.phi(theta)) @ p.precision
    bend = 2 * p.model.curve * theta[:, 0]
    stretch = (np.abs(bend) + np.sqrt(bend**2 + 4)) / 2  # spectral norm of K
    first = _first(p.norms, cut / stretch - np.linalg.norm(v, axis=1))
    return _bent(p.model.rows * v + _gradient_excess(p.g, first, v, bend, cut), bend)


def _bent(e: np.ndarray, bend: np.ndarray) -> np.ndarray:
    out = e.copy()
    out[:, 0] += bend * e[:, 1]
    return out


def _test(p: Problem, s: Setting, theta, other, kinetic, release, log_u):
    """(accepted (R,), share of rows clipped (R,)) of one step. ``release`` adds noise of sd tau sqrt(n)."""
    distance = np.linalg.norm(other - theta, axis=1)
    total, cut = ratio_sums(p, theta, other, s.bound * distance)
    c = 2 * s.bound * distance
    released = release(total / np.maximum(c, 1e-300))
    prior = 0.5 * p.prior * ((p.phi(theta) ** 2).sum(axis=1) - (p.phi(other) ** 2).sum(axis=1))
    sd = p.model.temper * c * s.tau * np.sqrt(p.model.rows)
    log_ratio = p.model.temper * c * released + prior + kinetic - 0.5 * sd**2
    return log_u < log_ratio, cut / p.model.rows


def penalty(p: Problem, s: Setting, starts, steps: int, releases: Releases, rng: np.random.Generator) -> Chains:
    """``steps`` iterations of DP Penalty in R chains from ``starts`` (R, d).

    ``rng`` draws the proposals and U, which depend on no row.
    """
    count, d = starts.shape
    theta, out, chain = starts.copy(), _empty(starts, steps), np.arange(count)
    direction = rng.choice([-1.0, 1.0], (count, d))
    for t in range(steps):
        other = theta.copy()
        if s.guided:
            j = rng.integers(d, size=count)
            other[chain, j] += direction[chain, j] * np.abs(rng.standard_normal(count)) * s.width
        else:
            other += s.width * rng.standard_normal((count, d))
        release, log_u = partial(releases.ratio, t), np.log(rng.random(count))
        accepted, out.clipped[:, t] = _test(p, s, theta, other, 0.0, release, log_u)
        if s.guided:
            direction[chain, j] *= np.where(accepted, 1, -1)
        theta = _keep(out, t, theta, other, accepted)
    return out


def hmc(p: Problem, s: Setting, starts, steps: int, releases: Releases, rng: np.random.Generator) -> Chains:
    """``steps`` iterations of DP HMC in R chains from ``starts`` (R, d).

    Raises ValueError if ``releases`` has no releases of gradients.
    """
    if releases.gradient is None:
        raise ValueError("DP HMC releases gradients; give what adds their noise")
    release_gradient, count = releases.gradient, len(starts)
    theta, out = starts.copy(), _empty(starts, steps)

    def force(at, t, i):
        bend = 2 * p.model.curve * at[:, 0]
        total = release_gradient(t, i, gradient_sums(p, at, s.bound_gradient))
        return p.model.temper * total - _bent(p.prior * p.phi(at), bend)

    for t in range(steps):
        first = rng.standard_normal(theta.shape)
        other, momentum = theta, first + 0.5 * s.eta * force(theta, t, 0)
        for i in range(1, s.leapfrog + 1):
            other = other + s.eta * momentum
            last = 0.5 if i == s.leapfrog else 1.0
            momentum = momentum + last * s.eta * force(other, t, i)
        kinetic = 0.5 * ((first**2).sum(axis=1) - (momentum**2).sum(axis=1))
        release, log_u = partial(releases.ratio, t), np.log(rng.random(count))
        accepted, out.clipped[:, t] = _test(p, s, theta, other, kinetic, release, log_u)
        theta = _keep(out, t, theta, other, accepted)
    return out


def _empty(starts, steps: int) -> Chains:
    count, d = starts.shape
    theta = np.empty((count, steps + 1, d))
    theta[:, 0] = starts
    return Chains(theta, np.zeros((count, steps), bool), np.zeros((count, steps)))


def _keep(out: Chains, t: int, theta, other, accepted) -> np.ndarray:
    out.accepted[:, t] = accepted
    out.theta[:, t + 1] = np.where(accepted[:, None], other, theta)
    return out.theta[:, t + 1]
