"""Objective perturbation of least squares in the unit ball (Kifer, Smith & Thakurta 2012).

The release minimises, over |w| <= 1 and with z ~ N(0, sd^2 I),

    sum_i l(w; x_i, y_i) + (ridge / 2) |w|^2 + z'w.

A row's loss l has the gradient x (c x'w - y) and the Hessian c x x'. At c = 1 it is half the squared residual. The
authors' code solves with c = 2 (see :func:`objective_perturbation`).
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
#: Renyi orders at which the ledger states the bound.
ORDERS = (*(1 + k / 10 for k in range(1, 100)), *range(11, 64), 80, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)


def renyi_bound(order, curvature: float, ridge: float, sd: float):
    """Upper bound on the Renyi divergence of one release, over all neighbours under add/remove, at orders above 1.

    With s = (c + 1) / sd the bound is

        log(1 + c / ridge) + order s^2 / 2 + log(2 Phi((order - 1) s)) / (order - 1).

    Proof. Let x be the row that only one of two neighbouring data sets has.

    1. Outside |x'w| <= 1 let a row's loss continue linearly. Its Hessian is then at most c x x' everywhere. Its
       gradient is x times a number of absolute value at most c + 1. Nothing changes in the unit ball.
    2. Replace the constraint by a smooth convex penalty k h(w) with h = 0 in the ball. Then z = -(gradient of the rest)
       is a one-to-one map of w. Its Jacobian is a Hessian H >= ridge I. The density at w is det H times the density of
       z.
    3. The row x adds at most c x x' to H. So the determinants differ by a factor of at least 1 and at most

           1 + c x'H^-1 x <= 1 + c / ridge.

    4. The row x moves z by a multiple g of x with |g| <= c + 1. So the logarithms of the normal densities differ by at
       most s^2 / 2 + s |u| with u = x'z / (sd |x|). Here z belongs to the data set that made w, so u is standard
       normal, because x is fixed.
    5. The following identity gives the bound for every k:

           E exp((order - 1) s |u|) = 2 exp((order - 1)^2 s^2 / 2) Phi((order - 1) s)

    6. As k grows, the minimisers converge to those in the ball. The Renyi divergence is lower semicontinuous, so the
       bound holds in the limit. QED

    The bound is not attained if the two factors of the density ratio act in opposite directions.
    """
    order = np.asarray(order, dtype=np.float64)
    s = (curvature + 1.0) / sd
    return math.log1p(curvature / ridge) + order * s**2 / 2 + (math.log(2) + log_ndtr((order - 1) * s)) / (order - 1)


def event(curvature: float, ridge: float, sd: float) -> Event:
    """The ledger event of one release, with the bound of :func:`renyi_bound` at each of ``ORDERS``."""
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
    """(ridge, sd) of the corrected reading.

    ridge = 2 / epsilon as in Kifer et al., and sd is the smallest within the budget.

    The determinants cost log(1 + epsilon / 2), which is less than epsilon / 2. The rest of the budget pays for the
    noise. The accountant that converts the Renyi curve to (epsilon, delta) decides which sd is small enough.
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
    """Coefficients (count, d) by objective perturbation, one row per repetition of the noise.

    Readings, with H = X'X + ridge I, b = X'y and Gaussian noise z:

    * ``authors``: ridge = 2 / epsilon^2 and sd = 2 sqrt(4 log(2 / delta) + 2 epsilon) / epsilon^2. The code minimises
      |R w - v / 2| with R'R = H and v = R'^-1 (b - z). Inside the ball this solves H w = (b - z) / 2, half the intended
      solution. It is the minimiser of the objective with c = 2 and twice the ridge, and is charged as that.
    * ``printed``: the same ridge and noise, without the factor 1/2.
    * ``corrected``: c = 1, with ridge and noise from :func:`calibrated`.

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

    If the unconstrained solution lies outside the ball, the result solves (G + (ridge + m) I) w = right. The multiplier
    m > 0 is the one at which |w| = 1. It is found by bisection, because |w| falls in m.
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
