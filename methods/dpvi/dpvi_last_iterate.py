"""DPVI read at its last iterate: the naive posterior, which takes the privacy noise for nothing."""

from __future__ import annotations

from dataclasses import dataclass

from methods.dpvi._box import BoxReading, TraceSettings
from methods.dpvi._noise_aware.settings import DPVISettings, Reading


class DPVILastIterate(Reading):
    """The last iterate of a DPVI run, taken as the posterior: a Gaussian with mean mu_T and standard deviation
    softplus(rho_T).
    """

    name = "dpvi_last_iterate"
    title = "Naive (last iterate)"
    reference = "alrawajfeh2024nadpvi_rebuttal, Tables 1 to 3, naive"
    reading = "last_iterate"

    @dataclass(frozen=True)
    class Settings(DPVISettings):
        """As :class:`DPVISettings`."""


# DPVI, read at its last iterate, on linear regression on inputs scaled to [-1, 1].
class DPVILastIterateLinear(BoxReading):
    """Mean-field DP-SGD on columns scaled to [-1, 1]; the posterior is at the last iterate.

    Start, clip and step sizes follow by formulas from the numbers of rows and columns, the prior and the noise. None
    was chosen on a data set of the suite.
    """

    name = "dpvi_last_iterate"
    title = DPVILastIterate.title
    reference = DPVILastIterate.reference
    models = ("bounded_linear_regression",)
    reading = "last_iterate"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """As :class:`TraceSettings`."""


# DPVI, read at its last iterate, on logistic regression on inputs scaled to [-1, 1].
class DPVILastIterateLogistic(BoxReading):
    """Mean-field DP-SGD on columns scaled to [-1, 1]; the posterior is at the last iterate.

    Start, clip and step sizes follow by formulas from the numbers of rows and columns, the prior and the noise. None
    was chosen on a data set of the suite.
    """

    name = "dpvi_last_iterate"
    title = DPVILastIterate.title
    reference = DPVILastIterate.reference
    models = ("bounded_logistic_regression",)
    reading = "last_iterate"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """As :class:`TraceSettings`; fewer steps, for time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
