"""Langevin dynamics on the same logistic regression: the comparison of Jälkö et al. (2017), and a private version.

:func:`program` does what the authors' code dp_sgld.py does, including its errors:

* A row's gradient is not clipped, although the noise assumes a norm of at most L.
* The drift lacks the factor 1/2.
* The step size does not fall below 0.1 on a sum over all rows.
* The iterate is pulled back to norm L - 1.

:func:`sound` is full-batch Langevin dynamics at the exact temperature. Every step is one Gaussian release:

    w' = w + (h/2) [-w + sum_i clip_C(g_i)] + sqrt(h) N(0, I)

The noise on the sum of clipped gradients is 2 / sqrt(h). So T steps cost mu-GDP with mu = s sqrt(h T) / 2. The
sensitivity s is C under add/remove and 2 C under replace-one. All iterates may be published. Both versions predict by
the mean probability of a part of the chain.

The first axis of all arrays has the R repetitions.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from papers.jalko2017dpvi.dpvi import LOW
from privacy.budget import Budget
from privacy.ledger import Relation
from privacy.repeats import Repeats

#: constants of the authors' code: bound L, passes over the rows, smallest step size, iterates that predict.
BOUND, PASSES, LEAST, LAST = 5.0, 10, 0.1, 100


def gradients(x: np.ndarray, sign: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Factors c (R, n) such that c_i x_i is the gradient of row i's log-likelihood at w (R, D)."""
    return sign * expit(-sign * (w @ x.T))


def program_noise(n: int, batch: int, epsilon: float, delta: float) -> float:
    """The constant K of the noise of the authors' code: the variance of a step of size eta is max(eta^2 K, eta)."""
    k = 128 * n * PASSES * BOUND**2 / (batch * epsilon**2)
    return k * math.log(5 * n * PASSES / (2 * batch * delta)) * math.log(2 / delta)


def program(x, y, batch: int, noise: float, temperature: bool, budget: Budget, rng: np.random.Generator, count: int):
    """The last iterates (LAST, R, D) of the authors' chain, by which the code predicts.

    * ``noise``: the constant K, 0 without privacy noise.
    * ``temperature``: whether the variance is at least eta (Langevin noise). Without it and with K = 0, the chain is
      gradient ascent. Nothing bounds a row's gradient, so the ledger's epsilon is infinite.
    """
    n, d = x.shape
    sign, w, kept = 2 * y - 1, np.zeros((count, d)), []
    steps = int(PASSES * n / batch)
    release = None
    if noise > 0 or temperature:
        release = Repeats(budget, rng, count).steps(
            budget.unbounded_gaussian(
                "iterate after a step over its noise", noise_scale=1.0, relation=Relation.REPLACE_ONE, steps=steps
            )
        )
    else:
        budget.no_noise("unclipped gradients of a batch", relation=Relation.REPLACE_ONE, steps=steps)
    for step in range(steps):
        eta = max(1 / (step + 1), LEAST)
        rows = rng.integers(n, size=(count, batch))
        c = sign[rows] * expit(-sign[rows] * (x[rows] @ w[..., None])[..., 0])
        g = (c[:, None, :] @ x[rows])[:, 0]
        w = w + eta * (n / batch * g - w)
        if release is not None:
            sd = math.sqrt(max(eta**2 * noise, eta if temperature else 0.0))
            w = sd * release(w / sd)
        else:
            rng.standard_normal((count, d))  # not used, but the batches then equal those of the chains with noise
        length = np.linalg.norm(w, axis=1, keepdims=True)
        w = w * np.minimum(1.0, (BOUND - 1) / np.maximum(length, 1e-300))
        kept.append(w)
    return np.array(kept[-LAST:])


def sound(x, y, mu: float, clip: float, steps: int, relation: Relation, budget: Budget, rng: np.random.Generator,
          count: int) -> np.ndarray:  # fmt: skip
    """The second half (steps - steps // 2, R, D) of the chain in ``count`` repetitions, whose ledger is that of one.

    The sum of clipped gradients changes by at most C if one row is added or removed, and by 2 C if it is replaced. The
    prior's part reads no row.
    """
    noise, d = rng.spawn(1)[0], x.shape[1]
    sensitivity = clip * (2 if relation is Relation.REPLACE_ONE else 1)
    multiplier = math.sqrt(steps) / mu
    mechanism = budget.gaussian(
        "sum of clipped gradients",
        sensitivity=sensitivity,
        noise_multiplier=multiplier,
        relation=relation,
        steps=steps,
        proof="papers.jalko2017dpvi.sgld.sound",
    )
    release = Repeats(budget, noise, count).steps(mechanism)
    h = (2 / mechanism.noise_scale) ** 2
    sign, w, kept = 2 * y - 1, np.zeros((count, d)), []
    norms = np.linalg.norm(x, axis=1)
    for step in range(steps):
        c = gradients(x, sign, w)
        c *= np.minimum(1.0, clip / np.maximum(np.abs(c) * norms, 1e-300))
        w = w + h / 2 * (release(c @ x) - w)
        if step >= steps // 2:
            kept.append(w)
    return np.array(kept)


def right(chain: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Number of rows whose label the mean probability over the chain predicts right, (R,)."""
    p = np.zeros((chain.shape[1], len(y)))
    for w in chain:
        p += LOW + (1 - 2 * LOW) * expit(w @ x.T)
    return ((p / len(chain) > 0.5) == (y == 1)).sum(axis=1)
