"""NA-DPVI by a Laplace approximation: a Gaussian about the mode of the noise-aware posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from methods.contract import Fit
from methods.dpvi._noise_aware.settings import NoiseAwareSettings, Reading
from methods.dpvi._scaled_rows import NoiseAwareTraceSettings, TraceMethod


class NADPVILaplace(Reading):
    """The noise-aware posterior of NA-DPVI by a Laplace approximation of the optimum.

    Each theta_j is normal around the mode mu*_j, with variance softplus(rho*_j)^2 plus the variance of mu*_j. The
    uncertainty of rho* is ignored. The mode is found on nested grids. The authors run Adam with learning rate 1 for
    100,000 steps, which does not end exactly at the mode.
    """

    name = "na_dpvi_laplace"
    title = "NA-DPVI (Laplace)"
    reference = "alrawajfeh2024nadpvi_rebuttal, Tables 2 and 3"
    reading = "laplace"
    noise_aware = True

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """The settings of :class:`NoiseAwareSettings`, and one quirk of the authors' code."""

        extra_term: bool = True  # add log sigmoid(a) once per step to the log density, as published; False: the model's

    def read(self, run: Fit, settings: Settings, rng: np.random.Generator) -> Fit:
        """Post-process the run as :meth:`Reading.read`, with the quirk of the authors' code if set."""
        fit = super().read(run, settings, rng)
        return replace(fit, posterior=replace(fit.posterior, extra_term=settings.extra_term))


# NA-DPVI by its Laplace approximation for linear regression on inputs scaled to [-1, 1].
class NADPVILaplaceLinear(TraceMethod):
    """The noise-aware posterior of a DPVI run on columns scaled to [-1, 1], by a Laplace approximation of its optimum.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "na_dpvi_laplace"
    title = NADPVILaplace.title
    reference = NADPVILaplace.reference
    models = ("bounded_linear_regression",)
    reading = "laplace"
    noise_aware = True

    @dataclass(frozen=True)
    class Settings(NoiseAwareTraceSettings):
        """The settings of :class:`NoiseAwareTraceSettings`, and one quirk of the authors' code."""

        extra_term: bool = True  # add log sigmoid(a) once per step to the log density, as published

    def read(self, run: Fit, settings: Settings, rng: np.random.Generator) -> Fit:
        """Post-process the run as :meth:`TraceMethod.read`, with the quirk of the authors' code if set."""
        fit = super().read(run, settings, rng)
        inner = replace(fit.posterior.posterior, extra_term=settings.extra_term)
        return replace(fit, posterior=replace(fit.posterior, posterior=inner))


# NA-DPVI by its Laplace approximation for logistic regression on inputs scaled to [-1, 1].
class NADPVILaplaceLogistic(TraceMethod):
    """The noise-aware posterior of a DPVI run on columns scaled to [-1, 1], by a Laplace approximation of its optimum.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "na_dpvi_laplace"
    title = NADPVILaplace.title
    reference = NADPVILaplace.reference
    models = ("bounded_logistic_regression",)
    reading = "laplace"
    noise_aware = False  # for the reason at NADPVILogistic; here z has root mean square 4

    @dataclass(frozen=True)
    class Settings(NoiseAwareTraceSettings):
        """The settings of :class:`NoiseAwareTraceSettings` with fewer steps, and one quirk of the authors' code."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
        extra_term: bool = True  # add log sigmoid(a) once per step to the log density, as published

    def read(self, run: Fit, settings: Settings, rng: np.random.Generator) -> Fit:
        """Post-process the run as :meth:`TraceMethod.read`, with the quirk of the authors' code if set."""
        fit = super().read(run, settings, rng)
        inner = replace(fit.posterior.posterior, extra_term=settings.extra_term)
        return replace(fit, posterior=replace(fit.posterior, posterior=inner))
