"""DP-SGLD: Langevin dynamics whose temperature is its privacy noise."""

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

    Each step releases one clipped sum of gradients over a full or Poisson batch, with noise 2 q / sqrt(h). This is the
    noise of the Langevin step itself, charged as what it is for privacy. Every iterate is a function of these releases,
    so the thinned samples, all of them or the last one, cost the same (``draws``). Steps, step size and clip follow
    from public numbers and the budget. If gradients are bounded, a budget that is larger than the temperature asks for
    is left unspent.

    It differs from the papers in three ways. Gradients are clipped (theirs are assumed to be bounded). The drift is h /
    2 with noise of variance h, because a drift of h samples at half the temperature. Batches are Poisson or full, as
    charged.
    """

    name = "dp_sgld"
    title = "DP-SGLD"
    reference = "wang2015privacy, algorithm 2; li2019connecting; temperature and accounting by this suite"
    models = (LINEAR, LOGISTIC)
    Settings = ChainSettings

    def run(self, target, settings: ChainSettings, purse: Purse, rate: float, rng: np.random.Generator):
        """``_release.langevin_run`` with the whole of what is left."""
        path, plan = langevin_run(target, settings, purse, rate, steps=settings.steps, burn_in=settings.burn_in)
        return path, told(target, plan, relaxations=plan.relaxations(target.size))


# DP-SGLD on the weights of a network.
class DPSGLDNetwork(NetworkChain):
    """Stochastic gradient Langevin dynamics for the weights and the log noise variance of a network.

    The chain is that of the linear models. Each step releases one clipped sum of gradients over a Poisson batch of
    about 2,000 rows.
    """

    name = "dp_sgld"
    title = "DP-SGLD"
    reference = DPSGLD.reference
    Settings = ChainSettings
    run = DPSGLD.run
