"""DP-SGD on linear regression with unknown noise: on the lower bound of a mean-field q, or on the likelihood.

q(w) = N(m, diag(s^2)) and log v ~ N(mu, t^2). So E[1/v] = exp(-mu + t^2 / 2), and the lower bound contains no integral.
E[1/v] is approximated by e^-mu, because t^2 is of the order 1/n. For a row let r = y - m . x1 and
q = r^2 + sum_j s_j^2 x1_j^2. The gradients of the data term are

    in m: -(r / v) x1,    in log s_j: (s_j^2 / v) x1_j^2,    in mu: (1 - q / v) / 2,    v = e^mu.

Each part is multiplied by a number that reads no row, and is clipped separately.

- For m the number is sqrt(v). Residuals are then measured in their standard deviation, and the noise decreases with it.
- For log s_j it is v / s_j^2 times a weight.
- For mu it is a weight. q / v is truncated at ``MOST``, and 1 is replaced by the expectation of the truncated value
  under the model. So truncation causes no bias if residuals are Gaussian (Huber's proposal 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import chdtr, chdtrc

from methods._shared.conjugate_linear.release import WithDocumentedRanges, expected_squares
from methods._shared.frames import left_for
from methods._shared.settings_checks import positive, whole, within
from methods.contract import Constants, Diverged
from models.linear_regression import with_bias
from models.task import PublicKnowledge, Task
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling

#: v at the start: the mean square of a scaled target whose range was estimated privately.
START = 1.0 / 9.0
#: largest squared residual over v; larger ones are truncated.
MOST = 9.0
#: clipping norm of the squares of the inputs and of the residual's part, over that of the means.
SMALL = 1.0 / 3.0
#: largest factor by which the clipping norm grows if the noise is negligible.
LARGEST = 4.0
_WHAT = "sum of clipped per-row gradients"
_PROOF = "methods._shared.conjugate_linear.kernel.clipped_sum"


@dataclass(frozen=True)
class Settings:
    """Constants chosen on synthetic rows (4 to 16 columns, 1,500 to 20,000 rows), on no data set of the suite."""

    steps: int = 1000  #: T, noisy gradient steps
    sampling_rate: float = 0.1  #: q, probability that a row is in a batch; see ``most_rows``
    #: largest expected batch: q is at most this over n (synthetic tables of a million rows)
    most_rows: int = field(default=20_000, metadata={"later": True})
    clip: float = 1.0  #: least C, norm of a row's gradient in the means, over the typical norm of scaled [x, 1]
    travel: float = 0.5  #: standard deviation of the noise's path of a mean over the run, in sqrt(v)
    max_rate: float = 1.5  #: largest learning rate, times 1 / (1 + E|x|^2), the trace of the rows' second moments

    def __post_init__(self) -> None:
        whole("DP-SGD", self, "steps", "most_rows")
        positive("DP-SGD", self, "clip", "travel", "max_rate")
        within("DP-SGD", self, "(0, 1]", "sampling_rate")

    def rate(self, n: int) -> float:
        """q for n rows (public)."""
        return min(self.sampling_rate, self.most_rows / n)


class Descent(WithDocumentedRanges):
    """A method based on :func:`train`; base class of ``dp_sgd`` and ``dp_vi_vinaroz``."""

    models = ("bounded_linear_regression",)
    constants = (Constants.FORMULA, Constants.DEVELOPED)
    privacy = Relation.ADD_REMOVE
    leaks = ()
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"clip": 0.5}, {"clip": 2.0}, {"travel": 0.2}, {"travel": 1.0}, {"max_rate": 3.0}
    )  # fmt: skip
    Settings = Settings

    def prepare(self, task: Task, settings: Settings) -> None:
        """Load numba and the cached kernel."""
        from methods._shared.conjugate_linear import kernel  # noqa: F401


class Plan(NamedTuple):
    """Clipping norm C of the means, clipping norms and weights of the parts for the kernel, and the learning rate."""

    clips: np.ndarray
    weights: np.ndarray
    rate: float

    @property
    def sensitivity(self) -> float:
        return float(np.linalg.norm(self.clips))


class Fitted(NamedTuple):
    """Means (p,), standard deviations (p,) and mu = log v, with the settings of the run."""

    mean: np.ndarray
    sd: np.ndarray
    log_variance: float
    diagnostics: dict[str, float]


def centre(most: float) -> float:
    """E min(z^2, most) for standard normal z."""
    return float(chdtr(3, most) + most * chdtrc(1, most))


def schedule(public: PublicKnowledge, settings: Settings, noise_multiplier: float, *, bayes: bool) -> Plan:
    """Clipping norms and learning rate, from public numbers and the noise. No data are read.

    The learning rate is such that the noise alone moves a mean over the run by ``travel`` sqrt(v), in standard
    deviation:

        eta = travel sqrt(3 / T) q n / (sensitivity sigma).

    It is at most ``max_rate`` / trace. If the noise allows more than that, the clipping norms grow instead, up to
    ``LARGEST`` times. The weight of the inputs' squares does not grow, so these are then hardly clipped.
    """
    s = settings
    trace = 1.0 + sum(expected_squares(public, target=False))
    parts = np.array([1.0, SMALL if bayes else 0.0, SMALL])
    clips = s.clip * math.sqrt(trace) * parts
    path = s.travel * math.sqrt(3.0 / s.steps) * s.rate(public.n) * public.n
    free = path / (np.linalg.norm(clips) * noise_multiplier)
    growth = min(LARGEST, max(1.0, free * trace / s.max_rate))
    # fourth moments of a column on [-1, 1]: Gaussian with standard deviation 1/3, or uniform
    fourth = math.sqrt(sum(1.0 / 27.0 if r is None else 1.0 / 5.0 for r in public.x_bounds))
    weights = np.array([SMALL * clips[0] / fourth, growth * clips[2] / (0.5 * (MOST - centre(MOST)))])
    clips = growth * clips
    return Plan(clips, weights, min(s.max_rate / trace, free / growth))


def train(method: str, task: Task, settings: Settings, budget: Budget, relation: Relation, *, bayes: bool) -> Fitted:
    """T steps, each with a Poisson batch, the sum of clipped vectors, one release and one update.

    An empty batch releases only noise. ``task`` has rows scaled to [-1, 1] with the public part of their ranges. With
    ``bayes`` the objective is the lower bound. The prior's part of it reads no data and is added after the noise.
    Otherwise the objective is the likelihood, and the result is a point (s = 0, no prior).

    The learning rate falls linearly to 0, and the second half of the iterates is averaged. The squares of the inputs do
    not depend on the state, so the bound is stationary in s_j at

        s_j^2 = v / (n g_j + prior precision).

    Here g_j is the mean of its releases so far. It is bounded from below by its own noise and from above by 1, the
    largest square. v is bounded from below by its value under the prior without a residual, and from above by 1, the
    largest mean square of a scaled target. All of this is post-processing.

    Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier. Raises Diverged if a
    number leaves the finite range.
    """
    from methods._shared.conjugate_linear.kernel import clipped_sum, norms_of

    s, n, d = settings, task.public.n, task.x.shape[1]
    p, model = d + 1, task.model
    rate = s.rate(n)
    sampling = Sampling.POISSON if rate < 1 else Sampling.FULL_BATCH
    sigma = left_for(budget, _WHAT, relation, sampling_rate=rate, steps=s.steps, proof=_PROOF)
    plan = schedule(task.public, s, sigma, bayes=bayes)
    noise = budget.gaussian(
        _WHAT, sensitivity=plan.sensitivity, noise_multiplier=sigma, relation=relation, sampling=sampling,
        sampling_rate=rate, steps=s.steps, proof=_PROOF,
    )  # fmt: skip
    batches = noise.batches(task.n)
    x1, y = with_bias(task.x), np.ascontiguousarray(task.y)
    norms = norms_of(x1)
    expected = rate * n  # public: the expected batch size
    released = slice(0, p + d + 1) if bayes else np.r_[0:p, p + d]  # a point has no part of the inputs' squares
    prior, middle = (model.precision if bayes else 0.0), centre(MOST)
    lowest = math.log(model.scale / (model.shape + 0.5 * n))
    mean, squares, mu = np.zeros(p), np.zeros(p), math.log(START)
    sums, inputs = np.zeros(d), np.ones(p)  # of the releases of the inputs' squares; g_j, the bias's square is 1
    average, averaged = np.zeros(p + 1), 0
    for t in range(s.steps):
        v = math.exp(mu)
        if bayes:
            squares = v / (n * inputs + prior)
        rows = batches.draw(t)
        total = clipped_sum(x1, norms, y, rows, mean, squares, v, plan.weights, plan.clips, MOST, middle, bayes)
        step = noise.release(total[released]) / expected
        eta = plan.rate * (1.0 - t / s.steps)
        in_mu = step[-1] / plan.weights[1]
        if bayes:
            sums += step[p : p + d] / plan.weights[0]
            floor = noise.noise_scale / (expected * plan.weights[0] * math.sqrt(t + 1))
            inputs[:d] = np.minimum(np.maximum(sums / (t + 1), floor), 1.0)
            energy = 0.5 * prior * float(mean @ mean + squares.sum())
            in_mu += ((model.scale + energy) / v - model.shape - 0.5 * p) / n
        mean = mean + eta * (math.sqrt(v) * step[:p] - prior * mean / n)
        mu = min(max(mu + min(eta, 1.0) * in_mu, lowest), 0.0)
        if 2 * t >= s.steps - 1:
            average += np.append(mean, mu)
            averaged += 1
    average /= averaged
    if not np.isfinite(average).all():  # a function of releases alone
        raise Diverged(f"{method}: parameters not finite after {s.steps} steps; lower travel or max_rate")
    mu = float(average[-1])
    sd = np.sqrt(math.exp(mu) / (n * inputs + prior)) if bayes else np.zeros(p)
    facts = {"noise_multiplier": sigma, "clip": float(plan.clips[0]), "learning_rate": plan.rate}
    return Fitted(average[:-1], sd, mu, facts)
