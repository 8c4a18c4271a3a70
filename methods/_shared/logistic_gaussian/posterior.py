"""Gaussian posteriors with full covariance, without privacy: EP, SEP, algorithm 3 without noise, and variational.

z (n, D) are signed rows (2 y - 1) [x, 1], so the log-likelihood of theta is sum log sigmoid(z . theta). q is

    N(mean, precision^-1),   precision = prior precision x I + L,

with the data part L (D, D), the sum of k z z' of the sites.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from methods._shared import row_blocks
from methods._shared.logistic_gaussian.kernel import sites
from methods._shared.row_blocks import gram
from methods.contract import Diverged
from models.bounded_logistic import LogisticGaussian
from models.task import Task

#: a fixed point is found when no coordinate of the mean moves by more than this many posterior standard deviations.
TOLERANCE = 1e-3


def signed(task: Task, *, strict: bool = True) -> np.ndarray:
    """Signed rows (2 y - 1) [x, 1], (n, D), of a task with scaled inputs.

    With ``strict`` a class that is not 0 or 1 is refused. A private method may not stop because of one row. Without
    ``strict`` a target above 1/2 therefore counts as class 1, and any other as class 0, which depends on that row
    alone.

    Raises ValueError for a task without targets, or (``strict``) without rows or for a target that is not 0 or 1.
    """
    if task.public.n < 1 or (strict and task.n < 1):
        raise ValueError(f"{task.name}: logistic regression needs at least 1 training row, got {task.n}")
    if task.y is None:
        raise ValueError(f"{task.name}: logistic regression needs a target for each row; y is None")
    if strict and (bad := np.flatnonzero((task.y != 0) & (task.y != 1)).tolist()):
        raise ValueError(
            f"{task.name}: y = {task.y[bad[0]]:g} in row {bad[0]}; a class is 0 or 1: number the two classes so"
        )
    rows = np.column_stack([task.x, np.ones(task.n)])
    rows *= np.where(task.y > 0.5, 1.0, -1.0)[:, None]
    return rows


def inverse(precision: np.ndarray, name: str) -> np.ndarray:
    """Covariance of a precision (D, D). Raises Diverged if the precision is not positive definite or not finite."""
    try:
        factor = cho_factor(precision, lower=True)
    except (LinAlgError, ValueError) as error:
        raise Diverged(f"{name}: a posterior precision is not positive definite ({error}); lower damping") from error
    return cho_solve(factor, np.eye(len(precision)))


def gaussian(mean: np.ndarray, precision: np.ndarray, name: str) -> LogisticGaussian:
    """N(mean, precision^-1). Raises Diverged if that is not a density."""
    try:
        factor = np.linalg.cholesky(precision)
    except np.linalg.LinAlgError:
        raise Diverged(f"{name}: a posterior precision is not positive definite; lower damping") from None
    if not np.isfinite(mean).all():
        raise Diverged(f"{name}: a posterior mean is not finite; lower damping")
    return LogisticGaussian(mean, solve_triangular(factor, np.eye(len(mean)), lower=True).T)


def spreads(z: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """z_n' covariance z_n, (n,)."""
    return row_blocks.numbers(lambda rows: np.einsum("nd,nd->n", rows @ covariance, rows), z)


def start(z: np.ndarray, prior: float, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean (D,) and covariance (D, D) of q if every term is its second-order expansion at theta = 0."""
    covariance = inverse(prior * np.eye(z.shape[1]) + 0.25 * (z.T @ z), name)
    return covariance @ (0.5 * z.sum(axis=0)), covariance


def ep(
    z: np.ndarray, prior: float, *, name: str, passes: int, damping: float
) -> tuple[LogisticGaussian, dict[str, float]]:
    """Expectation propagation (Minka 2001), with all sites of a pass from the same q (parallel EP).

    A site is a Gaussian in its margin, with precision k and shift h. Sites start as the second-order term of the
    likelihood at theta = 0, (1/4, 1/2). From empty sites all rows would pull at once on a wide prior, and q would
    diverge. The run ends after ``passes``, or when the fixed point is found (``TOLERANCE``). Raises Diverged if q is no
    longer a density.
    """
    n, d = z.shape
    k, h = np.full(n, 0.25), np.full(n, 0.5)
    mean, covariance = start(z, prior, name)
    moved = math.inf
    for done in range(1, passes + 1):  # noqa: B007 - told in the diagnostics
        t, v = z @ mean, spreads(z, covariance)
        cavity = v / (1.0 - k * v)
        centre = cavity * (t / v - h)
        slope, precision = sites(centre, cavity, True)
        k += damping * (precision - k)
        h += damping * (precision * centre + slope - h)
        whole = prior * np.eye(d) + gram(z, k)
        covariance = inverse(whole, name)
        following = covariance @ (z.T @ h)
        moved = float(np.max(np.abs(following - mean) / np.sqrt(np.diag(covariance))))
        mean = following
        if moved < TOLERANCE * damping:
            break
    return gaussian(mean, whole, name), {"passes": float(done), "last_move": moved}


def variational(z: np.ndarray, prior: float, *, name: str, passes: int) -> tuple[LogisticGaussian, dict[str, float]]:
    """The Gaussian with full covariance that maximises the evidence lower bound (Opper & Archambeau 2009).

    At the optimum

        precision = prior I + sum E[r (1 - r)] z z',   prior mean = sum E[r] z.

    Each pass takes the precision from the first equation, and a Newton step for the mean from the second. The bound is
    concave in the mean, and this precision is minus its Hessian. The run starts and ends as in :func:`ep`. Raises
    Diverged if a number leaves the finite range.
    """
    d = z.shape[1]
    mean, covariance = start(z, prior, name)
    moved = math.inf
    for done in range(1, passes + 1):  # noqa: B007 - told in the diagnostics
        slope, k = sites(z @ mean, spreads(z, covariance), False)
        whole = prior * np.eye(d) + gram(z, k)
        covariance = inverse(whole, name)
        step = covariance @ (z.T @ slope - prior * mean)
        moved = float(np.max(np.abs(step) / np.sqrt(np.diag(covariance))))
        mean = mean + step
        if moved < TOLERANCE:
            break
    return gaussian(mean, whole, name), {"passes": float(done), "last_move": moved}


def sep(
    z: np.ndarray,
    prior: float,
    rng: np.random.Generator,
    *,
    name: str,
    epochs: int,
    coefficient: float,
    batches: int,
    clip: float = math.inf,
) -> tuple[LogisticGaussian, dict[str, float]]:
    """Stochastic EP (Li et al. 2015, algorithm 1) with one average site f: theta = theta_0 + n f, f = 0 at the start.

    Rows are visited by a fresh permutation each epoch, in ``batches`` batches. The rows of a batch share the cavity
    theta - f, and their moves theta <- theta + coefficient (f_n - f) are made together. So n f keeps a share
    (1 - coefficient / n)^rows and takes the rest from the mean of the batch's sites. With one row per batch that is the
    printed algorithm. The natural parameters (h, L) of a row's site are scaled together so that their Euclidean norm
    (Frobenius for L) is at most ``clip``. Raises Diverged if a number leaves the finite range.
    """
    n, d = z.shape
    shift, data = np.zeros(d), np.zeros((d, d))
    squares = np.einsum("nd,nd->n", z, z)
    left = 1.0
    clipped = 0
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(n), min(batches, n)):
            part = z[rows]
            covariance = inverse(prior * np.eye(d) + (1.0 - 1.0 / n) * data, name)
            t = part @ (covariance @ ((1.0 - 1.0 / n) * shift))
            slope, k = sites(t, spreads(part, covariance), True)
            h = k * t + slope
            norm = np.sqrt(h**2 * squares[rows] + (k * squares[rows]) ** 2)
            factor = clip / np.maximum(norm, clip) if math.isfinite(clip) else np.ones(len(rows))
            clipped += int((factor < 1).sum())
            keep = math.exp(len(rows) * math.log1p(-coefficient / n)) if coefficient < n else 0.0
            take = (1.0 - keep) * n / len(rows)
            shift = keep * shift + take * (part.T @ (factor * h))
            data = keep * data + take * gram(part, factor * k)
            left *= keep
    whole = prior * np.eye(d) + data
    posterior = gaussian(inverse(whole, name) @ shift, whole, name)
    return posterior, {"fraction_absorbed": 1.0 - left, "fraction_clipped": clipped / (epochs * n)}
