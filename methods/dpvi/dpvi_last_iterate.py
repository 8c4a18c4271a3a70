"""DPVI with its last iterate as the posterior, which is the naive choice that ignores the privacy noise."""

from __future__ import annotations

from dataclasses import dataclass

from methods.dpvi._noise_aware.settings import DPVISettings, Reading
from methods.dpvi._scaled_rows import TraceMethod, TraceSettings


class DPVILastIterate(Reading):
    """The last iterate of a DPVI run as the posterior, which ignores the privacy noise.

    It is a Gaussian with mean mu_T and standard deviation softplus(rho_T).
    """

    name = "dpvi_last_iterate"
    title = "Naive (last iterate)"
    reference = "alrawajfeh2024nadpvi_rebuttal, Tables 1 to 3, naive"
    reading = "last_iterate"

    @dataclass(frozen=True)
    class Settings(DPVISettings):
        """The settings of :class:`DPVISettings`."""


# DPVI at its last iterate, for linear regression on inputs scaled to [-1, 1].
class DPVILastIterateLinear(TraceMethod):
    """Mean-field DP-SGD on columns scaled to [-1, 1]; the posterior is at the last iterate.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "dpvi_last_iterate"
    title = DPVILastIterate.title
    reference = DPVILastIterate.reference
    models = ("bounded_linear_regression",)
    reading = "last_iterate"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """The settings of :class:`TraceSettings`."""


# DPVI at its last iterate, for logistic regression on inputs scaled to [-1, 1].
class DPVILastIterateLogistic(TraceMethod):
    """Mean-field DP-SGD on columns scaled to [-1, 1]; the posterior is at the last iterate.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "dpvi_last_iterate"
    title = DPVILastIterate.title
    reference = DPVILastIterate.reference
    models = ("bounded_logistic_regression",)
    reading = "last_iterate"

    @dataclass(frozen=True)
    class Settings(TraceSettings):
        """The settings of :class:`TraceSettings`, with fewer steps to save time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
