"""EM for a mixture of Gaussians with unknown weights, means and covariances (maximum likelihood or MAP).

Source of the MAP step, the start and the stopping rule: the authors' code of Park, Foulds, Chaudhuri & Welling 2017
(pmtk3's ``mixGaussFit`` with its default priors).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp, multigammaln

from methods.contract import Diverged
from models.mixture_of_gaussians import MixtureParameters


class Prior(NamedTuple):
    """Normal-inverse-Wishart prior of every component (mean 0, nu0 = d + 1) and Dirichlet prior of the weights.

    ``kappa0``: pseudo-rows of the mean. ``scale``: S0 = scale x I, units of the rows squared. ``dirichlet``: every
    concentration. Rows times squared units throughout.
    """

    kappa0: float = 1.01
    scale: float = 0.1
    dirichlet: float = 2.0


class Moments(NamedTuple):
    """Weighted moments of every component: ``counts`` (K,), ``means`` (K, d) and ``scatters`` (K, d, d).

    A scatter is sum_i g_ik (x_i - mean_k)(x_i - mean_k)', not divided by the count.
    """

    counts: np.ndarray
    means: np.ndarray
    scatters: np.ndarray


def e_step(x: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> tuple[np.ndarray, float]:
    """Responsibilities (n, K) and log-likelihood (nats) of the rows x (n, d).

    Raises :class:`methods.contract.Diverged` where a covariance is not positive definite or a number is not finite.
    """
    n, d = x.shape
    joint = np.empty((len(weights), n))
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            raise Diverged(f"EM: the covariance of component {k} is not positive definite") from None
        z = solve_triangular(factor, (x - mean).T, lower=True, check_finite=False)
        log_det = 2.0 * float(np.log(np.diag(factor)).sum())
        joint[k] = -0.5 * (d * math.log(2 * math.pi) + log_det + np.einsum("dn,dn->n", z, z))
    with np.errstate(divide="ignore"):  # a component of weight 0 has log-weight -inf, rightly
        joint += np.log(weights)[:, None]
    total = logsumexp(joint, axis=0)
    log_likelihood = float(total.sum())
    if not math.isfinite(log_likelihood):
        raise Diverged(f"EM: the log-likelihood is {log_likelihood}")
    return np.exp(joint - total).T, log_likelihood


def moments(x: np.ndarray, responsibilities: np.ndarray, smallest: float = 0.0, replacement: float = 0.0) -> Moments:
    """Counts, weighted means and scatters of the rows x (n, d).

    A count of at most ``smallest`` becomes ``replacement`` wherever it is used, also as the divisor of the mean (the
    authors' code of Park et al.: 1 and 1.01).
    """
    counts = responsibilities.sum(axis=0)
    counts = np.where(counts <= smallest, replacement, counts)
    means = responsibilities.T @ x / np.maximum(counts, np.finfo(float).tiny)[:, None]
    d = x.shape[1]
    scatters = np.empty((len(counts), d, d))
    for k, mean in enumerate(means):
        centred = x - mean
        scatters[k] = (centred * responsibilities[:, k, None]).T @ centred
    return Moments(counts, means, scatters)


def map_m_step(m: Moments, prior: Prior | None) -> MixtureParameters:
    """Mode of the complete-data posterior; the maximum-likelihood step where ``prior`` is None.

    mu_k = w_k xbar_k / (w_k + kappa0);  Sigma_k = (S0 + S_k + kappa0 w_k / (kappa0 + w_k) xbar_k xbar_k') /
    (nu0 + w_k + d + 2) with nu0 = d + 1;  pi proportional to w_k + dirichlet - 1.
    """
    d = m.means.shape[1]
    w = m.counts
    if prior is None:
        if not (w > 0).all():
            raise Diverged("EM: a component lost all its rows; use a prior, or fewer components")
        return MixtureParameters(w / w.sum(), m.means, m.scatters / w[:, None, None])
    means = (w / (w + prior.kappa0))[:, None] * m.means
    outer = np.einsum("ki,kj->kij", m.means, m.means)
    pull = prior.kappa0 * w / (prior.kappa0 + w)
    scatters = prior.scale * np.eye(d) + m.scatters + pull[:, None, None] * outer
    weights = w + prior.dirichlet - 1.0
    return MixtureParameters(weights / weights.sum(), means, scatters / (2 * d + 3 + w)[:, None, None])


def log_prior(p: MixtureParameters, prior: Prior | None) -> float:
    """The term that the authors' code adds to the log-likelihood that it reports and stops by; nats.

    Normal-inverse-Wishart log-density of every component, N(mu_k; 0, Sigma_k / kappa0) IW(Sigma_k; S0, nu0), plus
    (dirichlet - 1) sum log pi_k (without its constant). 0 without a prior.
    """
    if prior is None:
        return 0.0
    d = p.means.shape[1]
    nu0 = d + 1
    constant = 0.5 * nu0 * d * math.log(2.0) + float(multigammaln(0.5 * nu0, d)) - 0.5 * nu0 * d * math.log(prior.scale)
    total = (prior.dirichlet - 1.0) * float(np.log(p.weights).sum())
    for mean, covariance in zip(p.means, p.covariances, strict=True):
        log_det = float(np.linalg.slogdet(covariance)[1])
        square = float(mean @ np.linalg.solve(covariance, mean))
        total += 0.5 * (d * math.log(prior.kappa0 / (2 * math.pi)) - log_det - prior.kappa0 * square)
        trace = prior.scale * float(np.trace(np.linalg.inv(covariance)))
        total += -0.5 * (nu0 + d + 1) * log_det - 0.5 * trace - constant
    return total


def initial(d: int, components: int, rng: np.random.Generator, scale: float = 1.0) -> MixtureParameters:
    """Start that looks at no data: means ``scale`` x (Latin hypercube in [-.5, .5]^d + 0.01 N(0, I)), covariances I.

    The authors' code draws MATLAB's ``lhsdesign`` (a maximin hypercube), this a plain one; weights 1 / K.
    """
    from scipy.stats import qmc  # slow to import

    cube = qmc.LatinHypercube(d, rng=rng).random(components) - 0.5
    means = scale * (cube + 0.01 * rng.standard_normal((components, d)))
    return MixtureParameters(
        np.full(components, 1.0 / components), means, np.repeat(np.eye(d)[None], components, axis=0)
    )


def iterate(
    x: np.ndarray,
    start: MixtureParameters,
    m_step: Callable[[np.ndarray, MixtureParameters], MixtureParameters],
    iterations: int,
    tolerance: float,
    prior: Prior | None,
) -> tuple[MixtureParameters, list[float]]:
    """At most ``iterations`` times an E-step and ``m_step(responsibilities, parameters)``.

    Returns the parameters after the last M-step and, for each E-step, log-likelihood + log prior of the parameters that
    it was made with. Stops after the M-step at which that number had changed by less than ``tolerance`` of the mean of
    its two last absolute values (as the authors' code, there 1e-4; 0: never).
    """
    p, objectives = start, []
    for _ in range(iterations):
        responsibilities, log_likelihood = e_step(x, p.weights, p.means, p.covariances)
        objectives.append(log_likelihood + log_prior(p, prior))
        p = m_step(responsibilities, p)
        if len(objectives) > 1:
            last, before = objectives[-1], objectives[-2]
            if abs(last - before) < tolerance * (abs(last) + abs(before)) / 2:
                break
    if not (np.isfinite(p.means).all() and np.isfinite(p.covariances).all()):
        raise Diverged("EM: means or covariances are not finite")
    return p, objectives


def scaled(p: MixtureParameters, factor: float) -> MixtureParameters:
    """The mixture of ``factor`` x x where x has the mixture ``p``."""
    return MixtureParameters(p.weights, factor * p.means, factor**2 * p.covariances)


def largest_norm(x: np.ndarray) -> float:
    """Largest Euclidean norm of a row of x, or 1 where all rows are 0. Depends on private rows without noise."""
    largest = float(np.linalg.norm(x, axis=1).max())
    return largest if largest > 0 else 1.0
