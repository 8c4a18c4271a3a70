"""AdaSSP (Wang 2018, algorithm 2): noisy second moments of clipped rows, and the ridge solution from them.

Several methods share this implementation. Each provides rows in some scale, the expected square of their columns and
the prior's precision, and makes its own posterior of the result: a point, a Gaussian or a normal-inverse-gamma.

There are two differences from the printed AdaSSP.

- Its three releases are one, the matrix of second moments, because the smallest eigenvalue of a noisy matrix is
  post-processing of that matrix.
- The norm of the noise is its expected one instead of a bound that holds with high probability. It only sets a penalty
  and does not affect the privacy.

A row is clipped as a whole: its weight in the regression falls, and its direction is unchanged. The constants of the
clipping were chosen on synthetic rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from methods._shared import row_blocks
from methods._shared.settings_checks import positive
from methods.contract import Leak, LeakKind
from privacy.budget import Budget, GaussianMechanism
from privacy.ledger import Relation

WHAT = "second moments of the clipped rows [x, 1, y]"
#: stated by every method that uses the defaults of :class:`ClipRule`.
CLIP_LEAK = Leak(
    LeakKind.TUNED,
    "on naval only: its test scores raised the question where rows should be clipped; the answer was chosen on "
    "synthetic rows",
    datasets=("naval",),
)
#: least residual variance, in squared units of the target's scale.
LEAST_VARIANCE = 1e-9


@dataclass(frozen=True)
class ClipRule:
    """The norm at which rows are clipped: that of a typical row, or larger if the noise is small enough.

    The defaults were chosen on synthetic rows (4 to 32 columns, 500 to 20,000 rows). Test scores of naval had raised
    the question (``CLIP_LEAK``). The margin is the smallest of those tried; 0.5 was better at epsilon = 1 and 8, and
    worse at 0.1.
    """

    margin: float = 0.1  #: least squared norm of (x, y) at which a row is clipped, over the expected one
    #: the clipping norm grows while the noise (standard deviation of a second moment, over n and over the expected
    #: square of a column) is below this
    noise_part: float = 0.003

    def __post_init__(self) -> None:
        positive("AdaSSP's clip", self, "margin", "noise_part")

    def squared_bound(
        self, squares: Sequence[float], most: float, n: int, noise_multiplier: float, unit: float | None = None
    ) -> float:
        """Squared norm of [x, 1, y] at which a row is clipped: from public numbers and the noise alone.

        ``squares`` are the expected squares of all columns of (x, y). The noise has standard deviation bound x noise
        multiplier. The bound is the largest at which this is at most

            noise_part x n x unit,

        where ``unit`` is the mean of ``squares`` unless given. The bound is at least 1 + ``margin`` x total, with the
        total of ``squares``, the expected squared norm of (x, y). It is at most ``most``, a squared norm that no row
        exceeds, or that is large enough for the rows to be kept unclipped.
        """
        total = float(sum(squares))
        allowed = self.noise_part * n * (total / len(squares) if unit is None else unit) / noise_multiplier
        return min(most, max(1.0 + self.margin * total, allowed))


def second_moments(rows: np.ndarray, clip: float, transform: np.ndarray | None = None) -> np.ndarray:
    """Upper triangle of sum u u' over the clipped rows u of (n, p), (p (p+1) / 2,), off-diagonal entries times sqrt(2).

    ``transform`` (p, p) follows from public numbers or releases alone, and rows are clipped after it. None leaves the
    rows as they are.

    L2 sensitivity under add/remove: clip^2. Proof: a row adds the triangle of u u'. With the off-diagonal entries times
    sqrt(2), its norm is the Frobenius norm of u u', which is |u|^2 <= clip^2, since u is the row times
    min(1, clip / |row|). A row whose norm is not finite adds 0.

    Under replace-one it is sqrt(2) clip^2: the triangles of u u' and v v' have an inner product of (u . v)^2 >= 0, so
    their difference has norm at most sqrt(2) clip^2.
    """
    upper, weights = _triangle(rows.shape[1])

    def gram(rows: np.ndarray) -> np.ndarray:
        rows = rows if transform is None else rows @ transform.T
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.linalg.norm(rows, axis=1)
            good = np.isfinite(norms)
            u = rows[good] * np.minimum(1.0, clip / np.maximum(norms[good], 1e-300))[:, None]
        return u.T @ u

    return row_blocks.total(gram, rows)[upper] * weights


def unpacked(triangle: np.ndarray, p: int) -> np.ndarray:
    """The symmetric (p, p) matrix from its upper triangle, whose off-diagonal entries are multiplied by sqrt(2)."""
    upper, weights = _triangle(p)
    out = np.zeros((p, p))
    out[upper] = triangle / weights
    return out + np.triu(out, 1).T


def _triangle(p: int) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Indices of the upper triangle of (p, p), and the weight of each entry in a release."""
    upper = np.triu_indices(p)
    return upper, np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))


class Moments(NamedTuple):
    """Noisy second moments (p + 1, p + 1) of rows, the target last; ``noise``: standard deviation on the diagonal."""

    gram: np.ndarray
    noise: float


def gaussian(
    squared: float,
    noise_multiplier: float,
    budget: Budget,
    relation: Relation = Relation.ADD_REMOVE,
    steps: int = 1,
) -> GaussianMechanism:
    """The Gaussian mechanism of ``steps`` releases of second moments of rows clipped to squared norm ``squared``."""
    return budget.gaussian(
        WHAT,
        sensitivity=squared,
        noise_multiplier=noise_multiplier,
        relation=relation,
        steps=steps,
        proof="methods._shared.adassp.second_moments",
    )


def released(
    rows: np.ndarray, squared: float, mechanism: GaussianMechanism, transform: np.ndarray | None = None
) -> Moments:
    """Second moments of ``rows`` (n, p + 1) clipped to squared norm ``squared``, by one release of the mechanism.

    ``transform``: see :func:`second_moments`.
    """
    noisy = mechanism.release(second_moments(rows, math.sqrt(squared), transform))
    return Moments(unpacked(noisy, rows.shape[1]), mechanism.noise_scale)


def release(
    rows: np.ndarray,
    squared: float,
    noise_multiplier: float,
    budget: Budget,
    relation: Relation = Relation.ADD_REMOVE,
    transform: np.ndarray | None = None,
) -> Moments:
    """Second moments of ``rows`` as by :func:`released`, from one Gaussian release that is charged to the budget."""
    return released(rows, squared, gaussian(squared, noise_multiplier, budget, relation), transform)


class Reading(NamedTuple):
    """Ridge solution from noisy moments: weights (p,), matrix X'X + penalty I, penalty, residual sum of squares."""

    weights: np.ndarray
    matrix: np.ndarray
    penalty: float
    residual: float

    @property
    def reach(self) -> float:
        """1 + |w|^2: standard deviation of the residual sum of squares at fixed w, over that of the noise."""
        return 1.0 + float(self.weights @ self.weights)


def read(moments: Moments, least: float) -> Reading:
    """Ridge solution with an adaptive penalty, which is at least ``least``, the prior's precision.

    The noise of the p x p block of the inputs has a norm of about noise x sqrt(2 p). This is the edge of the semicircle
    distribution, since off-diagonal entries have variance noise^2 / 2. The penalty raises the smallest eigenvalue to
    that. The residual is computed from the same moments. It is at least its own standard deviation, noise x (1 +
    |w|^2).
    """
    gram, noise = moments
    inputs, target, square = gram[:-1, :-1], gram[:-1, -1], float(gram[-1, -1])
    p = len(target)
    penalty = max(least, noise * math.sqrt(2.0 * p) - float(np.linalg.eigvalsh(inputs)[0]))
    matrix = inputs + penalty * np.eye(p)
    weights = np.linalg.solve(matrix, target)
    residual = square - 2 * float(weights @ target) + float(weights @ inputs @ weights)
    found = Reading(weights, matrix, penalty, residual)
    return found._replace(residual=max(residual, noise * found.reach))


def counted(moments: Moments, n: int) -> float:
    """The number of rows after clipping: the released sum of squares of their column of ones.

    It is at least n / 10, because noise would hide a smaller number.
    """
    return max(float(moments.gram[-2, -2]), n / 10.0)


def residual_variance(found: Reading, rows: float) -> float:
    """Variance of the target given the inputs: residual sum of squares over the number of rows (:func:`counted`)."""
    return max(found.residual / rows, LEAST_VARIANCE)
