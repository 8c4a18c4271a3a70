"""Differentially private variational inference, read at the mean of its iterates."""

from __future__ import annotations

from dataclasses import dataclass

from methods.dpvi._box import BoxReading, TraceSettings
from methods.dpvi._noise_aware.settings import DPVISettings, Reading


class DPVI(Reading):
    """Mean-field DP-SGD on the negative lower bound; q at the mean of the kept iterates, privacy noise ignored.

    The stored posterior holds the sufficient statistics of the trace, so that every other reading of the same run
    (last iterate, noise-aware, Laplace, trace average) can be had from it: ``models.noise_aware.TracePosterior.read``.
    """

    name = "dpvi"
    title = "DPVI (mean iterate)"
    reference = "jalko2017dpvi; alrawajfeh2024nadpvi_rebuttal, algorithm 1"
    reading = "trace_mean"

    @dataclass(frozen=True)
    class Settings(DPVISettings):
        """As :class:`DPVISettings`."""


# DPVI, read at the mean of the kept iterates, on linear regression in the box.
class DPVILinear(BoxReading):
    """:class:`DPVI` on rows in the box; the numbers of the run by the formulas of ``_box``."""

    name = "dpvi"
    title = DPVI.title
    reference = DPVI.reference
    models = ("bounded_linear_regression",)
    reading = "trace_mean"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """As :class:`TraceSettings`."""


# DPVI, read at the mean of the kept iterates, on logistic regression in the box.
class DPVILogistic(BoxReading):
    """:class:`DPVI` on rows in the box; the numbers of the run by the formulas of ``_box``."""

    name = "dpvi"
    title = DPVI.title
    reference = DPVI.reference
    models = ("bounded_logistic_regression",)
    reading = "trace_mean"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """As :class:`TraceSettings`; fewer steps, for time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
