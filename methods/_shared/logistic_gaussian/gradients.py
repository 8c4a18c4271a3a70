"""DP-SGD on scaled logistic regression: the log-posterior (a point) and the mean-field evidence lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from methods._shared.frames import left_for
from methods._shared.logistic_gaussian import centred
from methods._shared.logistic_gaussian.kernel import sites
from methods.contract import Diverged
from models.task import Task
from privacy.accountants import gdp_mu
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling

#: smallest and largest number of steps of a run. The largest is reached at n mu = 40,000 and only limits the time.
STEPS = (30, 10_000)
#: a sampling rate above this becomes a full batch, because amplification would gain almost nothing.
LARGEST_RATE = 0.5
#: standard deviation of the noise that a run may leave in a row's typical margin. It determines the number of steps.
NOISE_IN_MARGIN = 1.0


@dataclass(frozen=True)
class Plan:
    """K ``steps`` at sampling ``rate`` q with step size ``step_size`` of the sum over n q rows, and ``clip`` C."""

    steps: int
    rate: float
    step_size: float
    clip: float
    noise_multiplier: float

    @property
    def told(self) -> dict[str, float]:
        """Diagnostics, which are functions of public numbers and releases."""
        return {k: float(v) for k, v in vars(self).items()}


def plan_of(settings, n: int, length: float, budget: Budget, what: str, relation: Relation) -> Plan:
    """The plan of a run, from public numbers and releases only.

    ``settings`` are ``plans.DescentSettings``.

    Clipping norm. A centred row has typical norm R = ``length``, and its gradient (sigmoid - y) z has at most that
    norm. So C = R. Half of it would clip the rows that are predicted wrong, and cost more in bias than it saves in
    noise.

    Step size. The Hessian of the mean loss has a trace of R^2 / 4, so the step size 4 / R^2 is half of the worst-case
    limit of stability.

    Steps. For a budget of mu (Gaussian DP), before averaging, the noise in theta after K steps has a standard deviation
    of about step_size K C / (n mu). In a typical margin it is R times that, which equals NOISE_IN_MARGIN at K =
    NOISE_IN_MARGIN n mu / 4. K is that number, limited to STEPS, so it follows the budget and the rows. It was compared
    with fewer and more steps on synthetic rows.
    """
    rate = settings.batch_rows / n if settings.batch_rows < n * LARGEST_RATE else 1.0
    steps = settings.steps
    if steps is None:
        stated = budget.epsilon is not None and budget.delta is not None
        mu = gdp_mu(budget.epsilon, budget.delta) if stated else 1.0
        steps = int(np.clip(math.ceil(0.25 * NOISE_IN_MARGIN * n * mu), *STEPS))
    sigma = left_for(budget, what, relation, sampling_rate=rate, steps=steps)
    return Plan(steps, rate, settings.rate_factor * 4.0 / length**2, settings.clip_factor * length, sigma)


def clipped_gradient_sum(z: np.ndarray, theta: np.ndarray, clip: float) -> np.ndarray:
    """Sum over signed rows z (n, D) of the gradient of log sigmoid(z . theta), each of norm at most ``clip``, (D,).

    L2 sensitivity under add/remove: ``clip``. Proof: theta is a function of earlier releases. Given theta, a row
    contributes a vector that depends on it alone and has norm at most ``clip``. One that is not finite contributes 0.
    """
    g = expit(-(z @ theta))
    norm = np.abs(g) * np.sqrt(np.einsum("nd,nd->n", z, z))
    factor = np.where(np.isfinite(norm), clip / np.maximum(norm, clip), 0.0)
    return z.T @ (factor * g)


def clipped_bound_sum(z: np.ndarray, mean: np.ndarray, log_sd: np.ndarray, clip: float) -> np.ndarray:
    """Sum over signed rows z (n, D) of the clipped gradient of E log sigmoid(z . theta), (2 D,).

    The expectation is over theta ~ N(mean, diag exp(2 log_sd)). The gradient in (mean, log_sd) is

        g z   and   -k z^2 sd^2,

    with (g, k) of ``kernel.sites``, not tilted. It is exact up to quadrature, so there is no Monte Carlo noise. The
    whole vector of a row has norm at most ``clip``.

    L2 sensitivity under add/remove: ``clip``, by the proof of :func:`clipped_gradient_sum`.
    """
    square = z**2
    variance = np.exp(2.0 * log_sd)
    g, k = sites(z @ mean, square @ variance, False)
    norm = np.sqrt(g**2 * square.sum(axis=1) + k**2 * (square**2 @ variance**2))
    factor = np.where(np.isfinite(norm), clip / np.maximum(norm, clip), 0.0)
    return np.concatenate([z.T @ (factor * g), -variance * (square.T @ (factor * k))])


def _mechanism(budget: Budget, plan: Plan, what: str, relation: Relation, proof: str):
    return budget.gaussian(
        what,
        sensitivity=plan.clip,
        noise_multiplier=plan.noise_multiplier,
        relation=relation,
        sampling=Sampling.POISSON if plan.rate < 1 else Sampling.FULL_BATCH,
        sampling_rate=plan.rate,
        steps=plan.steps,
        proof=f"methods._shared.logistic_gaussian.gradients.{proof}",
    )


def point(task: Task, settings, budget: Budget, *, name: str, relation: Relation) -> tuple[np.ndarray, Plan]:
    """DP-SGD on minus the log-posterior over n (Abadi et al. 2016, algorithm 1): theta (D,) for scaled inputs.

    The result is the mean of the second half of the path (post-processing). Raises ValueError for a budget
    that states neither (epsilon, delta) nor a noise multiplier. Raises Diverged for numbers that overflow.
    """
    what, n = "sum of clipped gradients of a batch", task.public.n
    centre = centred.private_centre(task, budget)
    z, prior = centre.rows(task), centre.prior(1.0 / task.model.prior_sd**2)
    plan = plan_of(settings, n, centre.length, budget, what, relation)
    mechanism = _mechanism(budget, plan, what, relation, "clipped_gradient_sum")
    batches = mechanism.batches(task.n)
    step_size = min(plan.step_size, n / np.linalg.norm(prior, 2))
    theta, total = np.zeros(z.shape[1]), np.zeros(z.shape[1])
    for step in range(plan.steps):
        released = mechanism.release(clipped_gradient_sum(z.take(batches.draw(step), axis=0), theta, plan.clip))
        theta = theta + step_size / n * (released / plan.rate - prior @ theta)
        if 2 * step >= plan.steps - 1:
            total += theta
    theta = total / (plan.steps - plan.steps // 2)
    if not np.isfinite(theta).all():
        raise Diverged(f"{task.name}: {name} left the finite range; lower rate_factor")
    return centre.map @ theta, plan


def mean_field(
    task: Task, settings, budget: Budget, *, name: str, relation: Relation
) -> tuple[np.ndarray, np.ndarray, Plan]:
    """DP-SGD on the evidence lower bound over n of a mean-field Gaussian over the parameters of centred rows.

    Returns mean (D,) and a root of the covariance (D, D), scaled. The mean is that of the second half of the path.

    The standard deviations start at those of the posterior that the released spread of the columns implies at curvature
    1/4. A row moves their logarithm by no more than about 1 / n, so a small budget leaves them there. 1/4 is the
    largest curvature, so they are bounded by half of the starting value and by the prior's (post-processing).

    Raises the errors of :func:`point`.
    """
    what, n, d = "sum of clipped gradients of the lower bound of a batch", task.public.n, task.x.shape[1] + 1
    centre = centred.private_centre(task, budget)
    z, prior = centre.rows(task), centre.prior(1.0 / task.model.prior_sd**2)
    plan = plan_of(settings, n, centre.length, budget, what, relation)
    mechanism = _mechanism(budget, plan, what, relation, "clipped_bound_sum")
    batches = mechanism.batches(task.n)
    step_size = min(plan.step_size, n / np.linalg.norm(prior, 2))
    log_sd = -0.5 * np.log(np.diag(prior) + 0.25 * n * np.append(centre.sd**2, 1.0))
    low, high = log_sd - np.log(2.0), -0.5 * np.log(np.diag(prior))
    parameters, total = np.concatenate([np.zeros(d), log_sd]), np.zeros(2 * d)
    for step in range(plan.steps):
        mean, log_sd = parameters[:d], parameters[d:]
        released = mechanism.release(clipped_bound_sum(z.take(batches.draw(step), axis=0), mean, log_sd, plan.clip))
        divergence = np.concatenate([prior @ mean, np.diag(prior) * np.exp(2.0 * log_sd) - 1.0])
        parameters = parameters + step_size / n * (released / plan.rate - divergence)
        parameters[d:] = np.clip(parameters[d:], low, high)
        if 2 * step >= plan.steps - 1:
            total += parameters
    parameters = total / (plan.steps - plan.steps // 2)
    if not np.isfinite(parameters).all():
        raise Diverged(f"{task.name}: {name} left the finite range; lower rate_factor")
    to_scaled = centre.map
    return to_scaled @ parameters[:d], to_scaled * np.exp(parameters[d:]), plan
