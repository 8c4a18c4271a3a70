"""Scores of one fit on the test rows of its split. Never called inside a timed fit."""

from __future__ import annotations

from typing import Protocol

import numpy as np

#: metric -> is a higher value better?
HIGHER_IS_BETTER = {
    "rmse": False,
    "test_log_likelihood": True,
    **dict.fromkeys(("fnorm_mean", "fnorm_covariance", "fnorm_average", "fnorm", "kl", "kl_proxy"), False),
    **dict.fromkeys(("squared_mean_error", "squared_covariance_error", "squared_average_error"), False),
    **dict.fromkeys(("program_kl_proxy", "posterior_sd", "label_error", "test_error", "heldout_nll"), False),
}
#: diagnostics of a fit that are kept beside its scores: name -> unit. They judge the sampler, not the method.
DIAGNOSTICS = {"rhat_max": "ratio", "ess_min": "draws", "divergences": "draws", "label_switches": "chains"}


class Predictive(Protocol):
    """One predictive distribution a test row, in original units (``models.predictive``)."""

    mean: np.ndarray

    def log_density(self, y: np.ndarray) -> np.ndarray: ...


def regression_scores(predictive: Predictive, y: np.ndarray) -> dict[str, tuple[float, str]]:
    """Root mean squared error and mean test log-likelihood.

    Parameters
    ----------
    predictive : ``mean`` of shape (n,) in the units of the target, ``log_density(y)`` of shape (n,) in nats,
        a density per unit of the target.
    y : array (n,), test targets in original units.

    Returns
    -------
    ``{"rmse": (value, "target"), "test_log_likelihood": (value, "nats")}``; both are means over the n rows.

    Raises
    ------
    ValueError : a shape that does not fit, no row, or a number that is not finite. The caller turns the last into
        a row with status ``diverged``.
    """
    y = np.asarray(y, dtype=np.float64)
    mean = np.asarray(predictive.mean, dtype=np.float64)
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"y has shape {y.shape}; give one target per test row and at least one row")
    if mean.shape != y.shape:
        raise ValueError(f"the predictive mean has shape {mean.shape}, y has {y.shape}; predict every test row once")
    _finite(y, "y")
    _finite(mean, "the predictive mean")
    density = np.asarray(predictive.log_density(y), dtype=np.float64)
    if density.shape != y.shape:
        raise ValueError(f"log_density has shape {density.shape}, y has {y.shape}; give one number per test row")
    _finite(density, "the predictive log density")
    with np.errstate(over="ignore"):
        rmse = float(np.sqrt(np.mean((y - mean) ** 2)))
    if not np.isfinite(rmse):
        raise ValueError("the squared error is too large for a floating-point number: the fit has diverged")
    return {"rmse": (rmse, "target"), "test_log_likelihood": (float(np.mean(density)), "nats")}


def classification_scores(margins: np.ndarray, log_density: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, str]]:
    """Share of wrong labels and mean test log-likelihood.

    Parameters
    ----------
    margins : (n,), above 0 where class 1 is the more probable one.
    log_density : (n,), log-probability of the true label, nats.
    y : (n,), labels 0 and 1.

    Raises ValueError where shapes differ or a number is not finite.
    """
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1 or len(y) == 0 or margins.shape != y.shape or log_density.shape != y.shape:
        raise ValueError(
            f"margins {margins.shape}, log_density {log_density.shape}, y {y.shape}; give one of each a test row"
        )
    _finite(margins, "the margin")
    _finite(log_density, "the predictive log density")
    wrong = float(np.mean((margins > 0) != (y == 1)))
    return {"test_error": (wrong, "share"), "test_log_likelihood": (float(np.mean(log_density)), "nats")}


def _finite(a: np.ndarray, what: str) -> None:
    bad = ~np.isfinite(a)
    if bad.any():
        raise ValueError(
            f"{what} is not finite for {int(bad.sum())} of {a.size} test rows (first: row {int(bad.argmax())}); "
            "the fit has diverged"
        )
