"""The distance of a posterior over regression weights from the exact one, in units of the exact one's spread."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evaluation.metrics import scored
from models.bounded import Frame
from models.unconstrained import inverse_softplus, softplus

#: number of draws from which the moments of a posterior are computed.
DRAWS = 4000


class Moments(NamedTuple):
    """Mean and standard deviation of every coordinate of theta, (D,) each, for one scaling of the data."""

    mean: np.ndarray
    sd: np.ndarray


def in_frame(theta: np.ndarray, made: Frame, wanted: Frame, noise: bool) -> np.ndarray:
    """Convert draws of theta (K, D) from the scaling ``made`` of the data to the scaling ``wanted``.

    The regression function stays the same: with u = (x - s) / c in either scaling, w.u + b = w'.u' + b'. With ``noise``
    (linear regression) theta ends with log(e^v - 1) for the noise variance v. Then targets are scaled too, and v is
    multiplied by the square of the ratio of their scales.
    """
    w, rest = theta[:, : len(made.x_shift)], theta[:, len(made.x_shift) :]
    y = made.y_scale / wanted.y_scale if noise else 1.0
    slope = w / made.x_scale
    moved = rest[:, 0] + slope @ (wanted.x_shift - made.x_shift)
    if noise:
        moved = moved * y + (made.y_shift - wanted.y_shift) / wanted.y_scale
    out = [y * slope * wanted.x_scale, moved[:, None]]
    if noise:
        out.append(inverse_softplus(np.maximum(softplus(rest[:, 1:]) * y**2, np.finfo(float).tiny)))
    return np.concatenate(out, axis=1)


def moments(theta: np.ndarray) -> Moments:
    """Mean and standard deviation of draws (K, D). A coordinate that is constant has standard deviation 0."""
    return Moments(theta.mean(axis=0), theta.std(axis=0))


def distance_scores(found: Moments, exact: Moments) -> dict[str, tuple[float, str]]:
    """The means over the coordinates of |mean - exact mean| / exact sd, and of log(variance / exact variance).

    The second is below 0 if the posterior is too narrow. It is left out if a standard deviation is 0. Raises ValueError
    if a moment is not finite, or an exact standard deviation is not above 0.
    """
    if not all(np.isfinite(v).all() for v in (*found, *exact)):
        raise ValueError("a moment of the posterior is not finite: the fit has diverged")
    if not (exact.sd > 0).all():
        raise ValueError("an exact standard deviation is 0: a coordinate of the reference never moved")
    out = {"posterior_mean_error": float(np.mean(np.abs(found.mean - exact.mean) / exact.sd))}
    if (found.sd > 0).all():
        out["posterior_log_variance_ratio"] = float(np.mean(2 * np.log(found.sd / exact.sd)))
    return scored(**out)
