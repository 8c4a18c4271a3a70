"""DP-penalty: random-walk Metropolis-Hastings whose accept test corrects for its privacy noise."""

from __future__ import annotations

import numpy as np

from methods.mcmc._release import LINEAR, LOGISTIC, Purse, TestedChain, TestedSettings, ratios, started, told


class DPPenalty(TestedChain):
    """Random-walk Metropolis-Hastings with the penalty test on clipped log-likelihood ratios.

    Each accept step releases the sum of the rows' clipped log-likelihood ratios, divided by their bound c. The
    sensitivity is 1 and the noise has standard deviation s, which is one full-batch Gaussian event per step. The
    release and random numbers that read no row decide whether a proposal is accepted, so all samples are functions of
    them. The start is the end of a DP-SGLD run, charged to the same budget. Widths and number of proposals follow from
    public numbers and the budget.

    The chain is exact except for the clip. With ``ratio_clip`` None the bound is one that no row in [-1, 1] exceeds.
    The posterior is then invariant for any noise, but the proposals are several times smaller.
    """

    name = "dp_penalty"
    title = "DP-penalty"
    reference = "yildirim2019exact, algorithm 1; start and settings by this suite"
    models = (LINEAR, LOGISTIC)
    Settings = TestedSettings

    def run(self, target, settings: TestedSettings, purse: Purse, rate: float, rng: np.random.Generator):
        """Find the start, then make accept steps with the rest of the budget."""
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
