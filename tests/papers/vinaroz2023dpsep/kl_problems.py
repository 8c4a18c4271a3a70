"""Gaussians to compare, and their divergence from means and covariances."""

import numpy as np

from papers.vinaroz2023dpsep.kl_gaussians import (
    FLOOR,
    Estimate,
    Naturals,
    change_of,
    estimate,
    excess,
    kl_given_noise,
    naturals,
    not_negative,
    positive,
    root_of,
    symmetric_noise,
)


def random_problem(rng, d, spread=4.0):
    """mu and Lambda with eigenvalues in [1, spread] and a random basis."""
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    precision = (basis * rng.uniform(1, spread, d)) @ basis.T
    precision = (precision + precision.T) / 2
    return precision @ rng.standard_normal(d), precision


def textbook_kl(q, p):
    """KL(q || p) from means and covariances."""
    (eta_q, precision_q), (eta_p, precision_p) = q, p
    cov_q, cov_p = np.linalg.inv(precision_q), np.linalg.inv(precision_p)
    shift = cov_p @ eta_p - cov_q @ eta_q
    logs = np.linalg.slogdet(cov_p)[1] - np.linalg.slogdet(cov_q)[1]
    return 0.5 * (np.trace(precision_p @ cov_q) + shift @ precision_p @ shift - len(eta_q) + logs)


def gaussian_kl(q: Naturals, p: Naturals) -> float:
    """KL(q || p) of two Gaussians in natural parameters, nats (eq. 19 of the 2023 version).

    Parameters
    ----------
    q, p : (eta, Lambda), eta of shape (d,) = Lambda mu, Lambda of shape (d, d) = precision, symmetric.

    Raises
    ------
    ValueError : shapes that do not fit, or a precision that is not positive definite.
    """
    eta_q, precision_q = naturals(*q)
    eta_p, precision_p = naturals(*p)
    if eta_q.shape != eta_p.shape:
        raise ValueError(f"q has {eta_q.size} dimensions, p has {eta_p.size}; compare Gaussians of one space")
    root = root_of(precision_q, -0.5)
    change = precision_p - precision_q
    mean = np.linalg.solve(precision_q, eta_q)
    w = np.linalg.eigvalsh(root @ change @ root)
    shift = (eta_p - eta_q) - change @ mean
    return 0.5 * float(np.sum(excess(w)) + shift @ np.linalg.solve(precision_p, shift))


def expected_kl(
    eta: np.ndarray,
    precision: np.ndarray,
    sigma1: float,
    sigma2: float,
    rho: float,
    rng: np.random.Generator,
    draws: int,
    rule: str = "shift",
    floor: float = FLOOR,
) -> Estimate:
    """Monte Carlo of E_e E_E KL(q || p), nats; e is integrated exactly, only E is drawn.

    ``rule`` as in :func:`change_of`. With ``none`` the mean is over the draws with Lambda + E positive definite
    (``share``); that expectation is infinite for sigma1, sigma2 > 0, because the density of lambda_min(Lambda + E) at 0
    is positive and E[1/lambda_min] diverges like a logarithm. A finite sample shows it where the share is below 1.

    Raises ValueError for fewer than 2 draws or an unknown rule.
    """
    eta, precision = naturals(eta, precision)
    positive(rho=rho, floor=floor)
    not_negative(sigma1=sigma1, sigma2=sigma2)
    if draws < 2:
        raise ValueError(f"draws={draws}; a standard error needs at least 2")
    noise = sigma2 * symmetric_noise(rng, eta.size, draws)
    return estimate(kl_given_noise(eta, precision, change_of(precision, noise, rule, rho, floor), sigma1))
