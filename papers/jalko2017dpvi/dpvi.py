"""Doubly stochastic variational inference of logistic regression with clipped, noisy gradients, in many repetitions.

Model, without an intercept:

    y ~ Bernoulli(p),  p = LOW + (1 - 2 LOW) sigmoid(x.w),  w ~ N(0, I_D)

The posterior is N(u, diag exp(2 r)) and starts at u = r = 0. A step draws a batch and ONE e ~ N(0, I_D), and sets
w = u + exp(r) e. Each row of the batch gets a vector of 2 D numbers, with scale = n/B and share = 1/B:

    v_i = grad_(u,r) [-scale log p(y_i | w)] + share grad_(u,r) [-log p(w)] - (0, share)

So the row's own term is multiplied by n/B BEFORE it is clipped, and prior and entropy are spread over the batch. v_i is
clipped to norm C, and the sum gets noise N(0, (2 sigma C)^2 I). AdaGrad with a memory of ten steps moves (u, r). The
result is the last iterate. Source: the authors' code, advi_jacob.py and classifier.py.

The two readings differ only in the batch:

* ``authors``: B = int(kappa n) rows with replacement.
* ``corrected``: Poisson batches of rate kappa, whose cost under add/remove is known. B is kappa n, with n a public
  constant that does not depend on the rows. So one more or one less row changes only its own term of the sum
  (:func:`clipped_sum`).

The first axis of all arrays has the R repetitions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

from privacy.budget import Budget, GaussianMechanism, PoissonSampler
from privacy.ledger import Relation, Sampling
from privacy.repeats import OneFit, Repeats

LOW = 1e-6
WINDOW, OFFSET = 10, 0.1
AUTHORS, CORRECTED = "authors", "corrected"


@dataclass(frozen=True)
class Setting:
    """The settings of one fit.

    ``sigma``: noise in units of 2 C; None means neither noise nor clipping. ``rate``: AdaGrad's, in units of the
    parameters.
    """

    sigma: float | None
    clip: float
    kappa: float
    steps: int
    rate: float = 0.1


@dataclass(frozen=True)
class Posterior:
    """Means and standard deviations of the weights, (R, D)."""

    mean: np.ndarray
    sd: np.ndarray


class Batches(Protocol):
    """Rows (R, M) of a step's batch, and a mask (R, M) of those that belong to it, or None if all do."""

    def draw(self, step: int) -> tuple[np.ndarray, np.ndarray | None]: ...


class WithReplacement:
    """Batches of ``size`` of ``n`` rows with replacement, for each of ``count`` repetitions."""

    def __init__(self, n: int, size: int, rng: np.random.Generator, count: int):
        self._n, self._shape, self._rng = n, (count, size), rng

    def draw(self, step):
        return self._rng.integers(self._n, size=self._shape), None


class PoissonRepeats:
    """Independent Poisson batches for ``count`` repetitions: every row enters with probability ``rate``.

    Distances between successive rows of such a batch are independent and geometric.
    """

    def __init__(self, n: int, rate: float, rng: np.random.Generator, count: int):
        self._n, self._rate, self._rng, self._count = n, rate, rng, count
        mean = n * rate
        self._most = max(1, math.ceil(mean + 6 * math.sqrt(mean) + 6))

    def draw(self, step):
        at = self._gaps(-1)
        while (at[:, -1] < self._n).any():  # some repetition has not reached the last row yet
            at = np.concatenate([at, self._gaps(at[:, -1:])], axis=1)
        inside = at < self._n
        widest = int(inside.sum(axis=1).max())
        return np.minimum(at[:, :widest], self._n - 1), inside[:, :widest]

    def _gaps(self, start):
        return start + np.cumsum(self._rng.geometric(self._rate, (self._count, self._most)), axis=1)


class OneSampler:
    """The batches of a mechanism in the form of one repetition."""

    def __init__(self, sampler: PoissonSampler):
        self._sampler = sampler

    def draw(self, step):
        rows = self._sampler.draw(step)[None]
        return rows, np.ones(rows.shape, dtype=bool)


def batch_size(n: int, kappa: float) -> int:
    return int(kappa * n)


def charged(setting: Setting, reading: str, n: int, budget: Budget) -> GaussianMechanism:
    """The mechanism of all steps, charged to ``budget``.

    * corrected: one row that is added or removed changes the sum by at most its own clipped vector, of norm C.
    * authors: a row can be in a batch up to B times, each time with a vector of norm C. At most, its replacement
      reverses that vector, so the sensitivity is 2 C B. No ledger event describes this sampling. So nothing is
      amplified, and this ledger's epsilon is far too large. :func:`papers.jalko2017dpvi.accounting.with_replacement`
      has the bound.
    """
    sd = 2 * setting.sigma * setting.clip
    if reading == CORRECTED:
        sensitivity, relation = setting.clip, Relation.ADD_REMOVE
        sampling, rate = Sampling.POISSON, setting.kappa
    else:
        sensitivity, relation = 2 * setting.clip * batch_size(n, setting.kappa), Relation.REPLACE_ONE
        sampling, rate = Sampling.FULL_BATCH, 1.0
    return budget.gaussian(
        "sum of clipped gradients of a batch",
        sensitivity=sensitivity,
        noise_multiplier=sd / sensitivity,
        relation=relation,
        sampling=sampling,
        sampling_rate=rate,
        steps=setting.steps,
        proof="papers.jalko2017dpvi.dpvi.charged",
    )


def slopes(margin: np.ndarray) -> np.ndarray:
    """The derivative d log(LOW + (1 - 2 LOW) sigmoid(a)) / da at a = ``margin``."""
    s = expit(margin)
    return (1 - 2 * LOW) * s * expit(-margin) / (LOW + (1 - 2 * LOW) * s)


def clipped_sum(x, sign, rows, inside, w, moved, scale: float, share: float, clip: float | None) -> np.ndarray:
    """Sum (R, 2 D) of the vectors v_i over a batch, each clipped to norm ``clip`` unless it is None.

    Parameters
    ----------
    x, sign : rows (n, D) and labels -1, 1 (n,) of the private table.
    rows, inside : the batch, see :class:`Batches`.
    w, moved : (R, D), the draw u + exp(r) e, and exp(r) e, which is dw/dr.

    A row's vector is (g, moved g) - (0, share) with g = c x_i + share w and c = -scale slope sign. It depends on that
    row, and else only on released and public numbers. So one row that is added or removed changes the sum by at most
    ``clip``.
    """
    xb = x[rows]  # (R, M, D)
    stretch = 1 + moved**2
    linear = np.stack([w, share * (w * stretch - moved)], axis=2)
    products = xb @ linear  # (R, M, 2)
    t = sign[rows]
    c = -scale * t * slopes(t * products[..., 0])
    factor = np.ones(c.shape)
    if clip is not None:
        square = c**2 * ((xb**2) @ stretch[..., None])[..., 0] + 2 * c * products[..., 1]
        square += (share**2 * (w**2 * stretch - 2 * w * moved + 1)).sum(axis=1)[:, None]
        # 1e-300: a vector of norm 0 needs no clipping
        factor = np.minimum(1.0, clip / np.sqrt(np.maximum(square, 1e-300)))
    if inside is not None:
        factor = factor * inside
    count = factor.sum(axis=1)[:, None]
    g = ((factor * c)[:, None, :] @ xb)[:, 0] + share * count * w
    return np.concatenate([g, moved * g - share * count], axis=1)


def fit(x, y, setting: Setting, batches: Batches, release, rng: np.random.Generator, count: int, sizes) -> Posterior:
    """``count`` fits at once.

    * ``release``: adds the noise to a sum. ``sizes``: (scale, share), public numbers.
    * ``rng``: draws e anew in every repetition, independently of the data. The authors' code draws one sequence for all
      of its runs. :func:`papers.jalko2017dpvi.checks.sequences` shows that this does not matter.
    """
    d = x.shape[1]
    scale, share = sizes
    sign = 2 * y - 1
    state, squares = np.zeros((count, 2 * d)), np.zeros((WINDOW, count, 2 * d))
    clip = None if setting.sigma is None else setting.clip
    for step in range(setting.steps):
        moved = np.exp(state[:, d:]) * draw(rng, count, d)
        rows, inside = batches.draw(step)
        total = release(clipped_sum(x, sign, rows, inside, state[:, :d] + moved, moved, scale, share, clip))
        squares[step % WINDOW] = total**2
        state -= setting.rate * total / np.sqrt(squares.sum(axis=0) + OFFSET)
    return Posterior(state[:, :d], np.exp(state[:, d:]))


def draw(rng, count: int, d: int) -> np.ndarray:
    """e of one step, (count, d). All repetitions share it if ``rng`` is a :class:`Shared`."""
    return np.broadcast_to(rng.rng.standard_normal(d), (count, d)) if isinstance(rng, Shared) else (
        rng.standard_normal((count, d))
    )  # fmt: skip


@dataclass(frozen=True)
class Shared:
    """Draws e that all repetitions share."""

    rng: np.random.Generator


def repeated(x, y, setting: Setting, reading: str, budget: Budget, rng: np.random.Generator, count: int,
             draws: Shared | None = None) -> Posterior:  # fmt: skip
    """The posteriors of ``count`` repetitions of one fit. The ledger of ``budget`` is that of one fit."""
    n = len(y)
    noise, batch, own = rng.spawn(3)
    if reading == CORRECTED:
        batches: Batches = PoissonRepeats(n, setting.kappa, batch, count)
    else:
        batches = WithReplacement(n, batch_size(n, setting.kappa), batch, count)
    if setting.sigma is None:
        relation = Relation.REPLACE_ONE
        budget.no_noise("sum of gradients of a batch", relation=relation, steps=setting.steps)
        release = _as_it_is
    else:
        release = Repeats(budget, noise, count).steps(charged(setting, reading, n, budget))
    return fit(x, y, setting, batches, release, draws or own, count, sizes(n, setting.kappa, reading))


def one_fit(x, y, setting: Setting, budget: Budget, rng: np.random.Generator, public_n: int) -> Posterior:
    """One corrected fit with the budget's own mechanism and batches."""
    mechanism = charged(setting, CORRECTED, public_n, budget)
    batches, release = OneSampler(mechanism.batches(len(y))), OneFit(budget, rng).steps(mechanism)
    return fit(x, y, setting, batches, release, rng, 1, sizes(public_n, setting.kappa, CORRECTED))


def sizes(n: int, kappa: float, reading: str) -> tuple[float, float]:
    """(scale, share) = (n/B, 1/B)."""
    b = kappa * n if reading == CORRECTED else batch_size(n, kappa)
    return n / b, 1 / b


def _as_it_is(value: np.ndarray) -> np.ndarray:
    return value


def probability(posterior: Posterior, x: np.ndarray) -> np.ndarray:
    """Predicted probability of class 1 by the authors' formula, (R, n).

    With s the posterior variance of x.w, it is

        LOW + (1 - 2 LOW) sigmoid(x.u / sqrt(1 + pi s / 8)).
    """
    s = posterior.sd**2 @ (x**2).T
    return LOW + (1 - 2 * LOW) * expit(posterior.mean @ x.T / np.sqrt(1 + math.pi * s / 8))


def right(posterior: Posterior, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Number of rows whose label is predicted right, (R,). The prediction is 1 if the probability is at least 1/2."""
    return ((probability(posterior, x) >= 0.5) == (y == 1)).sum(axis=1)


def log_likelihood(posterior: Posterior, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean log-likelihood of the rows under :func:`probability`, nats, (R,)."""
    p = probability(posterior, x)
    return np.log(np.where(y == 1, p, 1 - p)).mean(axis=1)
