"""DPVI, read at its last iterate, on logistic regression in the box."""

from __future__ import annotations

from dataclasses import dataclass

from methods import dpvi_last_iterate as published
from methods.engines.box_dpvi import BoxReading, TraceSettings


class DPVILastIterate(BoxReading):
    """``methods.dpvi_last_iterate`` on rows in the box; the numbers of the run by the formulas of ``box_dpvi``."""

    name = "dpvi_last_iterate"
    title = published.DPVILastIterate.title
    reference = published.DPVILastIterate.reference
    models = ("bounded_logistic_regression",)
    reading = "last_iterate"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """As :class:`TraceSettings`; fewer steps, for time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
