"""Algorithm 3 of Vinaroz & Park 2023 as printed, but without its noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from methods._shared.conjugate_linear import naturals
from methods._shared.framed_mixture import passes, typical_site_norm
from methods._shared.frames import InFrame
from methods._shared.known_noise import needs_known_noise
from methods._shared.settings_checks import one_of, positive, whole
from methods.contract import Constants, Fit, Method, MethodError
from methods.ep._in_frame import SitesInFrame
from models.task import Task
from privacy.budget import Budget


class ClippedSEP(Method):
    """DP-SEP as printed (Vinaroz & Park 2023, algorithm 3) without its noise, so without a guarantee."""

    name = "clipped_sep"
    title = "SEP clipped (algorithm 3 without noise)"
    reference = "vinaroz2023dpsep, algorithm 3 without line 9"
    models = ("bnn_regression", "mixture_of_gaussians")

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows (Vinaroz & Park 2023: 40).
        epochs: int = 40
        #: C, bound on the Euclidean norms of theta_0, theta_f and theta_fn (Vinaroz & Park 2023: 1).
        clip: float = 1.0
        #: damping value gamma of eq. (5): a step moves theta by gamma / N of a site (Vinaroz & Park 2023: 1).
        gamma: float = 1.0
        #: replaces a precision, a - 1 or b that is not positive (authors' code, for precisions: 1e-4).
        floor: float = 1e-4
        #: network only: where q starts, which the paper does not say: "printed" (SEP's random q) or "program" (the
        #: same means, mean naturals and precisions of each layer scaled to norm <= C).
        start: str = field(default="printed", metadata={"later": True})

        def __post_init__(self) -> None:
            one_of("clipped_sep", self, "start", ("printed", "program"))

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import training as mixture

            return mixture.compile_kernels(task.model.components, task.x.shape[1])
        from methods.ep._pbp import natural_training, training

        x, y = training.tiny(task.x.shape[1] + 1)
        natural_training.algorithm3(
            x, y, task.model, np.random.default_rng(0), method=self.name, epochs=1, clip=1.0, gamma=1.0,
            floor=1e-4, mechanism=None,
        )  # fmt: skip

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import training as mixture

            return mixture.algorithm3(
                task, rng, method=self.name, epochs=settings.epochs, clip=settings.clip, gamma=settings.gamma,
                floor=settings.floor, mechanism=None, ledger=budget.ledger,
            )  # fmt: skip
        from methods.ep._pbp import natural_training, training

        training.require(self.name, task, settings.epochs)
        x, y, scale = training.standardised(task)
        state, diagnostics = natural_training.algorithm3(
            x, y, task.model, rng, method=self.name, epochs=settings.epochs, clip=settings.clip,
            gamma=settings.gamma, floor=settings.floor, mechanism=None, start=settings.start,
        )  # fmt: skip
        return training.finish(state, scale, budget.ledger, diagnostics)


# Algorithm 3 of Vinaroz & Park 2023 without its noise, for linear regression on inputs scaled to [-1, 1].

_SHAPE = "clipped_sep writes the noise's Gamma as (a - 1, -b) and scales it, which needs a prior with shape above 1"


class ClippedSEPLinear(InFrame):
    """SEP with sites clipped as in algorithm 3 of Vinaroz & Park 2023, for Bayesian linear regression, without noise.

    A step sets the average site and then moves theta:

        theta_f <- clip((theta - theta_0) / N)
        theta <- theta + (gamma / N) (clip(f_n) - theta_f)

    Algorithm 3 is understood as everywhere in the suite. The parameter theta is one vector: mean naturals, precisions,
    and -b, a - 1 of the noise variance. The prior's theta_0 is scaled to norm <= C. The average site theta_f starts at
    0 and moves by gamma / N^2 of a site per step, so E epochs absorb about gamma E / N of the data. With the printed
    gamma = 1 that is the prior and E clipped rows.

    The average site is an average of vectors of norm <= C, so its own clipping never acts (gamma <= N^2). The site T(z)
    is exact whatever the cavity. So the steps are a weighted sum of the clipped T(z), computed at once. A sum of T(z)
    with positive weights and a proper prior is a proper posterior, so no number is ever raised to a floor.
    """

    name = "clipped_sep"
    title = "SEP clipped (algorithm 3 without noise)"
    reference = "vinaroz2023dpsep, algorithm 3 without line 9"
    models = ("bounded_linear_regression",)
    constants = (Constants.PRINTED,)
    grid: ClassVar[tuple[dict, ...]] = (
        {},
        {"gamma": 30.0},
        {"gamma": 1000.0},
        {"clip": 10.0},
        {"clip": 10.0, "gamma": 30.0},
        {"clip": 10.0, "gamma": 1000.0},
    )

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 40  #: passes over the rows (Vinaroz & Park 2023: 40)
        clip: float = 1.0  #: C, bound on the Euclidean norms of theta_0, theta_f and f_n (Vinaroz & Park 2023: 1)
        gamma: float = 1.0  #: damping of eq. (5): a step moves theta by gamma / N of a site (Vinaroz & Park 2023: 1)

        def __post_init__(self) -> None:
            whole("clipped_sep", self, "epochs")
            positive("clipped_sep", self, "clip", "gamma")

    def supports(self, task: Task) -> str | None:
        reason = super().supports(task)
        if reason is None and not task.model.shape > 1:
            return _SHAPE
        return reason

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises MethodError for a prior with shape <= 1, ValueError for gamma above N^2 (weights of both signs).
        """
        s, n = settings, task.n
        if not task.model.shape > 1:
            raise MethodError(_SHAPE)
        if s.gamma > n**2:
            raise ValueError(f"clipped_sep: gamma = {s.gamma}; give at most the number of rows squared, {n**2}")
        rate, epochs = s.gamma / n**2, int(s.epochs)
        norms = naturals.site_norms(task.x, task.y)
        weights = naturals.averaging_weights(n, epochs, rate, rng) * np.minimum(1.0, s.clip / norms)
        prior = naturals.clipped_prior(task.model, task.x.shape[1], s.clip)
        diagnostics = {
            "clipped_sites": float(np.mean(norms > s.clip)),
            "fraction_absorbed": naturals.absorbed(rate, epochs * n),
        }
        return Fit(naturals.moments(task.x, task.y, weights).posterior(prior), budget.ledger, diagnostics)


# Algorithm 3 of Vinaroz & Park 2023 without its noise, on logistic regression on inputs scaled to [-1, 1].
class ClippedSEPLogistic(InFrame):
    """SEP on logistic regression, with prior and sites clipped to norm C and the damping gamma / n of equation 5.

    There is no noise and no privacy. The parameter theta is one vector: the mean naturals and the precision matrix
    (Frobenius norm). The prior's theta_0 is scaled to norm at most C, so the prior is wider than the model's if sqrt(D)
    / prior_sd^2 > C. The average site theta_f, a mean of clipped sites, stays below C. As printed (gamma = 1) all
    epochs together absorb epochs / n of the data, and q stays at the prior. Rows move theta in 10 batches per epoch, as
    in ``sep``. At gamma = 1 an epoch moves theta by a share 1 / n.
    """

    name = "clipped_sep"
    title = "SEP clipped (algorithm 3 without noise)"
    reference = "vinaroz2023dpsep, algorithm 3 without line 9"
    models = ("bounded_logistic_regression",)
    constants = (Constants.PRINTED, Constants.GUESSED)
    #: the first is the paper's; the others absorb the data (gamma / n near or below 1).
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"clip": 10.0}, {"gamma": 300.0}, {"gamma": 300.0, "clip": 10.0}, {"gamma": 1000.0},
        {"gamma": 1000.0, "clip": 10.0},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 4  #: passes over the rows (the paper: 40; fewer here, since none of them moves q; see the class)
        clip: float = 1.0  #: C, norm of theta_0 and of a row's site in natural parameters (Vinaroz & Park 2023: 1)
        gamma: float = 1.0  #: damping value of equation 5: a step moves theta by gamma / n of a site (the paper: 1)

        def __post_init__(self) -> None:
            whole("clipped_sep", self, "epochs")
            positive("clipped_sep", self, "clip", "gamma")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods._shared.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a task without rows or a class that is not 0 or 1. Raises Diverged if q is not a density.
        """
        from methods._shared.logistic_gaussian import posterior

        z = posterior.signed(task)
        prior = 1.0 / task.model.prior_sd**2
        prior *= min(1.0, settings.clip / (prior * math.sqrt(z.shape[1])))
        q, told = posterior.sep(
            z, prior, rng, name=self.name, epochs=settings.epochs, coefficient=settings.gamma / task.n, batches=10,
            clip=settings.clip,
        )  # fmt: skip
        return Fit(q, budget.ledger, told)


# Algorithm 3 of Vinaroz & Park 2023 without its noise, for a mixture of Gaussians on inputs scaled to [-1, 1].
class ClippedSEPMixture(SitesInFrame, ClippedSEP):
    """Clipped SEP without noise on columns scaled to [-1, 1], with other defaults than printed.

    As printed (C = 1, gamma = 1) a pass absorbs 1 / N of the data, and the prior itself is scaled to norm 1. Here gamma
    is N, which is the step of SEP. C is the norm of the site of a typical row under the prior, as in the corrected
    DP-SEP. The printed values are the second entry of the grid of settings.
    """

    models = ("bounded_mixture",)
    constants = (Constants.FORMULA, Constants.PROGRAM)
    name = "clipped_sep"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"clip": 1.0, "gamma": 1.0}, {"clip": 1.0}, {"clip": 3.0}, {"clip": 30.0}, {"epochs": 10},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows; None: by ``methods._shared.framed_mixture.passes``.
        epochs: int | None = None
        #: C, bound on the norms of theta_0, theta_f and theta_fn; None: ``typical_site_norm`` of the model.
        clip: float | None = None
        #: damping value gamma of eq. (5), a step moves theta by gamma / N of a site; None: N.
        gamma: float | None = None
        #: replaces a precision that is not positive (authors' code: 1e-4).
        floor: float = 1e-4

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        s, n = settings, task.public.n
        chosen = replace(
            s,
            epochs=passes(n) if s.epochs is None else s.epochs,
            clip=typical_site_norm(task.model, task.x.shape[1]) if s.clip is None else s.clip,
            gamma=float(n) if s.gamma is None else s.gamma,
        )
        return ClippedSEP.fit(self, task, chosen, budget, rng)
