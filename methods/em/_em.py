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
    """The normal-inverse-Wishart prior of every component (mean 0, nu0 = d + 1) and Dirichlet prior of the weights.

    ``kappa0`` is the number of pseudo-rows of the mean. S0 = ``scale`` x I has the unit of a scatter, which is the
    number of rows times the squared unit of a row. ``dirichlet`` is the concentration of every weight.
    """

    kappa0: float = 1.01
    scale: float = 0.1
    dirichlet: float = 2.0


class Moments(NamedTuple):
    """The weighted moments of every component: ``counts`` (K,), ``means`` (K, d) and ``scatters`` (K, d, d).

    A scatter is sum_i g_ik (x_i - mean_k)(x_i - mean_k)', not divided by the count.
    """

    counts: np.ndarray
    means: np.ndarray
    scatters: np.ndarray


def e_step(x: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> tuple[np.ndarray, float]:
    """The responsibilities (n, K) and the log-likelihood, in nats, of the rows x (n, d).

    Raises :class:`methods.contract.Diverged` if a covariance is not positive definite or the log-likelihood is not
    finite.
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
    with np.errstate(divide="ignore"):  # -inf is the right log-weight of a component of weight 0
        joint += np.log(weights)[:, None]
    total = logsumexp(joint, axis=0)
    log_likelihood = float(total.sum())
    if not math.isfinite(log_likelihood):
        raise Diverged(f"EM: the log-likelihood is {log_likelihood}")
    return np.exp(joint - total).T, log_likelihood


def moments(x: np.ndarray, responsibilities: np.ndarray, smallest: float = 0.0, replacement: float = 0.0) -> Moments:
    """The counts, weighted means and scatters of the rows x (n, d).

    A count of at most ``smallest`` becomes ``replacement`` wherever it is used, also as the divisor of the mean. In the
    authors' code of Park et al. these are 1 and 1.01.
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
    """The mode of the complete-data posterior, or the maximum-likelihood step if ``prior`` is None.

    With nu0 = d + 1 and counts w_k, the mode is

        mu_k = w_k xbar_k / (w_k + kappa0),
        Sigma_k = (S0 + S_k + kappa0 w_k / (kappa0 + w_k) xbar_k xbar_k') / (nu0 + w_k + d + 2),
        pi_k proportional to w_k + dirichlet - 1.

    Raises :class:`methods.contract.Diverged` for a component without rows if there is no prior.
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
    """The log prior, in nats, that the authors' code adds to the log-likelihood by which it stops.

    It is the sum of the normal-inverse-Wishart log-densities of all components, log N(mu_k; 0, Sigma_k / kappa0) +
    log IW(Sigma_k; S0, nu0), plus (dirichlet - 1) sum log pi_k without its constant. It is 0 if there is no prior.
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
    """A start that reads no data, with weights 1 / K and covariances I.

    The means are ``scale`` times a point of a Latin hypercube in [-0.5, 0.5]^d plus 0.01 N(0, I). The authors' code
    draws MATLAB's ``lhsdesign``, a maximin hypercube, and this function draws a plain one.
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
    """Run at most ``iterations`` E-steps, each followed by ``m_step(responsibilities, parameters)``.

    Returns the parameters after the last M-step, and the objective at each E-step, which is log-likelihood + log prior.
    EM stops after an M-step if the objective has changed by less than ``tolerance`` times the mean of its last two
    absolute values. In the authors' code ``tolerance`` is 1e-4; with 0 it never stops early. Raises
    :class:`methods.contract.Diverged` if means or covariances are not finite.
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
    """The mixture that ``factor`` times x has if x has the mixture ``p``."""
    return MixtureParameters(p.weights, factor * p.means, factor**2 * p.covariances)


def largest_norm(x: np.ndarray) -> float:
    """The largest Euclidean norm of a row of x, or 1 if all rows are 0. It reads private rows without noise."""
    largest = float(np.linalg.norm(x, axis=1).max())
    return largest if largest > 0 else 1.0
