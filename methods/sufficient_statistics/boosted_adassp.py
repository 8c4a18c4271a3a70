"""Baseline: BoostedAdaSSP, linear regression in rounds on clipped residuals with one private second-moment matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from methods._shared import adassp, row_blocks
from methods._shared.conjugate_linear import release
from methods._shared.frames import left_for
from methods._shared.settings_checks import positive, whole
from methods.contract import Constants, Counterpart, Diverged, Fit, Role
from models.linear_regression import with_bias
from models.task import Task
from privacy.budget import Budget

_RESIDUALS = "sum of the rows, each times its clipped residual"
_SQUARES = "sum of the squares of the clipped residuals"
_PROOF = "methods.sufficient_statistics.boosted_adassp"
#: share of mu squared for the residuals' sum of squares, which the source does not release. It is one number of the
#: size of n and needs little (choice of this suite).
VARIANCE_SHARE = 0.02


class BoostedAdaSSP(release.WithDocumentedRanges):
    """Gradient boosting with AdaSSP as the learner (Tang, Aydore, Kearns, Rho, Roth, Wang, Wang & Wu 2023).

    Rows u = [x, 1] of scaled inputs are clipped to norm R, and their targets are scaled with them. Their second moments
    are released once, as G. Each of T rounds releases the sum of u times its residual y - u . w, clipped to tau. It
    adds (G + penalty I)^-1 times the release to w. A residual that is clipped in one round is reduced further in later
    ones, so tau may be smaller than the targets. All releases are full-batch Gaussian under add/remove and compose
    exactly. G and the rounds share the remaining mu squared evenly, and so do the T rounds among themselves.

    The body of the paper was not available, so the comparison is with the authors' code
    (github.com/shuaitang/BoostedAdaSSP). There are six differences, each stated for the authors' code first.

    - It gives a third of mu squared to the smallest eigenvalue of the second moments. Here that eigenvalue is computed
      from G, at no cost.
    - Its x_bound, y_bound = 1 are stated for columns in any unit. Here R follows from the public knowledge of the
      scaled inputs, and tau = 1 is half the width of the target's range.
    - It clips the inputs that it predicts for. Here the result is a linear function.
    - It scales a row without its target. Here both are scaled, so the row keeps its equation.
    - Its columns are not centred and have no intercept. Here rows are [x, 1].
    - It does not release the residual variance. Here that is a release of its own.
    """

    name = "boosted_adassp"
    title = "BoostedAdaSSP"
    reference = "tang2023boosted, BoostedAdaSSP; settings of the authors' code"
    role = Role.YARDSTICK
    models = ("bounded_linear_regression",)
    privacy = release.OneRelease.privacy
    constants = (Constants.PROGRAM, Constants.FORMULA, Constants.GUESSED)
    leaks = ()
    counterparts = (Counterpart("ridge", 0.02, "a finite number of rounds, and another regularisation"),)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"rounds": 10}, {"rounds": 30}, {"residual_clip": 0.3}, {"residual_clip": 0.1}, {"margin": 0.5}
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        rounds: int = 100  #: T (default of the authors' code)
        residual_clip: float = 1.0  #: tau, units of the target scaled to [-1, 1] (authors' code: y_bound = 1)
        #: relative excess of R^2 over the expected squared norm of scaled [x, 1] (as in ``whitened_ssp``)
        margin: float = 0.1

        def __post_init__(self) -> None:
            whole("boosted_adassp", self, "rounds")
            positive("boosted_adassp", self, "residual_clip", "margin")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier. Raises Diverged if
        the released numbers leave the finite range.
        """
        n, whole = task.public.n, left_for(budget, adassp.WHAT, self.privacy)
        squared = (1.0 + settings.margin) * (1.0 + sum(release.expected_squares(task.public, target=False)))
        norm, least = math.sqrt(squared), task.model.precision
        rows = shortened(with_bias(task.x), task.y, norm)
        share = 0.5 * (1.0 - VARIANCE_SHARE)
        moments = adassp.release(rows.inputs, squared, part(whole, share), budget)
        weights, penalty = boosted(rows, moments, norm, settings, part(whole, share), budget, least)
        if not np.isfinite(weights).all():  # a function of releases alone
            raise Diverged(f"{task.name}: boosted_adassp left the finite range; lower rounds")
        noise = budget.gaussian(
            _SQUARES,
            sensitivity=settings.residual_clip**2,
            noise_multiplier=part(whole, VARIANCE_SHARE),
            relation=self.privacy,
            proof=f"{_PROOF}.residuals",
        )
        squares = noise.release(np.array([np.square(residuals(rows, weights, settings.residual_clip)).sum()]))[0]
        counted = max(float(moments.gram[-1, -1]), n / 10.0)  # rows, each by its clipping factor
        variance = max(float(squares), noise.noise_scale) / counted
        told = {"noise_multiplier": whole, "clip": norm, "penalty": penalty}
        return Fit(release.point_estimate(weights, variance), budget.ledger, told)


class Rows(NamedTuple):
    """``inputs`` (n, p), [x, 1] of norm at most R; ``target`` (n,), scaled with them."""

    inputs: np.ndarray
    target: np.ndarray


def part(whole: float, share: float) -> float:
    """The noise multiplier of releases with this share of the mu^2 of one release of noise multiplier ``whole``."""
    return whole / math.sqrt(share) * (1.0 + 1e-9)  # rounding must not exceed the budget


def shortened(u: np.ndarray, y: np.ndarray, norm: float) -> Rows:
    """Rows u (n, p) and targets (n,) times min(1, norm / |u|), so that |u| <= ``norm``.

    A row that is not finite becomes 0. The result for a row depends on that row alone. u is changed in place, to avoid
    a further copy of many rows.
    """
    good = np.isfinite(u).all(axis=1) & np.isfinite(y)
    u[~good], y = 0.0, np.where(good, y, 0.0)
    factor = np.minimum(1.0, norm / np.maximum(row_blocks.numbers(lambda v: np.linalg.norm(v, axis=1), u), 1e-300))
    u *= factor[:, None]
    return Rows(u, y * factor)


def residuals(rows: Rows, weights: np.ndarray, clip: float) -> np.ndarray:
    """The residuals of the clipped rows, each clipped to [-clip, clip], (n,).

    Sensitivity under add/remove of the sum of their squares: clip^2. Proof: ``weights`` are a function of earlier
    releases. A row adds the square of its own residual, which is at most clip^2.
    """
    return np.clip(rows.target - rows.inputs @ weights, -clip, clip)


def residual_sum(rows: Rows, weights: np.ndarray, clip: float) -> np.ndarray:
    """Sum over the rows of u times its residual clipped to [-clip, clip], (p,).

    L2 sensitivity under add/remove: norm x clip, with ``norm`` that of :func:`shortened`. Proof: ``weights`` are a
    function of earlier releases. A row adds u r with |u| <= norm and |r| <= clip.
    """
    return rows.inputs.T @ residuals(rows, weights, clip)


def boosted(
    rows: Rows,
    moments: adassp.Moments,
    norm: float,
    settings: BoostedAdaSSP.Settings,
    noise_multiplier: float,
    budget: Budget,
    least: float,
) -> tuple[np.ndarray, float]:
    """Weights (p,) after all rounds and the penalty, from released moments (p, p) of ``rows.inputs``.

    norm : of :func:`shortened`.
    noise_multiplier : of one release that would cost as much as the rounds together.
    least : smallest penalty.
    """
    p, gram = len(moments.gram), moments.gram
    penalty = max(least, moments.noise * math.sqrt(2.0 * p) - float(np.linalg.eigvalsh(gram)[0]))
    matrix = gram + penalty * np.eye(p)
    noise = budget.gaussian(
        _RESIDUALS,
        sensitivity=norm * settings.residual_clip,
        noise_multiplier=noise_multiplier * math.sqrt(settings.rounds),
        relation=release.OneRelease.privacy,
        steps=settings.rounds,
        proof=f"{_PROOF}.residual_sum",
    )
    weights = np.zeros(p)
    for _ in range(settings.rounds):
        weights = weights + np.linalg.solve(matrix, noise.release(residual_sum(rows, weights, settings.residual_clip)))
    return weights, penalty
