"""Calibration of a posterior: TARP coverage over simulated data sets, and calibration curves of predictions.

TARP (Lemos et al. 2023, "Sampling-based accuracy testing of posterior estimators"): for a data set with true parameter
theta and a random reference point r, let f be the share of posterior draws nearer to r than theta is. If the posterior
is exact, f is uniform.

The protocol is that of Alrawajfeh, Jalko & Honkela 2025, as in their code. f is computed for 500 data sets. C(alpha) is
the share of data sets with f < 1 - alpha, at 21 levels, and its error is C(alpha) - (1 - alpha). The root mean square
error over the levels is reported as mean and spread over 20 redraws of the reference points. The redraws share data
sets and draws, so their spread leaves out the largest source of error, the finite number of data sets.
:func:`bootstrap` includes it.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

import numpy as np

from evaluation.metrics import scored

#: levels alpha; the curve is C(alpha) against 1 - alpha.
LEVELS = np.array([0.001, *np.arange(1, 20) / 20, 0.999])
DRAWS, REDRAWS = 20_000, 20
#: metrics that are points of a curve, which are drawn in figures and left out of tables.
CURVE = re.compile(r"tarp_coverage_\d\.\d+(_redraws)?|calibration_(predicted|fraction)_\d+")
#: a reference is uniform within this many posterior standard deviations of the centre, in each coordinate.
REACH = 4.0


class Posterior(Protocol):
    """The methods that a posterior over theta needs (``models.unconstrained``); ``centre`` is optional."""

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray: ...


def references(centre: np.ndarray, sd: np.ndarray, redraws: int, rng: np.random.Generator) -> np.ndarray:
    """Random reference points, (redraws, D): centre + U(-4, 4) sd in each coordinate."""
    return centre + REACH * sd * rng.uniform(-1.0, 1.0, (redraws, len(centre)))


def fraction_nearer(draws: np.ndarray, truth: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The share of ``draws`` (M, D) strictly nearer to each row of ``reference`` (R, D) than ``truth`` (D,) is: (R,).

    Distances are Euclidean, as in the code of Alrawajfeh et al. No coordinate is divided by its standard deviation, so
    the share depends on the unit of each coordinate. A coordinate with a large spread counts most. For an exact
    posterior it is uniform in any unit.

    |d - r| < |t - r| is equivalent to |d - t|^2 < 2 (d - t) . (r - t). This takes one product of matrices, and no
    difference of large squares. Raises ValueError if a number is not finite, which would count as farther.
    """
    if not (np.isfinite(draws).all() and np.isfinite(truth).all() and np.isfinite(reference).all()):
        raise ValueError("a posterior draw, the true parameter or a reference is not finite: the fit has diverged")
    moved = draws - truth
    squares = np.einsum("md,md->m", moved, moved)
    return (squares[:, None] < 2.0 * moved @ (reference - truth).T).mean(axis=0)


def tarp_fractions(
    posterior: Posterior,
    truth: np.ndarray,
    rng: np.random.Generator,
    draws: int = DRAWS,
    redraws: int = REDRAWS,
) -> np.ndarray:
    """f of one data set for every redraw of its reference: (redraws,).

    The references lie around the posterior's ``centre`` if it has one (the mean of the trace, which is a private
    release), otherwise around the mean of its draws.
    """
    theta = posterior.sample(draws, rng)
    centre = getattr(posterior, "centre", None)
    centre = theta.mean(axis=0) if centre is None else centre
    return fraction_nearer(theta, truth, references(centre, theta.std(axis=0), redraws, rng))


def coverage(fractions: np.ndarray, levels: np.ndarray = LEVELS) -> np.ndarray:
    """C(alpha), the share of data sets with f < 1 - alpha. Maps fractions (n, R) to (R, levels)."""
    return (_checked(fractions)[:, :, None] < 1.0 - levels).mean(axis=0)


def coverage_rmse(fractions: np.ndarray, levels: np.ndarray = LEVELS) -> np.ndarray:
    """The root mean square over the levels of C(alpha) - (1 - alpha), per redraw. Maps (n, R) to (R,)."""
    return _rmse(coverage(fractions, levels), levels)


def _rmse(curves: np.ndarray, levels: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean((curves - (1.0 - levels)) ** 2, axis=-1))


def _checked(fractions: np.ndarray) -> np.ndarray:
    fractions = np.asarray(fractions, dtype=np.float64)
    if fractions.ndim != 2 or not len(fractions):
        raise ValueError(f"fractions have shape {fractions.shape}; give (data sets, redraws) with at least 1 data set")
    if not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError("fractions must be numbers from 0 to 1")
    return fractions


class Interval(NamedTuple):
    """``value`` (mean over redraws), ``sd`` over resampled data sets, and limits ``low`` and ``high``."""

    value: float
    sd: float
    low: float
    high: float


def bootstrap(
    fractions: np.ndarray,
    rng: np.random.Generator,
    resamples: int = 2000,
    confidence: float = 0.95,
    levels: np.ndarray = LEVELS,
) -> Interval:
    """Bootstrap uncertainty of the mean RMSE over data sets, which are resampled with all their redraws.

    The RMSE of a resample is biased upwards, because it adds the resample's own noise. So ``low`` and ``high`` are
    basic bootstrap limits, 2 value - percentile, and at least 0.
    """
    f = _checked(fractions)
    n, redraws = f.shape
    value = float(coverage_rmse(f, levels).mean())
    below = (f[:, :, None] < 1.0 - levels).reshape(n, -1).astype(np.float32)
    found = np.empty(resamples)
    for start in range(0, resamples, 250):
        weights = rng.multinomial(n, np.full(n, 1.0 / n), size=min(250, resamples - start)) / n
        curves = (weights.astype(np.float32) @ below).reshape(-1, redraws, len(levels))
        found[start : start + 250] = _rmse(curves, levels).mean(axis=1)
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(
        value, float(found.std(ddof=1)), max(0.0, 2 * value - float(high)), max(0.0, 2 * value - float(low))
    )


class Floor(NamedTuple):
    """Mean, standard deviation and 95 % quantile of the RMSE that a correct posterior has on ``n`` data sets."""

    n: int
    mean: float
    sd: float
    upper: float


def floor(n: int, rng: np.random.Generator, simulations: int = 20_000, levels: np.ndarray = LEVELS) -> Floor:
    """Simulate the RMSE of a correct posterior on ``n`` data sets, where f is uniform, with one redraw.

    The published number is a mean over redraws, which has the same mean and a smaller spread. Raises ValueError for n
    below 1.
    """
    if n < 1:
        raise ValueError(f"floor: n = {n} data sets; give at least 1")
    # Counts below the levels are partial sums of a multinomial, so single f need not be drawn.
    edges = np.concatenate([[0.0], np.sort(1.0 - levels), [1.0]])
    counts = rng.multinomial(n, np.diff(edges), size=simulations)
    curves = np.cumsum(counts, axis=1)[:, :-1] / n
    rmse = np.sqrt(np.mean((curves - edges[1:-1]) ** 2, axis=1))
    return Floor(n, float(rmse.mean()), float(rmse.std()), float(np.quantile(rmse, 0.95)))


def coverage_scores(fractions: np.ndarray, rng: np.random.Generator) -> dict[str, tuple[float, str]]:
    """Coverage scores of one cell from the fractions (n, R) of all its data sets: metric -> (value, unit).

    ``tarp_coverage_rmse`` is compared with the published number: the mean over the redraws. ``_redraws`` is its
    standard deviation (ddof 0), as the published spread. ``_sd``, ``_low`` and ``_high`` are over data sets.
    ``_floor`` and ``_floor_upper`` are the values of a correct posterior. ``tarp_coverage_<1 - alpha>`` is the mean
    curve.
    """
    rmse, spread = coverage_rmse(fractions), bootstrap(fractions, rng)
    least = floor(len(fractions), rng)
    name = "tarp_coverage_rmse"
    out = {
        **scored(tarp_coverage_rmse=float(rmse.mean())),
        f"{name}_redraws": (float(rmse.std()), "share"),
        f"{name}_sd": (spread.sd, "share"),
        f"{name}_low": (spread.low, "share"),
        f"{name}_high": (spread.high, "share"),
        f"{name}_floor": (least.mean, "share"),
        f"{name}_floor_upper": (least.upper, "share"),
    }
    curve = coverage(fractions)
    for level, mean, sd in zip(1.0 - LEVELS, curve.mean(axis=0), curve.std(axis=0), strict=True):
        out[f"tarp_coverage_{level:.3f}"] = (float(mean), "share")
        out[f"tarp_coverage_{level:.3f}_redraws"] = (float(sd), "share")
    return out


# ------------------------------------------------------------------------------------------ predictive calibration


class Curve(NamedTuple):
    """A calibration curve: ``predicted`` probability and ``fraction`` of positives, (bins,) each."""

    predicted: np.ndarray
    fraction: np.ndarray


def equal_width_curve(probability: np.ndarray, y: np.ndarray, bins: int = 10) -> Curve:
    """scikit-learn's curve: mean prediction and fraction of positives per equal-width bin, without empty bins."""
    from sklearn.calibration import calibration_curve

    fraction, predicted = calibration_curve(y, probability, n_bins=bins, strategy="uniform")
    return Curve(predicted, fraction)


def equal_count_curve(probability: np.ndarray, y: np.ndarray, bins: int = 10) -> Curve:
    """The authors' curve: rows are sorted by prediction and cut into bins of equal counts."""
    order = np.argsort(probability, kind="stable")
    parts = np.array_split(order, min(bins, len(order)))
    return Curve(
        np.array([probability[p].mean() for p in parts]), np.array([np.asarray(y, float)[p].mean() for p in parts])
    )


def equal_width_bins(probability: np.ndarray, y: np.ndarray, bins: int = 10) -> Curve:
    """:func:`equal_width_curve` with all bins, (bins,) each. Empty bins are NaN."""
    which = np.searchsorted(np.linspace(0.0, 1.0, bins + 1)[1:-1], probability)
    count = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):
        return Curve(*(np.bincount(which, weights=a, minlength=bins) / count for a in (probability, y)))


def calibration_scores(probability: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, str]]:
    """Calibration error of predicted probabilities (n,) of labels y (n,): metric -> (value, unit).

    * ``calibration_rmse`` is the root mean square of fraction - prediction over equal-width bins. It is the primary
      one, because this definition fits the published numbers.
    * ``calibration_rmse_inverse`` interpolates the equal-count curve linearly, fraction as a function of prediction, at
      100 points of [0.01, 0.99].
    * ``calibration_rmse_program`` interpolates prediction as a function of fraction, as the authors' code does. It is
      left out if two bins have the same fraction, where their code divides by zero.
    * ``calibration_predicted_<k>`` and ``calibration_fraction_<k>`` are the equal-width bins k = 0, 1, ... with rows.

    Raises ValueError for probabilities outside [0, 1] or labels other than 0 and 1.
    """
    probability, y = np.asarray(probability, np.float64), np.asarray(y, np.float64)
    if probability.shape != y.shape or y.ndim != 1 or not len(y):
        raise ValueError(f"probability has shape {probability.shape}, y {y.shape}; give one of each a test row")
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("a predicted probability is not in [0, 1]: the fit has diverged")
    if not np.isin(y, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1")
    width, count = equal_width_curve(probability, y), equal_count_curve(probability, y)
    points = np.linspace(0.01, 0.99, 100)
    out = scored(calibration_rmse=_rms(width.fraction - width.predicted))
    for name, x, z in (("inverse", count.predicted, count.fraction), ("program", count.fraction, count.predicted)):
        if len(np.unique(x)) == len(x) > 1:
            order = np.argsort(x)
            out[f"calibration_rmse_{name}"] = (_rms(_line(points, x[order], z[order]) - points), "share")
    for name, values in equal_width_bins(probability, y)._asdict().items():
        out |= {f"calibration_{name}_{k}": (float(v), "share") for k, v in enumerate(values) if np.isfinite(v)}
    return out


def _line(points: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Linear interpolation that continues the first and last pieces."""
    i = np.clip(np.searchsorted(x, points) - 1, 0, len(x) - 2)
    return y[i] + (y[i + 1] - y[i]) / (x[i + 1] - x[i]) * (points - x[i])


def _rms(a: np.ndarray) -> float:
    return float(np.sqrt(np.mean(a**2)))
