"""DPVIm on logistic regression in the box."""

from __future__ import annotations

from dataclasses import dataclass

from methods import dpvim as published
from methods.engines.box_dpvi import BoxAligned, StepSettings


class DPVIM(BoxAligned):
    """As :class:`BoxAligned`."""

    name = "dpvim"
    title = published.DPVIM.title
    reference = published.DPVIM.reference
    models = ("bounded_logistic_regression",)

    @dataclass(frozen=True)
    class Settings(StepSettings):
        """As :class:`StepSettings`."""

        steps: int = 2000  # T, noisy gradient steps
        trace_variance: bool = True  # add the variance of the kept iterates of mu
