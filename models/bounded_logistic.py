"""Posteriors of logistic regression with a normal prior: a full Gaussian over theta = (w, b), and a point.

Rows are those of ``models.logistic_regression_normal_prior`` without scaling, with margin theta . [x, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.logistic_regression import BernoulliPredictive
from models.unconstrained import Likelihood, Samples


@dataclass(frozen=True)
class LogisticGaussian(Samples):
    """The posterior theta ~ N(mean, root root'), with ``mean`` (D,) and ``root`` (D, D)."""

    mean: np.ndarray
    root: np.ndarray
    kind: str = "logistic_gaussian"

    @property
    def likelihood(self) -> Likelihood:
        return Likelihood("logistic")

    @property
    def covariance(self) -> np.ndarray:
        """The covariance, (D, D)."""
        return self.root @ self.root.T

    def parameters(self) -> dict[str, np.ndarray]:
        return {"mean": self.mean, "root": self.root}

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws, (n, D)."""
        return self.mean + rng.standard_normal((n, len(self.mean))) @ self.root.T


@dataclass(frozen=True)
class LogisticPoint:
    """One vector theta (D,), the intercept last: a point estimate, or one released draw. It cannot be sampled."""

    theta: np.ndarray
    kind: str = "logistic_point"

    def parameters(self) -> dict[str, np.ndarray]:
        return {"theta": self.theta}

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> BernoulliPredictive:
        """The class probabilities of rows x (n, D - 1)."""
        return BernoulliPredictive(np.asarray(x, dtype=np.float64) @ self.theta[:-1] + self.theta[-1])


def load(kind: str, p: dict[str, np.ndarray]):
    """Rebuild one of this file's posteriors from its parameters. Raises KeyError for another kind."""
    if kind == "logistic_gaussian":
        return LogisticGaussian(p["mean"], p["root"])
    if kind == "logistic_point":
        return LogisticPoint(p["theta"])
    raise KeyError(f"models/bounded_logistic.py holds logistic_gaussian and logistic_point, not '{kind}'")


#: for several kinds of model (``models.kind``).
POSTERIORS = (LogisticGaussian, LogisticPoint)
