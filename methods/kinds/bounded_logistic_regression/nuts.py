"""Positive control: the exact posterior of logistic regression in the box by the No-U-Turn sampler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from models.task import Task
from models.unconstrained import UnconstrainedDraws
from privacy.budget import Budget


class NUTS(InFrame):
    """NumPyro's sampler in the coordinates of the Laplace approximation, where the posterior is nearly N(0, I).

    Double precision; the whitening is a linear map and leaves the target what it is. All draws are stored, in single
    precision. Diagnostics over all parameters: largest split R-hat, smallest effective sample size.
    """

    name = "nuts"
    title = "NUTS"
    reference = "Hoffman & Gelman 2014, algorithm 6; NumPyro; R-hat and ESS as in Gelman et al. 2013, section 11.4"
    models = ("bounded_logistic_regression",)
    constants = (Constants.GUESSED,)

    @dataclass(frozen=True)
    class Settings:
        """Chains run side by side, from draws of the Laplace approximation."""

        chains: int = 4  #: independent chains; R-hat needs 2 or more (choice of this suite)
        num_warmup: int = 100  #: steps a chain to adapt step size and mass matrix, thrown away (choice of this suite)
        num_samples: int = 250  #: draws a chain after that (choice of this suite)

        def __post_init__(self) -> None:
            if self.chains < 1 or self.num_warmup < 1 or self.num_samples < 4:
                raise ValueError(
                    f"nuts: chains = {self.chains}, num_warmup = {self.num_warmup}, num_samples = {self.num_samples}; "
                    "give at least 1, 1 and 4"
                )

    def prepare(self, task: Task, settings: Settings) -> None:
        import numpyro  # noqa: F401 - the import alone takes seconds

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a class that is not 0 or 1, Diverged where a draw is not
        finite."""
        from methods.engines.logistic.reference import long_chains
        from methods.engines.logistic.sampler import Target
        from methods.engines.logistic_gaussian.posterior import signed

        found = long_chains(
            signed(task), Target(1.0, 1.0 / task.model.prior_sd**2), rng, chains=settings.chains,
            warmup=settings.num_warmup, samples=settings.num_samples,
        )  # fmt: skip
        draws = found.draws.reshape(-1, found.draws.shape[2]).astype(np.float32)
        told = {"rhat_max": found.rhat, "ess_min": float(found.ess.min()), "draws": float(len(draws))}
        return Fit(UnconstrainedDraws(draws, task.model.likelihood), budget.ledger, told)
