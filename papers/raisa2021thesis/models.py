"""The seven models of the source, its data, its exact draws and its starting values.

All models have one form. With phi(theta) = (theta_1, theta_2 + a theta_1^2, theta_3, ..), rows and prior are

    x ~ N(phi, Lambda^-1),  phi ~ N(0, I / tau_0).

The change of variables from theta to phi has determinant 1. So the posterior of phi, tempered by T, is normal. A row
enters only through G = Lambda (x - mean of x):

    log-likelihood ratio    r_i = w.G_i + w.Lambda (mean - (phi + phi')/2),    w = phi' - phi
    gradient in theta       g_i = K (G_i + Lambda (mean - phi)),    K = I + 2 a theta_1 E_12.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from papers.raisa2021thesis import streams

#: seeds of the source: data and exact draws of the bananas and of the correlated normal distribution, first start, and
#: the exact samples that are compared with the exact draws.
BANANA, GAUSS, START, CONTROL = (43247, 56437), (46283648, 8646546), 4236482, 4623878
#: number of exact draws with which a chain is compared.
EXACT = 1000
#: prior variance of the correlated model. The source's formula of the posterior uses its square root (100) instead,
#: which moves the mean by 1e-7 of itself. The draws here are those of the source.
CORRELATED_PRIOR = 100.0**2


@dataclass(frozen=True)
class Model:
    """The constants of a model: dimension ``d``, ``curve`` a and number of ``rows`` n.

    ``kept``: n_0 of the tempering T = n_0 / n, or 0 without tempering.
    """

    d: int
    rows: int
    curve: float = 0.0
    kept: int = 0
    correlated: bool = False

    @property
    def temper(self) -> float:
        return self.kept / self.rows if self.kept else 1.0

    @property
    def delta(self) -> float:
        return 0.1 / self.rows


MODELS = {
    "flat_banana_2d": Model(2, 100_000, 20),
    "flat_banana_10d": Model(10, 200_000, 20),
    "tempered_banana_2d": Model(2, 100_000, 20, 1000),
    "tempered_banana_10d": Model(10, 200_000, 20, 1000),
    "narrow_banana_2d": Model(2, 150_000, 350),
    "gauss_30d": Model(30, 200_000),
    "correlated_gauss_2d": Model(2, 200_000, correlated=True),
}


@dataclass(frozen=True)
class Problem:
    """A model with its data.

    g : (d, n), the G of all rows, by falling norm; norms : (n,), those norms; mean : (d,), of the rows. precision :
    Lambda (d, d); prior : tau_0; exact : (1000, d), draws of the posterior; starts : (20, d).
    """

    model: Model
    g: np.ndarray
    norms: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    prior: float
    exact: np.ndarray
    starts: np.ndarray

    def phi(self, theta: np.ndarray) -> np.ndarray:
        return phi(theta, self.model.curve)


def phi(theta: np.ndarray, curve: float) -> np.ndarray:
    """theta (.., d) with theta_2 replaced by theta_2 + a theta_1^2, for a = ``curve``. At -a it is the inverse."""
    out = theta.copy()
    out[..., 1] += curve * theta[..., 0] ** 2
    return out


def truth(d: int) -> np.ndarray:
    out = np.zeros(d)
    out[1] = 3
    return out


def precision_of(model: Model) -> np.ndarray:
    if model.correlated:
        return np.linalg.inv(np.array([[1, 0.999], [0.999, 1]]))
    return np.diag([0.05, 0.4] + [1.0] * (model.d - 2))


def rows_of(model: Model) -> np.ndarray:
    """The rows (n, d) that the authors' code draws."""
    if model.correlated:
        root = np.linalg.cholesky(np.linalg.inv(precision_of(model)))
        return truth(2) + streams.normal(streams.key_of(GAUSS[0]), (model.rows, 2)) @ root.T
    return truth(model.d) + _columns(streams.key_of(BANANA[0]), model, model.rows) / np.sqrt(
        np.diag(precision_of(model))
    )


def _columns(key: np.ndarray, model: Model, count: int) -> np.ndarray:
    """Standard normal rows, with one key each for the first, the second and the further columns."""
    widths = (1, 1, model.d - 2)
    keys = streams.split(key, 3)
    return np.hstack([streams.normal(k, (count, w)) for k, w in zip(keys, widths, strict=True)])


def posterior(model: Model, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (d,) and covariance (d, d) of phi under the tempered posterior."""
    lam, tau = precision_of(model), prior_of(model)
    covariance = np.linalg.inv(model.temper * model.rows * lam + tau * np.eye(model.d))
    return covariance @ (model.temper * model.rows * lam @ mean), covariance


def prior_of(model: Model) -> float:
    return 1 / CORRELATED_PRIOR if model.correlated else 0.001


def draws(model: Model, mean: np.ndarray, key: np.ndarray, count: int = EXACT) -> np.ndarray:
    """Exact draws (count, d) of theta from the posterior, with the source's random stream of ``key``."""
    at, covariance = posterior(model, mean)
    if model.correlated:
        z = streams.normal(key, (count, 2)) @ np.linalg.cholesky(covariance).T
    else:
        z = _columns(key, model, count) * np.sqrt(np.diag(covariance))
    return phi(at + z, -model.curve)


def problem_of(model: Model, x: np.ndarray) -> Problem:
    """A model with these rows (n, d), without exact draws and starts."""
    lam, mean = precision_of(model), x.mean(axis=0)
    g = (x - mean) @ lam
    norms = np.linalg.norm(g, axis=1)
    order = np.argsort(-norms, kind="stable")
    none = np.empty((0, model.d))
    return Problem(model, np.ascontiguousarray(g[order].T), norms[order], mean, lam, prior_of(model), none, none)


@cache
def problem(name: str) -> Problem:
    """The model ``name`` with the source's data, exact draws and starts. It takes one or two seconds of CPU."""
    model = MODELS[name]
    found, seed = problem_of(model, rows_of(model)), (GAUSS if model.correlated else BANANA)[1]
    exact = draws(model, found.mean, streams.key_of(seed))
    return replace(found, exact=exact, starts=starts(model, exact))


def starts(model: Model, exact: np.ndarray, count: int = 20) -> np.ndarray:
    """The source's starts (count, d), truth + N(0, s^2 I) with s the mean posterior sd: private and not charged."""
    z = np.array([streams.normal(streams.key_of(START + i), (model.d,)) for i in range(count)])
    return truth(model.d) + exact.std(axis=0).mean() * z
