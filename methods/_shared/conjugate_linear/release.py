"""Linear regression on scaled inputs from one noisy release: code shared by its methods, besides AdaSSP."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from methods._shared import adassp, row_blocks
from methods._shared.adassp import ClipRule
from methods._shared.frames import InFrame, make_frame, ranges_of
from methods.contract import Constants, Fit
from models.linear_regression import LinearGaussian
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise, NormalInverseGamma
from models.standardise import Standardiser
from models.task import PublicKnowledge, Task
from privacy.budget import Budget
from privacy.ledger import Relation

#: mean square of a scaled column. PRIVATE: its range was estimated privately (standard deviation 1/3). DOCUMENTED: its
#: range is documented (as if uniform over it).
PRIVATE, DOCUMENTED = 1.0 / 9.0, 1.0 / 3.0


class WithDocumentedRanges(InFrame):
    """A private method on scaled rows whose task states which columns have a documented range."""

    def fit(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Scale the rows and fit. ``public.x_bounds`` and ``y_bounds`` are (-1, 1) for documented ranges."""
        frame = make_frame(task, budget, self.share)
        known = [None if r is None else (-1.0, 1.0) for r in ranges_of(task)]
        scaled, inputs = frame.task(task), known[: len(frame.kept)]
        kept = tuple(r for r, here in zip(inputs, frame.kept, strict=True) if here) or (None,)
        public = PublicKnowledge(scaled.public.n, kept, known[-1], task.public.citation)
        return self.framed(self.fit_unit(replace(scaled, public=public), settings, budget, rng), frame)


class OneRelease(WithDocumentedRanges):
    """A method that reads one noisy release of clipped second moments; base of ``dp_sep_corrected`` and AdaSSP."""

    models = ("bounded_linear_regression",)
    constants = (Constants.FORMULA, Constants.DEVELOPED)
    privacy = Relation.ADD_REMOVE
    leaks = ()
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"margin": 0.5}, {"margin": 2.0}, {"noise_part": 0.001}, {"noise_part": 0.01}, {"noise_part": 0.1}
    )  # fmt: skip
    Settings = ClipRule


def expected_squares(public: PublicKnowledge, target: bool = True) -> list[float]:
    """Expected square of every column of (x, y), or of x without ``target``, both scaled, from public knowledge."""
    known = [*public.x_bounds, public.y_bounds] if target else public.x_bounds
    return [PRIVATE if r is None else DOCUMENTED for r in known]


def squared_bound(rule: ClipRule, public: PublicKnowledge, noise_multiplier: float, unit: float | None = None) -> float:
    """Squared norm of [x, 1, y] at which a scaled row is clipped; no row exceeds d + 2."""
    most = len(public.x_bounds) + 2.0
    return rule.squared_bound(expected_squares(public), most, public.n, noise_multiplier, unit)


def clipped_site_sum(x: np.ndarray, y: np.ndarray, squared: float) -> np.ndarray:
    """Sum over the rows of the clipped site T(z), without the bias entry, as one vector of the release.

    For z = [q, 1] with q = (x, y), (n, d + 1), T(z) is the upper triangle of q q' and q itself (the products with the
    bias). Entries that occur twice in z z' are multiplied by sqrt(2). The entry 1 x 1, the number of rows, is public
    and not part of it. Each row's vector is scaled to norm <= sqrt(``squared``^2 - 1). All its moments shrink alike, as
    if the row had a weight below 1.

    L2 sensitivity under add/remove with n public: sqrt(squared^2 - 1). Proof: a row adds its own vector, scaled by
    min(1, bound / norm), and nothing else. A row with a number that is not finite adds 0.

    The norm before scaling is that of z z' without one entry 1, so its square is (|q|^2 + 1)^2 - 1. A row with
    |z|^2 <= ``squared`` is therefore not clipped. Under replace-one, the relation of the published algorithm, the
    sensitivity would be at most twice the bound.
    """
    bound, upper = math.sqrt(squared**2 - 1.0), np.triu_indices(x.shape[1] + 1)
    twice = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))

    def of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        q = np.column_stack([x, y])
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (q**2).sum(axis=1)
            good = np.isfinite(squares * squares)
            q, squares = q[good], squares[good]
            factor = np.minimum(1.0, bound / np.maximum(np.sqrt(squares * (squares + 2.0)), 1e-300))
        weighted = q * factor[:, None]
        return np.concatenate([math.sqrt(2.0) * weighted.sum(axis=0), (weighted.T @ q)[upper] * twice])

    return row_blocks.total(of, x, y)


def gram_of_sites(released: np.ndarray, d: int, n: int) -> np.ndarray:
    """Second moments (d + 2, d + 2) of [x, 1, y] from the vector of :func:`clipped_site_sum`; n is the bias entry."""
    cross, squares = released[: d + 1] / math.sqrt(2.0), adassp.unpacked(released[d + 1 :], d + 1)
    order = [*range(d), d + 1, d]  # (x, y, 1) -> (x, 1, y)
    whole = np.block([[squares, cross[:, None]], [cross[None, :], np.full((1, 1), float(n))]])
    return whole[np.ix_(order, order)]


def posterior(model: LinearRegressionUnknownNoise, found: adassp.Reading, n: int) -> NormalInverseGamma:
    """The normal-inverse-gamma posterior that treats the noisy moments as those of n rows and ignores the noise."""
    scale = model.scale + 0.5 * (found.residual + model.precision * float(found.weights @ found.weights))
    return NormalInverseGamma(found.weights, np.linalg.cholesky(found.matrix), model.shape + 0.5 * n, scale)


def point_estimate(weights: np.ndarray, variance: float) -> LinearGaussian:
    """Point estimate with weights (d + 1,), bias last, and residual variance, in scaled units."""
    d = len(weights) - 1
    return LinearGaussian(weights, None, max(variance, 1e-9), Standardiser(np.zeros(d), np.ones(d), 0.0, 1.0))
