"""Objective perturbation of least squares in the unit ball (Kifer, Smith & Thakurta 2012).

The release minimises sum_i l(w; x_i, y_i) + (ridge / 2) |w|^2 + z'w over |w| <= 1, z ~ N(0, sd^2 I), where a row's
loss has the gradient x (c x'w - y) and the Hessian c x x'. c = 1 is half the squared residual. The authors'
code solves with c = 2 (see :func:`objective_perturbation`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from papers.wang2018.estimators.moments import AUTHORS, CORRECTED, PRINTED, Moments, log_over_delta
from privacy.budget import GENERATOR
from privacy.ledger import Event, Ledger, Mechanism, Relation
from privacy.repeats import NoiseSource

_HERE = "papers.wang2018.estimators.objective_perturbation"
#: orders of the curve in the ledger.
ORDERS = (*(1 + k / 10 for k in range(1, 100)), *range(11, 64), 80, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)


def renyi_bound(order, curvature: float, ridge: float, sd: float):
    """Renyi divergence of one release at orders above 1, over all neighbours under add/remove, from above.

    log(1 + c / ridge) + order s^2 / 2 + log(2 Phi((order - 1) s)) / (order - 1), s = (c + 1) / sd.

    Proof. Outside |x'w| <= 1 let a row's loss go on linearly: its Hessian is then at most c x x' and its gradient x
    times a number of at most c + 1 everywhere, and nothing changes in the unit ball. Put a smooth convex penalty k
    h(w), h = 0 in the ball, in the place of the constraint. Then z = -(gradient of the rest) is a one-to-one map of w
    whose Jacobian is a Hessian H >= ridge I, and the density at w is that of z times det H. One row more adds at most
    c x x' to H: the determinants differ by a factor between 1 and 1 + c x'H^-1 x <= 1 + c / ridge. It moves z by a
    multiple g of x, |g| <= c + 1, so that the logarithms of the normal densities differ by at most s^2 / 2 + s |u|,
    where u = x'z / (sd |x|) is of the data set that made w: a standard normal, as x is fixed. E exp((order - 1) s
    |u|) = 2 exp((order - 1)^2 s^2 / 2) Phi((order - 1) s) gives the bound for every k. As k grows the minimisers go
    to those in the ball, and the Renyi divergence is lower semicontinuous. (Where the ratio's two factors pull apart
    the bound is not attained.) QED
    """
    order = np.asarray(order, dtype=np.float64)
    s = (curvature + 1.0) / sd
    return math.log1p(curvature / ridge) + order * s**2 / 2 + (math.log(2) + log_ndtr((order - 1) * s)) / (order - 1)


def event(curvature: float, ridge: float, sd: float) -> Event:
    """Ledger event of one release with the curve of :func:`renyi_bound`."""
    return Event(
        what="minimiser of the perturbed objective",
        mechanism=Mechanism.WRITTEN_BOUND,
        relation=Relation.ADD_REMOVE,
        sensitivity=curvature + 1.0,
        noise_scale=sd,
        proof=f"{_HERE}.renyi_bound",
        generator=GENERATOR,
        renyi_curve=tuple((float(o), float(renyi_bound(o, curvature, ridge, sd))) for o in ORDERS),
    )


@lru_cache(maxsize=256)
def calibrated(epsilon: float, delta: float) -> tuple[float, float]:
    """(ridge, sd) of the corrected reading: ridge = 2 / epsilon as printed by Kifer et al., and the least sd that fits.

    log(1 + epsilon / 2) < epsilon / 2 leaves room for the noise. The accountant that converts the curve decides.
    """
    from privacy.accountants import epsilon_of

    ridge = 2.0 / epsilon

    def excess(log_sd: float) -> float:
        return math.log(epsilon_of(Ledger([event(1.0, ridge, math.exp(log_sd))]), delta).epsilon / epsilon)

    high = math.log(20 * math.sqrt(log_over_delta(2, delta)) / min(epsilon, math.sqrt(epsilon)))
    low = high - math.log(400.0)
    found = brentq(excess, low, high, xtol=1e-5)
    return ridge, math.exp(found + 2e-5)  # above the root by more than its tolerance


def objective_perturbation(
    moments: Moments, epsilon: float, delta: float, reading: str, noise: NoiseSource
) -> np.ndarray:
    """Coefficients (count, d).

    ``authors``: ridge 2 / epsilon^2, sd 2 sqrt(4 log(2 / delta) + 2 epsilon) / epsilon^2, and the minimiser of |R w -
    v / 2| with R'R = H, v = R'^-1 (b - z). That is (G + ridge I) w = (b - z) / 2 inside the ball, half the
    solution that is meant, and the minimiser of the objective with c = 2 and twice the ridge.
    ``printed``: the same ridge and noise, not halved. ``corrected``: c = 1, :func:`calibrated`.
    Raises ValueError for another reading.
    """
    if reading in (AUTHORS, PRINTED):
        ridge = 2.0 / epsilon**2
        sd = 2.0 * math.sqrt(4 * log_over_delta(2, delta) + 2 * epsilon) / epsilon**2
    elif reading == CORRECTED:
        ridge, sd = calibrated(epsilon, delta)
    else:
        raise ValueError(f"objective perturbation: no reading '{reading}'; there are {AUTHORS}, {PRINTED}, {CORRECTED}")
    charged = event(2.0, 2 * ridge, sd) if reading == AUTHORS else event(1.0, ridge, sd)

    def released(z: np.ndarray) -> np.ndarray:
        shifted = moments.cross - sd * z
        return minimiser(moments, ridge, shifted / 2 if reading == AUTHORS else shifted)

    return noise.draw(charged, moments.d, released)


def minimiser(moments: Moments, ridge: float, right: np.ndarray) -> np.ndarray:
    """argmin of w'(G + ridge I)w / 2 - right'w over the unit ball, for each row of ``right`` (count, d).

    Outside, (G + (ridge + m) I) w = right with the multiplier m > 0 at which |w| = 1; |w| falls in m. Bisection.
    """
    turned = right @ moments.vectors
    base = moments.values + ridge
    low = np.zeros(len(turned))
    high = np.linalg.norm(turned, axis=1)  # there |w| <= |right| / m = 1

    def norm(m):
        return np.linalg.norm(turned / (base + m[:, None]), axis=1)

    outside = norm(low) > 1.0
    for _ in range(70):  # halves the interval below rounding: 2^-70 of its length
        middle = (low + high) / 2
        above = norm(middle) > 1.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (turned / (base + np.where(outside, high, 0.0)[:, None])) @ moments.vectors.T
