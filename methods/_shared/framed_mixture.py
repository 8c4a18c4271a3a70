"""Mixtures of Gaussians on scaled rows: code shared by the methods for a mixture."""

from __future__ import annotations

import abc
import math
from dataclasses import replace

import numpy as np

from methods._shared.frames import InFrame
from methods._shared.known_noise import needs_known_noise
from methods.contract import Fit
from models.bounded import DEVIATIONS
from models.mixture_of_gaussians import MixtureOfGaussians
from models.mixture_regression import MixtureRegression
from models.task import PublicKnowledge, Task
from privacy.budget import Budget

#: radius of the ball that rows are clipped to, over sqrt(d), in units of the scaled columns (standard deviation near 1)
RADIUS = 1.5


def ball(d: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """(shift, scale), each (d,), of the public ball |x| <= radius sqrt(d) around the centre of [-1, 1]^d."""
    return np.zeros(d), np.full(d, radius * math.sqrt(d))


def passes(n: int) -> int:
    """Number of passes over n rows (public): 200,000 visits, at least 5 and at most 40 passes.

    It limits the time. 40 is the number of Vinaroz & Park 2023.
    """
    return min(40, max(5, math.ceil(200_000 / max(n, 1))))


def typical_site_norm(model: MixtureOfGaussians, d: int) -> float:
    """Norm of the site (x / s2, I / s2) of a row that certainly belongs to one component, for x of typical size.

    It is C_1 of ``methods.ep._mixture.corrected.schedule``, with s2 the variance of the noise:

        sqrt(E|x|^2 + d) / s2,   E|x|^2 = d (prior_variance + s2) + mean_j |m_j|^2.
    """
    s2 = model.noise_sd**2
    squares = d * (model.prior_variance + s2) + float(np.square(model.prior_means(d)).sum(axis=1).mean())
    return math.sqrt(squares + d) / s2


class MeansInFrame(InFrame):
    """A method on scaled rows for the component means of a mixture with known noise."""

    def supports(self, task: Task) -> str | None:
        reason = super().supports(task)
        return reason or needs_known_noise(self.name, replace(task, model=task.model.inner))


class RegressionInFrame(InFrame):
    """Gaussian-mixture regression: a mixture for the joint of inputs and target gives the target given the inputs.

    The joint is scaled to [-3, 3]^(d + 1), as in density estimation, so that a column has a standard deviation near 1.
    The result is a point estimate and has no theta of the linear model. Prior and linear likelihood of the task are not
    used. A subclass gives ``fit_joint`` and has ``components`` among its settings.
    """

    def fit_unit(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1]. Raises the errors of ``fit_joint``."""
        rows = np.column_stack([task.x, task.y])
        rows *= DEVIATIONS
        rows.setflags(write=False)  # so that the task makes no copy
        model = MixtureOfGaussians(settings.components, noise_sd=None)
        joint = Task(task.name, model, rows, public=PublicKnowledge(task.public.n))
        fit = self.fit_joint(joint, settings, budget, rng)
        p = fit.posterior
        found = MixtureRegression(p.weights, p.means / DEVIATIONS, p.covariances / DEVIATIONS**2)
        return Fit(found, fit.ledger, fit.diagnostics)

    @abc.abstractmethod
    def fit_joint(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit ``models.mixture_of_gaussians.MixtureParameters`` to rows [x, y] in [-3, 3]."""
