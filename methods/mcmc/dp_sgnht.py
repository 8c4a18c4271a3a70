"""DP-SGNHT: the stochastic gradient Nose-Hoover thermostat whose injected noise is its privacy noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.settings_checks import positive
from methods.mcmc._release import (
    LINEAR,
    LOGISTIC,
    Chain,
    ChainSettings,
    NetworkChain,
    Purse,
    gradients,
    told,
)


class DPSGNHT(Chain):
    """Stochastic gradient Nose-Hoover thermostat on clipped gradients.

    It is DP-SGLD with a momentum. One clipped sum of gradients is released per step, and position, momentum and
    friction are functions of these releases. The friction absorbs the noise of the batches, but not the bias of
    clipping.
    """

    name = "dp_sgnht"
    title = "DP-SGNHT"
    reference = "ding2014bayesian, algorithm 2; wang2015privacy, section 4; li2019connecting"
    models = (LINEAR, LOGISTIC)

    @dataclass(frozen=True)
    class Settings(ChainSettings):
        """The settings of every chain (:class:`ChainSettings`), and the friction."""

        friction: float = 1.0  #: A over critical damping of a typical direction (choice of this suite)

        def __post_init__(self) -> None:
            super().__post_init__()
            positive("chain", self, "friction")

    def run(self, target, settings: Settings, purse: Purse, rate: float, rng: np.random.Generator):
        """Run the chain with all that is left of the budget."""
        from methods.mcmc import _kernels, _plans

        plan = _plans.thermostat(
            target.size, purse.mu, lambda t: purse.multiplier(t, rate),
            steps=settings.steps, clip=settings.clip, rate=rate, friction=settings.friction,
        )  # fmt: skip
        ask = gradients(target, purse, plan.clip, plan.noise_multiplier, rate, plan.steps)
        path = _kernels.sgnht(
            target, target.start, ask, rng, step_size=plan.step_size, friction=plan.friction,
            steps=plan.steps, burn_in=int(settings.burn_in * plan.steps), draws=settings.draws,
        )  # fmt: skip
        return path, told(target, plan, relaxations=plan.relaxations(target.size))


# DP-SGNHT on the weights of a network.
class DPSGNHTNetwork(NetworkChain):
    """The stochastic gradient Nose-Hoover thermostat for the weights and the log noise variance of a network.

    The chain is that of the linear models. Each step releases one clipped sum of gradients over a Poisson batch of
    about 500 rows.
    """

    name = "dp_sgnht"
    title = "DP-SGNHT"
    reference = DPSGNHT.reference
    Settings = DPSGNHT.Settings
    run = DPSGNHT.run
