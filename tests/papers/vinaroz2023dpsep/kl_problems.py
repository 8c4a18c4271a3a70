"""Gaussians to compare, and their divergence from means and covariances."""

import numpy as np

from papers.vinaroz2023dpsep.kl_gaussians import change_of, estimate, kl_given_noise, symmetric_noise


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


def expected_kl(eta, precision, sigma1, sigma2, rho, rng, draws, rule="shift"):
    """Monte Carlo of E_e E_E KL(q || p): e is integrated exactly, only E is drawn.

    With the rule ``none`` the mean is over the draws with Lambda + E positive definite (``share``).
    """
    noise = sigma2 * symmetric_noise(rng, eta.size, draws)
    return estimate(kl_given_noise(eta, precision, change_of(precision, noise, rule, rho), sigma1))
