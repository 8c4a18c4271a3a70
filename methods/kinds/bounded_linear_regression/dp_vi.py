"""DP-VI (DP-SGD on the lower bound) for linear regression in the box."""

from __future__ import annotations

import math

import numpy as np

from methods.contract import Fit
from methods.engines.conjugate_linear import descent
from models.linear_posteriors import NormalTimesLogNormal
from models.task import Task
from privacy.budget import Budget


class DPVI(descent.Descent):
    """DP-SGD on the lower bound of q(w) = N(m, diag(s^2)), log v ~ N(mu, t^2) (``conjugate_linear.descent``).

    The paper's network has Monte Carlo draws and a fixed noise precision; one layer needs no draws, and the noise
    variance is part of q: at the optimum t^2 = 1 / (shape + (n + p) / 2), which is public. Parts of a row's gradient
    are scaled by released and public numbers before they are clipped, and the prior's part is added after the noise.

    The paper's guarantee is for replace-one with batches of fixed size, where a sum moves by up to 2 C. Here batches
    are Poisson and neighbours add or remove a row, n public: a row is in the sum or it is not, which moves it by at
    most C (``methods.engines.conjugate_linear.kernel.clipped_sum``). All T steps are in the ledger, as one event of
    the Poisson-subsampled Gaussian, and the noise multiplier is what the frame has left of the budget.
    """

    name = "dp_vi"
    title = "DP-VI (Vinaroz & Park)"
    reference = "vinaroz2023dpsep, appendix D; add/remove and Poisson batches: this suite"

    def fit_unit(self, task: Task, settings: descent.Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises what ``descent.train`` raises."""
        found = descent.train(self.name, task, settings, budget, self.privacy, bayes=True)
        shape = task.model.shape + 0.5 * (task.public.n + len(found.mean))
        posterior = NormalTimesLogNormal(found.mean, found.sd, found.log_variance, math.sqrt(1.0 / shape))
        return Fit(posterior, budget.ledger, found.diagnostics)
