"""Posteriors of linear regression with unknown noise in which weights and noise variance are independent.

theta = (w, log(e^v - 1)), with the bias as the last entry of w, as in ``models.linear_regression_unknown_noise``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.linear_regression_unknown_noise import NormalInverseGamma
from models.unconstrained import Likelihood, Samples, inverse_softplus


@dataclass(frozen=True)
class NormalTimesInverseGamma(NormalInverseGamma):
    """The posterior w ~ N(mean, (L L')^-1) and v ~ InvGamma(shape, scale), with w and v independent.

    ``mean`` has shape (p,). ``factor`` is L, lower triangular, (p, p).
    """

    kind: str = "normal_times_inverse_gamma"

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws of theta, (n, p + 1)."""
        v = self.scale / rng.gamma(self.shape, 1.0, (n, 1))
        z = np.linalg.solve(self.factor.T, rng.standard_normal((len(self.mean), n))).T
        return np.concatenate([self.mean + z, inverse_softplus(v)], axis=1)


@dataclass(frozen=True)
class NormalTimesLogNormal(Samples):
    """The posterior w ~ N(mean, diag(sd^2)) and log v ~ N(log_variance, log_variance_sd^2), with w and v independent.

    ``mean`` and ``sd`` have shape (p,).
    """

    mean: np.ndarray
    sd: np.ndarray
    log_variance: float
    log_variance_sd: float
    kind: str = "normal_times_log_normal"

    @property
    def likelihood(self) -> Likelihood:
        return Likelihood("linear")

    def parameters(self) -> dict[str, np.ndarray]:
        return {
            "mean": self.mean,
            "sd": self.sd,
            "log_variance": np.float64(self.log_variance),
            "log_variance_sd": np.float64(self.log_variance_sd),
        }

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws of theta, (n, p + 1)."""
        v = np.exp(self.log_variance + self.log_variance_sd * rng.standard_normal((n, 1)))
        w = self.mean + self.sd * rng.standard_normal((n, len(self.mean)))
        return np.concatenate([w, inverse_softplus(v)], axis=1)


def load(kind: str, p: dict[str, np.ndarray]) -> NormalTimesInverseGamma | NormalTimesLogNormal:
    """Rebuild one of this file's posteriors from its parameters. Raises KeyError for another kind."""
    if kind == "normal_times_inverse_gamma":
        return NormalTimesInverseGamma(p["mean"], p["factor"], float(p["shape"]), float(p["scale"]))
    if kind == "normal_times_log_normal":
        return NormalTimesLogNormal(p["mean"], p["sd"], float(p["log_variance"]), float(p["log_variance_sd"]))
    raise KeyError(
        f"models/linear_posteriors.py holds normal_times_inverse_gamma and normal_times_log_normal, not '{kind}'"
    )


#: for several kinds of model (``models.kind``).
POSTERIORS = (NormalTimesInverseGamma, NormalTimesLogNormal)
