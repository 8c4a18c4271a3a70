"""Algorithm 3 of Vinaroz & Park 2023 without its noise, for a mixture of Gaussians in the box."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from methods import clipped_sep
from methods.contract import Constants, Fit
from methods.engines.framed_mixture import MeansInFrame, passes, typical_site_norm
from models.task import Task
from privacy.budget import Budget


class ClippedSEP(MeansInFrame, clipped_sep.ClippedSEP):
    """``methods.clipped_sep`` on rows in the box, with other defaults than printed.

    As printed (C = 1, gamma = 1) a pass takes in 1 / N of the data, and the prior itself is cut to norm 1. Here gamma
    is N, which is the step of SEP, and C is the norm of the site of a typical row under the prior, as of the corrected
    DP-SEP. The printed values are the second entry of the grid.
    """

    models = ("bounded_mixture",)
    constants = (Constants.FORMULA, Constants.PROGRAM)
    name = "clipped_sep"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"clip": 1.0, "gamma": 1.0}, {"clip": 1.0}, {"clip": 3.0}, {"clip": 30.0}, {"epochs": 10},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows; None: by ``methods.engines.framed_mixture.passes``.
        epochs: int | None = None
        #: C, bound on the norms of theta_0, theta_f and theta_fn; None: ``typical_site_norm`` of the model.
        clip: float | None = None
        #: damping value gamma of eq. (5), a step moves theta by gamma / N of a site; None: N.
        gamma: float | None = None
        #: replaces a precision that is not positive (their program: 1e-4).
        floor: float = 1e-4

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        s, n = settings, task.public.n
        chosen = replace(
            s,
            epochs=passes(n) if s.epochs is None else s.epochs,
            clip=typical_site_norm(task.model, task.x.shape[1]) if s.clip is None else s.clip,
            gamma=float(n) if s.gamma is None else s.gamma,
        )
        return clipped_sep.ClippedSEP.fit(self, task, chosen, budget, rng)
