"""Quantities of a score that need many draws of a posterior: coverage fractions, or predicted probabilities.

It costs more than the fits of some cells, so ``workflow.draws`` keeps it. A kind of model names the one that its scorer
needs (``draws`` of ``models.kind.Kind``): :func:`fractions` or :func:`probabilities_of`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from evaluation.case import Case
from evaluation.coverage import tarp_fractions

#: draws of theta that a prediction averages over, as the authors' code does.
PREDICTIVE_DRAWS = 20_000
#: nodes of the integral over a Gaussian margin, and how many standard deviations they reach to either side.
NODES, NODE_REACH = 801, 8.0
#: rows x draws whose margins are held at a time (64 MB).
_AT_ONCE = 16_000_000


def fractions(case: Case) -> np.ndarray:
    """(redraws,) share of draws nearer to a reference than the true parameter, the targets of the test rows.

    Raises ValueError where a draw is not finite.
    """
    return tarp_fractions(case.posterior, case.test_y, case.rng)


def probabilities_of(case: Case) -> np.ndarray:
    """P(y = 1) of the test rows, (m,). Raises ValueError where a probability is not finite."""
    p = probabilities(case.posterior, case.test_x, case.rng)
    if not np.isfinite(p).all():
        raise ValueError("a predicted probability is not finite: the fit has diverged")
    return p


def gaussian_of(posterior):
    """Mean and standard deviation (D,) of a posterior that is one Gaussian with independent coordinates, else None."""
    if posterior.kind == "unconstrained_gaussian":
        return posterior.mean, posterior.sd
    if posterior.kind == "trace_posterior" and posterior.reading != "noise_aware":
        return posterior.gaussian()
    return None


def probabilities(posterior, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """P(y = 1) of rows x (n, d), original units; (n,).

    The margin of a row under a Gaussian posterior is Gaussian: one integral, by the trapezoidal rule, exact to 1e-6
    for a standard deviation of the margin up to 50. Else the mean over ``PREDICTIVE_DRAWS`` draws of theta, in single
    precision: that costs 1e-6, so few draws 1e-3.
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
