"""The corrected DP-SEP for linear regression in the box, where it is sufficient-statistics perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods.contract import Fit
from methods.engines import adassp
from methods.engines.adassp import ClipRule
from methods.engines.conjugate_linear import release
from methods.engines.frames import left_for
from models.task import Task
from privacy.budget import Budget

_WHAT = "sum of the clipped sites of all rows"


@dataclass(frozen=True)
class SiteClip(ClipRule):
    """Rows are clipped less than AdaSSP's: the number of rows stands beside the clipped moments as it is, not clipped.

    Constants chosen on synthetic rows (4 to 16 columns, 500 to 40,000 rows), on no data set of the suite;
    ``noise_part`` is over n alone.
    """

    margin: float = 1.0


class DPSEPHonest(release.OneRelease):
    """One Gaussian release of the sum of all clipped sites, read as the posterior.

    The corrected DP-SEP (``methods.dp_sep_honest``) releases noisy sums of clipped sites K times, each from the
    current cavity. A row's likelihood is here a member of the conjugate family: its site is T(z) whatever the cavity,
    so all K sums are one and the same number and a mean of K noisy copies is one copy with the same noise at the same
    cost. This is therefore sufficient-statistics perturbation: one full-batch release. The number of rows is public
    and left out; sensitivity under add/remove in ``methods.engines.conjugate_linear.release.clipped_site_sum``.

    A release that is not a possible matrix of moments is lifted by a ridge at the level of the noise (``read``). What
    is left of the noise is not part of the posterior, which is too narrow for it: naive, as the published method is.
    """

    name = "dp_sep_honest"
    title = "DP-SEP (corrected)"
    Settings = SiteClip
    reference = "this suite; after vinaroz2023dpsep, algorithm 3; one release, as vu2009 and foulds2016"

    def fit_unit(self, task: Task, settings: SiteClip, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier."""
        n, d = task.public.n, task.x.shape[1]
        multiplier = left_for(budget, _WHAT, self.privacy)
        squared = release.squared_bound(settings, task.public, multiplier, unit=1.0)
        mechanism = budget.gaussian(
            _WHAT,
            sensitivity=math.sqrt(squared**2 - 1.0),
            noise_multiplier=multiplier,
            relation=self.privacy,
            proof="methods.engines.conjugate_linear.release.clipped_site_sum",
        )
        released = mechanism.release(release.clipped_site_sum(task.x, task.y, squared))
        moments = adassp.Moments(release.gram_of_sites(released, d, n), mechanism.noise_scale)
        found = adassp.read(moments, task.model.precision)
        diagnostics = {"noise_multiplier": multiplier, "clip": math.sqrt(squared), "penalty": found.penalty}
        return Fit(release.posterior(task.model, found, n), budget.ledger, diagnostics)
