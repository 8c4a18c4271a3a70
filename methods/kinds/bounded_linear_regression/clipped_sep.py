"""Algorithm 3 of Vinaroz & Park 2023 without its noise, for linear regression in the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods.contract import Constants, Fit, MethodError
from methods.engines.conjugate_linear import naturals
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget

_SHAPE = "clipped_sep writes the noise's Gamma as (a - 1, -b) and scales it, which needs a prior with shape above 1"


class ClippedSEP(InFrame):
    """theta_f <- clip((theta - theta_0) / N), theta <- theta + (gamma / N) (clip(f_n) - theta_f), as printed.

    Read as everywhere in the suite: theta is ONE vector (mean naturals, precisions, and -b, a - 1 of the noise
    variance), theta_0 is scaled to norm <= C, theta_f starts at 0 and moves by gamma / N^2 of a site a step, so that
    E epochs absorb about gamma E / N of the data: with the printed gamma = 1, the prior and E clipped rows.

    theta_f is an average of vectors of norm <= C, so its own clipping never acts (gamma <= N^2); and T(z) is exact
    whatever the cavity. So the steps are a weighted sum of the clipped T(z), computed at once. A sum of T(z) with
    positive weights and a proper prior is a proper posterior: nothing is ever replaced by a floor.
    """

    name = "clipped_sep"
    title = "SEP clipped (algorithm 3 without noise)"
    reference = "vinaroz2023dpsep, algorithm 3 without line 9"
    models = ("bounded_linear_regression",)
    constants = (Constants.PRINTED,)
    grid: ClassVar[tuple[dict, ...]] = (
        {},
        {"gamma": 30.0},
        {"gamma": 1000.0},
        {"clip": 10.0},
        {"clip": 10.0, "gamma": 30.0},
        {"clip": 10.0, "gamma": 1000.0},
    )

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 40  #: passes over the rows (Vinaroz & Park 2023: 40)
        clip: float = 1.0  #: C, bound on the Euclidean norms of theta_0, theta_f and f_n (Vinaroz & Park 2023: 1)
        gamma: float = 1.0  #: damping of eq. (5): a step moves theta by gamma / N of a site (Vinaroz & Park 2023: 1)

        def __post_init__(self) -> None:
            naturals.require("clipped_sep", self, whole=("epochs",), positive=("clip", "gamma"))

    def supports(self, task: Task) -> str | None:
        reason = super().supports(task)
        if reason is None and not task.model.shape > 1:
            return _SHAPE
        return reason

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises MethodError for a prior with shape <= 1, ValueError for gamma above N^2 (weights of both signs)."""
        s, n = settings, task.n
        if not task.model.shape > 1:
            raise MethodError(_SHAPE)
        if s.gamma > n**2:
            raise ValueError(f"clipped_sep: gamma = {s.gamma}; give at most the number of rows squared, {n**2}")
        rate, epochs = s.gamma / n**2, int(s.epochs)
        norms = naturals.site_norms(task.x, task.y)
        weights = naturals.averaging_weights(n, epochs, rate, rng) * np.minimum(1.0, s.clip / norms)
        prior = naturals.clipped_prior(task.model, task.x.shape[1], s.clip)
        diagnostics = {
            "clipped_sites": float(np.mean(norms > s.clip)),
            "fraction_absorbed": naturals.absorbed(rate, epochs * n),
        }
        return Fit(naturals.moments(task.x, task.y, weights).posterior(prior), budget.ledger, diagnostics)
