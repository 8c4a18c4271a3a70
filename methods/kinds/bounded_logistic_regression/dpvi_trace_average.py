"""DPVI with the variance of its iterates added, on logistic regression in the box."""

from __future__ import annotations

from dataclasses import dataclass

from methods import dpvi_trace_average as published
from methods.engines.box_dpvi import BoxReading, TraceSettings


class DPVITraceAverage(BoxReading):
    """``methods.dpvi_trace_average`` on rows in the box; the numbers of the run by the formulas of ``box_dpvi``."""

    name = "dpvi_trace_average"
    title = published.DPVITraceAverage.title
    reference = published.DPVITraceAverage.reference
    models = ("bounded_logistic_regression",)
    reading = "trace_average"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """As :class:`TraceSettings`; fewer steps, for time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
