"""Baseline of posterior sampling: Gaussian noise on the sufficient statistics, then a draw from their posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods._shared import adassp
from methods._shared.adassp import ClipRule
from methods._shared.conjugate_linear import release
from methods._shared.exponential_family.release import gaussian_multiplier, posterior
from methods._shared.frames import left_for
from methods.contract import Apart, Counterpart, Diverged, Fit, Method
from models.exponential_family import ParameterSample, statistic_of
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class SufficientStatisticsPerturbation(Method):
    """The Gaussian mechanism on the sum of the sufficient statistics S(x_i), with noise of standard deviation sigma.

    One posterior sample is drawn given the noisy sum, which is first projected on the possible sums of n statistics.
    Both are post-processing of the noisy sum. For a Renyi budget sigma = Delta sqrt[order / (2 epsilon)]. Geumlek, Song
    & Chaudhuri 2017 compare with this method. Foulds et al. 2016, whom they follow, add Laplace noise.
    """

    name = "sufficient_statistics_perturbation"
    title = "Gaussian mechanism on the statistics"
    reference = "baseline of geumlek2017rdp, section 5.1; after Foulds et al. 2016"
    models = ("exponential_family",)
    privacy = Relation.REPLACE_ONE
    counterparts = (
        Counterpart(
            apart=Apart.NO_TWIN,
            reason="no method without privacy fits this kind of model; the test is on scaled linear regression",
        ),
    )

    def fit(self, task: Task, settings: Method.Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Release the noisy sum and make one draw.

        The budget is (order, epsilon), else (epsilon, delta), else a noise multiplier.

        Raises ValueError for a budget that states none of them, and for invalid rows
        (``models.exponential_family.statistic_of``).
        """
        law, n = task.model.law, task.public.n
        total = statistic_sum(task)
        mechanism = budget.gaussian(
            "sum of the statistics",
            sensitivity=law.diameter,
            noise_multiplier=self._multiplier(budget),
            relation=self.privacy,
            proof="methods.sufficient_statistics.sufficient_statistics_perturbation.statistic_sum",
        )
        released = mechanism.release(total)
        theta = law.sample(rng, posterior(task.model.natural, law.project(released, n), n))
        if not np.isfinite(theta).all():
            raise Diverged(f"{task.name}: the draw is not finite; give a prior that is further from its boundary")
        return Fit(ParameterSample(theta, law), budget.ledger, {"noise_scale": mechanism.noise_scale})

    def _multiplier(self, budget: Budget) -> float:
        if budget.renyi is not None:
            return gaussian_multiplier(*budget.renyi)
        if budget.epsilon is not None and budget.delta is not None:
            from privacy.calibration import gaussian_noise_multiplier

            return gaussian_noise_multiplier(budget.epsilon, budget.delta)
        if budget.noise_multiplier is None or not budget.noise_multiplier > 0:
            raise ValueError(
                f"{self.name}: the budget states no renyi: [order, epsilon], no (epsilon, delta) and no "
                "noise_multiplier above 0; give one of them"
            )
        return budget.noise_multiplier


def statistic_sum(task: Task) -> np.ndarray:
    """sum_i S(x_i) over the training rows, (k,).

    L2 sensitivity under replacement of one row: the family's diameter Delta. Proof: a replacement changes the sum by
    S(x') - S(x), and Delta is the largest norm of such a difference. It is

    - 1 for a trial;
    - sqrt(2) for d >= 3 categories: two indicators among the first d - 1 that differ;
    - 2 clip for numbers clipped to [-clip, clip].
    """
    return statistic_of(task).sum(axis=0)


# For linear regression on inputs scaled to [-1, 1], where it is equivalent to the corrected DP-SEP.

_SITE_SUM = "sum of the clipped sites of all rows"


@dataclass(frozen=True)
class SiteClip(ClipRule):
    """The clipping rule for site sums. Rows are clipped less than in AdaSSP, because the number of rows is not clipped.

    The constants were chosen on synthetic rows (4 to 16 columns, 500 to 40,000 rows), on no data set of the suite.
    ``noise_part`` is over n alone.
    """

    margin: float = 1.0


class SufficientStatisticsPerturbationLinear(release.OneRelease):
    """One Gaussian release of the sum of all clipped sites, used as the posterior without correction.

    On a conjugate model it is equivalent to the corrected DP-SEP. That method releases noisy sums of clipped sites K
    times, each from the current cavity. Here a row's likelihood is a member of the conjugate family: its site is T(z)
    whatever the cavity, so all K sums are the same. A mean of K noisy copies is one copy with the same noise at the
    same cost: one full-batch release. The number of rows is public and left out.

    A release that is not a possible matrix of moments is corrected by a ridge at the level of the noise. The rest of
    the noise is not part of the posterior, which is therefore too narrow. It is naive in this sense, as the published
    method is.
    """

    name = "sufficient_statistics_perturbation"
    title = "Sufficient-statistics perturbation"
    seed_name = "dp_sep_honest"
    Settings = SiteClip
    reference = "this suite; after vinaroz2023dpsep, algorithm 3; one release, as vu2009 and foulds2016"
    counterparts = (Counterpart("exact_posterior", 0.02, "the noise that is left; .0006 seen"),)

    def fit_unit(self, task: Task, settings: SiteClip, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier.
        """
        n, d = task.public.n, task.x.shape[1]
        multiplier = left_for(budget, _SITE_SUM, self.privacy)
        squared = release.squared_bound(settings, task.public, multiplier, unit=1.0)
        mechanism = budget.gaussian(
            _SITE_SUM,
            sensitivity=math.sqrt(squared**2 - 1.0),
            noise_multiplier=multiplier,
            relation=self.privacy,
            proof="methods._shared.conjugate_linear.release.clipped_site_sum",
        )
        released = mechanism.release(release.clipped_site_sum(task.x, task.y, squared))
        moments = adassp.Moments(release.gram_of_sites(released, d, n), mechanism.noise_scale)
        found = adassp.read(moments, task.model.precision)
        diagnostics = {"noise_multiplier": multiplier, "clip": math.sqrt(squared), "penalty": found.penalty}
        return Fit(release.posterior(task.model, found, n), budget.ledger, diagnostics)
