"""DPVI, read at the mean of the kept iterates, on linear regression in the box."""

from __future__ import annotations

from dataclasses import dataclass

from methods import dpvi as published
from methods.engines.box_dpvi import BoxReading, TraceSettings


class DPVI(BoxReading):
    """``methods.dpvi`` on rows in the box; the numbers of the run by the formulas of ``box_dpvi``."""

    name = "dpvi"
    title = published.DPVI.title
    reference = published.DPVI.reference
    models = ("bounded_linear_regression",)
    reading = "trace_mean"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """As :class:`TraceSettings`."""
