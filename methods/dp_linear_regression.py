"""Yardstick: differentially private linear regression. A private network that does not beat it is of no use."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods.contract import Constants, Fit, Leak, LeakKind, Method, Role
from models.linear_regression import LinearGaussian, with_bias
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Event, Mechanism, Relation

_WHAT = "second moments of the clipped rows [x, 1, y]"
_PROOF = "methods.dp_linear_regression.second_moments"


class DPLinearRegression(Method):
    """Sufficient-statistics perturbation with an adaptive ridge (AdaSSP, Wang 2018, algorithm 2).

    Against the printed AdaSSP: its three releases are one (the matrix of second moments of [x, 1, y]), since the
    smallest eigenvalue of a noisy matrix is post-processing of that matrix; the noise's norm is that of a Gaussian
    symmetric matrix in expectation instead of a bound that holds with high probability (it sets a penalty, not the
    privacy). Rows are standardised by ``privacy.scaling`` and clipped as a whole: a row's weight in the regression
    falls, its direction stays.
    """

    name = "dp_linear_regression"
    title = "DP linear regression"
    reference = "yardstick of this suite; Wang 2018, AdaSSP, algorithm 2"
    role = Role.YARDSTICK
    models = ("bnn_regression", "linear_regression")
    constants = (Constants.GUESSED,)
    privacy = Relation.ADD_REMOVE
    reads_ranges = True
    leaks = (
        Leak(
            LeakKind.TUNED,
            "on wine only: one guard of the standardisation (range of an input hidden by noise) was added after "
            "looking at a score of split 0",
            datasets=("wine",),
        ),
    )

    @dataclass(frozen=True)
    class Settings:
        """Neither was chosen on a data set of the suite."""

        scaling_share: float = 0.2  #: part of the budget (of mu^2, Gaussian DP) for standardisation
        #: squared norm at which a row is clipped, over d + 2, the expected one of a standardised row
        squared_clip: float = 1.5

        def __post_init__(self) -> None:
            if not (0 < self.scaling_share < 1):
                raise ValueError(f"dp_linear_regression: scaling_share = {self.scaling_share}; give a number in (0, 1)")
            if not (0 < self.squared_clip < math.inf):
                raise ValueError(
                    f"dp_linear_regression: squared_clip = {self.squared_clip}; give a finite number above 0"
                )

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget is (epsilon, delta), or a noise multiplier: then that of the release of the second moments.

        Raises ValueError for a task without rows or a budget that states neither.
        """
        from privacy.scaling import private_scaling

        if task.n < 1 or task.public.n < 1:
            raise ValueError(f"{task.name}: dp_linear_regression needs at least 1 training row, got {task.n}")
        for_scaling, remaining = self._multipliers(budget, settings)
        scale = Standardiser(*private_scaling(task.x, task.y, task.public, budget, for_scaling))
        rows = np.column_stack([with_bias(scale.x(task.x)), scale.y(task.y)])
        bound = settings.squared_clip * rows.shape[1]
        mechanism = budget.gaussian(
            _WHAT,
            sensitivity=bound,
            noise_multiplier=remaining(),
            relation=self.privacy,
            proof=_PROOF,
        )
        released = mechanism.release(second_moments(rows, math.sqrt(bound)))
        posterior, penalty = solve(released, mechanism.noise_scale, task.public.n, scale)
        return Fit(
            posterior, budget.ledger, {"penalty": penalty, "scaling_noise_multiplier": for_scaling, "clip": bound**0.5}
        )

    def _multipliers(self, budget: Budget, settings: Settings):
        """Noise multiplier of the scaling, and a function that gives that of the moments once scaling is charged."""
        from privacy.scaling import remaining_noise_multiplier, scaling_noise_multiplier

        share = settings.scaling_share
        if budget.epsilon is not None and budget.delta is not None:
            planned = Event(_WHAT, Mechanism.GAUSSIAN, self.privacy, 1.0, 1.0, proof=_PROOF)
            return scaling_noise_multiplier(budget.epsilon, budget.delta, share), lambda: remaining_noise_multiplier(
                budget.ledger, planned, budget.epsilon, budget.delta
            )
        if budget.noise_multiplier is None or not budget.noise_multiplier > 0:
            raise ValueError(
                "dp_linear_regression: the budget states no (epsilon, delta) and no noise_multiplier above 0"
            )
        return budget.noise_multiplier * math.sqrt((1.0 - share) / share), lambda: budget.noise_multiplier


def second_moments(rows: np.ndarray, clip: float) -> np.ndarray:
    """Upper triangle of sum u u' over the clipped rows u of (n, p), off-diagonal entries times sqrt(2); (p (p+1) / 2,).

    L2 sensitivity under add/remove: clip^2. Proof: a row adds the triangle of u u', whose norm with the off-diagonal
    entries times sqrt(2) is the Frobenius norm of u u', which is |u|^2 <= clip^2, since u is the row times
    min(1, clip / |row|). A row whose norm is not finite adds 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(rows, axis=1)
        good = np.isfinite(norms)
        u = rows[good] * np.minimum(1.0, clip / np.maximum(norms[good], 1e-300))[:, None]
    upper = np.triu_indices(rows.shape[1])
    return (u.T @ u)[upper] * np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))


def solve(released: np.ndarray, noise: float, n: int, scale: Standardiser) -> tuple[LinearGaussian, float]:
    """Posterior and ridge penalty from the noisy triangle; ``noise`` is the standard deviation of its entries.

    With E the noise of the p x p block of the inputs, |E| is about noise x sqrt(2 p) (edge of the semicircle law for
    diagonal variance noise^2 and off-diagonal noise^2 / 2); the penalty lifts the smallest eigenvalue to it, and is
    at least 1 (the prior). The covariance adds to the Bayesian one what the noise does to the solution, to first
    order: A^-1 (noise^2 / 2) (1 + |w|^2) A^-1. The noise variance of the target is the weighted mean squared residual
    read from the same matrix, not below its own standard deviation.
    """
    p = round((math.sqrt(8 * len(released) + 1) - 1) / 2)
    upper = np.triu_indices(p)
    gram = np.zeros((p, p))
    gram[upper] = released / np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    gram = gram + np.triu(gram, 1).T
    inputs, target, square = gram[:-1, :-1], gram[:-1, -1], gram[-1, -1]
    smallest = float(np.linalg.eigvalsh(inputs)[0])
    penalty = max(1.0, noise * math.sqrt(2.0 * (p - 1)) - smallest)
    a = np.linalg.inv(inputs + penalty * np.eye(p - 1))
    weights = a @ target
    reach = 1.0 + float(weights @ weights)
    rows = max(float(gram[p - 2, p - 2]), n / 10.0)  # the bias column counts the rows, each by its clipping factor
    residual = float(square - 2 * weights @ target + weights @ inputs @ weights) / rows
    variance = max(residual, noise * reach / rows, 1e-6)
    covariance = variance * a + 0.5 * noise**2 * reach * a @ a
    return LinearGaussian(weights, 0.5 * (covariance + covariance.T), variance, scale), penalty
