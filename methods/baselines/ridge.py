"""Baseline: linear regression with a ridge penalty chosen by leave-one-out on the training rows, without privacy.

A network should beat it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.settings_checks import positive, whole
from methods.contract import Constants, Fit, Method, Rerun, Role
from models.linear_regression import LinearRegression, exact_posterior
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget


class Ridge(Method):
    """Linear regression with a ridge penalty that is chosen by leave-one-out on the training rows, without privacy.

    The posterior is the exact Gaussian one at that penalty and the estimated noise variance.
    """

    name = "ridge"
    title = "Linear regression (ridge)"
    reference = "baseline of this suite; Hoerl & Kennard 1970; scikit-learn RidgeCV"
    role = Role.YARDSTICK
    models = ("bnn_regression", "linear_regression")
    rerun = Rerun.CLOSED_FORM
    constants = (Constants.GUESSED,)

    @dataclass(frozen=True)
    class Settings:
        """The grid of penalties: ``count`` values from ``smallest`` to ``largest``, evenly spaced in the logarithm."""

        smallest: float = 1e-6  # least penalty on the squared weights (scaled inputs and target; choice of this suite)
        largest: float = 1e4  # greatest penalty, same units (choice of this suite)
        count: int = 41  # number of penalties on the grid: four per decade (choice of this suite)

        def __post_init__(self) -> None:
            positive("ridge", self, "smallest", "largest")
            if self.smallest > self.largest:
                raise ValueError(f"ridge: smallest = {self.smallest}; give at most largest, {self.largest}")
            whole("ridge", self, "count")

    def prepare(self, task: Task, settings: Settings) -> None:
        import sklearn.linear_model  # noqa: F401 - the import alone takes a second

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Ridge regression as the exact Gaussian posterior with prior precision penalty / noise variance.

        The noise variance is the residual sum of squares over (n minus the effective number of parameters). The latter
        is the trace of the hat matrix (Hastie, Tibshirani & Friedman 2009, section 3.4.1). Raises ValueError below 3
        rows.
        """
        from sklearn.linear_model import RidgeCV

        if task.n < 3:
            raise ValueError(f"{task.name}: ridge needs at least 3 training rows, got {task.n}")
        scale = Standardiser.from_moments(task.x, task.y)
        x, y = scale.x(task.x), scale.y(task.y)
        grid = np.geomspace(settings.smallest, settings.largest, settings.count)
        ridge = RidgeCV(alphas=grid, fit_intercept=True).fit(x, y)
        penalty = float(ridge.alpha_)
        squared = np.linalg.svd(x, compute_uv=False) ** 2
        freedom = 1.0 + float(np.sum(squared / (squared + penalty)))  # 1 for the intercept
        noise = float(np.sum((y - ridge.predict(x)) ** 2)) / max(task.n - freedom, 1.0)
        noise = max(noise, np.finfo(float).eps)  # a target that is exactly linear leaves no residual
        posterior = exact_posterior(LinearRegression(penalty / noise, noise), task.x, task.y, scale)
        return Fit(posterior, budget.ledger, {"penalty": penalty, "degrees_of_freedom": freedom})


# Baseline: ridge regression on the rows of the common task, original units.
class RidgeLinear(Ridge):
    """Linear regression with a ridge penalty chosen by leave-one-out, without privacy.

    Rows are standardised by their own moments, and nothing is clipped.
    """

    name = "ridge"
    models = ("bounded_linear_regression",)
    constants = (Constants.GUESSED,)
