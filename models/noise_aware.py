"""The noise-aware posterior of noisy gradient descent, from sufficient statistics of its trace.

The model is algorithm 2 of Alrawajfeh, Jalko & Honkela 2025, with A and Sigma_sub diagonal as in their code. For each
coordinate and the n pairs (phi_t, g_t) of a parameter and its noisy gradient,

    g_t ~ N(kappa a (phi_t - phi*), V0 + s^2),   a = softplus(h),
    h ~ N(hm, (w hs)^2),   phi* ~ N(mean of phi_t, tau^2),   s ~ N(0, r^2).

Here kappa is the sampling rate and V0 the known variance of the privacy noise. The numbers hm and hs are the absolute
least-squares slope over kappa and its standard error, from the same trace. As published, tau = r = w = 1.

The likelihood of the n pairs depends on six numbers (:class:`Statistics`), so independent draws cost the same for any
n. Given (h, s), phi* is Gaussian. This leaves a density of (h, s) in two dimensions, which is sampled on a grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from models.unconstrained import Likelihood, Samples, load_likelihood, softplus

#: ways to make a posterior over theta from a trace; see :class:`TracePosterior`.
READINGS = ("last_iterate", "trace_mean", "trace_average", "noise_aware", "laplace")
#: grid of (h, s): number of points of h and of s, and half range of h and of s in prior standard deviations. h needs
#: many points, because near slope 0 the density changes within a small part of hs. In s it is smooth.
POINTS_SLOPE, POINTS_NOISE, SPAN_SLOPE, SPAN_NOISE = 801, 31, 8.0, 6.0
#: the second grid covers the points within this many nats of the largest log density on the first grid.
_DEPTH = 25.0
#: the smallest variance of phi* that the published Laplace approximation keeps.
LAPLACE_FLOOR = 1e-7


class Statistics(NamedTuple):
    """The sufficient statistics of n pairs (phi_t, g_t): n, the means, and sums of centred second moments.

    They are vectors and matrices in general, such as ``gp`` = sum (g - mean g)(phi - mean phi)'. In a coordinate-wise
    model each entry except n is an array (d,).
    """

    n: float
    phi: np.ndarray
    g: np.ndarray
    pp: np.ndarray
    gp: np.ndarray
    gg: np.ndarray


def statistics(phi: np.ndarray, g: np.ndarray) -> Statistics:
    """The statistics of a whole trace phi (n, d), g (n, d), with full matrices (d, d)."""
    p, q = phi.mean(axis=0), g.mean(axis=0)
    x, y = phi - p, g - q
    return Statistics(len(phi), p, q, x.T @ x, y.T @ x, y.T @ y)


def log_likelihood(s: Statistics, slope: np.ndarray, noise: np.ndarray, optimum: np.ndarray) -> float:
    """The log-likelihood sum_t log N(g_t; slope (phi_t - optimum), noise) in nats, exactly from the statistics.

    ``slope`` (d, d) is any matrix (kappa A), ``noise`` (d, d) is positive definite (V0 + Sigma_sub), ``optimum`` is
    (d,). With e = mean g - slope (mean phi - optimum) the residuals g_t - slope (phi_t - optimum) have mean e and
    centred second moments gg - slope gp' - gp slope' + slope pp slope'.
    """
    factor = np.linalg.cholesky(noise)
    e = s.g - slope @ (s.phi - optimum)
    moments = s.gg - slope @ s.gp.T - s.gp @ slope.T + slope @ s.pp @ slope.T + s.n * np.outer(e, e)
    whitened = np.linalg.solve(factor, np.linalg.solve(factor, moments).T)
    log_det = 2.0 * np.log(np.diag(factor)).sum()
    return float(-0.5 * (s.n * (len(e) * math.log(2 * math.pi) + log_det) + np.trace(whitened)))


@dataclass(frozen=True)
class Priors:
    """The priors of the noise-aware model. The defaults are as published.

    ``optimum_sd`` is tau, the standard deviation of phi* around the mean of the trace. ``slope_widening`` is w, the
    prior standard deviation of h over its standard error. If it is infinite, h is uniform on hm +- ``SPAN_SLOPE`` hs.
    ``noise_sd`` is r, the standard deviation of s, in units of the gradient.
    """

    optimum_sd: float = 1.0
    slope_widening: float = 1.0
    noise_sd: float = 1.0

    def __post_init__(self) -> None:
        for key in ("optimum_sd", "slope_widening", "noise_sd"):
            value = getattr(self, key)
            if not value > 0 or (math.isinf(value) and key != "slope_widening"):
                raise ValueError(f"noise-aware model: {key} = {value}; give a finite number above 0")


def slope_prior(s: Statistics, noise_variance: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """The numbers hm and hs, (d,) each: the absolute least-squares slope over kappa, and its standard error."""
    return np.abs(s.gp / s.pp) / rate, np.sqrt(noise_variance / s.pp) / rate


def log_density(h, s, stat: Statistics, v0, hm, hs, rate: float, priors: Priors):
    """The log posterior of (h, s) of one coordinate with phi* integrated out, up to a constant, in nats. Broadcasts.

    With k = kappa softplus(h) and v = V0 + s^2 it is

        -(n - 1) / 2 log v - [gg - 2 k gp + k^2 pp] / (2 v)
        - log(v / n + k^2 tau^2) / 2 - (mean g)^2 / (2 (v / n + k^2 tau^2)),

    plus the log priors.
    """
    k, v = rate * softplus(h), v0 + s**2
    spread = v / stat.n + (k * priors.optimum_sd) ** 2
    residual = (stat.gg - stat.gp**2 / stat.pp) + stat.pp * (k - stat.gp / stat.pp) ** 2
    out = -0.5 * ((stat.n - 1) * np.log(v) + residual / v + np.log(spread) + stat.g**2 / spread)
    out = out - 0.5 * (s / priors.noise_sd) ** 2
    if math.isfinite(priors.slope_widening):
        return out - 0.5 * ((h - hm) / (priors.slope_widening * hs)) ** 2
    return np.where(np.abs(h - hm) <= SPAN_SLOPE * hs, out, -np.inf)


def optimum_given(h, s, stat: Statistics, v0, rate: float, priors: Priors):
    """The mean and variance of phi* - mean phi given (h, s). Broadcasts."""
    k, v = rate * softplus(h), v0 + s**2
    precision = priors.optimum_sd**-2 + stat.n * k**2 / v
    return -(stat.n * k * stat.g / v) / precision, 1.0 / precision


class Grid(NamedTuple):
    """Probabilities (P, Q) of the grid cells around points ``h`` (P,) and ``s`` (Q,) of one coordinate."""

    h: np.ndarray
    s: np.ndarray
    probability: np.ndarray


def grid(stat: Statistics, v0: float, rate: float, priors: Priors) -> Grid:
    """The posterior of (h, s) of one coordinate on a grid: first on a wide grid, then on one around the mass.

    The wide grid covers ``SPAN_SLOPE`` prior standard deviations of h on each side. For s it reaches from 0 to the
    largest values that the prior and the scatter of the gradients allow.
    """
    hm, hs = slope_prior(stat, v0, rate)
    reach = SPAN_SLOPE * hs * (priors.slope_widening if math.isfinite(priors.slope_widening) else 1.0)
    scatter = math.sqrt(max(0.0, stat.gg / stat.n - v0) + 6.0 * v0 * math.sqrt(2.0 / stat.n))
    h = np.linspace(hm - reach, hm + reach, POINTS_SLOPE)
    s = np.linspace(0.0, min(SPAN_NOISE * priors.noise_sd, scatter), POINTS_NOISE)
    for narrowed in (False, True):
        log_p = log_density(h[:, None], s, stat, v0, hm, hs, rate, priors)
        log_p -= log_p.max()
        if not narrowed:
            h, s = _narrowed(h, log_p.max(axis=1)), _narrowed(s, log_p.max(axis=0))
    p = np.exp(log_p)
    p[:, 0] *= 0.5  # the cell around s = 0 is half as wide, because s >= 0
    return Grid(h, s, p / p.sum())


def _narrowed(points: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    inside = np.flatnonzero(log_p > -_DEPTH)
    low, high = points[max(inside[0] - 1, 0)], points[min(inside[-1] + 1, len(points) - 1)]
    return np.linspace(low, high, len(points))


def draw_optimum(
    n: int, stat: Statistics, v0: float, rate: float, priors: Priors, rng: np.random.Generator
) -> np.ndarray:
    """n independent draws of phi* of one coordinate, (n,): draw a grid cell, a point in it, then the Gaussian."""
    g = grid(stat, v0, rate, priors)
    total = np.cumsum(g.probability.ravel())
    cell = np.searchsorted(total, rng.random(n) * total[-1], side="right").clip(0, total.size - 1)
    u = rng.random((2, n)) - 0.5
    h = g.h[cell // POINTS_NOISE] + u[0] * (g.h[1] - g.h[0])
    s = np.abs(g.s[cell % POINTS_NOISE] + u[1] * (g.s[1] - g.s[0]))
    mean, variance = optimum_given(h, s, stat, v0, rate, priors)
    return stat.phi + mean + np.sqrt(variance) * rng.standard_normal(n)


def optimum_moments(stat: Statistics, v0: float, rate: float, priors: Priors) -> tuple[float, float]:
    """The mean and variance of phi* of one coordinate, by summing over the grid."""
    g = grid(stat, v0, rate, priors)
    mean, variance = optimum_given(g.h[:, None], g.s, stat, v0, rate, priors)
    first = float((g.probability * mean).sum())
    return float(stat.phi + first), float((g.probability * (variance + (mean - first) ** 2)).sum())


class LaplaceFit(NamedTuple):
    """The mode (phi*, h) of each coordinate and the variance of phi*, (d,) each."""

    optimum: np.ndarray
    h: np.ndarray
    variance: np.ndarray


def laplace(s: Statistics, v0: np.ndarray, rate: float, priors: Priors, extra_term: bool) -> LaplaceFit:
    """The Laplace approximation with s = 0.

    The authors' code never leaves s = 0, because only s^2 enters and its gradient is 0. ``extra_term`` adds n log
    sigmoid(a) to the log density, as their code does: it counts a Jacobian once per step. Given h, phi* is
    :func:`optimum_given`. The mode in h is found on nested grids, over all coordinates at once. The variance is the
    entry of the inverse Hessian in (phi*, h), and at least ``LAPLACE_FLOOR``. Raises ValueError if ``slope_widening``
    is infinite.
    """
    if not math.isfinite(priors.slope_widening):
        raise ValueError("laplace: slope_widening is infinite; the mode of a bounded uniform prior may be at its edge")
    hm, hs = slope_prior(s, v0, rate)
    hs = hs * priors.slope_widening

    def profile(h):
        k = rate * softplus(h)
        out = -0.5 * (s.pp * (k - s.gp / s.pp) ** 2 + s.g**2 / (1 / s.n + (k * priors.optimum_sd) ** 2 / v0)) / v0
        out = out - 0.5 * ((h - hm) / hs) ** 2
        return out + s.n * log_expit(softplus(h)) if extra_term else out

    low, high = hm - SPAN_SLOPE * hs, np.maximum(hm + SPAN_SLOPE * hs, 15.0 if extra_term else -np.inf)
    steps = np.linspace(0.0, 1.0, 401)[:, None]
    for _ in range(6):
        h = low + (high - low) * steps
        best = np.take_along_axis(h, np.argmax(profile(h), axis=0)[None], axis=0)[0]
        width = 2.0 * (high - low) / 400
        low, high = best - width, best + width
    h, a = best, softplus(best)
    delta, _ = optimum_given(h, 0.0, s, v0, rate, priors)
    k, dk, ddk = rate * a, rate * expit(h), rate * expit(h) * expit(-h)
    by_k = (s.pp * k - s.gp + s.n * (s.g + k * delta) * delta) / v0
    by_kk = (s.pp + s.n * delta**2) / v0
    by_hh = by_kk * dk**2 + by_k * ddk + 1.0 / hs**2
    if extra_term:
        slope, curve = expit(h), expit(h) * expit(-h)
        by_hh = by_hh + s.n * (expit(a) * expit(-a) * slope**2 - expit(-a) * curve)
    by_dd = priors.optimum_sd**-2 + s.n * k**2 / v0
    by_dh = s.n * (s.g + 2.0 * k * delta) / v0 * dk
    variance = by_hh / (by_dd * by_hh - by_dh**2)
    return LaplaceFit(s.phi + delta, h, np.maximum(variance, LAPLACE_FLOOR))


@dataclass(frozen=True)
class TracePosterior(Samples):
    """A posterior over theta from a trace of variational parameters phi = (mu, rho), (2 D,).

    q(theta; phi) = N(mu, diag(softplus(rho)^2)). ``reading`` names the posterior. All of them are post-processing of
    the same stored arrays (:meth:`read`):

    * ``last_iterate``: q at the last phi.
    * ``trace_mean``: q at the mean of the kept trace.
    * ``trace_average``: the same, with the variance of the trace of mu added.
    * ``noise_aware``: q averaged over the posterior of phi*.
    * ``laplace``: the Gaussian approximation of ``noise_aware``, with rho at the mode.

    Parameters
    ----------
    trace : statistics of the kept pairs, arrays (2 D,).
    last : (2 D,), phi after the last step.
    noise_variance : (2 D,), V0 in the units of the gradients.
    rate : kappa.
    extra_term : see :func:`laplace`.
    """

    trace: Statistics
    last: np.ndarray
    noise_variance: np.ndarray
    rate: float
    likelihood: Likelihood
    reading: str = "noise_aware"
    priors: Priors = Priors()
    extra_term: bool = True
    kind: str = "trace_posterior"

    def __post_init__(self) -> None:
        if self.reading not in READINGS:
            raise ValueError(f"reading '{self.reading}' of a trace; there are {', '.join(READINGS)}")

    @property
    def centre(self) -> np.ndarray:
        """The mean of the trace of mu, (D,), around which references of TARP coverage are drawn."""
        return self.trace.phi[: len(self.last) // 2]

    def read(self, reading: str, **changes) -> TracePosterior:
        """The posterior of another ``reading`` of the same trace. ``changes``: other fields (priors, extra_term)."""
        return replace(self, reading=reading, **changes)

    def coordinate(self, j: int) -> tuple[Statistics, float]:
        """Statistics and V0 of one coordinate of phi, as numbers."""
        t = self.trace
        return Statistics(float(t.n), *(float(a[j]) for a in t[1:])), float(self.noise_variance[j])

    def gaussian(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean and standard deviation (D,) of a Gaussian ``reading``. Raises ValueError for noise_aware."""
        d = len(self.last) // 2
        if self.reading == "noise_aware":
            raise ValueError("the noise-aware posterior is a mixture; sample it")
        if self.reading == "last_iterate":
            return self.last[:d], softplus(self.last[d:])
        if self.reading == "laplace":
            fit = laplace(self.trace, self.noise_variance, self.rate, self.priors, self.extra_term)
            return fit.optimum[:d], np.sqrt(softplus(fit.optimum[d:]) ** 2 + fit.variance[:d])
        mean, sd = self.trace.phi[:d], softplus(self.trace.phi[d:])
        if self.reading == "trace_average":
            sd = np.sqrt(sd**2 + self.trace.pp[:d] / self.trace.n)
        return mean, sd

    def sample_parameters(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws of phi* from its noise-aware posterior, (n, 2 D)."""
        columns = [draw_optimum(n, *self.coordinate(j), self.rate, self.priors, rng) for j in range(len(self.last))]
        return np.stack(columns, axis=1)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws of theta, (n, D)."""
        d = len(self.last) // 2
        if self.reading == "noise_aware":
            phi = self.sample_parameters(n, rng)
            mean, sd = phi[:, :d], softplus(phi[:, d:])
        else:
            mean, sd = self.gaussian()
        return mean + sd * rng.standard_normal((n, d))

    def parameters(self) -> dict[str, np.ndarray]:
        t = self.trace
        return {
            "trace": np.stack(t[1:]),
            "length": np.float64(t.n),
            "last": self.last,
            "noise_variance": self.noise_variance,
            "rate": np.float64(self.rate),
            "reading": np.int64(READINGS.index(self.reading)),
            "prior_scales": np.array(
                [self.priors.optimum_sd, min(self.priors.slope_widening, 1e300), self.priors.noise_sd]
            ),
            "extra_term": np.int64(self.extra_term),
            **self.likelihood.parameters(),
        }


@dataclass(frozen=True)
class SampledTrace(Samples):
    """Draws of phi* by a sampler, ``phi`` (M, 2 D), with the trace whose exact posterior they approximate."""

    phi: np.ndarray
    exact: TracePosterior
    kind: str = "sampled_trace"

    @property
    def likelihood(self) -> Likelihood:
        return self.exact.likelihood

    @property
    def centre(self) -> np.ndarray:
        """The centre of the trace, (D,)."""
        return self.exact.centre

    def parameters(self) -> dict[str, np.ndarray]:
        return {"phi": self.phi, **self.exact.parameters()}

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n draws of theta, (n, D): a stored phi* drawn with replacement, then its Gaussian."""
        d = self.phi.shape[1] // 2
        phi = self.phi[rng.integers(len(self.phi), size=n)].astype(np.float64)
        return phi[:, :d] + softplus(phi[:, d:]) * rng.standard_normal((n, d))


def load(kind: str, p: dict[str, np.ndarray]) -> TracePosterior | SampledTrace:
    """Rebuild one of this file's posteriors from its parameters. Raises KeyError for another kind."""
    if kind == "sampled_trace":
        return SampledTrace(p["phi"], load("trace_posterior", p))
    if kind != "trace_posterior":
        raise KeyError(f"models/noise_aware.py holds trace_posterior and sampled_trace, not '{kind}'")
    optimum, widening, noise = (float(v) for v in p["prior_scales"])
    return TracePosterior(
        Statistics(float(p["length"]), *p["trace"]),
        p["last"],
        p["noise_variance"],
        float(p["rate"]),
        load_likelihood(p),
        READINGS[int(p["reading"])],
        Priors(optimum, math.inf if widening >= 1e300 else widening, noise),
        bool(p["extra_term"]),
    )


#: for several kinds of model (``models.kind``).
POSTERIORS = (TracePosterior, SampledTrace)
