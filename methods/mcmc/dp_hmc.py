"""DP-HMC: Hamiltonian proposals by noisy gradients, and an accept test that corrects for its privacy noise."""

from __future__ import annotations

import numpy as np

from methods.mcmc._release import (
    LINEAR,
    LOGISTIC,
    Purse,
    TestedChain,
    TestedSettings,
    gradients,
    ratios,
    started,
    told,
)


class DPHMC(TestedChain):
    """Hamiltonian Monte Carlo with noisy clipped gradients and the penalty test for acceptance.

    An iteration releases L + 1 clipped sums of gradients, and one sum of clipped log-likelihood ratios divided by their
    bound. No gradient is used twice. The two releases are full-batch Gaussian events of k (L + 1) and k steps. They
    share the budget that the start has left. Noise and clipping of the gradients lower the acceptance rate, and the
    chain stays exact. Only the clip of the ratios makes it inexact. The start is the end of a DP-SGLD run, charged to
    the same budget.

    Known weakness: clipped gradients may balance at a noise variance several posterior deviations away from the
    posterior's. This happens on tables of tens of thousands of rows. Trajectories are then drawn to that value, and
    hardly any proposal is accepted, which the diagnostic ``stayed`` reports. The result is then little more than the
    start.
    """

    name = "dp_hmc"
    title = "DP-HMC"
    reference = "raisa2021differentially, algorithm 1; start and settings by this suite"
    models = (LINEAR, LOGISTIC)
    Settings = TestedSettings

    def run(self, target, settings: TestedSettings, purse: Purse, rate: float, rng: np.random.Generator):
        """Find the start, then make proposals with the rest of the budget."""
        from methods.mcmc import _kernels, _plans

        theta, scale = started(target, settings, purse, rate)
        plan = _plans.hamiltonian(
            target.size, purse.mu, purse.multiplier,
            steps=settings.steps, clip=settings.clip, ratio_clip=settings.ratio_clip, noise=settings.noise,
        )  # fmt: skip
        count = plan.steps * (plan.leapfrog + 1)
        ask = gradients(target, purse, plan.clip, plan.gradient_multiplier, 1.0, count)
        # what is left of the budget, which differs from the plan by rounding, or by more if the start sampled batches
        multiplier = max(plan.ratio_multiplier, purse.multiplier(plan.steps))
        test = ratios(purse, multiplier, plan.steps)
        path = _kernels.hmc(
            target, theta, scale, ask, test, rng, step_size=plan.step_size, leapfrog=plan.leapfrog,
            bound=_kernels.Bound(plan.slope), noise_multiplier=multiplier, steps=plan.steps,
            burn_in=int(settings.burn_in * plan.steps), draws=settings.draws,
        )  # fmt: skip
        return path, told(target, plan, stayed=1.0 - path.accepted, log_ratio=path.log_ratio)
