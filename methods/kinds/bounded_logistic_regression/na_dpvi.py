"""NA-DPVI by exact draws on logistic regression in the box."""

from __future__ import annotations

from dataclasses import dataclass

from methods import na_dpvi as published
from methods.engines.box_dpvi import BoxReading, NoiseAwareSettings


class NADPVI(BoxReading):
    """``methods.na_dpvi`` on rows in the box; the numbers of the run by the formulas of ``box_dpvi``."""

    name = "na_dpvi"
    title = published.NADPVI.title
    reference = published.NADPVI.reference
    models = ("bounded_logistic_regression",)
    reading = "noise_aware"

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """As :class:`NoiseAwareSettings`; fewer steps, for time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
