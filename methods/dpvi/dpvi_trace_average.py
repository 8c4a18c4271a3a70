"""The trace average of DPVI, a baseline of NA-DPVI that adds the variance of the iterates to that of q."""

from __future__ import annotations

from dataclasses import dataclass

from methods.dpvi._noise_aware.settings import DPVISettings, Reading
from methods.dpvi._scaled_rows import TraceMethod, TraceSettings


class DPVITraceAverage(Reading):
    """The trace average of a DPVI run: a Gaussian whose mean is the mean of mu over the kept iterates.

    Its variance is softplus(mean of rho)^2 plus the variance of mu over these iterates. It is post-processing of one
    run, and costs no further privacy.
    """

    name = "dpvi_trace_average"
    title = "DPVI (trace average)"
    reference = "baseline of this suite; after jalko2023dpvim, section 3.2"
    reading = "trace_average"

    @dataclass(frozen=True)
    class Settings(DPVISettings):
        """The settings of :class:`DPVISettings`."""


# DPVI with the variance of its iterates added, for linear regression on inputs scaled to [-1, 1].
class DPVITraceAverageLinear(TraceMethod):
    """Mean-field DP-SGD on columns scaled to [-1, 1], with the variance of the kept iterates added.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "dpvi_trace_average"
    title = DPVITraceAverage.title
    reference = DPVITraceAverage.reference
    models = ("bounded_linear_regression",)
    reading = "trace_average"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """The settings of :class:`TraceSettings`."""


# DPVI with the variance of its iterates added, for logistic regression on inputs scaled to [-1, 1].
class DPVITraceAverageLogistic(TraceMethod):
    """Mean-field DP-SGD on columns scaled to [-1, 1], with the variance of the kept iterates added.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "dpvi_trace_average"
    title = DPVITraceAverage.title
    reference = DPVITraceAverage.reference
    models = ("bounded_logistic_regression",)
    reading = "trace_average"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """The settings of :class:`TraceSettings`, with fewer steps to save time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
