"""Mean-field variational inference as in the authors' code: 5,000 steps of AdaGrad with a memory of ten gradients.

The model is given X'X, X'y and y'y as if they were those of the rows:

    y ~ N(x b, 1 / l),  b ~ N(0, I / l0),  l and l0 ~ Gamma(2, rate 2)

The coordinates are (b, ln l, ln l0). Under q, coordinate j is u_j + exp(w_j) z_j with z standard normal, and u and w
start at 0. The gradient is that of one draw. Many fits run at once: the first axis of all arrays has the fits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from papers.honkela2018robust.data import Moments

#: PyMC3's defaults, and the number of steps in the source.
RATE, WINDOW, OFFSET, STEPS = 0.001, 10, 0.1, 5000
#: parameters of Gamma(SHAPE, rate), the prior of both precisions.
SHAPE = GAMMA_RATE = 2.0


@dataclass(frozen=True)
class Batch:
    """Moments of several fits with the same number of rows: gram (m, d, d), cross (m, d), square (m,), n."""

    gram: np.ndarray
    cross: np.ndarray
    square: np.ndarray
    n: int

    @classmethod
    def of(cls, moments: Sequence[Moments]) -> Batch:
        (n,) = {m.n for m in moments}
        parts = ([getattr(m, name) for m in moments] for name in ("gram", "cross", "square"))
        return cls(*(np.array(p, dtype=np.float64) for p in parts), n)


def gradient(batch: Batch, at: np.ndarray) -> np.ndarray:
    """Gradient (m, d + 2) of the log joint density of the coordinates ``at`` (m, d + 2), with the Jacobian."""
    d = at.shape[1] - 2
    b, precision, shrinkage = at[:, :d], np.exp(at[:, d]), np.exp(at[:, d + 1])
    gram_b = np.matmul(batch.gram, b[:, :, None])[:, :, 0]
    # b'Ab - 2 b'c + s and |b|^2
    error = np.einsum("md,md->m", b, gram_b - 2 * batch.cross) + batch.square
    square = np.einsum("md,md->m", b, b)
    out = np.empty_like(at)
    out[:, :d] = precision[:, None] * (batch.cross - gram_b) - shrinkage[:, None] * b
    out[:, d] = SHAPE - GAMMA_RATE * precision + batch.n / 2 - precision / 2 * error
    out[:, d + 1] = SHAPE - GAMMA_RATE * shrinkage + d / 2 - shrinkage / 2 * square
    return out


def updates(batch: Batch, z: Iterator[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """u and w (m, d + 2 each) after each update. ``z`` gives one block (m, d + 2) per update. The arrays are reused."""
    m, k = len(batch.square), batch.cross.shape[1] + 2
    u, w = np.zeros((m, k)), np.zeros((m, k))
    g, squares = np.empty((2, m, k)), np.zeros((WINDOW, 2, m, k))
    for step, draw in enumerate(z):
        scaled = np.exp(w) * draw
        g[0] = gradient(batch, u + scaled)
        g[1] = g[0] * scaled + 1
        np.square(g, out=squares[step % WINDOW])
        move = RATE * g / np.sqrt(squares.sum(axis=0) + OFFSET)
        u += move[0]
        w += move[1]
        yield u, w


def stopped(batch: Batch, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u and w after the updates of the blocks ``z`` (steps, m, d + 2).

    The authors' code reads its iterate before the last update, so 5,000 steps are 4,999 updates.
    """
    (last,) = deque(updates(batch, iter(z)), maxlen=1)
    return last
