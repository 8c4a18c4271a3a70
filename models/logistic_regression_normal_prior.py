"""Bayesian logistic regression with an intercept: y ~ Bernoulli(sigmoid(w . [x, 1])), w ~ N(0, prior_sd^2 I).

This is the model of NA-DPVI's Adult experiment (Alrawajfeh, Jalko & Honkela 2025). Their code has the prior N(0, I),
including the intercept. The model says how the first ``continuous`` inputs are scaled (``scaling``):

``none``     They are not scaled.
``moments``  Training rows are scaled by their mean and standard deviation, test rows by their own, as published. These
             are private numbers that are not charged to the budget, so a method lists this among its leaks.
``public``   They are scaled by the documented or declared range: (x - middle) / (width / sqrt 12). The result has mean
             0 and variance 1 if x is uniform on the range. Values outside are mapped by the same line.
``paid``     They are scaled by ranges and moments that are estimated privately from the budget (``privacy.scaling``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from models import tiny
from models.kind import Kind
from models.task import PublicKnowledge
from models.unconstrained import Likelihood, moments

SCALINGS = ("none", "moments", "public", "paid")


@dataclass(frozen=True)
class LogisticRegressionNormalPrior:
    """Logistic regression with an intercept. All its fields are public.

    Parameters
    ----------
    prior_sd : prior standard deviation of each weight and the intercept.
    continuous : number of leading inputs that are scaled. The other inputs (dummies) are not.
    scaling : one of ``SCALINGS``, see the module.
    declared_bounds : (column, lower, upper) for inputs without a documented range, fixed before the rows were seen.
    """

    prior_sd: float = 1.0
    continuous: int = 0
    scaling: str = "none"
    declared_bounds: tuple[tuple[int, float, float], ...] = ()
    kind: str = "logistic_regression_normal_prior"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.prior_sd) and self.prior_sd > 0):
            raise ValueError(f"{self.kind}: prior_sd = {self.prior_sd}; give a finite number above 0")
        if self.scaling not in SCALINGS:
            raise ValueError(f"{self.kind}: scaling = '{self.scaling}'; give one of {', '.join(SCALINGS)}")
        if int(self.continuous) != self.continuous or self.continuous < 0:
            raise ValueError(f"{self.kind}: continuous = {self.continuous}; give a whole number >= 0")
        if self.scaling == "none" and self.continuous:
            raise ValueError(f"{self.kind}: continuous = {self.continuous} inputs to scale, but scaling is 'none'")
        declared = tuple((int(j), float(low), float(high)) for j, low, high in self.declared_bounds)
        for j, low, high in declared:
            if not (0 <= j < self.continuous and math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(
                    f"{self.kind}: declared_bounds ({j}, {low}, {high}); give a column below continuous = "
                    f"{self.continuous} and finite lower < upper"
                )
        object.__setattr__(self, "declared_bounds", declared)

    def dimension(self, inputs: int) -> int:
        """The dimension D: the weights and the intercept. Raises ValueError for fewer inputs than ``continuous``."""
        if inputs < self.continuous:
            raise ValueError(f"{self.kind}: continuous = {self.continuous}, but the rows have {inputs} inputs")
        return inputs + 1

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood of rows that need no scaling."""
        return Likelihood("logistic")

    def bounds(self, public: PublicKnowledge) -> list[tuple[float, float] | None]:
        """The range of each continuous input: the declared one, else the documented one, else None."""
        found = list(public.x_bounds[: self.continuous]) if len(public.x_bounds) else [None] * self.continuous
        for j, low, high in self.declared_bounds:
            found[j] = (low, high)
        return found

    def scaled_likelihood(self, x: np.ndarray, public: PublicKnowledge) -> Likelihood:
        """The likelihood with the scaling of training rows x (n, d).

        Raises ValueError for scaling "public" if an input has no range, and for "paid", which the method must do.
        """
        if self.scaling == "none" or not self.continuous:
            return self.likelihood
        if self.scaling == "moments":
            return Likelihood("logistic", *moments(x[:, : self.continuous]), own_moments=True)
        if self.scaling == "paid":
            raise ValueError(f"{self.kind}: scaling 'paid' needs a budget; the method estimates it privately")
        bounds = self.bounds(public)
        if missing := [str(j) for j, b in enumerate(bounds) if b is None]:
            raise ValueError(
                f"{self.kind}: scaling 'public' needs a range of each continuous input; column {', '.join(missing)} "
                "has no documented one: add it to declared_bounds, or use scaling 'paid'"
            )
        low, high = np.array(bounds, dtype=np.float64).T
        return Likelihood("logistic", (low + high) / 2, (high - low) / math.sqrt(12.0))

    def log_prior(self, theta: np.ndarray) -> np.ndarray:
        """The log prior density of theta (K, D): (K,), nats."""
        d = theta.shape[1]
        return -0.5 * (d * math.log(2 * math.pi * self.prior_sd**2) + (theta**2).sum(axis=1) / self.prior_sd**2)

    def prior_gradient(self, theta: np.ndarray) -> np.ndarray:
        """The gradient of -log_prior, (K, D)."""
        return theta / self.prior_sd**2


_TINY = LogisticRegressionNormalPrior(continuous=2, scaling="public")
KIND = Kind(
    name="logistic_regression_normal_prior",
    model=LogisticRegressionNormalPrior,
    target="classification",
    draws="evaluation.drawn:probabilities_of",
    scorer="evaluation.scorers:drawn_probabilities",
    tiny={
        # for the audit: a gradient must be clipped whatever its label is
        "logistic_regression_normal_prior": partial(tiny.regression, _TINY),
        "classes_with_normal_prior": partial(tiny.two_classes, _TINY),
    },
    unaudited=("classes_with_normal_prior",),
)
