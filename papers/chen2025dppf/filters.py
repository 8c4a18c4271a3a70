"""The particle filters DP-PF for regression and location-scale, as in the authors' code and corrected.

Step t of T has epsilon_t = t epsilon / T. Each of N new particles is made by these attempts:

1. Pick an old particle by its weight and perturb it by a Gaussian kernel.
2. Simulate n rows, and keep the particle with probability exp(-|sums of these rows - released sums|_1 / b_t).
3. If it is not kept, pick again.

Its weight is the prior over the density of the proposals. So the weighted particles are draws of the posterior given
the release at epsilon_t. An attempt ends as soon as it cannot be kept any more. This is known early, because each row
moves a sum by at most 1, and sums of squares only grow. Stopping early changes no probability.

With many rows and a large epsilon, most attempts fail. So attempts may be screened first (:func:`screen`). Let T be the
sums of the simulated rows and s the released ones. For each c in [-1, 1]^5, Chernoff's bound is

    P(kept) <= A = E exp(c . (T - s) / b).

With probability 1 - A an attempt ends before a row is simulated. Otherwise each row is drawn with its density times
exp(c . t / b), where t is the row's contribution to T. The rows are then kept with probability

    exp(-(|T - s|_1 + c . (T - s)) / b).

This changes no probability either.

Regression works in phi = (mu, log Phi, log tau, beta0, beta1) with kernel variance 1 / t. The code divides the density
of theta = (mu, Phi, tau, beta0, beta1) by a density of phi, so its weights lack the Jacobian Phi tau. ``corrected`` has
the Jacobian and draws a tenth of its proposals from the prior, which bounds the weights. With Gaussian kernels only,
the variance of the weights is infinite, because the prior of beta has heavier tails.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from methods._shared.compiled import assign
from papers.chen2025dppf.chains import BOUND, clip, from_prior, log_prior

STEPS, PARTICLES = 10, 100
#: steps of the committed runs of location-scale. The authors' configuration file may state others.
LS_STEPS = 2
#: share of the proposals from the prior in the corrected filter.
FROM_PRIOR = 0.1
SQRT_HALF = math.sqrt(0.5)
#: rows between two checks whether an attempt can still be kept.
LOOK = 8


@njit(cache=True, error_model="numpy")
def log_tilted(mean, sd, c1, c2):  # pragma: no cover (compiled)
    """log E exp(c1 u + c2 u^2), u = x / 5 clipped to [-1, 1], x ~ N(mean, sd^2); infinite if not needed."""
    precision = 1.0 / sd**2 - 2.0 * c2 / BOUND**2
    if precision <= 0.0 or abs(mean) > 5.0 * BOUND:
        return math.inf
    at, root = (mean / sd**2 + c1 / BOUND) / precision, math.sqrt(0.5 * precision)
    inside = math.exp(0.5 * (precision * at * at - (mean / sd) ** 2)) / (sd * math.sqrt(precision))
    inside *= 0.5 * (math.erf((BOUND - at) * root) - math.erf((-BOUND - at) * root))
    above, below = 0.5 * math.erfc((BOUND - mean) / sd * SQRT_HALF), 0.5 * math.erfc((BOUND + mean) / sd * SQRT_HALF)
    return math.log(inside + math.exp(c1 + c2) * above + math.exp(c2 - c1) * below)


@njit(cache=True, error_model="numpy")
def bound(mean, sd, n, s1, s2, b):  # pragma: no cover (compiled)
    """(log of Chernoff's bound, c1, c2) for sums of u and u^2 near ``s1`` and ``s2``.

    Every c gives a valid bound. This one is best if u is normal and not correlated with u^2.
    """
    spread = min(sd / BOUND, 1.0) ** 2
    square = 2.0 * spread**2 + 4.0 * spread * min(abs(mean) / BOUND, 1.0) ** 2
    gap1, gap2 = s1 - n * clip(mean, BOUND), s2 - n * min((mean**2 + sd**2) / BOUND**2, 1.0)
    c1, c2 = min(max(gap1 * b / (n * spread), -1.0), 1.0), min(max(gap2 * b / (n * square), -1.0), 1.0)
    return n * log_tilted(mean, sd, c1 / b, c2 / b) - (c1 * s1 + c2 * s2) / b, c1, c2


@njit(cache=True, error_model="numpy")
def screen(theta, n, s, b, c, rng):  # pragma: no cover (compiled)
    """Whether an attempt passes the screen. Sets ``c`` (5,), by the sums of x and xx or by those of y and yy."""
    c[:] = 0.0
    log_u = math.log(rng.random())
    log_x, c3, c4 = bound(theta[0], 1.0 / math.sqrt(theta[1]), n, s[3], s[4], b)
    if log_u > log_x:
        return False
    sd = math.sqrt(theta[4] ** 2 / theta[1] + 1.0 / theta[2])
    log_y, c0, c2 = bound(theta[3] + theta[4] * theta[0], sd, n, s[0], s[2], b)
    if log_u > log_y:
        return False
    if log_x < min(log_y, 0.0):
        c[3], c[4] = c3, c4
    elif log_y < 0.0:
        c[0], c[2] = c0, c2
    return True


@njit(cache=True, error_model="numpy")
def _still(sums, s, left, c):  # pragma: no cover (compiled)
    """The smallest possible |d|_1 + c . d with ``left`` rows to come, for d = final sums minus s."""
    total = 0.0
    for k in range(5):
        gap = sums[k] - s[k]
        near = max(gap if k == 2 or k == 4 else gap - left, min(0.0, gap + left))
        total += abs(near) + c[k] * near
    return total


@njit(cache=True, error_model="numpy")
def kept(theta, n, s, b, c, rng):  # pragma: no cover (compiled)
    """Simulate n rows, and return whether they are kept.

    ``c`` (5,): exponential tilt of the rows. It is 0 for no tilt, and always 0 for xy.
    """
    most = -b * math.log(rng.random())
    mu, sd = theta[0], 1.0 / math.sqrt(theta[1])
    noise, b0, b1 = 1.0 / math.sqrt(theta[2]), theta[3], theta[4]
    tilted, top = c.any(), abs(c[0]) + max(c[2], 0.0) + abs(c[3]) + max(c[4], 0.0)
    sums = np.zeros(5)
    for i in range(n):
        while True:
            x = mu + sd * rng.standard_normal()
            u, v = clip(x, BOUND), clip(b0 + b1 * x + noise * rng.standard_normal(), BOUND)
            if not tilted or rng.random() < math.exp((v * (c[0] + c[2] * v) + u * (c[3] + c[4] * u) - top) / b):
                break
        sums[0] += v
        sums[1] += u * v
        sums[2] += v * v
        sums[3] += u
        sums[4] += u * u
        if i % LOOK == LOOK - 1 and _still(sums, s, n - 1.0 - i, c) > most:
            return False
    return _still(sums, s, 0.0, c) <= most


@njit(cache=True, error_model="numpy")
def log_kernel(a, c, variance):  # pragma: no cover (compiled)
    """Log density (nats) of the kernel between two points (5,)."""
    total = 0.0
    for k in range(5):
        total += (a[k] - c[k]) ** 2
    return -0.5 * total / variance - 2.5 * math.log(2 * math.pi * variance)


@njit(cache=True, error_model="numpy")
def to_phi(theta):  # pragma: no cover (compiled)
    out = theta.copy()
    out[1], out[2] = math.log(theta[1]), math.log(theta[2])
    return out


@njit(cache=True, error_model="numpy")
def weight(phi, old, weights, variance, prior, jacobian, from_prior_share):  # pragma: no cover (compiled)
    """Unnormalised weight of a particle ``phi`` (5,), given the old particles (N, 5) and their weights (N,)."""
    theta = phi.copy()
    theta[1], theta[2] = math.exp(phi[1]), math.exp(phi[2])
    density = math.exp(log_prior(theta, prior) + (phi[1] + phi[2] if jacobian else 0.0))
    kernel = 0.0
    for j in range(len(old)):
        kernel += weights[j] * math.exp(log_kernel(phi, old[j], variance))
    return density / (from_prior_share * density + (1.0 - from_prior_share) * kernel)


@njit(cache=True, error_model="numpy")
def filter_regression(s, n, epsilon, prior, count, jacobian, share, screened, rng):  # pragma: no cover (compiled)
    """Particles theta (count, 5) of the last step, their weights (count,), and the number of attempts in all steps.

    The authors' code has ``jacobian`` False, and ``share`` 0 of its proposals from the prior. ``screened`` changes only
    the time.
    """
    old, w = np.empty((count, 5)), np.full(count, 1.0 / count)
    for i in range(count):
        theta = from_prior(prior, rng)
        if prior == 0 and not jacobian:  # the code draws Phi from an equal mixture of chi-squares, 1 and 2 degrees
            theta[1] = rng.standard_normal() ** 2 if rng.random() < 0.5 else 2.0 * rng.standard_exponential()
        assign(old[i], to_phi(theta))
    attempts, c = 0, np.zeros(5)
    new, v = np.empty((count, 5)), np.empty(count)
    for t in range(1, STEPS + 1):
        variance, b = 1.0 / t, 8.0 / (t * epsilon / STEPS)
        sd, cumulated = math.sqrt(variance), np.cumsum(w)
        for i in range(count):
            while True:
                attempts += 1
                if share > 0.0 and rng.random() < share:
                    phi = to_phi(from_prior(prior, rng))
                else:
                    j = min(np.searchsorted(cumulated, rng.random() * cumulated[-1]), count - 1)
                    phi = old[j].copy()
                    for k in range(5):
                        phi[k] += sd * rng.standard_normal()
                theta = phi.copy()
                theta[1], theta[2] = math.exp(phi[1]), math.exp(phi[2])
                if (not screened or screen(theta, n, s, b, c, rng)) and kept(theta, n, s, b, c, rng):
                    break
            assign(new[i], phi)
            v[i] = weight(phi, old, w, variance, prior, jacobian, share)
        old, new = new, old
        assign(w, v / v.sum())
    for i in range(count):
        old[i, 1], old[i, 2] = math.exp(old[i, 1]), math.exp(old[i, 2])
    return old, w, attempts


@njit(cache=True, error_model="numpy")
def _kept_ls(mu, sd, n, s, b, rng):  # pragma: no cover (compiled)
    most = -b * math.log(rng.random())
    s0 = s1 = 0.0
    for i in range(n):
        u = clip(mu + sd * rng.standard_normal(), BOUND)
        s0 += u
        s1 += u * u
        if i % LOOK == LOOK - 1:
            left, gap = n - 1.0 - i, s1 - s[1]
            if max(0.0, abs(s0 - s[0]) - left) + (gap if gap > 0 else max(0.0, -gap - left)) > most:
                return False
    return abs(s0 - s[0]) + abs(s1 - s[1]) <= most


@njit(cache=True, error_model="numpy")
def filter_location_scale(s, n, epsilon, steps, count, rng):  # pragma: no cover (compiled)
    """Particles (mu, theta2) (count, 2), their weights (count,), and the number of attempts in all steps.

    theta2 is a standard deviation. The kernel has standard deviation 1 / t in both coordinates. theta2 is redrawn until
    it is positive, and the density of the kernel is divided by the probability of that.
    """
    old, w = np.empty((count, 2)), np.full(count, 1.0 / count)
    for i in range(count):
        old[i, 0], old[i, 1] = 4.0 * rng.standard_normal(), 0.5 / rng.standard_exponential()
    attempts = 0
    new, v = np.empty((count, 2)), np.empty(count)
    for t in range(1, steps + 1):
        sd, b = 1.0 / t, 3.0 / (t * epsilon / steps)
        cumulated = np.cumsum(w)
        for i in range(count):
            while True:
                attempts += 1
                j = min(np.searchsorted(cumulated, rng.random() * cumulated[-1]), count - 1)
                mu, theta2 = old[j, 0] + sd * rng.standard_normal(), -1.0
                while theta2 <= 0.0:
                    theta2 = old[j, 1] + sd * rng.standard_normal()
                if _kept_ls(mu, theta2, n, s, b, rng):
                    break
            new[i, 0], new[i, 1] = mu, theta2
            kernel = 0.0
            for j in range(count):
                z2 = ((mu - old[j, 0]) / sd) ** 2 + ((theta2 - old[j, 1]) / sd) ** 2
                kernel += w[j] * math.exp(-0.5 * z2) / (0.5 * math.erfc(-old[j, 1] / sd / math.sqrt(2.0)))
            prior = math.exp(-0.5 * (mu / 4.0) ** 2 - 0.5 / theta2) / theta2**2
            v[i] = prior / kernel
        old, new = new, old
        assign(w, v / v.sum())
    return old, w, attempts


def recycled(weights: np.ndarray, count: int = 2) -> np.ndarray:
    """The weights (count, N) that R's ``weights * B`` assigns to a matrix B (count, N), column by column."""
    n = len(weights)
    j, r = np.meshgrid(np.arange(n), np.arange(count))
    return weights[(count * j + r) % n]


def weighted_quantiles(x: np.ndarray, weights: np.ndarray, levels, outside: bool = False) -> np.ndarray:
    """Quantiles by linear interpolation of the sorted cumulated weights.

    Below the first cumulated weight the result is NaN, as in R's ``approx``. With ``outside`` it is the smallest value.
    """
    order = np.argsort(x, kind="stable")
    cumulated = np.cumsum(weights[order])
    levels = np.asarray(levels, dtype=np.float64)
    found = np.interp(levels, cumulated, x[order])
    return found if outside else np.where((levels < cumulated[0]) | (levels > cumulated[-1]), np.nan, found)


def summary(particles: np.ndarray, weights: np.ndarray, truth, aligned: bool) -> dict[str, float]:
    """The numbers that the source prints for one regression filter, from particles theta (N, 5) and weights (N,).

    * ``aligned``: if False, means and variances of beta use the weights that R's recycling assigns.
    * ``truth``: parameter -> true value.

    A number is NaN if a quantile is outside the weighted sample.
    """
    mu, _, tau, *_ = particles.T
    beta = particles[:, 3:].T
    w = np.tile(weights, (2, 1)) if aligned else recycled(weights)
    mean = (w * beta).sum(axis=1)
    var = (w * (beta - mean[:, None]) ** 2).sum(axis=1)
    ess = 1.0 / (weights**2).sum()
    out = {"ess": ess, "tau_mean": weights @ tau}
    out["tau_var"] = weights @ (tau - out["tau_mean"]) ** 2
    half = 1.96 * np.sqrt(np.maximum(var, 0.0) / ess)
    for k, name in enumerate(("beta0", "beta1")):
        out |= {f"{name}_mean": mean[k], f"{name}_var": var[k], f"{name}_mc_width": 2 * half[k],
                f"{name}_mc_cover": float(abs(mean[k]) <= half[k])}  # fmt: skip
    for name, x in (("mu", mu), ("tau", tau), ("beta0", beta[0]), ("beta1", beta[1])):
        low, high = weighted_quantiles(x, weights, (0.025, 0.975))
        out[f"{name}_width"] = high - low
        out[f"{name}_cover"] = np.nan if np.isnan(high - low) else float(low <= truth[name] <= high)
    return {k: float(v) for k, v in out.items()}


def summary_ls(particles: np.ndarray, weights: np.ndarray, truth) -> dict[str, float]:
    """The numbers that the source prints for one location-scale filter.

    The Monte Carlo variance of theta2 is that of mu about the mean of theta2, as in the source.
    """
    mu, theta2 = particles.T
    ess = 1.0 / (weights**2).sum()
    means = {"mu": weights @ mu, "theta2": weights @ theta2}
    out = {"ess": ess} | {f"{k}_mean": v for k, v in means.items()}
    for name, x in (("mu", mu), ("theta2", theta2)):
        low, high = weighted_quantiles(x, weights, (0.025, 0.975), outside=True)  # each published run has a width
        out[f"{name}_width"] = high - low
        out[f"{name}_cover"] = float(low <= truth[name] <= high)
        out[f"{name}_mc_var"] = weights @ (mu - means[name]) ** 2 / ess
    return {k: float(v) for k, v in out.items()}
