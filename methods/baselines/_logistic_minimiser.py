"""Minimiser of a regularised logistic loss, and its release with Gaussian noise (output perturbation)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from methods._shared import row_blocks
from methods._shared.frames import left_for
from methods._shared.logistic_gaussian import centred
from methods.contract import Diverged, Fit
from models.bounded_logistic import LogisticPoint
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

_WHAT = "minimiser of the regularised loss"
_PROOF = "methods.baselines._logistic_minimiser.sensitivity"
_NEWTON_STEPS = 100
#: norm of the gradient at which the search ends, over the norm of a row. The sensitivity accounts for it.
TOLERANCE = 1e-6


def minimise(z: np.ndarray, penalty: np.ndarray, tolerance: float, name: str) -> np.ndarray:
    """The theta (D,) at which the regularised logistic loss has a gradient of norm <= tolerance.

    The loss is sum log(1 + exp(-z . theta)) + theta' penalty theta / 2, with signed rows z (n, D) and a positive
    definite penalty (D, D). The method is Newton's with backtracking. Raises Diverged if the tolerance is not reached.
    """

    def value(theta: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -(z @ theta)).sum() + 0.5 * theta @ penalty @ theta)

    theta = np.zeros(z.shape[1])
    for _ in range(_NEWTON_STEPS):
        r = expit(-(z @ theta))
        gradient = penalty @ theta - z.T @ r
        if float(np.linalg.norm(gradient)) <= tolerance:
            return theta
        try:
            step = cho_solve(cho_factor(penalty + row_blocks.gram(z, r * (1.0 - r))), gradient)
        except (LinAlgError, ValueError) as error:
            raise Diverged(f"{name}: no Newton step ({error}); raise the penalty") from error
        here, decrement, size = value(theta), float(gradient @ step), 1.0
        # if rounding hides the decrease of the value, the full step is right
        while decrement > 1e-9 * abs(here) and value(theta - size * step) > here - 1e-4 * size * decrement:
            size *= 0.5
            if size < 1e-10:
                raise Diverged(f"{name}: the loss does not fall along Newton's direction; check the rows")
        theta = theta - size * step
    raise Diverged(f"{name}: the minimiser was not found in {_NEWTON_STEPS} Newton steps; raise the penalty")


def sensitivity(norm: float, convexity: float, tolerance: float) -> float:
    """L2 sensitivity under add/remove of the computed minimiser: (norm + 2 tolerance) / convexity.

    Proof. Let F be the loss of one data set, convexity-strongly convex, and F' = F + l that of the neighbour with one
    more row. Both have the same penalty, a function of public numbers and earlier releases. Let |grad F(a)| <=
    tolerance and |grad F'(b)| <= tolerance.

    1. |grad l| = sigmoid(-z . b) |z| <= |z| <= norm, so

           |grad F(b)| <= tolerance + |grad l(b)| <= tolerance + norm.

    2. Strong convexity gives

           convexity |a - b| <= |grad F(a) - grad F(b)| <= norm + 2 tolerance. QED

    Chaudhuri, Monteleoni & Sarwate 2011, lemma 8, have 2 norm for a replaced row, where two terms differ.
    """
    return (norm + 2.0 * tolerance) / convexity


def output_perturbation(task: Task, settings, budget: Budget, *, name: str, relation: Relation) -> Fit:
    """theta = minimiser + noise, from centred rows clipped to norm R, for inputs scaled to [-1, 1].

    R is norm_factor times the typical norm of a centred row. A clipped row is scaled as a whole, and so is its margin.

    The penalty is the prior's precision plus ridge x I. The noise has standard deviation s = (R / convexity) / mu per
    coordinate, and adds about .15 (R s)^2 / 2 nats per row to the loss. The ridge adds at most ridge |theta|^2 / (2 n),
    with |theta|^2 near D prior_sd^2. The sum is least at

        ridge = ridge_factor (.3 n R^4 / (mu^2 D prior_sd^2))^(1/3),

    a formula of public numbers and releases.

    Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier.
    Raises Diverged if the minimiser is not found.
    """
    n, d = task.public.n, task.x.shape[1] + 1
    centre = centred.private_centre(task, budget)
    z, length = centre.rows(task), settings.norm_factor * centre.length
    # each row is clipped by itself, with a margin for rounding
    norms = row_blocks.numbers(lambda rows: np.linalg.norm(rows, axis=1), z)
    z *= np.minimum(1.0, length * (1.0 - 1e-12) / norms)[:, None]
    sigma = left_for(budget, _WHAT, relation, proof=_PROOF)
    ridge = settings.ridge_factor * (0.3 * n * length**4 * sigma**2 / (d * task.model.prior_sd**2)) ** (1.0 / 3.0)
    penalty = centre.prior(1.0 / task.model.prior_sd**2) + ridge * np.eye(d)
    convexity = float(np.linalg.eigvalsh(penalty)[0]) * (1.0 - 1e-9)
    tolerance = TOLERANCE * length
    bound = sensitivity(length, convexity, tolerance)
    mechanism = budget.gaussian(_WHAT, sensitivity=bound, noise_multiplier=sigma, relation=relation, proof=_PROOF)
    theta = mechanism.release(minimise(z, penalty, tolerance, name))
    told = {"noise_multiplier": sigma, "ridge": ridge, "noise_sd": bound * sigma, "length": length}
    return Fit(LogisticPoint(centre.map @ theta), budget.ledger, told)
