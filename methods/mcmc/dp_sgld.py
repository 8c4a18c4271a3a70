"""DP-SGLD: stochastic gradient Langevin dynamics whose injected noise is its privacy noise."""

from __future__ import annotations

import numpy as np

from methods.mcmc._release import (
    LINEAR,
    LOGISTIC,
    Chain,
    ChainSettings,
    NetworkChain,
    Purse,
    langevin_run,
    told,
)


class DPSGLD(Chain):
    """Stochastic gradient Langevin dynamics at exact temperature on clipped gradients.

    Each step releases one clipped sum of gradients over a full or Poisson batch, with noise of standard deviation
    2 q / sqrt(h), where q is the sampling rate and h the step size. This is the noise of the Langevin step itself, and
    it is charged to the budget as privacy noise. Every iterate is a function of these releases. So all thinned samples
    cost as much as the last one alone (``draws``). Steps, step size and clip follow from public numbers and the budget.
    If gradients are bounded and the budget allows less noise than the Langevin step needs, the rest is not spent.

    It differs from the papers in three ways. Gradients are clipped, while the papers assume that they are bounded. The
    drift is h / 2 with noise of variance h, because a drift of h samples at half the temperature. Batches are Poisson
    or full, as charged.
    """

    name = "dp_sgld"
    title = "DP-SGLD"
    reference = "wang2015privacy, algorithm 2; li2019connecting; temperature and accounting by this suite"
    models = (LINEAR, LOGISTIC)
    Settings = ChainSettings

    def run(self, target, settings: ChainSettings, purse: Purse, rate: float, rng: np.random.Generator):
        """Run ``_release.langevin_run`` with all that is left of the budget."""
        path, plan = langevin_run(target, settings, purse, rate, steps=settings.steps, burn_in=settings.burn_in)
        return path, told(target, plan, relaxations=plan.relaxations(target.size))


# DP-SGLD on the weights of a network.
class DPSGLDNetwork(NetworkChain):
    """Stochastic gradient Langevin dynamics for the weights and the log noise variance of a network.

    The chain is that of the linear models. Each step releases one clipped sum of gradients over a Poisson batch of
    about 500 rows.
    """

    name = "dp_sgld"
    title = "DP-SGLD"
    reference = DPSGLD.reference
    Settings = ChainSettings
    run = DPSGLD.run
