"""NA-DPVI by its Laplace approximation on linear regression in the box."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from methods import na_dpvi_laplace as published
from methods.contract import Fit
from methods.engines.box_dpvi import BoxReading, NoiseAwareSettings


class NADPVILaplace(BoxReading):
    """``methods.na_dpvi_laplace`` on rows in the box; the numbers of the run by the formulas of ``box_dpvi``."""

    name = "na_dpvi_laplace"
    title = published.NADPVILaplace.title
    reference = published.NADPVILaplace.reference
    models = ("bounded_linear_regression",)
    reading = "laplace"

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """As :class:`NoiseAwareSettings`, and one quirk of the published program."""

        extra_term: bool = True  # adds log sigmoid(a) once a step to the log density, as published

    def read(self, run: Fit, settings: Settings, rng: np.random.Generator) -> Fit:
        """As :meth:`BoxReading.read`, with the quirk where the settings ask for it."""
        fit = super().read(run, settings, rng)
        inner = replace(fit.posterior.posterior, extra_term=settings.extra_term)
        return replace(fit, posterior=replace(fit.posterior, posterior=inner))
