"""The metrics, and the scores of one fit on the test rows of its split. They are never computed inside a timed fit.

To add a metric, add its record to ``METRICS`` and a scorer that gives its values (``evaluation.scorers``). Then write
the table of units again: ``python -m evaluation.metrics > dpbayes_bench/metrics.csv``.
"""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NamedTuple, Protocol

import numpy as np


class Direction(IntEnum):
    """Which values are better: ``direction * (a - b)`` is above 0 if a is better than b."""

    UP, NONE, DOWN = 1, 0, -1


class Unit(NamedTuple):
    """A unit: its ``name`` in score files and its ``words`` in headings, which show no unit if these are empty."""

    name: str
    words: str = ""


@dataclass(frozen=True)
class Margin:
    """The largest difference of two values of a metric that still counts as the same.

    It is the larger of ``least`` and of ``part`` times the published value, in the metric's unit. If there is a
    ``factor``, the logarithms of the values are compared instead, and may differ by the logarithm of the factor.
    ``words`` states the margin for a reader.
    """

    words: str
    least: float = 0.0
    part: float = 0.0
    factor: float = 1.0

    @property
    def logarithmic(self) -> bool:
        return self.factor != 1.0

    def of(self, published) -> np.ndarray:
        """The margin around ``published`` (any shape), in units of the metric, or in nats if there is a factor."""
        size = np.abs(np.asarray(published, dtype=np.float64))
        if not self.part:
            return np.full(size.shape, math.log(self.factor) if self.logarithmic else self.least)
        return np.maximum(self.least, self.part * size) if self.least else self.part * size


@dataclass(frozen=True)
class Metric:
    """One metric. All tables, pages and decisions read its properties from here.

    name : its key in score files, in ``published.csv`` and in experiments.
    title : its name in headings and sentences, without the unit.
    unit : unit of its values.
    direction : which values are better. NONE if neither larger nor smaller ones are.
    margin : the difference that counts as the same in verdicts, comparisons and claims. A metric with the margin
        ``UNJUDGED`` gets no verdict.
    scale : "positive" if values are never below 0, so a spread as large as the value itself means a skewed
        distribution; otherwise "real".
    main : whether the common tasks compare methods by it, in the order of ``METRICS``. ``./bench try`` shows it first.
    batch : for a metric that is one number per batch of data sets, two other metrics of its cell: its standard
        deviation over resampled data sets, and a metric with one row per data set. See ``reports.evidence.batch``.
    """

    name: str
    title: str
    unit: Unit
    direction: Direction
    margin: Margin
    scale: Literal["positive", "real"]
    main: bool = False
    batch: tuple[str, str] | None = None

    @property
    def heading(self) -> str:
        """The title with its unit: "test RMSE (units of the target)"."""
        return f"{self.title} ({self.unit.words})" if self.unit.words else self.title


UP, NONE, DOWN = Direction.UP, Direction.NONE, Direction.DOWN
SHARE, NATS = Unit("share", "share"), Unit("nats", "nats")
DATA, DATA_SQUARED = Unit("data", "data units"), Unit("data^2", "data units squared")
#: the metric of a published accuracy, which is compared as one minus the accuracy
ERROR_OF_ACCURACY = "test_error"
OF_ERROR = Margin("10 % of the error", part=0.1)
IN_NATS = Margin("ln 1.1 nats", least=math.log(1.1))
OF_SHARE = Margin("25 % of the value", part=0.25)
BY_FACTOR = Margin("a factor of 2", factor=2.0)
UNJUDGED = Margin("none")

#: name -> metric, in the order in which the main ones are shown.
METRICS = {
    m.name: m
    for m in (
        Metric("rmse", "test RMSE", Unit("target", "units of the target"), DOWN, OF_ERROR, "positive", main=True),
        Metric("test_error", "test error", SHARE, DOWN, OF_ERROR, "positive", main=True),
        Metric("test_log_likelihood", "test log-likelihood", Unit("nats", "nats per row"), UP, IN_NATS, "real",
               main=True),
        # calibration
        Metric("expected_calibration_error", "expected calibration error", SHARE, DOWN, OF_SHARE, "positive"),
        Metric("calibration_rmse", "RMSE of the calibration", SHARE, DOWN, OF_SHARE, "positive"),
        Metric("tarp_coverage_rmse", "RMSE of the TARP coverage", SHARE, DOWN, OF_SHARE, "positive",
               batch=("tarp_coverage_rmse_sd", "tarp_fraction")),
        # two classes, of which one is rare
        Metric("auc", "area under the ROC curve (AUC)", Unit("probability"), UP, Margin("0.01", least=0.01),
               "positive"),
        Metric("balanced_accuracy", "balanced accuracy", SHARE, UP, Margin("0.01", least=0.01), "positive"),
        Metric("average_precision", "average precision of the rarer class", SHARE, UP, OF_ERROR, "positive"),
        Metric("brier_score", "Brier score", Unit("squared probability"), DOWN, OF_ERROR, "positive"),
        # distance to the exact posterior
        Metric("posterior_mean_error", "error of the posterior mean", Unit("posterior sd", "posterior sd"), DOWN,
               OF_ERROR, "positive"),
        Metric("posterior_log_variance_ratio", "log variance ratio", NATS, NONE, UNJUDGED, "real"),
        # mixtures of Gaussians; a KL proxy is a difference of log-densities and can be below 0
        Metric("fnorm_mean", "F-norm of the means", DATA, DOWN, BY_FACTOR, "positive"),
        Metric("fnorm_covariance", "F-norm of the covariances", DATA_SQUARED, DOWN, BY_FACTOR, "positive"),
        Metric("fnorm_average", "average of the two F-norms", Unit("mixed"), DOWN, BY_FACTOR, "positive"),
        Metric("fnorm", "F-norm", Unit("mixed"), DOWN, BY_FACTOR, "positive"),
        Metric("kl", "KL(truth, fit) of matched components", NATS, DOWN, BY_FACTOR, "positive"),
        Metric("kl_proxy", "KL divergence, proxy", NATS, DOWN, BY_FACTOR, "real"),
        Metric("squared_mean_error", "squared error of the means, as programmed", Unit("data^2"), DOWN, BY_FACTOR,
               "positive"),
        Metric("squared_covariance_error", "squared error of the covariances, as programmed", Unit("data^4"), DOWN,
               BY_FACTOR, "positive"),
        Metric("squared_average_error", "average of the two squared errors, as programmed", Unit("mixed"), DOWN,
               BY_FACTOR, "positive"),
        Metric("program_kl_proxy", "KL proxy as programmed", NATS, DOWN, BY_FACTOR, "real"),
        Metric("posterior_sd", "posterior standard deviation of a mean's coordinate", Unit("data"), DOWN, OF_ERROR,
               "positive"),
        Metric("label_error", "test rows in the wrong cluster", SHARE, DOWN, OF_ERROR, "positive"),
        # one parameter drawn from a posterior
        Metric("heldout_nll", "minus log-likelihood of the held-out trials", NATS, DOWN, IN_NATS, "real"),
        # least squares on targets that are divided by the largest
        Metric("mse", "mean squared error", Unit("(target / largest |target|)^2"), DOWN, OF_ERROR, "positive"),
        # chains
        Metric("mmd", "MMD", Unit(""), DOWN, OF_ERROR, "positive"),
        Metric("acceptance", "acceptance rate", SHARE, UP, OF_SHARE, "positive"),
        Metric("clipped_ratios", "share of clipped ratios", Unit("share"), DOWN, OF_SHARE, "positive"),
        # ranks of predictions, and a chosen setting
        Metric("spearman", "Spearman's rank correlation", Unit("correlation"), UP, Margin("0.01", least=0.01), "real"),
        Metric("clipping_multiple", "clipping multiple", Unit("sd", "standard deviations"), NONE,
               Margin("half a step of the grid, 0.05", least=0.05), "positive"),
        # a number of one run of a sampler, compared by the chance that one of our runs is above one of theirs
        Metric("sampler_output", "number of one run of a sampler", Unit("mixed"), NONE,
               Margin("a chance from 1/3 to 2/3", least=1 / 6), "real"),
    )
}  # fmt: skip
#: diagnostics of a fit that are stored with its scores: name -> unit. They describe the sampler, not the method.
#: mean_sd is the mean standard deviation of a network's weights.
DIAGNOSTICS = {
    **{"rhat_max": "ratio", "ess_min": "draws", "divergences": "draws", "label_switches": "chains"},
    **{"mean_gap_max": "posterior sd", "mean_gap_errors": "standard errors", "sd_log_ratio_max": "log ratio"},
    **{"stayed": "share", "missed": "share", "kept_from": "step"},
    "mean_sd": "weight",
}


def of_published(name: str) -> Metric:
    """The metric by which a published number is judged, or one with the same margin.

    An accuracy is judged as an error. A name that is no metric of this suite is an output of a sampler.
    """
    return METRICS.get(ERROR_OF_ACCURACY if name == "accuracy" else name, METRICS["sampler_output"])


def judged(name: str) -> Metric:
    """The metric ``name``. Raises ValueError if it does not exist or has no direction."""
    found = METRICS.get(name)
    if found is None or found.direction is NONE:
        raise ValueError(f"metric '{name}' has no direction; give it one in METRICS of evaluation/metrics.py")
    return found


def main_metrics() -> list[str]:
    """The names of the metrics by which methods are compared, in the order in which they are shown."""
    return [m.name for m in METRICS.values() if m.main]


def heading(name: str) -> str:
    """The title and unit of a metric, or its name if there is no record of it."""
    return METRICS[name].heading if name in METRICS else name


def scored(**values: float) -> dict[str, tuple[float, str]]:
    """Add units to scores: ``scored(rmse=value)`` is ``{"rmse": (value, "target")}``."""
    return {name: (value, METRICS[name].unit.name) for name, value in values.items()}


def write_units(stream) -> None:
    """Write all metrics and their units as CSV for ``dpbayes_bench``, which cannot import this module."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["metric", "unit"])
    writer.writerows([m.name, m.unit.name] for m in METRICS.values())


#: equal-width bins of the confidence (Guo, Pleiss, Sun & Weinberger 2017, section 3).
CALIBRATION_BINS = 15


class Predictive(Protocol):
    """One predictive distribution per test row, in original units (``models.predictive``)."""

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
    ValueError : shapes do not match, there is no row, or a number is not finite. The caller turns the last one into a
        row with status ``diverged``.
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
    return scored(rmse=rmse, test_log_likelihood=float(np.mean(density)))


def classification_scores(margins: np.ndarray, log_density: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, str]]:
    """Share of wrong labels and mean test log-likelihood.

    Parameters
    ----------
    margins : (n,), above 0 if class 1 is more probable.
    log_density : (n,), log-probability of the true label, nats.
    y : (n,), labels 0 and 1.

    Raises ValueError if shapes differ or a number is not finite.
    """
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1 or len(y) == 0 or margins.shape != y.shape or log_density.shape != y.shape:
        raise ValueError(
            f"margins {margins.shape}, log_density {log_density.shape}, y {y.shape}; give one of each a test row"
        )
    _finite(margins, "the margin")
    _finite(log_density, "the predictive log density")
    wrong = float(np.mean((margins > 0) != (y == 1)))
    return scored(test_error=wrong, test_log_likelihood=float(np.mean(log_density)))


class Reliability(NamedTuple):
    """A reliability diagram with K bins: number of rows, mean confidence and share of right labels, (K,) each.

    Bin k has confidences in ((k - 1) / K, k / K]. The two means of an empty bin are NaN.
    """

    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray


def reliability(log_probabilities: np.ndarray, y: np.ndarray, bins: int = CALIBRATION_BINS) -> Reliability:
    """The data of a reliability diagram. The confidence of a row is the probability of its most probable class.

    Parameters
    ----------
    log_probabilities : (n, classes), nats.
    y : (n,), true classes 0, 1, ...
    bins : K, of equal width on (0, 1].

    Raises ValueError if shapes differ, a label is not a class or a number is not finite. Minus infinity, the logarithm
    of probability 0, is allowed.
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
    """The scores of :func:`categorical_scores` for two classes, from P(y = 1) of shape (n,).

    Probabilities are kept 1e-12 away from 0 and 1, so one confident mistake costs 28 nats instead of infinity. Raises
    ValueError for a probability that is not finite, or a label that is not 0 or 1.
    """
    return categorical_scores(_two_classes(p, y), y)


def rare_class_scores(p: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, str]]:
    """AUC, balanced accuracy and Brier score of two classes from P(y = 1), (n,); y (n,) of 0 and 1.

    The AUC is the probability that a random row of class 1 has a higher P(y = 1) than one of class 0, ties counted half
    (Hanley & McNeil 1982). Balanced accuracy is the mean of the shares of right labels in the two classes. Class 1 is
    predicted if P(y = 1) > 0.5, as in :func:`categorical_scores`. The Brier score is the mean of (P(y = 1) - y)^2, of
    Brier 1950. A constant prediction has an AUC and a balanced accuracy of 0.5. If there are no rows of one class, only
    the Brier score is defined and given. Raises ValueError as :func:`class_probability_scores` does.
    """
    from sklearn.metrics import balanced_accuracy_score

    found, p, y = ranking_scores(p, y), np.asarray(p, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if "auc" not in found:
        return found
    del found["average_precision"]
    return found | scored(balanced_accuracy=float(balanced_accuracy_score(y, p > 0.5)))


def ranking_scores(p: np.ndarray, y: np.ndarray, rare: int = 1) -> dict[str, tuple[float, str]]:
    """AUC, average precision of class ``rare``, and Brier score of two classes, with no threshold on P(y = 1).

    The arguments, errors, AUC and Brier score are those of :func:`rare_class_scores`. Average precision is the mean,
    over the rows of the class, of its share among all rows that are ranked at least as high (scikit-learn's
    ``average_precision_score``). A constant prediction has the share of the class. A model that finds a rare class may
    give each of its rows a probability below 0.5, and then has a balanced accuracy of 0.5.
    """
    from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

    p, y = np.asarray(p, dtype=np.float64), np.asarray(y, dtype=np.float64)
    _two_classes(p, y)
    values = {"brier_score": float(brier_score_loss(y, p, pos_label=1))}
    if 0 < y.sum() < len(y):
        up = p if rare == 1 else 1.0 - p
        values |= {
            "auc": float(roc_auc_score(y, p)),
            "average_precision": float(average_precision_score(y == rare, up)),
        }
    return scored(**values)


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
    """Share of wrong labels, mean test log-likelihood and expected calibration error.

    Arguments and errors are those of :func:`reliability`, and a true label of probability 0 is an error too. The
    expected calibration error is the mean over the rows of |accuracy - confidence| of their bin (Naeini, Cooper &
    Hauskrecht 2015; Guo et al. 2017, equation 3).
    """
    labels = _checked_labels(log_probabilities, y)
    n = len(labels)
    density = log_probabilities[np.arange(n), labels]
    _finite(density, "the predictive log density")
    wrong = float(np.mean(np.argmax(log_probabilities, axis=1) != labels))
    count, confidence, accuracy = reliability(log_probabilities, y)
    gap = np.abs(accuracy - confidence)[count > 0]
    return scored(
        test_error=wrong,
        test_log_likelihood=float(np.mean(density)),
        expected_calibration_error=float(count[count > 0] @ gap / n),
    )


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


if __name__ == "__main__":
    write_units(sys.stdout)
