"""Scores of one fit on the test rows of its split. Never called inside a timed fit."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

#: metric -> is a higher value better?
HIGHER_IS_BETTER = {
    "rmse": False,
    "test_log_likelihood": True,
    **dict.fromkeys(("fnorm_mean", "fnorm_covariance", "fnorm_average", "fnorm", "kl", "kl_proxy"), False),
    **dict.fromkeys(("squared_mean_error", "squared_covariance_error", "squared_average_error"), False),
    **dict.fromkeys(("program_kl_proxy", "posterior_sd", "label_error", "test_error", "heldout_nll"), False),
    "expected_calibration_error": False,
    **dict.fromkeys(("tarp_coverage_rmse", "calibration_rmse", "posterior_mean_error"), False),
    **dict.fromkeys(("mse", "mmd"), False),
    # of chains, by convention: more accepted and fewer clipped is better
    **{"acceptance": True, "clipped_ratios": False},
}
#: diagnostics of a fit that are kept beside its scores: name -> unit. They judge the sampler, not the method; mean_sd
#: is the mean standard deviation of a network's weights.
DIAGNOSTICS = {
    **{"rhat_max": "ratio", "ess_min": "draws", "divergences": "draws", "label_switches": "chains"},
    **{"mean_gap_max": "posterior sd", "mean_gap_errors": "standard errors", "sd_log_ratio_max": "log ratio"},
    **{"stayed": "share", "missed": "share", "kept_from": "step"},
    "mean_sd": "weight",
}


#: equal-width bins of the confidence (Guo, Pleiss, Sun & Weinberger 2017, section 3).
CALIBRATION_BINS = 15


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


class Reliability(NamedTuple):
    """Bins (k - 1) / K < confidence <= k / K, (K,) each: number of rows, their mean confidence, share of right labels.

    The two means of an empty bin are NaN.
    """

    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray


def reliability(log_probabilities: np.ndarray, y: np.ndarray, bins: int = CALIBRATION_BINS) -> Reliability:
    """The data of a reliability diagram. Confidence of a row = probability of its most probable class (the first one).

    Parameters
    ----------
    log_probabilities : (n, classes), nats.
    y : (n,), true classes 0, 1, ...
    bins : K, of equal width on (0, 1].

    Raises ValueError where shapes differ, a label is no class or a number is not finite (minus infinity, the logarithm
    of a probability 0, is allowed).
    """
    labels = _checked_labels(log_probabilities, y)
    top = np.argmax(log_probabilities, axis=1)
    confidence = np.exp(log_probabilities[np.arange(len(top)), top])
    which = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    count = np.bincount(which, minlength=bins)
    means = [
        np.divide(np.bincount(which, v, bins), count, out=np.full(bins, np.nan), where=count > 0)
        for v in (confidence, (top == labels).astype(np.float64))
    ]
    return Reliability(count, *means)


def class_probability_scores(p: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, str]]:
    """Scores of two classes from P(y = 1), (n,): those of :func:`categorical_scores`.

    Probabilities are kept 1e-12 away from 0 and 1, so that one sure mistake costs 28 nats and not infinity. Raises
    ValueError for a probability that is not finite, or a label that is not 0 or 1.
    """
    return categorical_scores(_two_classes(p, y), y)


def class_reliability(p: np.ndarray, y: np.ndarray) -> Reliability:
    """The :func:`reliability` behind :func:`class_probability_scores`, with its arguments and errors."""
    return reliability(_two_classes(p, y), y)


def _two_classes(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Logarithms of the probabilities of both classes, (n, 2)."""
    p = np.asarray(p, dtype=np.float64)
    _finite(p, "the predicted probability")
    if not np.isin(y, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1")
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(np.column_stack([1 - p, p]))


def categorical_scores(log_probabilities: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, str]]:
    """Share of wrong labels, mean test log-likelihood, expected calibration error; arguments as :func:`reliability`.

    Expected calibration error: mean over the rows of |accuracy - confidence| of their bin (Naeini, Cooper & Hauskrecht
    2015; Guo et al. 2017, equation 3). Raises ValueError also where the true label has probability 0.
    """
    labels = _checked_labels(log_probabilities, y)
    n = len(labels)
    density = log_probabilities[np.arange(n), labels]
    _finite(density, "the predictive log density")
    wrong = float(np.mean(np.argmax(log_probabilities, axis=1) != labels))
    count, confidence, accuracy = reliability(log_probabilities, y)
    gap = np.abs(accuracy - confidence)[count > 0]
    return {
        "test_error": (wrong, "share"),
        "test_log_likelihood": (float(np.mean(density)), "nats"),
        "expected_calibration_error": (float(count[count > 0] @ gap / n), "share"),
    }


def _checked_labels(log_probabilities: np.ndarray, y: np.ndarray) -> np.ndarray:
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1 or len(y) == 0 or log_probabilities.ndim != 2 or len(log_probabilities) != len(y):
        raise ValueError(
            f"log_probabilities has shape {log_probabilities.shape}, y {y.shape}; give one row of probabilities and "
            "one label a test row, and at least one row"
        )
    if not np.isin(y, np.arange(log_probabilities.shape[1])).all():
        raise ValueError(f"y has a label that is no whole number from 0 to {log_probabilities.shape[1] - 1}")
    _finite(np.where(np.isneginf(log_probabilities), 0.0, log_probabilities).sum(axis=1), "a log-probability")
    return y.astype(np.int64)


def _finite(a: np.ndarray, what: str) -> None:
    bad = ~np.isfinite(a)
    if bad.any():
        raise ValueError(
            f"{what} is not finite for {int(bad.sum())} of {a.size} test rows (first: row {int(bad.argmax())}); "
            "the fit has diverged"
        )
