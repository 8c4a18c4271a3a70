"""NA-DPVI by the No-U-Turn sampler on the collapsed density, as a cross-check of the exact draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.settings_checks import whole, within
from methods.contract import Fit, Rerun
from methods.dpvi._noise_aware.settings import NoiseAwareSettings, Reading
from models.task import Task


class NADPVINUTS(Reading):
    """The noise-aware posterior of NA-DPVI by the No-U-Turn sampler, as the authors draw it.

    It is a check of ``na_dpvi``. The diagnostics are R-hat, the effective sample size and the agreement with the exact
    distribution.
    """

    name = "na_dpvi_nuts"
    title = "NA-DPVI (NUTS, check)"
    reference = "alrawajfeh2024nadpvi_rebuttal, algorithm 2, line 15; Hoffman & Gelman 2014, algorithm 6; NumPyro"
    rerun = Rerun.CHAIN
    reading = "noise_aware"
    noise_aware = True

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """The settings of :class:`NoiseAwareSettings` and of the sampler, whose chains run one after the other."""

        num_warmup: int = 1000  # steps per chain to adapt step size and mass matrix, discarded (authors' code)
        num_samples: int = 4000  # draws per chain after that (authors' code)
        chains: int = 2  # independent chains; R-hat needs 2 or more (the authors' code runs 1)
        max_tree_depth: int = 10  # at most 2^this leapfrog steps per draw (NumPyro's default)
        target_accept: float = 0.8  # target of the mean acceptance probability (NumPyro's default)
        stored_draws: int = 1000  # largest number of stored draws of phi*, evenly spaced over all chains

        def __post_init__(self) -> None:
            super().__post_init__()
            whole("na_dpvi_nuts", self, "num_warmup", "chains", "max_tree_depth", "stored_draws")
            whole("na_dpvi_nuts", self, "num_samples", least=4)  # R-hat of half chains needs them
            within("na_dpvi_nuts", self, "(0, 1)", "target_accept")

    def prepare(self, task: Task, settings: Settings) -> None:
        import numpyro  # noqa: F401 - the import alone takes seconds

        super().prepare(task, settings)

    def read(self, run: Fit, settings: Settings, rng: np.random.Generator) -> Fit:
        """Post-process the run as :meth:`Reading.read`, then sample."""
        from methods.dpvi._noise_aware import sampling

        fit = super().read(run, settings, rng)
        posterior, told = sampling.sample(fit.posterior, settings, rng)
        return Fit(posterior, fit.ledger, {**fit.diagnostics, **told})
