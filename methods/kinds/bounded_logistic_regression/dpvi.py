"""DPVI, read at the mean of the kept iterates, on logistic regression in the box."""

from __future__ import annotations

from dataclasses import dataclass

from methods import dpvi as published
from methods.engines.box_dpvi import BoxReading, TraceSettings


class DPVI(BoxReading):
    """``methods.dpvi`` on rows in the box; the numbers of the run by the formulas of ``box_dpvi``."""

    name = "dpvi"
    title = published.DPVI.title
    reference = published.DPVI.reference
    models = ("bounded_logistic_regression",)
    reading = "trace_mean"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """As :class:`TraceSettings`; fewer steps, for time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
