"""Mean-field variational inference for the means of a mixture with known noise and equal weights."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from models.mixture_of_gaussians import MixtureMeans, MixtureOfGaussians


def coordinate_ascent(
    x: np.ndarray, model: MixtureOfGaussians, iterations: int, tolerance: float
) -> tuple[MixtureMeans, list[float]]:
    """The mean-field posterior q(h) prod_j q(mu_j) by coordinate ascent, for rows x (n, D).

    Source: Bishop 2006, section 10.2, with the means as the only unknowns. Let s2 be the noise variance, p the prior
    precision, and m_j and 1 / t_j the mean and variance of q(mu_j). The updates are

        r_nj proportional to exp(-(|x_n - m_j|^2 + D / t_j) / (2 s2)),
        t_j = p + sum_n r_nj / s2,
        m_j = (p prior_j + sum_n r_nj x_n / s2) / t_j.

    It starts at the prior, whose means break the symmetry between components. It stops after ``iterations`` rounds, or
    when the lower bound has grown by less than ``tolerance`` of itself. n may be 0.

    Returns q and the lower bound, in nats, after each update of r. The lower bound never falls.
    """
    n, d = x.shape
    s2, p, prior = model.noise_sd**2, 1.0 / model.prior_variance, model.prior_means(d)
    means, precisions = prior, np.full(model.components, p)
    squares = np.square(x).sum(axis=1)
    constant = -0.5 * d * math.log(2 * math.pi * s2) - math.log(model.components)
    bounds: list[float] = []
    for _ in range(iterations):
        distance = squares[:, None] - 2.0 * x @ means.T + np.square(means).sum(axis=1)
        joint = -0.5 / s2 * (distance + d / precisions)
        total = logsumexp(joint, axis=1, keepdims=True)
        ratio = p / precisions
        kl = 0.5 * (d * (ratio - 1.0 - np.log(ratio)) + p * np.square(means - prior).sum(axis=1)).sum()
        bounds.append(float(total.sum()) + n * constant - float(kl))
        r = np.exp(joint - total)
        precisions = p + r.sum(axis=0) / s2
        means = (p * prior + r.T @ x / s2) / precisions[:, None]
        if len(bounds) > 1 and bounds[-1] - bounds[-2] < tolerance * abs(bounds[-1]):
            break
    return MixtureMeans(means, np.eye(d) / precisions[:, None, None], model.noise_sd), bounds
