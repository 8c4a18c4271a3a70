"""The noisy release of clipped moments, as in the authors' code and corrected.

Rows are clipped to |x_j| <= B_x and |y| <= B_y. The upper triangle of X'X, X'y and y'y get Laplace noise. Neighbouring
tables differ in one row that is replaced. The number of rows is public.

**L1 sensitivity** (``cost``). Replace (x, y) by (x', y'), in units of the bounds. Put a_i = |x_i - x'_i| / 2 and
s_i = |x_i + x'_i| / 2, so a_i + s_i = max(|x_i|, |x'_i|) <= 1. Let t be the mean of the a_i. Then

    |x_i x_j - x'_i x'_j| = |(x_i - x'_i)(x_j + x'_j) + (x_i + x'_i)(x_j - x'_j)| / 2 <= 2 (a_i s_j + s_i a_j)

and |x_i^2 - x'_i^2| = 4 a_i s_i. With s_i <= 1 - a_i, the sum over the upper triangle is at most

    2 sum_ij a_i s_j + 2 sum_i a_i s_i <= 2 d^2 t (1 - t) + 2 d t (1 - t) = 2 d (d + 1) t (1 - t),

because sum_i a_i (1 - a_i) <= d t (1 - t) by Jensen's inequality. In the same way, with q = |y - y'| / 2, X'y changes
by at most 2 d (t (1 - q) + (1 - t) q) and y'y by at most 4 q (1 - q). One pair attains the three bounds at once: x = 1
and x' = 1 - 2 t in every coordinate, y = 1 and y' = 1 - 2 q.

**The authors' scales** of the noise are

    (d^2 + d) B_x^2 / (p1 epsilon),  2 d B_x B_y / (p2 epsilon),  B_y^2 / (p3 epsilon).

If their bounds were public, a release would cost epsilon times the largest value over t and q of

    2 p1 t (1 - t) + p2 (t (1 - q) + (1 - t) q) + 4 p3 q (1 - q),

which is less than 1. But the bounds are multiples of standard deviations of the private rows. So the scale of the noise
depends on these rows, and no finite epsilon holds.

**The corrected scales** have public bounds:

    2 d (d + 1) B_x^2 / epsilon,  2 d B_x B_y / epsilon,  4 B_y^2 / epsilon

The three changes over their scales sum to at most

    epsilon (t (1 - t) + t (1 - q) + (1 - t) q + q (1 - q)) = epsilon (t + q)(2 - t - q) = epsilon (1 - (1 - t - q)^2),

which is at most epsilon. So releasing X'X and y'y in addition to X'y costs nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from papers.honkela2018robust.data import Fold, Moments, clipped
from privacy.budget import Budget
from privacy.ledger import Relation

HERE = "papers.honkela2018robust.release"
#: shares of epsilon for X'X, X'y and y'y in the authors' code.
SPLIT = (0.35, 0.60, 0.05)


def symmetric(upper: np.ndarray) -> np.ndarray:
    """Symmetric matrices (..., d, d) from upper triangles (..., d (d + 1) / 2), row by row."""
    d = int((np.sqrt(8 * upper.shape[-1] + 1) - 1) / 2)
    out = np.zeros((*upper.shape[:-1], d, d))
    rows, columns = np.triu_indices(d)
    out[..., rows, columns] = out[..., columns, rows] = upper
    return out


def size(d: int) -> int:
    """The number of values in a release."""
    return d * (d + 1) // 2 + d + 1


def unit(x: np.ndarray) -> np.ndarray:
    """Rows divided by their norms. A row of zeros is unchanged, so no row can make a fit fail."""
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)


def triangle(gram: np.ndarray) -> np.ndarray:
    return gram[np.triu_indices(len(gram))]


@dataclass(frozen=True)
class Clipped:
    """Moments of the private rows and of the public ones, both clipped at the bounds of ``bounds`` = (B_x, B_y)."""

    private: Moments
    public: Moments
    bounds: tuple[float, float]


def as_published(fold: Fold, n: int, multiples: tuple[float, float] | None) -> Clipped:
    """Moments of the rows centred and normalised as in the authors' code, and clipped.

    ``multiples``: clipping bounds, in standard deviations of the private inputs (all entries) and targets. There is no
    clipping if it is None, or without private rows.
    """
    (x, y), (x0, y0) = fold.private(n), fold.public
    bounds = (0.0, 0.0)
    if n and multiples is not None:
        bounds = (multiples[0] * x.std(ddof=1), multiples[1] * y.std(ddof=1))
        x, y, x0, y0 = (clipped(v, b) for v, b in ((x, bounds[0]), (y, bounds[1]), (x0, bounds[0]), (y0, bounds[1])))
    return Clipped(Moments.of(x, y), Moments.of(x0, y0), bounds)


def scales(d: int, bounds: tuple[float, float], split=SPLIT) -> tuple[float, float, float]:
    """The authors' scales of X'X, X'y and y'y, times epsilon."""
    (bx, by), (p1, p2, p3) = bounds, split
    return (d * d + d) * bx**2 / p1, 2 * d * bx * by / p2, by**2 / p3


def published_release(found: Clipped, epsilon: float, budget: Budget) -> Moments:
    """The moments that the authors' code fits: three Laplace releases of the private rows plus the public rows.

    The scale of the noise is computed from the private rows. In units of it, nothing bounds what one row can change. So
    the ledger has an infinite sensitivity.
    """
    d = found.private.d
    names = ("X'X of the clipped private rows", "X'y of the clipped private rows", "y'y of the clipped private rows")
    values = (triangle(found.private.gram), found.private.cross, np.array([found.private.square]))
    out = []
    for what, value, scale in zip(names, values, scales(d, found.bounds), strict=True):
        mechanism = budget.laplace(
            what,
            sensitivity=float("inf"),
            noise_scale=float(scale / epsilon),
            relation=Relation.REPLACE_ONE,
            proof="none: the scale of the noise is a standard deviation of the private rows",
        )
        out.append(mechanism.release(value))
    gram, cross, square = symmetric(out[0]), out[1], float(out[2][0])
    return Moments(gram, cross, square, found.private.n) + found.public


def changes(d: int, t, q) -> tuple:
    """Largest L1 changes of X'X (upper triangle), X'y and y'y, in units of the bounds, broadcast over t and q."""
    return 2 * d * (d + 1) * t * (1 - t), 2 * d * (t * (1 - q) + (1 - t) * q), 4 * q * (1 - q)


def cost(split, d: int = 10) -> float:
    """The cost over epsilon of a release at the authors' scales, if its bounds were public.

    It is the largest value over t and q of the weighted changes, and does not depend on d.
    """
    axis = np.linspace(0.0, 1.0, 2001)
    t, q = axis[:, None], axis[None, :]
    return float(sum(c / s for c, s in zip(changes(d, t, q), scales(d, (1.0, 1.0), split), strict=True)).max())


def corrected_scales(d: int, bounds: tuple[float, float]) -> tuple[float, float, float]:
    """The corrected scales of X'X, X'y and y'y, times epsilon."""
    bx, by = bounds
    return 2 * d * (d + 1) * bx**2, 2 * d * bx * by, 4 * by**2


def normalised(moments: Moments, bounds: tuple[float, float]) -> np.ndarray:
    """The vector that is released: upper triangle of X'X, X'y and y'y, each divided by its corrected scale.

    One replaced row changes it by at most 1 in L1 (module docstring).
    """
    parts = (triangle(moments.gram), moments.cross, np.array([moments.square]))
    return np.concatenate([p / s for p, s in zip(parts, corrected_scales(moments.d, bounds), strict=True)])


def corrected(fold: Fold, n: int, multiples: tuple[float, float]) -> Clipped:
    """Clipped moments, with centre and scale of the targets from the ten public rows, which costs nothing."""
    return _in_public_frame(fold, n, multiples, fold.y_public.mean(), fold.y_public.std(ddof=1))


def charged(fold: Fold, n: int, multiples: tuple[float, float], epsilon: float, budget: Budget) -> Clipped:
    """Clipped moments without public rows. The targets are not centred, and their scale costs ``epsilon``."""
    scale = NORMAL_MEDIAN * median(np.abs(fold.y_pool[:n]), epsilon, budget)
    found = _in_public_frame(fold, n, multiples, 0.0, scale)
    none = np.zeros((0, found.private.d))
    return replace(found, public=Moments.of(none, none[:, 0]))


def _in_public_frame(fold: Fold, n: int, multiples: tuple[float, float], centre: float, sd: float) -> Clipped:
    """Rows over their norms and targets minus ``centre``, clipped at bounds that do not depend on private rows.

    B_x = multiple / sqrt(d), as 1 / sqrt(d) is the standard deviation of an entry of a random row of norm 1. B_y is a
    multiple of ``sd``.
    """
    x, x0 = unit(fold.x_pool[:n]), unit(fold.x_public)
    bx, by = float(multiples[0] / np.sqrt(x.shape[1])), float(multiples[1] * sd)
    private, public = (
        Moments.of(clipped(a, bx), clipped(b - centre, by)) for a, b in ((x, fold.y_pool[:n]), (x0, fold.y_public))
    )
    return Clipped(private, public, (bx, by))


#: thresholds of the search for a median: powers of 2^(1/4). Seven comparisons select one.
THRESHOLDS = 2.0 ** (np.arange(-24, 48) / 4)
COMPARISONS = 7
#: the standard deviation of a normal distribution is this many times the median of its absolute values.
NORMAL_MEDIAN = 1.4826


def median(values: np.ndarray, epsilon: float, budget: Budget) -> float:
    """A private estimate of the median of positive numbers, by bisection among ``THRESHOLDS`` with noisy counts.

    One replaced row changes the count of values up to a threshold by at most 1. Each of the seven counts costs
    epsilon / 7, even if the earlier ones choose its threshold.
    """
    mechanism = budget.laplace(
        "counts of targets up to a threshold",
        sensitivity=1.0,
        noise_scale=COMPARISONS / epsilon,
        relation=Relation.REPLACE_ONE,
        steps=COMPARISONS,
        proof="papers.honkela2018robust.release.median",
    )
    low, high = 0, len(THRESHOLDS) - 1
    for _ in range(COMPARISONS):
        middle = (low + high) // 2
        count = float(mechanism.release(np.array([np.sum(values <= THRESHOLDS[middle])]))[0])
        low, high = (low, middle) if count >= len(values) / 2 else (min(middle + 1, high), high)
    return float(THRESHOLDS[high])


def corrected_release(found: Clipped, epsilon: float, budget: Budget) -> Moments:
    """The moments of the private rows with Laplace noise at the corrected scales, plus the public rows."""
    mechanism = budget.laplace(
        "X'X, X'y and y'y of the clipped private rows, over their scales",
        sensitivity=1.0,
        noise_scale=1.0 / epsilon,
        relation=Relation.REPLACE_ONE,
        proof=HERE,
    )
    noisy = mechanism.release(normalised(found.private, found.bounds))
    d = found.private.d
    gram, cross, square = np.split(noisy, [d * (d + 1) // 2, -1])
    a, b, c = corrected_scales(d, found.bounds)
    return Moments(symmetric(gram) * a, cross * b, float(square[0]) * c, found.private.n) + found.public


def linear_bayes(released: Moments, bounds: tuple[float, float], omega: float, epsilon: float) -> np.ndarray:
    """Coefficients (d,): A^-1 c, after X'X is shrunk towards its mean under independent standard normal inputs.

    A clipped entry of a random row of norm 1 has mean square g B_x^2, where

        g = E min(|z|, omega)^2 / omega^2  for a standard normal z.

    So X'X has mean m I with m = n g B_x^2, and its entries have variance v = n g^2 B_x^4 about that. Given noise of
    variance 2 S^2, the linear Bayes estimate is alpha A + (1 - alpha) m I with alpha = v / (v + 2 S^2). Eigenvalues
    below m / 20 are raised to m / 20.
    """
    g = clipped_square(omega)
    n, bx = released.n, bounds[0]
    mean, variance = n * g * bx**2, n * g**2 * bx**4
    noise = 2 * (corrected_scales(released.d, bounds)[0] / epsilon) ** 2
    alpha = variance / (variance + noise)
    values, vectors = np.linalg.eigh(alpha * released.gram + (1 - alpha) * mean * np.eye(released.d))
    return vectors @ ((vectors.T @ released.cross) / np.maximum(values, mean / 20))


def clipped_square(omega: float) -> float:
    """The value of E min(|z|, omega)^2 / omega^2 for a standard normal z."""
    inside = 2 * (norm.cdf(omega) - 0.5 - omega * norm.pdf(omega))
    return float((inside + 2 * omega**2 * norm.sf(omega)) / omega**2)
