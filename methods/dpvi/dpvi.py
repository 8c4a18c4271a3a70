"""Differentially private variational inference (DPVI), with the posterior at the mean of its iterates."""

from __future__ import annotations

from dataclasses import dataclass

from methods.dpvi._noise_aware.settings import DPVISettings, Reading
from methods.dpvi._scaled_rows import TraceMethod, TraceSettings


class DPVI(Reading):
    """Mean-field variational inference by DP-SGD on the negative lower bound.

    The posterior is at the mean of the kept iterates and ignores the privacy noise in them. The last iterate, the trace
    average and the noise-aware posteriors are post-processing of the same run, and cost no further privacy.
    """

    name = "dpvi"
    title = "DPVI (mean iterate)"
    reference = "jalko2017dpvi; alrawajfeh2024nadpvi_rebuttal, algorithm 1"
    reading = "trace_mean"

    @dataclass(frozen=True)
    class Settings(DPVISettings):
        """The settings of :class:`DPVISettings`."""


# DPVI at the mean of the kept iterates, for linear regression on inputs scaled to [-1, 1].
class DPVILinear(TraceMethod):
    """Mean-field DP-SGD on columns scaled to [-1, 1]; the posterior is at the mean of the kept iterates.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "dpvi"
    title = DPVI.title
    reference = DPVI.reference
    models = ("bounded_linear_regression",)
    reading = "trace_mean"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """The settings of :class:`TraceSettings`."""


# DPVI at the mean of the kept iterates, for logistic regression on inputs scaled to [-1, 1].
class DPVILogistic(TraceMethod):
    """Mean-field DP-SGD on columns scaled to [-1, 1]; the posterior is at the mean of the kept iterates.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "dpvi"
    title = DPVI.title
    reference = DPVI.reference
    models = ("bounded_logistic_regression",)
    reading = "trace_mean"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """The settings of :class:`TraceSettings`, with fewer steps to save time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
