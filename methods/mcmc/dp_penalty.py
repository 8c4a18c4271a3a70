"""DP-penalty: a random walk whose accept test knows how noisy it is."""

from __future__ import annotations

import numpy as np

from methods.mcmc._release import LINEAR, LOGISTIC, Purse, TestedChain, TestedSettings, ratios, started, told


class DPPenalty(TestedChain):
    """Random-walk Metropolis-Hastings with the penalty test on clipped log-likelihood ratios.

    Each accept step releases the sum of the rows' clipped log-likelihood ratios over their bound c, sensitivity 1, with
    noise s. That is one full-batch Gaussian event per step. Whether a proposal is taken is a function of that number
    and of coins, and so are all samples. The start is the end of a DP-SGLD run, charged to the same budget. Widths and
    number of proposals follow from public numbers and the budget.

    The chain is exact except for the clip. With ``ratio_clip`` None the bound is one that no row in [-1, 1] exceeds,
    and the posterior is left invariant whatever the noise. The proposals are then several times smaller.
    """

    name = "dp_penalty"
    title = "DP-penalty"
    reference = "yildirim2019exact, algorithm 1; start and settings by this suite"
    models = (LINEAR, LOGISTIC)
    Settings = TestedSettings

    def run(self, target, settings: TestedSettings, purse: Purse, rate: float, rng: np.random.Generator):
        """Start, then as many accept steps as the rest pays for."""
        from methods.mcmc import _kernels, _plans

        theta, scale = started(target, settings, purse, rate)
        plan = _plans.walk(
            target.size, purse.mu, purse.multiplier,
            steps=settings.steps, clip=settings.ratio_clip, noise=settings.noise,
        )  # fmt: skip
        ask = ratios(purse, plan.noise_multiplier, plan.steps)
        path = _kernels.penalty(
            target, theta, scale, ask, rng, width=plan.width, bound=_kernels.Bound(plan.slope),
            noise_multiplier=plan.noise_multiplier, steps=plan.steps, burn_in=int(settings.burn_in * plan.steps),
            draws=settings.draws,
        )  # fmt: skip
        return path, told(target, plan, stayed=1.0 - path.accepted, log_ratio=path.log_ratio)
