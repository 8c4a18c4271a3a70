"""Arrays for scores that need many draws of a posterior: coverage fractions, or predicted probabilities.

They cost more than the fits of some cells, so ``workflow.draws`` stores them. A kind of model names the function that
its scorer needs, :func:`fractions` or :func:`probabilities_of` (``draws`` of ``models.kind.Kind``).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from evaluation.case import Case
from evaluation.coverage import tarp_fractions

#: draws of theta per prediction, as in the authors' code.
PREDICTIVE_DRAWS = 20_000
#: nodes of the integral over a Gaussian margin, and how many standard deviations they reach on each side.
NODES, NODE_REACH = 801, 8.0
#: largest number of rows x draws whose margins are in memory at a time (64 MB).
_AT_ONCE = 16_000_000


def fractions(case: Case) -> np.ndarray:
    """The share of draws nearer to each reference than the true parameter is: (redraws,).

    The true parameter is stored as the targets of the test rows. Raises ValueError if a draw is not finite.
    """
    return tarp_fractions(case.posterior, case.test_y, case.rng)


def probabilities_of(case: Case) -> np.ndarray:
    """P(y = 1) of the test rows, (m,). Raises ValueError if a probability is not finite."""
    p = probabilities(case.posterior, case.test_x, case.rng)
    if not np.isfinite(p).all():
        raise ValueError("a predicted probability is not finite: the fit has diverged")
    return p


def gaussian_of(posterior):
    """Mean and standard deviation (D,) of a posterior that is a Gaussian with independent coordinates, or None."""
    if posterior.kind == "unconstrained_gaussian":
        return posterior.mean, posterior.sd
    if posterior.kind == "trace_posterior" and posterior.reading != "noise_aware":
        return posterior.gaussian()
    return None


def probabilities(posterior, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """P(y = 1) of rows x (n, d) in original units: (n,).

    Under a Gaussian posterior the margin of a row is Gaussian. Then it is one integral by the trapezoidal rule, exact
    to 1e-6 if the standard deviation of the margin is at most 50. Otherwise it is the mean over ``PREDICTIVE_DRAWS``
    draws of theta in single precision. Single precision causes an error of 1e-6, the number of draws one of 1e-3.
    """
    design = posterior.likelihood.design(x, own=True)
    found = gaussian_of(posterior)
    if found is not None:
        mean, sd = design @ found[0], np.sqrt(design**2 @ found[1] ** 2)
        z = np.linspace(-NODE_REACH, NODE_REACH, NODES)
        weight = np.exp(-0.5 * z**2)
        return sum(w * expit(mean + sd * t) for w, t in zip(weight / weight.sum(), z, strict=True))
    theta, design = posterior.sample(PREDICTIVE_DRAWS, rng).astype(np.float32), design.astype(np.float32)
    out = np.empty(len(design))
    step = max(1, _AT_ONCE // len(theta))
    for i in range(0, len(design), step):
        out[i : i + step] = expit(design[i : i + step] @ theta.T).mean(axis=1, dtype=np.float64)
    return out
