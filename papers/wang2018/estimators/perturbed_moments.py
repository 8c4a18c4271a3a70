"""Sufficient-statistics perturbation and AdaSSP (Wang 2018, algorithm 2): Gaussian noise on X'X and X'y.

Sensitivities if one row is added or removed, with |x| <= 1 and |y| <= 1:

* X'X moves by x x', whose Frobenius norm is |x|^2 <= 1. So its upper triangle moves by at most 1. With the off-diagonal
  entries times sqrt(2), the triangle moves by that Frobenius norm, so also by at most 1.
* X'y moves by x y, whose norm is at most 1.
* The smallest eigenvalue of X'X moves by at most the spectral norm of x x', which is at most 1 (Weyl).

``methods._shared.adassp`` is the method with an intercept, on rows that are clipped and scaled privately.
"""

from __future__ import annotations

import math

import numpy as np

from papers.wang2018.estimators.moments import AUTHORS, CORRECTED, PRINTED, Moments, log_over_delta
from privacy.calibration import gaussian_noise_multiplier
from privacy.ledger import Relation
from privacy.repeats import NoiseSource

_PROOF = "papers.wang2018.estimators.perturbed_moments"
GRAM, CROSS, SMALLEST = "X'X", "X'y", "smallest eigenvalue of X'X"
#: the penalty's bound on the noise's norm holds with probability 1 - FAILING (authors' code and algorithm 2).
FAILING = 0.05
#: a multiple of the identity that the authors' code adds to every X'X.
IDENTITY = 1.0


def ssp(moments: Moments, epsilon: float, delta: float, reading: str, noise: NoiseSource) -> np.ndarray:
    """Coefficients (count, d) from noisy moments, without a penalty except the identity that the authors' code adds.

    * ``authors``: sd = sqrt(log(4 / delta)) / epsilon on each of the two releases, so each is charged the whole
      epsilon. X'X gets d^2 independent entries of noise.
    * ``corrected``: the two releases together cost (epsilon, delta). The noise of X'X is symmetric.

    Raises ValueError for another reading.
    """
    if reading == AUTHORS:
        scale = math.sqrt(log_over_delta(4, delta)) / epsilon
        gram = _release(noise, GRAM, moments.gram, scale)
    elif reading == CORRECTED:
        scale = gaussian_noise_multiplier(epsilon, delta, 2)
        gram = released_triangle(noise, moments.gram, scale)
    else:
        raise ValueError(f"ssp: no reading '{reading}'; there are {AUTHORS}, {CORRECTED}")
    cross = _release(noise, CROSS, moments.cross, scale)
    return _solve(gram + IDENTITY * np.eye(moments.d), cross)


def adassp(moments: Moments, epsilon: float, delta: float, reading: str, noise: NoiseSource) -> np.ndarray:
    """Ridge coefficients (count, d) with a penalty from a noisy smallest eigenvalue (algorithm 2).

    With s the standard deviation of each release and z ~ N(0, 1):

        l = max(0, smallest eigenvalue + s z - s sqrt(log(6 / delta)))
        penalty = max(0, s sqrt(d log(2 d^2 / .05)) - l)

    * ``authors``: s = sqrt(log(6 / delta)) / (epsilon / 3), and an identity is added to X'X. The symmetric noise on X'X
      has variance s^2 on the diagonal and s^2 / 2 off it.
    * ``printed``: the same s, without the identity. The noise has variance s^2 everywhere.
    * ``corrected``: s such that the three releases together cost (epsilon, delta), without the identity. The noise has
      the variances of ``authors``.

    Raises ValueError for another reading.
    """
    d, tail = moments.d, log_over_delta(6, delta)
    if reading not in (AUTHORS, PRINTED, CORRECTED):
        raise ValueError(f"adassp: no reading '{reading}'; there are {AUTHORS}, {PRINTED}, {CORRECTED}")
    scale = gaussian_noise_multiplier(epsilon, delta, 3) if reading == CORRECTED else 3 * math.sqrt(tail) / epsilon
    base = IDENTITY if reading == AUTHORS else 0.0
    smallest = _release(noise, SMALLEST, np.array([moments.values[0] + base]), scale)[:, 0]
    penalty = adaptive_penalty(smallest, scale, d, tail)
    gram = released_triangle(noise, moments.gram, scale, weighted=reading != PRINTED)
    cross = _release(noise, CROSS, moments.cross, scale)
    return _solve(gram + (base + penalty)[:, None, None] * np.eye(d), cross)


def adaptive_penalty(smallest: np.ndarray, scale: float, d: int, tail: float) -> np.ndarray:
    """The penalty (count,) that raises the smallest eigenvalue of X'X to a bound on the norm of the noise.

    It is computed from the noisy eigenvalue and public numbers.
    """
    least = np.maximum(0.0, smallest - scale * math.sqrt(tail))
    return np.maximum(0.0, scale * math.sqrt(d * math.log(2 * d**2 / FAILING)) - least)


def released_triangle(noise: NoiseSource, gram: np.ndarray, scale: float, weighted: bool = True) -> np.ndarray:
    """Noisy symmetric matrices (count, d, d) from the upper triangle of ``gram``.

    ``weighted``: off-diagonal entries are multiplied by sqrt(2) before the release, as in
    ``methods._shared.adassp.second_moments``. The sensitivity is 1 with and without the weights, as the head of this
    module shows.
    """
    d = len(gram)
    rows, columns = np.triu_indices(d)
    weights = np.where(rows == columns, 1.0, math.sqrt(2.0) if weighted else 1.0)
    packed = _release(noise, GRAM, gram[rows, columns] * weights, scale) / weights
    out = np.empty((len(packed), d, d))
    out[:, rows, columns] = packed
    out[:, columns, rows] = packed
    return out


def _release(noise: NoiseSource, what: str, value: np.ndarray, scale: float) -> np.ndarray:
    return noise.gaussian(
        what, value, sensitivity=1.0, noise_multiplier=scale, relation=Relation.ADD_REMOVE, proof=_PROOF
    )


def _solve(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    return np.linalg.solve(gram, cross[..., None])[..., 0]
