"""Coverage of the central predictive intervals of a regression on test rows."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from models.unconstrained import softplus

#: levels of the central predictive intervals.
LEVELS = (0.5, 0.9, 0.95)
#: largest number of values in one block of a mixture (16 MB).
_AT_ONCE = 2_000_000


def predictive_cdf(predictive, y: np.ndarray) -> np.ndarray:
    """P(target <= y_i) under each row's predictive distribution, (n,).

    Parameters
    ----------
    predictive : a class of ``models.predictive``, one for scaled inputs (``models.bounded``), Monte Carlo draws of a
        linear likelihood (``models.unconstrained``), or an object with a method ``cdf``.
    y : (n,), in the units of the predictive.

    Raises TypeError for any other predictive.
    """
    y = np.asarray(y, dtype=np.float64)
    if hasattr(predictive, "cdf"):
        return predictive.cdf(y)
    if hasattr(predictive, "inner"):  # framed: the map is increasing
        return predictive_cdf(predictive.inner, (y - predictive.shift) / predictive.scale)
    if hasattr(predictive, "means"):  # equal mixture of Gaussians, (S, n)
        return ndtr((y - predictive.means) / np.sqrt(predictive.variances)).mean(axis=0)
    if hasattr(predictive, "draws") and predictive.likelihood.name == "linear":
        theta, out = predictive.draws, np.empty(len(y))
        sd = np.sqrt(softplus(theta[:, -1:]))
        step = max(1, _AT_ONCE // len(theta))
        for i in range(0, len(y), step):
            rows = slice(i, i + step)
            out[rows] = ndtr((y[rows] - theta[:, :-1] @ predictive.design[rows].T) / sd).mean(axis=0)
        return out
    if hasattr(predictive, "variance"):
        return ndtr((y - predictive.mean) / np.sqrt(predictive.variance))
    raise TypeError(f"no distribution function for {type(predictive).__name__}; give it a method cdf(y)")


def coverage_scores(predictive, y: np.ndarray) -> dict[str, tuple[float, str]]:
    """The share of test targets in the central predictive interval of each level of ``LEVELS``.

    A target is inside if its probability integral transform u has |u - 1/2| <= level / 2 (Gneiting, Balabdaoui &
    Raftery 2007). The arguments are those of :func:`predictive_cdf`. Raises ValueError if a transform is not finite.
    """
    u = predictive_cdf(predictive, y)
    if not np.isfinite(u).all():
        raise ValueError("the predictive distribution function is not finite: the fit has diverged")
    off = np.abs(u - 0.5)
    return {f"coverage_{round(100 * q)}": (float(np.mean(off <= q / 2)), "share") for q in LEVELS}


def binomial_band(level: float, n: int, alpha: float = 0.05) -> tuple[float, float]:
    """(low, high) limits of the share of successes in n independent trials with probability ``level``.

    The share is outside with probability at most ``alpha``.
    """
    from scipy.stats import binom

    low, high = binom.ppf([alpha / 2, 1 - alpha / 2], n, level) / n
    return float(low), float(high)
