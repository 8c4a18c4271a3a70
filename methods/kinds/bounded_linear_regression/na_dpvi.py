"""NA-DPVI by exact draws on linear regression in the box."""

from __future__ import annotations

from dataclasses import dataclass

from methods import na_dpvi as published
from methods.engines.box_dpvi import BoxReading, NoiseAwareSettings


class NADPVI(BoxReading):
    """``methods.na_dpvi`` on rows in the box; the numbers of the run by the formulas of ``box_dpvi``."""

    name = "na_dpvi"
    title = published.NADPVI.title
    reference = published.NADPVI.reference
    models = ("bounded_linear_regression",)
    reading = "noise_aware"

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """As :class:`NoiseAwareSettings`."""
