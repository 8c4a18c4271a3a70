"""Clipped sites of a mixture of Gaussians with known noise variance, whose sum the corrected DP-SEP releases.

A site is the change of the natural parameters of all components when moment matching adds one row to the cavity
(Li et al. 2015; Vinaroz & Park 2023, algorithm 3). The vector of one row is laid out as

    [mean naturals h, component by component | precisions, component by component: upper triangle by rows],

with every off-diagonal precision times sqrt(2). So the Euclidean norm of the vector is the Frobenius norm.
"""

from __future__ import annotations

import math

import numpy as np

#: numbers in the largest array of a block of rows (8 bytes each)
_BLOCK = 1 << 18


def size(components: int, d: int) -> int:
    """Length of the vector of one row."""
    return components * (d + d * (d + 1) // 2)


def pack(h: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Mean naturals (J, D) and symmetric precisions (J, D, D) as one vector of :func:`size` numbers."""
    rows, columns, weight = _triangle(h.shape[1])
    return np.concatenate([h.ravel(), (precision[:, rows, columns] * weight).ravel()])


def unpack(vector: np.ndarray, components: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of :func:`pack`: mean naturals (J, D) and symmetric precisions (J, D, D)."""
    rows, columns, weight = _triangle(d)
    precision = np.empty((components, d, d))
    values = vector[components * d :].reshape(components, -1) / weight
    precision[:, rows, columns] = values
    precision[:, columns, rows] = values
    return vector[: components * d].reshape(components, d).copy(), precision


def _triangle(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = np.triu_indices(d)
    return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2.0))


def clipped_site_sum(
    x: np.ndarray, rows: np.ndarray, means: np.ndarray, precisions: np.ndarray, noise_variance: float, clip: float
) -> np.ndarray:
    """Sum over ``rows`` of the clipped sites.

    Parameters
    ----------
    x : (n, D) observations, data units.
    rows : (k,) row numbers of the batch; may be empty (the sum is then 0).
    means, precisions : (J, D) and (J, D, D), the cavity of every component; the precisions positive definite.
    noise_variance : s2, known variance of a component in every coordinate, data units squared.
    clip : C, largest Euclidean norm of one row's vector.

    Returns
    -------
    (size,) array in the layout of :func:`pack`.

    L2 sensitivity under add/remove: ``clip``. Proof.

    1. The cavity is a function of earlier releases. Given the cavity, a row's contribution depends on that row alone,
       so adding or removing the row changes the sum by that contribution.
    2. The contribution is the row's whole vector, over all components, times min(1, clip / norm). So its norm is at
       most ``clip``. One factor for mean naturals and precisions of all components keeps the means of a clipped site.
    3. The last step rotates each component's block by an orthogonal matrix, a function of the cavity. This leaves the
       Frobenius norm unchanged.
    4. A row whose norm is not finite (a NaN or infinity anywhere in it) contributes 0. So the bound holds for every
       row, also for values that no data set has. An empty batch gives 0.

    The site of one row, component by component, with cavity N(M, S) and P = S^-1 (tilted moments: Li et al. 2015). In
    the eigenbasis of P every matrix is diagonal except one of rank one. Let r be the probability of the component given
    the row, and

        G = (I + s2 P)^-1,   g = G (x - M).

    The tilted moments are M + r g and S - r G S + r (1 - r) g g'. The inverse

        (S - r G S)^-1 = A = P + r P ((1 - r) I + s2 P)^-1

    needs no difference of nearly equal covariances. By Sherman & Morrison the tilted precision is

        Q = A - c u u',   u = A g,   c = r (1 - r) / (1 + r (1 - r) g'u).

    The site is (Q (M + r g) - P M, Q - P).
    """
    components, d = means.shape
    values, vectors = np.linalg.eigh(precisions)
    centre = np.einsum("jde,jd->je", vectors, means)
    h, precision = np.zeros((components, d)), np.zeros((components, d, d))
    step = max(1, _BLOCK // (components * d * d))
    for first in range(0, len(rows), step):
        part = _block(x[rows[first : first + step]], vectors, values, centre, noise_variance, clip)
        h += part[0]
        precision += part[1]
    turned = np.einsum("jde,jef,jcf->jdc", vectors, precision, vectors)
    return pack(np.einsum("jde,je->jd", vectors, h), 0.5 * (turned + turned.transpose(0, 2, 1)))


def _block(
    x: np.ndarray, vectors: np.ndarray, p: np.ndarray, centre: np.ndarray, s2: float, clip: float
) -> tuple[np.ndarray, np.ndarray]:
    """Sum of the clipped sites of a block of rows, in the eigenbasis of each component: (J, D) and (J, D, D)."""
    d = x.shape[1]
    with np.errstate(all="ignore"):  # a row whose numbers overflow contributes 0, below
        away = np.einsum("nd,jde->nje", x, vectors) - centre
        spread = 1.0 / p + s2
        log_r = -0.5 * (np.square(away) / spread).sum(axis=2) - 0.5 * np.log(spread).sum(axis=1)
        r = np.exp(log_r - log_r.max(axis=1, keepdims=True))
        r /= r.sum(axis=1, keepdims=True)
        g = away / (1.0 + s2 * p)
        r_ = r[:, :, None]
        # 1 - r as the sum of the others: no cancellation where r is close to 1
        other = (1.0 - np.eye(len(p))) @ r.T
        diagonal = r_ * p / (other.T[:, :, None] + s2 * p)
        u = (p + diagonal) * g
        both = r * other.T
        gu = (g * u).sum(axis=2)
        c = both / (1.0 + both * gu)
        along = (u * (centre + r_ * g)).sum(axis=2)
        h = diagonal * centre + r_ * (p + diagonal) * g - (c * along)[:, :, None] * u
        precision = -(c[:, :, None] * u)[:, :, :, None] * u[:, :, None, :]
        precision[:, :, np.arange(d), np.arange(d)] += diagonal
        norm = np.sqrt(np.square(h).sum(axis=(1, 2)) + np.square(precision).sum(axis=(1, 2, 3)))
        factor = np.minimum(1.0, clip / norm)
    sound = np.isfinite(norm)
    factor = np.where(norm[sound] > clip, factor[sound], 1.0)
    return np.einsum("n,njd->jd", factor, h[sound]), np.einsum("n,njde->jde", factor, precision[sound])
