"""Corrected DP-SEP on logistic regression: clipped sums of sites with full covariance, one release per step."""

from __future__ import annotations

import math

import numpy as np

from methods._shared import row_blocks
from methods._shared.frames import left_for
from methods._shared.logistic_gaussian import centred
from methods._shared.logistic_gaussian.kernel import sites
from methods._shared.logistic_gaussian.posterior import inverse, spreads
from methods.contract import Diverged, Fit
from models.bounded_logistic import LogisticGaussian
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

_WHAT = "sum of the clipped sites of all rows"
_PROOF = "methods.ep._logistic_corrected.clipped_site_sum"


def size(d: int) -> int:
    """Length of the released vector for theta of dimension d."""
    return d + d * (d + 1) // 2


def clipped_site_sum(z: np.ndarray, mean: np.ndarray, covariance: np.ndarray, weight: float, clip: float) -> np.ndarray:
    """Sum over the rows of the clipped sites, written relative to the cavity mean.

    Parameters
    ----------
    z : (n, D) signed rows.
    mean, covariance : of the cavity.
    weight : scale of the precisions in the vector.
    clip : C, largest Euclidean norm of one row's vector.

    Returns
    -------
    (:func:`size`,): the slope g z, then weight x k z z' as its upper triangle by rows, with (g, k) of ``kernel.sites``.
    Off-diagonal numbers are multiplied by sqrt(2) (Euclidean norm = Frobenius norm). The mean natural of a site is
    k z (z . mean) + g z. So slope and precision determine it, given the mean, which is a function of earlier releases.

    L2 sensitivity under add/remove: ``clip``. Proof: the cavity and the centre are functions of earlier releases. Given
    them, a row's vector depends on that row alone, so adding or removing a row changes the sum by that vector. Since
    |z z'| = |z|^2, its norm is

        sqrt(g^2 |z|^2 + (weight k)^2 |z|^4),

    and it is multiplied by min(1, clip / norm). A row whose norm is not finite contributes 0.
    """

    def part(z: np.ndarray) -> np.ndarray:
        slope, k = sites(z @ mean, spreads(z, covariance), True)
        square = np.einsum("nd,nd->n", z, z)
        norm = np.sqrt(slope**2 * square + (weight * k * square) ** 2)
        factor = np.where(np.isfinite(norm), clip / np.maximum(norm, clip), 0.0)
        return np.concatenate([z.T @ (factor * slope), weight * pack(row_blocks.gram(z, factor * k))])

    return row_blocks.total(part, z)


def pack(matrix: np.ndarray) -> np.ndarray:
    """Upper triangle of a symmetric matrix by rows, off-diagonal numbers times sqrt(2)."""
    i, j = np.triu_indices(len(matrix))
    return matrix[i, j] * np.where(i == j, 1.0, math.sqrt(2.0))


def unpack(vector: np.ndarray, d: int) -> np.ndarray:
    """The inverse of :func:`pack`, (d, d)."""
    i, j = np.triu_indices(d)
    out = np.empty((d, d))
    out[i, j] = out[j, i] = vector / np.where(i == j, 1.0, math.sqrt(2.0))
    return out


def fit(task: Task, settings, budget: Budget, *, name: str, relation: Relation) -> Fit:
    """K releases of :func:`clipped_site_sum` over all rows; see ``methods.ep.dp_sep_corrected``.

    Let s be the standard deviation of the noise in a diagonal entry of the averaged precision. It is s / sqrt(2) off
    the diagonal. This is the Gaussian orthogonal ensemble, whose largest eigenvalue is near s sqrt(2 D). Eigenvalues
    below that are raised to it, so that no direction is divided by noise. In those directions the mean moves more
    slowly.

    Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier.
    Raises Diverged for numbers that overflow.
    """
    n = task.public.n
    centre = centred.private_centre(task, budget)
    z, d = centre.rows(task), task.x.shape[1] + 1
    prior = centre.prior(1.0 / task.model.prior_sd**2)
    sigma = left_for(budget, _WHAT, relation, steps=settings.steps, proof=_PROOF)
    weight = 2.0 / centre.length
    clip = settings.clip_factor * centre.length / math.sqrt(2.0)
    mechanism = budget.gaussian(
        _WHAT, sensitivity=clip, noise_multiplier=sigma, relation=relation, steps=settings.steps, proof=_PROOF
    )
    # q before any release: every term is its second-order expansion at 0, with the released spread of the columns
    spread = 0.25 * n * np.append(centre.sd**2, 1.0)
    mean, data, covariance = np.zeros(d), np.zeros((d, d)), inverse(prior + np.diag(spread), name)
    for step in range(1, settings.steps + 1):
        released = mechanism.release(clipped_site_sum(z, mean, covariance, weight, clip))
        share = 2.0 / (step + 1)  # an average in which release j counts in proportion to j: 2 j / (K (K + 1))
        data = (1.0 - share) * data + share * unpack(released[d:] / weight, d)
        tau = clip * sigma * math.sqrt((4.0 * step + 2.0) / (3.0 * step * (step + 1)))
        found = prior + raised(data, tau / weight * math.sqrt(2.0 * d))
        covariance = inverse(found, name)
        mean = mean + share * (covariance @ (released[:d] - prior @ mean))
        if not np.isfinite(mean).all():  # a function of releases alone: stopping here reveals nothing more
            raise Diverged(f"{task.name}: {name} left the finite range in step {step}; lower clip_factor")
    # the noise of the slopes in the mean adds to the uncertainty of theta
    whole = covariance + tau**2 * covariance @ covariance
    to_scaled = centre.map
    posterior = LogisticGaussian(to_scaled @ mean, to_scaled @ np.linalg.cholesky(whole))
    return Fit(posterior, budget.ledger, {"noise_multiplier": sigma, "clip": clip, "length": centre.length})


def raised(matrix: np.ndarray, least: float) -> np.ndarray:
    """The symmetric matrix with its eigenvalues raised to at least ``least``."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, max(least, 0.0))) @ vectors.T
