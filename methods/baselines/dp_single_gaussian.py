"""Baseline: one private Gaussian. A private mixture should beat it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods._shared.framed_mixture import RADIUS
from methods._shared.frames import InFrame, left_for
from methods._shared.settings_checks import positive
from methods.contract import Constants, Counterpart, Fit, Role
from models.mixture_of_gaussians import MixtureParameters
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

_WHAT = "sums of the clipped rows and of their outer products"
_PROOF = "methods.baselines.dp_single_gaussian.moment_sums"


class DPSingleGaussian(InFrame):
    """Mean and covariance of rows scaled to [-1, 1] and clipped to a public ball, by one full-batch Gaussian release.

    The ball has the radius ``radius`` sqrt(d) around 0. Eigenvalues of the covariance below what the noise alone
    reaches are raised to that (post-processing).
    """

    name = "dp_single_gaussian"
    title = "DP one Gaussian"
    reference = "baseline of this suite"
    role = Role.YARDSTICK
    models = ("bounded_mixture",)
    constants = (Constants.DEVELOPED,)
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart(
            "single_gaussian",
            0.01,
            "none where the ball holds the whole box; the default's cuts rows, which no budget removes (.37 seen)",
            settings={"radius": 3.0},
        ),
    )
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"radius": 1.2}, {"radius": 2.0}, {"radius": 2.5}, {"radius": 3.0}, {"eigenvalue_floor": 1e-3},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        """The radius was chosen on synthetic data, not on a data set of the suite."""

        radius: float = RADIUS  #: of the ball, over sqrt(d), in units of the scaled columns (deviation near 1)
        eigenvalue_floor: float = 1e-6  #: smallest eigenvalue of the covariance, squared units of the unit ball

        def __post_init__(self) -> None:
            positive("dp_single_gaussian", self, "radius", "eigenvalue_floor")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier.
        """
        n, d = task.public.n, task.x.shape[1]
        radius = settings.radius * math.sqrt(d)
        mechanism = budget.gaussian(
            _WHAT,
            sensitivity=math.sqrt(2.0 - 1.0 / d),
            noise_multiplier=left_for(budget, _WHAT, self.privacy, proof=_PROOF),
            relation=self.privacy,
            proof=_PROOF,
        )
        sums = moment_sums(in_ball(task.x / radius))
        released = mechanism.release(sums)
        mean, covariance = gaussian(released / n, mechanism.noise_scale / n, settings.eigenvalue_floor)
        found = MixtureParameters(np.ones(1), radius * mean[None], radius**2 * covariance[None])
        return Fit(found, budget.ledger, {"noise_multiplier": mechanism.event.noise_multiplier})


def in_ball(u: np.ndarray) -> np.ndarray:
    """Rows (n, d) longer than 1 scaled to length 1; scaled rows are finite."""
    return u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1.0)


def moment_sums(u: np.ndarray) -> np.ndarray:
    """Sums over the rows u (n, d) of (u, u u' - I / d), the matrix by its upper triangle: (d + d (d + 1) / 2,).

    Off-diagonal entries are multiplied by sqrt(2), so that the norm of the vector is the Frobenius norm.

    L2 sensitivity under add/remove for rows of norm at most 1: sqrt(2 - 1 / d). Proof: adding or removing a row changes
    the sum by the row's own term. With r = |u|^2 its squared norm is

        r + r^2 - 2 r / d + 1 / d.

    This is convex in r, so on [0, 1] it is at most max(1 / d, 2 - 1 / d) = 2 - 1 / d, reached at |u| = 1. The centring
    I / d has no privacy cost, because n is public.
    """
    n, d = u.shape
    rows, columns = np.triu_indices(d)
    second = (u.T @ u - n / d * np.eye(d))[rows, columns]
    return np.concatenate([u.sum(axis=0), np.where(rows == columns, 1.0, math.sqrt(2.0)) * second])


def gaussian(moments: np.ndarray, noise: float, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean (d,) and covariance (d, d) from :func:`moment_sums` over n, each number with noise of that sd; ball units.

    The mean is clipped to the ball. The noise of the matrix has variances noise^2 on the diagonal and noise^2 / 2 off
    it. Its largest eigenvalue is near noise sqrt(2 d) (Wigner). Eigenvalues are raised to that or to ``floor``.
    """
    d = int((math.sqrt(9 + 8 * len(moments)) - 3) / 2 + 0.5)  # length d (d + 3) / 2
    rows, columns = np.triu_indices(d)
    second = np.zeros((d, d))
    second[rows, columns] = moments[d:] / np.where(rows == columns, 1.0, math.sqrt(2.0))
    second = np.triu(second) + np.triu(second, 1).T + np.eye(d) / d
    mean = in_ball(moments[None, :d])[0]
    values, vectors = np.linalg.eigh(second - np.outer(mean, mean))
    return mean, (vectors * np.maximum(values, max(floor, noise * math.sqrt(2.0 * d)))) @ vectors.T
