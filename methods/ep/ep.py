"""Expectation propagation with one site per row (Minka 2001)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from methods._shared.conjugate_linear import naturals
from methods._shared.framed_mixture import passes
from methods._shared.frames import InFrame
from methods._shared.known_noise import needs_known_noise
from methods._shared.settings_checks import whole, within
from methods.contract import Constants, Fit, Method
from methods.ep._in_frame import SitesInFrame
from models.task import Task
from privacy.budget import Budget


class EP(Method):
    """Expectation propagation (Minka 2001) with one damped site per row.

    The sites of all rows are stored. On the network the prior is refined after each epoch.
    """

    name = "ep"
    title = "EP"
    reference = "minka2001ep; damping and network of the authors' code of vinaroz2023dpsep"
    models = ("bnn_regression", "mixture_of_gaussians")

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows (Vinaroz & Park 2023: 40).
        epochs: int = 40
        #: fraction of a new site that is taken, in (0, 1] (code of Vinaroz & Park 2023: 0.4; for the
        #: mixture 1/N).
        damping: float = 0.4
        #: storage of the sites: float64, float32, int8 (one scale per row, unit and natural), or auto: the most
        #: precise that needs at most 1 GiB, else int8. Choice of this suite. The mixture always stores float64.
        site_storage: str = "auto"

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import training as mixture

            return mixture.compile_kernels(task.model.components, task.x.shape[1])
        from methods.ep._pbp import training

        x, y = training.tiny(task.x.shape[1] + 1)
        self._train(x, y, task, settings, 1, self._storage(task, settings), np.random.default_rng(0))

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task. The sites take N times ``ep_kernel.Sites.bytes_per_row`` of memory.

        That is 8.4 GiB in int8 for 463,715 rows, 90 inputs and 100 units.
        """
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import training as mixture

            return mixture.ep(
                task, rng, method=self.name, epochs=settings.epochs, damping=settings.damping, ledger=budget.ledger
            )
        from methods.ep._pbp import training

        training.require(self.name, task, settings.epochs)
        within("ep", settings, "(0, 1]", "damping")
        storage = self._storage(task, settings)
        x, y, scale = training.standardised(task)
        q, diagnostics = self._train(x, y, task, settings, settings.epochs, storage, rng)
        return training.finish(q, scale, budget.ledger, diagnostics)

    def _storage(self, task: Task, settings: Settings) -> str:
        from methods.ep._pbp.natural_training import storage_for

        return storage_for(task.n, task.model.hidden, task.x.shape[1] + 1, settings.site_storage)

    def _train(self, x, y, task: Task, settings: Settings, epochs: int, storage: str, rng: np.random.Generator):
        from methods.ep._pbp import natural_training, state

        q, prior = state.initial(task.model, x.shape[1], rng)
        q, _, sites, diagnostics = natural_training.train_sites(
            x, y, q, prior, rng, method=self.name, epochs=epochs, damping=settings.damping, storage=storage
        )
        return q, {**diagnostics, "bytes_per_site": float(sites.bytes_per_row(q.hidden, q.inputs, storage))}


# Expectation propagation for linear regression on scaled inputs: exact sites, so it ends at the exact posterior.
class EPLinear(InFrame):
    """EP with one site per row (Minka 2001), damped, from sites of 0.

    A row's likelihood is a member of the conjugate family, so the site that matches the tilted distribution is T(z)
    whatever the cavity. A damped update of every row in each of E epochs then leaves a share s = 1 - (1 - damping)^E of
    T(z) in every site, in any order of the rows. So the result is computed by that formula from the sums over all rows,
    not row by row. With the defaults the share is 1 to 1e-8: the exact posterior.
    """

    name = "ep"
    title = "EP"
    reference = "minka2001ep; damping of the authors' code of vinaroz2023dpsep"
    models = ("bounded_linear_regression",)
    constants = (Constants.PRINTED, Constants.PROGRAM)

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 40  #: passes over the rows (Vinaroz & Park 2023: 40)
        damping: float = 0.4  #: fraction of a new site that is taken, in (0, 1] (code of Vinaroz & Park 2023: 0.4)

        def __post_init__(self) -> None:
            whole("ep", self, "epochs")
            within("ep", self, "(0, 1]", "damping")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        share = -math.expm1(settings.epochs * math.log1p(-settings.damping)) if settings.damping < 1 else 1.0
        posterior = naturals.moments(task.x, task.y).times(share).posterior(task.model)
        return Fit(posterior, budget.ledger, {"fraction_absorbed": share})


# Expectation propagation on logistic regression on inputs scaled to [-1, 1].
class EPLogistic(InFrame):
    """Parallel EP with one Gaussian site per row along its margin, and full covariance.

    All sites of a pass are computed from one q. Unlike in Minka 2001, rows are updated in parallel and not one after
    another, so a pass consists of matrix products. The fixed points are the same. The tilted moments are
    one-dimensional integrals of a logistic by a normal. A pass takes 0.3 s at 44,000 rows and 101 parameters, and about
    six passes are needed.
    """

    name = "ep"
    title = "EP"
    reference = "minka2001ep, parallel, damped"
    models = ("bounded_logistic_regression",)
    constants = (Constants.GUESSED,)

    @dataclass(frozen=True)
    class Settings:
        passes: int = 30  #: largest number of passes; ends earlier at the fixed point (choice of this suite)
        damping: float = 1.0  #: fraction of a new site that is taken, in (0, 1] (choice of this suite)

        def __post_init__(self) -> None:
            whole("ep", self, "passes")
            within("ep", self, "(0, 1]", "damping")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods._shared.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a task without rows or a class that is not 0 or 1. Raises Diverged if q is not a density.
        """
        from methods._shared.logistic_gaussian import posterior

        q, told = posterior.ep(
            posterior.signed(task), 1.0 / task.model.prior_sd**2, name=self.name, passes=settings.passes,
            damping=settings.damping,
        )  # fmt: skip
        return Fit(q, budget.ledger, told)


# Expectation propagation for a mixture of Gaussians on inputs scaled to [-1, 1].
class EPMixture(SitesInFrame, EP):
    """Expectation propagation on columns scaled to [-1, 1]: one damped site per row for all component means.

    Minka (2001) visits rows until convergence. Here the number of passes is fixed by n, and the share
    1 - (1 - damping)^passes of the data is absorbed.
    """

    models = ("bounded_mixture",)
    constants = (Constants.FORMULA, Constants.PROGRAM)
    name = "ep"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"damping": 0.2}, {"damping": 0.7}, {"damping": 1.0}, {"epochs": 3}, {"epochs": 10},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows; None: by ``methods._shared.framed_mixture.passes``.
        epochs: int | None = None
        #: fraction of a new site that is taken, in (0, 1] (code of Vinaroz & Park 2023: 0.4).
        damping: float = 0.4

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        epochs = passes(task.public.n) if settings.epochs is None else settings.epochs
        return EP.fit(self, task, replace(settings, epochs=epochs), budget, rng)
