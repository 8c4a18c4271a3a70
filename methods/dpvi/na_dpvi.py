"""NA-DPVI by exact independent draws: DPVI, then the posterior of its optimum given the whole noisy trace."""

from __future__ import annotations

from dataclasses import dataclass

from methods.dpvi._box import BoxNoiseAwareSettings, BoxReading
from methods.dpvi._noise_aware.settings import NoiseAwareSettings, Reading


class NADPVI(Reading):
    """The density that the authors sample by NUTS, collapsed into six numbers a coordinate and drawn exactly.

    What is stored are those numbers (``models.noise_aware.TracePosterior``): draws are made where they are scored.
    """

    name = "na_dpvi"
    title = "NA-DPVI"
    reference = "alrawajfeh2024nadpvi_rebuttal, algorithm 2"
    reading = "noise_aware"

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """As :class:`NoiseAwareSettings`."""


# NA-DPVI by exact draws on linear regression in the box.
class NADPVILinear(BoxReading):
    """:class:`NADPVI` on rows in the box; the numbers of the run by the formulas of ``_box``."""

    name = "na_dpvi"
    title = NADPVI.title
    reference = NADPVI.reference
    models = ("bounded_linear_regression",)
    reading = "noise_aware"

    @dataclass(frozen=True)
    class Settings(BoxNoiseAwareSettings):
        """As :class:`BoxNoiseAwareSettings`."""


# NA-DPVI by exact draws on logistic regression in the box.
class NADPVILogistic(BoxReading):
    """:class:`NADPVI` on rows in the box; the numbers of the run by the formulas of ``_box``."""

    name = "na_dpvi"
    title = NADPVI.title
    reference = NADPVI.reference
    models = ("bounded_logistic_regression",)
    reading = "noise_aware"

    @dataclass(frozen=True)
    class Settings(BoxNoiseAwareSettings):
        """As :class:`BoxNoiseAwareSettings`; fewer steps, for time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
