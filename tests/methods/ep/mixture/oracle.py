"""The slow and obvious form of every step: plain NumPy, moments and matrix inverses, straight from the formulas.

The kernels are tested against this file. Natural parameters of
J components in D dimensions are ``h`` (J, D), precision times mean, and ``L`` (J, D, D), precision; theta = prior +
data part, and a site is the moment-matched tilted distribution over the cavity. Sources: Minka 2001 (EP), Li et al.
2015 (SEP and its mixture of Gaussians), Vinaroz & Park 2023 (algorithm 3, and the program that they released).
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from methods.ep._mixture.naturals import Naturals, clipped_apart, clipped_jointly
from models.mixture_of_gaussians import gaussian_log_density


def tilted(x: np.ndarray, cavity: Naturals, noise_variance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moments of cavity x likelihood of one row x (D,).

    Returns r (J,), the probability that component k made the row, and the means (J, D) and covariances (J, D, D) of
    the component means.
    """
    components, d = cavity.h.shape
    noise = noise_variance * np.eye(d)
    covariances = np.linalg.inv(cavity.L)
    means = np.einsum("kij,kj->ki", covariances, cavity.h)
    r = softmax(gaussian_log_density(x[None], means, covariances + noise)[0])
    new_means, new_covariances = [], []
    for k in range(components):
        gain = covariances[k] @ np.linalg.inv(covariances[k] + noise)
        shift = gain @ (x - means[k])
        new_means.append(means[k] + r[k] * shift)
        new_covariances.append(
            covariances[k] + r[k] * (1 - r[k]) * np.outer(shift, shift) - r[k] * gain @ covariances[k]
        )
    return r, np.array(new_means), np.array(new_covariances)


def site(x: np.ndarray, cavity: Naturals, noise_variance: float) -> Naturals:
    """f_n: naturals of the Gaussians with the tilted moments, minus those of the cavity."""
    _, means, covariances = tilted(x, cavity, noise_variance)
    precisions = np.linalg.inv(covariances)
    return Naturals(np.einsum("kij,kj->ki", precisions, means) - cavity.h, precisions - cavity.L)


def floored(precisions: np.ndarray, floor: float) -> np.ndarray:
    """Eigenvalues <= 0 of each of (J, D, D) become ``floor``."""
    values, vectors = np.linalg.eigh(precisions)
    lifted = np.where(values > 0, values, floor)
    fixed = np.einsum("kia,ka,kja->kij", vectors, lifted, vectors)
    return np.where((values > 0).all(axis=1)[:, None, None], precisions, fixed)


def ep_step(
    x: np.ndarray, prior: Naturals, data: Naturals, own: Naturals, noise_variance: float, damping: float
) -> tuple[Naturals, Naturals]:
    """EP on one row: its site moves by the fraction ``damping`` to f_n. Returns (data part, its new site)."""
    cavity = prior.plus(data).plus(own, -1.0)
    new = own.times(1 - damping).plus(site(x, cavity, noise_variance), damping)
    return data.plus(own, -1.0).plus(new), new


def sep_step(x: np.ndarray, prior: Naturals, data: Naturals, n: int, noise_variance: float, damping: float) -> Naturals:
    """SEP on one row: theta <- theta + damping (f_n - f) with f = data part / N."""
    f = data.times(1.0 / n)
    fn = site(x, prior.plus(data).plus(f, -1.0), noise_variance)
    return data.plus(fn, damping).plus(f, -damping)


def algorithm3_step(
    x: np.ndarray,
    theta_0: Naturals,
    theta_f: Naturals,
    n: int,
    noise_variance: float,
    gamma: float,
    clip: float,
    floor: float,
    noise: Naturals | None = None,
) -> Naturals:
    """Lines 4 to 12 of algorithm 3 (Vinaroz & Park 2023) on one row. Returns the new theta_f.

    The cavity is theta - theta_f with theta = theta_0 + N theta_f; eq. (5) for the new theta; then the noise, the
    eigenvalues, theta_f = (theta - theta_0) / N and its clipping.
    """
    cavity = theta_0.plus(theta_f, n - 1.0)
    fn = clipped_jointly(site(x, cavity, noise_variance), clip)
    theta = fn.times(gamma / n).plus(theta_f, n - gamma / n).plus(theta_0)
    if noise is not None:
        theta = theta.plus(noise)
    theta = Naturals(theta.h, floored(theta.L, floor))
    return clipped_jointly(theta.plus(theta_0, -1.0).times(1.0 / n), clip)


def authors_step(
    x: np.ndarray,
    prior: Naturals,
    data: Naturals,
    f: Naturals,
    n: int,
    noise_variance: float,
    gamma: float,
    clip: float,
    floor: float,
    noise: Naturals | None = None,
) -> tuple[Naturals, Naturals, bool]:
    """One row of the released program. Returns (data part, f, whether the update was skipped).

    Skipped wholly where a precision of the new data part would not be positive definite; with noise, eigenvalues of
    the data part are lifted and f is clipped, but the data part is not computed from the clipped f.
    """
    fn = clipped_apart(site(x, prior.plus(data).plus(f, -1.0), noise_variance), clip)
    new = data.plus(fn, gamma / n).plus(f, -gamma / n)
    if not (np.linalg.eigvalsh(new.L) > 0).all():
        return data, f, True
    if noise is not None:
        new = Naturals(new.h + noise.h, floored(new.L + noise.L, floor))
    f = new.times(1.0 / n)
    return new, (f if noise is None else clipped_apart(f, clip)), False
