"""KL divergence of two Gaussians in natural parameters under the noise of DP-SEP, exactly and by Monte Carlo.

q = N(mu, Sigma) has the natural parameters eta = Lambda mu and Lambda = Sigma^-1. p is the same after one noise draw.
The first parameter gets e ~ N(0, sigma1^2 I). The second gets E, symmetric with upper triangle iid N(0, sigma2^2).
Divergences are in nats.

Two facts are behind most verdicts on theorem 4.1 (:mod:`kl_bound`). First, for D = Lambda_p - Lambda and w_i the
eigenvalues of Lambda^-1/2 D Lambda^-1/2,

    E_e KL = 1/2 [ sum_i (w_i - log(1 + w_i)) + sigma1^2 Tr Lambda_p^-1 + mu' D Lambda_p^-1 D mu ].

This is of SECOND order in D, but the theorem bounds term by term and keeps the first order. Second, for symmetric B,

    E[E B E] = sigma2^2 (Tr(B) I + B - diag(B)),

so v(E) = d sigma2^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: value that replaces eigenvalues that are not positive (algorithm 3, step 10). The paper gives no number.
FLOOR = 1e-4
#: number of standard errors from which a measured mean counts as above a bound (one-sided normal tail 3e-5).
DECISION = 4.0
Naturals = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class ClippedKl:
    """KL(SEP || clipped SEP) as ``printed`` in appendix A and ``corrected``, nats."""

    printed: float
    corrected: float


@dataclass(frozen=True)
class Estimate:
    """Monte Carlo mean with its standard error over ``draws``, of which ``share`` met the condition."""

    mean: float
    standard_error: float
    draws: int
    share: float


def clipped_sep_kl(eta: np.ndarray, precision: np.ndarray, clip: float) -> ClippedKl:
    """KL between SEP and SEP with both natural parameters scaled down to norm ``clip`` (2023, appendix A).

    The printed result has two errors. In place of Tr(Lambda_p Lambda_q^-1) = d / max(1, |Lambda|_F / C), it has d
    max(1, |Lambda|_F / C). In the log determinant, it has |Sigma|_F in place of |Lambda|_F. ``corrected`` is exact.

    Raises ValueError for a clip that is not positive or a precision that is not positive definite.
    """
    eta, precision = naturals(eta, precision)
    positive(clip=clip)
    d = eta.size
    k_precision = max(1.0, float(np.linalg.norm(precision)) / clip)
    k_eta = max(1.0, float(np.linalg.norm(eta)) / clip)
    k_covariance = max(1.0, float(np.linalg.norm(np.linalg.inv(precision))) / clip)
    b = k_precision / k_eta - 1.0
    quadratic = b**2 / k_precision * float(eta @ np.linalg.solve(precision, eta))
    return ClippedKl(
        printed=0.5 * (d * k_precision + quadratic - d + d * math.log(k_covariance)),
        corrected=0.5 * (d / k_precision + quadratic - d + d * math.log(k_precision)),
    )


def symmetric_noise(rng: np.random.Generator, d: int, draws: int) -> np.ndarray:
    """Symmetric matrices (draws, d, d) whose upper triangle with diagonal is iid N(0, 1) (definition 4.2)."""
    upper = np.triu(rng.standard_normal((draws, d, d)))
    return upper + np.swapaxes(np.triu(upper, 1), 1, 2)


def second_moment(inner: np.ndarray) -> np.ndarray:
    """E[E B E] / sigma2^2 for a symmetric (d, d) matrix B = ``inner``: Tr(B) I + B - diag(B).

    B = I gives d I, the sum of B_k B_k' over e_i e_i' and e_i e_j' + e_j e_i' that defines v(E).
    """
    return np.trace(inner) * np.eye(len(inner)) + inner - np.diag(np.diag(inner))


def matrix_variance(d: int, sigma2: float) -> float:
    """v(E) = |sum_k sigma2^2 B_k B_k'| = d sigma2^2, exactly (2023, theorem 4.1)."""
    return d * sigma2**2


def kl_given_noise(eta: np.ndarray, precision: np.ndarray, change: np.ndarray, sigma1: float) -> np.ndarray:
    """E_e KL(q || p) for each Lambda_p = Lambda + D, with the Gaussian e integrated exactly; nats, shape (draws,).

    ``change`` = D of shape (draws, d, d). The result is infinite if Lambda + D is not positive definite.
    """
    eta, precision = naturals(eta, precision)
    root = root_of(precision, -0.5)
    w, u = np.linalg.eigh(root @ change @ root)
    proper = w[:, 0] > -1
    w = np.where(proper[:, None], w, 0.0)
    mean = np.linalg.solve(precision, eta)
    turned = np.swapaxes(u, 1, 2) @ root
    noise = sigma1**2 * np.sum(turned**2, axis=2)
    bias = np.einsum("nij,nj->ni", turned, change @ mean) ** 2
    return np.where(proper, 0.5 * np.sum(excess(w) + (noise + bias) / (1 + w), axis=1), np.inf)


def change_of(precision: np.ndarray, noise: np.ndarray, rule: str, rho: float, floor: float = FLOOR) -> np.ndarray:
    """D = Lambda_p - Lambda for each E of ``noise`` (draws, d, d), by a rule that restores positive eigenvalues.

    * ``shift``: definition 4.2. Every eigenvalue moves by rho - lambda_min(Lambda + E), ALSO if Lambda + E is positive
      definite.
    * ``floor``: algorithm 3, step 10. Eigenvalues that are not positive become ``floor``.
    * ``none``: D = E.

    Raises ValueError for another rule.
    """
    if rule == "none":
        return noise
    if rule == "shift":
        smallest = np.linalg.eigvalsh(precision + noise)[:, 0]
        return noise + (rho - smallest)[:, None, None] * np.eye(len(precision))
    if rule == "floor":
        values, vectors = np.linalg.eigh(precision + noise)
        lift = np.where(values > 0, 0.0, floor - values)
        return noise + (vectors * lift[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    raise ValueError(f"rule={rule!r}; give 'shift', 'floor' or 'none'")


def kl_given_covariance_noise(precision: np.ndarray, noise: np.ndarray, sigma1: float) -> tuple[np.ndarray, np.ndarray]:
    """(E_e KL(q || p), |Sigma^-1/2 E Sigma^-1/2|), both (draws,), for each E of the model of 2021.

    In that model, Sigma_p = Sigma + E and mu_p = mu + e.
    """
    root = root_of(precision, 0.5)
    w, u = np.linalg.eigh(root @ noise @ root)
    proper = w[:, 0] > -1
    radius = np.max(np.abs(w), axis=1)
    w = np.where(proper[:, None], w, 0.0)
    spread = np.sum((np.swapaxes(u, 1, 2) @ root) ** 2, axis=2)
    # log(1 + w) + 1/(1 + w) - 1 = x - log(1 + x) at x = -w/(1 + w).
    kl = 0.5 * np.sum(excess(-w / (1 + w)) + sigma1**2 * spread / (1 + w), axis=1)
    return np.where(proper, kl, np.inf), radius


def problem(d: int, clip: float, seed: int = 0) -> Naturals:
    """One q: eigenvalues of Lambda spread evenly on a log scale over 1 : 4, a random basis, and |(eta, Lambda)| = C.

    Both natural parameters have norm C / sqrt(2), which one clipped site may contribute.
    """
    rng = np.random.default_rng((seed, d))
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    values = np.geomspace(4.0, 1.0, d)
    values *= clip / math.sqrt(2) / np.linalg.norm(values)
    eta = rng.standard_normal(d)
    precision = (basis * values) @ basis.T
    return eta * clip / math.sqrt(2) / np.linalg.norm(eta), (precision + precision.T) / 2


def excess(w: np.ndarray) -> np.ndarray:
    """w - log(1 + w), by its series near 0, where the difference would lose every digit."""
    series = w**2 * (1 / 2 - w * (1 / 3 - w * (1 / 4 - w * (1 / 5 - w / 6))))
    near = np.abs(w) < 1e-3
    return np.where(near, series, w - np.log1p(np.where(near, 0.0, w)))


def root_of(matrix: np.ndarray, power: float) -> np.ndarray:
    """``matrix`` (d, d), symmetric and positive definite, to that power."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * values**power) @ vectors.T


def estimate(kl: np.ndarray) -> Estimate:
    """Mean of the finite values of ``kl`` (draws,), NaN if there are fewer than two."""
    kept = kl[np.isfinite(kl)]
    share = len(kept) / len(kl) if len(kl) else 0.0
    if len(kept) < 2:
        return Estimate(math.nan, math.nan, len(kl), share)
    return Estimate(float(np.mean(kept)), float(np.std(kept, ddof=1) / math.sqrt(len(kept))), len(kl), share)


def nothing() -> Estimate:
    """The estimate if no draw met the condition."""
    return Estimate(math.nan, math.nan, 0, 0.0)


def naturals(eta: np.ndarray, precision: np.ndarray) -> Naturals:
    """(eta (d,), Lambda (d, d)) as doubles. Raises ValueError unless Lambda is symmetric and positive definite."""
    eta = np.asarray(eta, dtype=np.float64)
    precision = np.asarray(precision, dtype=np.float64)
    if eta.ndim != 1 or precision.shape != (eta.size, eta.size):
        raise ValueError(f"eta has shape {eta.shape}, the precision {precision.shape}; give (d,) and (d, d)")
    if not np.allclose(precision, precision.T, rtol=1e-10, atol=0):
        raise ValueError("the precision is not symmetric; give (Lambda + Lambda') / 2")
    if not np.linalg.eigvalsh(precision)[0] > 0:
        raise ValueError("the precision is not positive definite; q and p must be proper Gaussians")
    return eta, precision


def positive(**settings: float) -> None:
    """Raises ValueError, with the name, for a setting that is not a positive number."""
    for name, value in settings.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name}={value}; give a positive number")


def not_negative(**settings: float) -> None:
    """Raises ValueError, with the name, for a setting that is not a standard deviation."""
    for name, value in settings.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name}={value}; give a standard deviation, 0 or more")
