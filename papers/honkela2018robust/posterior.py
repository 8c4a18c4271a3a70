"""The posterior mean of the model given released moments, and whether there is a posterior at all.

Let A, c and s be the released X'X, X'y and y'y of N rows, and kappa = l0 / l. Let

    R(k) = s - c'(A + k I)^-1 c,  T(k) = 2 + 2 k + R(k) / 2.

Given kappa, b has mean (A + kappa I)^-1 c, and l has distribution Gamma(N/2 + 4, rate T(kappa)). The density of kappa
is proportional to

    k^(1 + d/2) |A + k I|^(-1/2) T(k)^-(N/2 + 4).

The prior gives positive mass to every kappa > 0. So there is a posterior only under two conditions. A has no negative
eigenvalue -a, because else the density of b grows without bound along its eigenvector for every kappa < a. And T(k) > 0
for all k > 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.honkela2018robust.advi import SHAPE
from papers.honkela2018robust.data import Moments

#: eigenvalues of X'X closer to 0 than this count as 0: ten centred rows have rank 9.
ZERO = 1e-9
#: quadrature over ln kappa.
LOG_KAPPA = np.linspace(-14.0, 10.0, 3000)


@dataclass(frozen=True)
class Posterior:
    """Posterior means of b (d,), of l, of l0 and of kappa."""

    b: np.ndarray
    precision: float
    shrinkage: float
    kappa: float


def obstacle(moments: Moments) -> str:
    """Why there is no posterior: "negative eigenvalue" or "negative residual", or "" if there is one."""
    values, rotated = _eigen(moments)
    if values.min() < 0:
        return "negative eigenvalue"
    # R grows with k, so T is smallest at 0
    least = moments.square - np.sum(rotated**2 / (values + np.exp(LOG_KAPPA[0])))
    return "" if 2 + least / 2 > 0 else "negative residual"


def _eigen(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of X'X, and X'y in the basis of the eigenvectors."""
    values, vectors = np.linalg.eigh(moments.gram)
    return np.where(np.abs(values) < ZERO, 0.0, values), vectors.T @ moments.cross


def exact(moments: Moments) -> Posterior:
    """The posterior means, by quadrature over ln kappa. Raises ValueError if there is no posterior."""
    if why := obstacle(moments):
        raise ValueError(f"no posterior: the released moments have a {why}")
    values, vectors = np.linalg.eigh(moments.gram)
    values, rotated = np.where(np.abs(values) < ZERO, 0.0, values), vectors.T @ moments.cross
    kappa, d, shape = np.exp(LOG_KAPPA), moments.d, moments.n / 2 + 2 * SHAPE
    shifted = values + kappa[:, None]
    rate = 2 + 2 * kappa + (moments.square - np.sum(rotated**2 / shifted, axis=1)) / 2
    # one more power of kappa, because d kappa = kappa d ln kappa
    log_p = (SHAPE + d / 2) * LOG_KAPPA - 0.5 * np.log(shifted).sum(axis=1) - shape * np.log(rate)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    return Posterior(
        vectors @ (p @ (rotated / shifted)),
        float(p @ (shape / rate)),
        float(p @ (kappa * shape / rate)),
        float(p @ kappa),
    )


def ridge(moments: Moments, kappa: float = 1.0) -> np.ndarray:
    return np.linalg.solve(moments.gram + kappa * np.eye(moments.d), moments.cross)
