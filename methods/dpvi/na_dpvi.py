"""NA-DPVI by exact independent draws: the posterior of DPVI's optimum given the whole noisy trace."""

from __future__ import annotations

from dataclasses import dataclass

from methods.dpvi._noise_aware.settings import NoiseAwareSettings, Reading
from methods.dpvi._scaled_rows import NoiseAwareTraceSettings, TraceMethod


class NADPVI(Reading):
    """The noise-aware posterior of the optimum given the whole noisy trace of a DPVI run (algorithm 2 of the rebuttal).

    The authors sample this density by NUTS. Here it is collapsed into six numbers per coordinate and drawn exactly.
    """

    name = "na_dpvi"
    title = "NA-DPVI"
    reference = "alrawajfeh2024nadpvi_rebuttal, algorithm 2"
    reading = "noise_aware"
    noise_aware = True

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """The settings of :class:`NoiseAwareSettings`."""


# NA-DPVI by exact draws for linear regression on inputs scaled to [-1, 1].
class NADPVILinear(TraceMethod):
    """The noise-aware posterior of a DPVI run on columns scaled to [-1, 1], drawn exactly.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "na_dpvi"
    title = NADPVI.title
    reference = NADPVI.reference
    models = ("bounded_linear_regression",)
    reading = "noise_aware"
    noise_aware = True

    @dataclass(frozen=True)
    class Settings(NoiseAwareTraceSettings):
        """The settings of :class:`NoiseAwareTraceSettings`."""


# NA-DPVI by exact draws for logistic regression on inputs scaled to [-1, 1].
class NADPVILogistic(TraceMethod):
    """The noise-aware posterior of a DPVI run on columns scaled to [-1, 1], drawn exactly.

    Formulas give start, clip and step sizes from the numbers of rows and columns, the prior and the noise. None of them
    was chosen on a data set of the suite.
    """

    name = "na_dpvi"
    title = NADPVI.title
    reference = NADPVI.reference
    models = ("bounded_logistic_regression",)
    reading = "noise_aware"
    # the posterior models the noise, but not that so short a run ends far from its optimum: z has root mean square 2
    noise_aware = False

    @dataclass(frozen=True)
    class Settings(NoiseAwareTraceSettings):
        """The settings of :class:`NoiseAwareTraceSettings`, with fewer steps to save time."""

        steps: int = 2000  # T, noisy gradient steps (published: 10,000)
