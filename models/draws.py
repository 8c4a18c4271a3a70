"""Draws and a point estimate of the parameters of any posterior, as arrays by name.

A regression has ``coef``, ``intercept`` and, if it is linear, ``noise_variance``, all in original units.

A point estimate has only one value, and so has a method that releases one draw of a posterior. All its draws are equal.
:func:`is_point` says so, because their missing spread does not mean certainty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models.unconstrained import softplus

#: number of draws in the mean of :func:`point`. The Monte Carlo error is a 63rd of the posterior's standard deviation.
POINT_DRAWS = 4000
#: kinds of posterior that have a spread but no ``sample``.
_SPREAD = frozenset({"mixture_means", "network_moments", "network_monte_carlo", "network_ensemble"})
_SPREAD |= {"classifier_mean_field"}


def is_point(posterior: Any) -> bool:
    """Whether the posterior is a single value without a spread."""
    if posterior.kind == "framed":
        return is_point(posterior.posterior)
    if posterior.kind == "linear_gaussian":
        return posterior.covariance is None
    return posterior.kind not in _SPREAD and not hasattr(posterior, "sample")


def point(posterior: Any) -> dict[str, np.ndarray]:
    """The posterior mean of each parameter by name, or the single value of a point estimate.

    The mean is over ``POINT_DRAWS`` draws, which are the same at each call.
    """
    if is_point(posterior):
        return {name: v[0] for name, v in draws(posterior, 1, np.random.default_rng(0)).items()}
    return {name: v.mean(axis=0) for name, v in draws(posterior, POINT_DRAWS, np.random.default_rng(0)).items()}


def draws(posterior: Any, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """n draws of each parameter by name, arrays whose first axis has length n.

    A mixture has ``weights``, ``means`` and ``covariances``, a network the arrays of its layers, and any other model
    ``theta``. Regressions and mixtures are in original units, other models in their own units. Any other posterior
    without ``sample`` counts as a point estimate, whose value is ``parameters()``.
    """
    kind, p = posterior.kind, posterior
    if kind == "framed":
        return _original(draws(p.posterior, n, rng), p.frame)
    if kind == "linear_gaussian":
        return _linear_gaussian(p, n, rng)
    if kind == "mixture_means":
        root = np.linalg.cholesky(p.covariances)
        return {"means": p.means + np.einsum("jab,njb->nja", root, rng.standard_normal((n, *p.means.shape)))}
    if kind in ("network_moments", "network_monte_carlo"):
        layers = (("w1", p.m1, p.v1), ("w2", p.m2, p.v2))
        out = {name: m + np.sqrt(v) * rng.standard_normal((n, *m.shape)) for name, m, v in layers}
        fixed = kind == "network_monte_carlo"
        noise = np.full(n, 1 / p.noise_precision) if fixed else p.noise_rate / rng.gamma(p.noise_shape, 1.0, n)
        return out | {"noise_variance": noise}
    if kind == "network_ensemble":
        which = rng.integers(len(p.w1), size=n)
        return {"w1": p.w1[which], "w2": p.w2[which], "noise_variance": p.noise[which]}
    if kind == "classifier_mean_field":
        return {"weights": p.mean + p.sd * rng.standard_normal((n, len(p.mean)))}
    if hasattr(p, "sample"):
        return _named(p.sample(n, rng), p.likelihood)
    one = _VALUES.get(kind, lambda p: p.parameters())(p)
    return {name: np.repeat(np.asarray(value, dtype=np.float64)[None], n, axis=0) for name, value in one.items()}


#: names of the values of a point estimate, for kinds whose ``parameters`` contain more than these.
_VALUES = {
    "logistic_point": lambda p: {"coef": p.theta[:-1], "intercept": p.theta[-1]},
    "constant_gaussian": lambda p: {"intercept": p.location, "noise_variance": p.spread},
    "classifier_point": lambda p: {"weights": p.weights},
    "logistic_sample": lambda p: {"weights": p.weights},
    "parameter_sample": lambda p: {"theta": p.theta},
}


def _named(theta: np.ndarray, likelihood: Any) -> dict[str, np.ndarray]:
    """Draws of theta (n, D), by the names of a likelihood's parameters, for inputs in original units."""
    if likelihood.name not in ("linear", "logistic"):
        return {"theta": theta}
    linear = likelihood.name == "linear"
    w = theta[:, :-1] if linear else theta
    coef, intercept = w[:, :-1].copy(), w[:, -1].copy()
    if (k := len(likelihood.shift)) and not likelihood.own_moments:
        coef[:, :k] /= likelihood.scale
        intercept -= coef[:, :k] @ likelihood.shift
    return {"coef": coef, "intercept": intercept, **({"noise_variance": softplus(theta[:, -1])} if linear else {})}


def _linear_gaussian(p: Any, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    w = np.tile(p.weights, (n, 1))
    if p.covariance is not None:
        w = rng.multivariate_normal(p.weights, p.covariance, n, method="eigh")
    s = p.scale
    coef = w[:, :-1] * (s.y_scale / s.x_scale)
    intercept = s.y_shift + s.y_scale * w[:, -1] - coef @ s.x_shift
    return {"coef": coef, "intercept": intercept, "noise_variance": np.full(n, p.noise_variance * s.y_scale**2)}


def _original(inner: dict[str, np.ndarray], frame: Any) -> dict[str, np.ndarray]:
    """Convert draws for scaled inputs (``models.bounded``) to original units.

    A column that is left out of the fit has the coefficient 0, and NaN in the means and covariances of a mixture.
    """
    out = dict(inner)
    if "intercept" in inner:
        out["intercept"] = frame.y_shift + frame.y_scale * inner["intercept"]
    if "coef" in inner:
        out["coef"] = np.zeros((len(inner["coef"]), len(frame.x_scale)))
        if frame.kept.any():
            out["coef"][:, frame.kept] = inner["coef"] * (frame.y_scale / frame.x_scale[frame.kept])
        out["intercept"] = out["intercept"] - out["coef"] @ frame.x_shift
    if "noise_variance" in inner:
        out["noise_variance"] = inner["noise_variance"] * frame.y_scale**2
    if "means" in inner:
        shift, scale = frame.x_shift, frame.x_scale / frame.stretch
        if inner["means"].shape[-1] > max(int(frame.kept.sum()), 1):  # inputs and target together
            shift, scale = np.append(shift, frame.y_shift), np.append(scale, frame.y_scale / frame.stretch)
        there = np.isfinite(scale)
        first = 0 if frame.kept.any() else 1  # without the column of zeros that takes the place of all inputs
        out["means"] = _placed(shift[there] + scale[there] * inner["means"][..., first:], there, 1)
        if "covariances" in inner:
            units = np.outer(scale[there], scale[there])
            out["covariances"] = _placed(inner["covariances"][..., first:, first:] * units, there, 2)
    return out


def _placed(values: np.ndarray, there: np.ndarray, axes: int) -> np.ndarray:
    """The values of the columns in the fit, on the last ``axes`` axes, at their places among all columns, else NaN."""
    out = np.full((*values.shape[:-axes], *[len(there)] * axes), np.nan)
    out[(..., *np.ix_(*[there] * axes))] = values
    return out
