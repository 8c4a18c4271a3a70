"""Stochastic expectation propagation (Li et al. 2015)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from methods._shared.conjugate_linear import naturals
from methods._shared.framed_mixture import passes
from methods._shared.frames import InFrame
from methods._shared.known_noise import needs_known_noise
from methods._shared.settings_checks import positive, whole
from methods.contract import Constants, Fit, Method
from methods.ep._in_frame import SitesInFrame
from models.task import Task
from privacy.budget import Budget


class SEP(Method):
    """Stochastic expectation propagation (Li et al. 2015): one average site f instead of one site per row.

    theta = theta_0 + N f, and each row moves theta by f_n - f. On the network the prior is refined after each epoch.
    """

    name = "sep"
    title = "SEP"
    reference = "li2015sep, algorithm 1; network of hernandezlobato2015pbp, mixture of li2015sep"
    models = ("bnn_regression", "mixture_of_gaussians")
    constants = (Constants.PRINTED,)

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows (Vinaroz & Park 2023: 40).
        epochs: int = 40
        #: coefficient k of theta <- theta + k (f_n - f); 1 is damping 1/N of the average site (Li et al. 2015). For the
        #: mixture Vinaroz & Park 2023 use k = 1/N.
        damping: float = 1.0

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import training as mixture

            return mixture.compile_kernels(task.model.components, task.x.shape[1])
        from methods.ep._pbp import training

        self._train(*training.tiny(task.x.shape[1] + 1), task, settings, 1, np.random.default_rng(0))

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import training as mixture

            return mixture.sep(
                task, rng, method=self.name, epochs=settings.epochs, damping=settings.damping, ledger=budget.ledger
            )
        from methods.ep._pbp import training

        training.require(self.name, task, settings.epochs)
        x, y, scale = training.standardised(task)
        q, diagnostics = self._train(x, y, task, settings, settings.epochs, rng)
        return training.finish(q, scale, budget.ledger, diagnostics)

    def _train(self, x, y, task: Task, settings: Settings, epochs: int, rng: np.random.Generator):
        from methods.ep._pbp import natural_training, state, training

        natural_training.require_positive(self.name, damping=settings.damping)
        noise = (task.model.noise_shape, task.model.noise_rate)
        q, prior = state.initial(task.model, x.shape[1], rng)
        if settings.damping == 1.0:
            q, _, diagnostics = training.train_moments(
                x, y, q, prior, rng, method=self.name, epochs=epochs, power=1.0 / len(y), noise_prior=noise
            )
        else:
            rules = natural_training.Rules(coefficient=settings.damping)
            q, _, diagnostics = natural_training.train_naturals(
                x, y, q, prior, lambda f: f.naturals(*noise), rng, rules, method=self.name, epochs=epochs,
                refine_prior=True,
            )  # fmt: skip
        return q, diagnostics


# Stochastic expectation propagation for linear regression on inputs scaled to [-1, 1].
class SEPLinear(InFrame):
    """SEP (Li et al. 2015, algorithm 1) from f = 0: theta <- theta + damping (f_n - f), theta = theta_0 + N f.

    The site f_n is T(z_n) whatever the cavity. So N f is a weighted sum of the rows' T(z) in which late rows count
    more. The weights depend only on the order and are computed at once. The result is the posterior of the weighted
    rows, not the exact one. A smaller damping gives more even weights.
    """

    name = "sep"
    title = "SEP"
    reference = "li2015sep, algorithm 1"
    models = ("bounded_linear_regression",)
    constants = (Constants.PRINTED,)
    grid: ClassVar[tuple[dict, ...]] = (
        {},
        {"damping": 0.5},
        {"damping": 0.2},
        {"damping": 0.1},
        {"damping": 0.1, "epochs": 100},
        {"damping": 0.05, "epochs": 200},
    )

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 40  #: passes over the rows, a fresh order each (Vinaroz & Park 2023: 40)
        damping: float = 1.0  #: k of theta <- theta + k (f_n - f); 1 is damping 1/N of f (Li et al. 2015); at most N

        def __post_init__(self) -> None:
            whole("sep", self, "epochs")
            positive("sep", self, "damping")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a damping above the number of rows: weights would change their sign.
        """
        if settings.damping > task.n:
            raise ValueError(f"sep: damping = {settings.damping}; give at most the number of rows, {task.n}")
        rate, epochs = settings.damping / task.n, int(settings.epochs)
        weights = naturals.averaging_weights(task.n, epochs, rate, rng)
        posterior = naturals.moments(task.x, task.y, weights).posterior(task.model)
        return Fit(posterior, budget.ledger, {"fraction_absorbed": naturals.absorbed(rate, epochs * task.n)})


# Stochastic expectation propagation on logistic regression on inputs scaled to [-1, 1].
class SEPLogistic(InFrame):
    """One average site f in full natural parameters, theta = theta_0 + n f; a row moves theta by f_n - f.

    Unlike in Li et al. 2015, the rows of a batch share their cavity and move theta together. A move of one row costs
    D^2 with full covariance and no matrix product. With ``batches`` = n it is the printed algorithm.
    """

    name = "sep"
    title = "SEP"
    reference = "li2015sep, algorithm 1"
    models = ("bounded_logistic_regression",)
    constants = (Constants.PRINTED, Constants.GUESSED)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"epochs": 4}, {"epochs": 16}, {"coefficient": 0.5, "epochs": 16}, {"batches": 10}, {"batches": 40}
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 8  #: passes over the rows; leaves exp(-8) of the start (choice of this suite)
        coefficient: float = 1.0  #: k of theta <- theta + k (f_n - f); 1: damping 1 / n of f (Li et al. 2015)
        batches: int = 20  #: batches per epoch; a batch replaces about 1 / batches of theta (choice of this suite)

        def __post_init__(self) -> None:
            whole("sep", self, "epochs", "batches")
            positive("sep", self, "coefficient")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods._shared.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a task without rows or a class that is not 0 or 1. Raises Diverged if q is not a density.
        """
        from methods._shared.logistic_gaussian import posterior

        q, told = posterior.sep(
            posterior.signed(task), 1.0 / task.model.prior_sd**2, rng, name=self.name, epochs=settings.epochs,
            coefficient=settings.coefficient, batches=settings.batches,
        )  # fmt: skip
        return Fit(q, budget.ledger, told)


# Stochastic expectation propagation for a mixture of Gaussians on inputs scaled to [-1, 1].
class SEPMixture(SitesInFrame, SEP):
    """Stochastic expectation propagation on columns scaled to [-1, 1]: one average site for all component means."""

    models = ("bounded_mixture",)
    constants = (Constants.FORMULA, Constants.PRINTED)
    name = "sep"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"damping": 0.1}, {"damping": 0.3}, {"damping": 0.6}, {"epochs": 3}, {"epochs": 10},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows; None: by ``methods._shared.framed_mixture.passes``.
        epochs: int | None = None
        #: coefficient k of theta <- theta + k (f_n - f); 1 is damping 1/N of the average site (Li et al. 2015).
        damping: float = 1.0

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        epochs = passes(task.public.n) if settings.epochs is None else settings.epochs
        return SEP.fit(self, task, replace(settings, epochs=epochs), budget, rng)
