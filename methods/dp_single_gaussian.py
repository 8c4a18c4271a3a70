"""Yardstick: one Gaussian, private. A private mixture that does not beat it is of no use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods.contract import Fit
from methods.dp_em_joint import clipped, joint_moments, joint_sensitivity, m_step
from methods.engines.framed_mixture import RADIUS, ball
from methods.engines.frames import InFrame, left_for
from models.mixture_of_gaussians import MixtureParameters
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

_WHAT = "first and second moments"
_PROOF = "methods.dp_em_joint.joint_moments"


class DPSingleGaussian(InFrame):
    """Mean and covariance of the rows in a public ball, in the box, by one full-batch Gaussian release.

    The release of the repaired DP-EM with one component: a row [u, u u' - I / d] of squared norm at most 2 - 1 / d,
    under add/remove. The count is public and its place in the vector is 0 for every row, so its noise is dropped. The
    repair of the covariance (shrinkage of what the noise explains, floor) is post-processing (``dp_em_joint.m_step``).
    """

    name = "dp_single_gaussian"
    title = "DP one Gaussian"
    reference = "yardstick of this suite; the release is that of dp_em_joint with one component"
    models = ("bounded_mixture",)
    privacy = Relation.ADD_REMOVE
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"radius": 1.2}, {"radius": 2.0}, {"radius": 2.5}, {"radius": 3.0}, {"eigenvalue_floor": 1e-3},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        """Chosen on synthetic data, none of the suite's."""

        radius: float = RADIUS  #: of the ball, over sqrt(d), box units (a column has a standard deviation near 1)
        eigenvalue_floor: float = 1e-6  #: smallest eigenvalue of the covariance, squared units of the unit ball

        def __post_init__(self) -> None:
            for what in ("radius", "eigenvalue_floor"):
                if not (0 < getattr(self, what) < math.inf):
                    raise ValueError(
                        f"dp_single_gaussian: {what} = {getattr(self, what)}; give a finite number above 0"
                    )

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier."""
        n, d = task.public.n, task.x.shape[1]
        mechanism = budget.gaussian(
            _WHAT,
            sensitivity=joint_sensitivity(d, 1),
            noise_multiplier=left_for(budget, _WHAT, self.privacy, proof=_PROOF),
            relation=self.privacy,
            proof=_PROOF,
        )
        shift, scale = ball(d, settings.radius)
        released = mechanism.release(joint_moments(clipped((task.x - shift) / scale, 1.0), np.ones((task.n, 1))))
        released[0] = 0.0
        p = m_step(released, n, d, 1, mechanism.noise_scale, settings.eigenvalue_floor)
        covariances = scale[:, None] * p.covariances * scale
        found = MixtureParameters(p.weights, shift + scale * p.means, covariances)
        return Fit(found, budget.ledger, {"noise_multiplier": mechanism.event.noise_multiplier})
