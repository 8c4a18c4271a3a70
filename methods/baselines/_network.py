"""Training of the network of ``models.bnn_regression`` by minibatch gradients, neither Bayesian nor private.

The network has one hidden layer of ReLU units, a bias in every layer, and squared loss. The effective weights
u = w / sqrt(fan-in) are trained, from a start u ~ N(0, 1 / fan-in) (LeCun et al., Efficient BackProp, 1998, section
4.6). The result is returned as w, so that ``models.bnn_regression.NetworkEnsemble`` evaluates the same function.

The objective of a batch of B rows is

    1 / (2 B) sum (y - f(x))^2 + weight_decay / 2 |u|^2.

Numbers are float32, because residuals are 1 % or more of the target, far above single precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np

# contraction and reassociation let the inner loops over hidden units vectorise. NaN and infinity keep their meaning,
# because they show that a training has diverged
_FAST = {"contract", "reassoc", "nsz", "arcp"}
_OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": _FAST, "nogil": True}


@nb.njit(**_OPTIONS)
def _batch_gradient(u1, u2, x, y, rows, decay, g1, g2, z):
    """Gradient of the objective over ``rows`` into g1 (d + 1, H) and g2 (H + 1,); z (H,) is scratch."""
    inputs, hidden = u1.shape
    for j in range(inputs):
        for h in range(hidden):
            g1[j, h] = decay * u1[j, h]
    for h in range(hidden + 1):
        g2[h] = decay * u2[h]
    share = np.float32(1.0) / np.float32(len(rows))
    zero = np.float32(0.0)
    for r in rows:
        for h in range(hidden):
            z[h] = u1[inputs - 1, h]
        for j in range(inputs - 1):
            xj = x[r, j]
            for h in range(hidden):
                z[h] += u1[j, h] * xj
        out = u2[hidden]
        for h in range(hidden):
            out += u2[h] * max(z[h], zero)
        error = (out - y[r]) * share
        for h in range(hidden):
            on = z[h] > zero
            g2[h] += error * (z[h] if on else zero)
            z[h] = error * u2[h] if on else zero
        g2[hidden] += error
        for j in range(inputs - 1):
            xj = x[r, j]
            for h in range(hidden):
                g1[j, h] += z[h] * xj
        for h in range(hidden):
            g1[inputs - 1, h] += z[h]


@nb.njit(**_OPTIONS)
def _sgd_epoch(u1, u2, s1, s2, x, y, order, batch, rate, momentum, decay):
    """One pass of gradient descent with momentum (Polyak): s <- momentum s - rate g; u <- u + s. In place."""
    g1, g2 = np.empty_like(u1), np.empty_like(u2)
    z = np.empty(u1.shape[1], np.float32)
    for start in range(0, len(order), batch):
        _batch_gradient(u1, u2, x, y, order[start : start + batch], decay, g1, g2, z)
        for j in range(u1.shape[0]):
            for h in range(u1.shape[1]):
                s1[j, h] = momentum * s1[j, h] - rate * g1[j, h]
                u1[j, h] += s1[j, h]
        for h in range(u2.shape[0]):
            s2[h] = momentum * s2[h] - rate * g2[h]
            u2[h] += s2[h]


@nb.njit(**_OPTIONS)
def _adam_layer(u, g, m, v, rate, c1, c2):
    one = np.float32(1.0)
    b1, b2, eps = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
    for i in range(u.shape[0]):
        m[i] = b1 * m[i] + (one - b1) * g[i]
        v[i] = b2 * v[i] + (one - b2) * g[i] * g[i]
        u[i] -= rate * (m[i] / c1) / (np.sqrt(v[i] / c2) + eps)


@nb.njit(**_OPTIONS)
def _adam_epoch(u1, u2, m1, m2, v1, v2, step, x, y, order, batch, rate, decay):
    """One pass of Adam (Kingma & Ba 2015, algorithm 1, its default constants). In place; returns the step count."""
    g1, g2 = np.empty_like(u1), np.empty_like(u2)
    z = np.empty(u1.shape[1], np.float32)
    for start in range(0, len(order), batch):
        _batch_gradient(u1, u2, x, y, order[start : start + batch], decay, g1, g2, z)
        step += 1
        c1 = np.float32(1.0 - 0.9**step)
        c2 = np.float32(1.0 - 0.999**step)
        _adam_layer(u1.ravel(), g1.ravel(), m1.ravel(), v1.ravel(), rate, c1, c2)
        _adam_layer(u2, g2, m2, v2, rate, c1, c2)
    return step


@dataclass(frozen=True)
class Network:
    """Weights in the model's parametrisation: ``w1`` (hidden, d + 1) and ``w2`` (hidden + 1,), bias last, float32.

    Pre-activations are divided by sqrt(fan-in). ``epochs`` is the number of passes that made these weights.
    """

    w1: np.ndarray
    w2: np.ndarray
    epochs: int

    def output(self, x: np.ndarray) -> np.ndarray:
        """f(x), shape (n,), for x (n, d) without the column of ones."""
        u1 = self.w1 / np.sqrt(np.float32(self.w1.shape[1]))
        u2 = self.w2 / np.sqrt(np.float32(len(self.w2)))
        return np.maximum(x @ u1[:, :-1].T + u1[:, -1], 0.0) @ u2[:-1] + u2[-1]

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.w1).all() and np.isfinite(self.w2).all())


def train(
    x: np.ndarray,
    y: np.ndarray,
    hidden: int,
    *,
    optimiser: str,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    rng: np.random.Generator,
    validation: tuple[np.ndarray, np.ndarray] | None = None,
    patience: int | None = None,
) -> Network:
    """Train on x (n, d) and y (n,), both scaled, with a fresh permutation of the rows per epoch.

    ``optimiser`` is ``"sgd"`` (with ``momentum``) or ``"adam"``. With ``patience``, the weights of the epoch with the
    least error on ``validation`` are returned, and the training ends ``patience`` epochs after it. A training that
    leaves the finite range stops and returns its last weights, and ``Network.finite`` is then False. Raises ValueError
    for a setting out of range.
    """
    if optimiser not in ("sgd", "adam"):
        raise ValueError(f"optimiser = '{optimiser}'; give 'sgd' or 'adam'")
    if patience is not None and validation is None:
        raise ValueError("patience needs validation = (x, y)")
    n, d = x.shape
    if n < 1:
        raise ValueError("no row to train on; give at least one")
    x, y = np.ascontiguousarray(x, np.float32), np.ascontiguousarray(y, np.float32)
    u1 = (rng.standard_normal((d + 1, hidden)) / np.sqrt(d + 1)).astype(np.float32)
    u2 = (rng.standard_normal(hidden + 1) / np.sqrt(hidden + 1)).astype(np.float32)
    state = [np.zeros_like(u) for u in (u1, u2, u1, u2)]
    rate, momentum, decay = np.float32(learning_rate), np.float32(momentum), np.float32(weight_decay)
    step = 0

    def network(epoch: int) -> Network:
        return Network((u1.T * np.sqrt(np.float32(d + 1))).copy(), u2 * np.sqrt(np.float32(hidden + 1)), epoch)

    best, least = None, np.inf
    for epoch in range(1, epochs + 1):
        order = rng.permutation(n)
        if optimiser == "sgd":
            _sgd_epoch(u1, u2, state[0], state[1], x, y, order, batch_size, rate, momentum, decay)
        else:
            step = _adam_epoch(u1, u2, *state, step, x, y, order, batch_size, rate, decay)
        if not (np.isfinite(u1).all() and np.isfinite(u2).all()):
            break
        if patience is not None:
            now = network(epoch)
            error = mean_square(now, *validation)
            if error < least:
                best, least = now, error
            elif epoch - best.epochs >= patience:
                break
    else:
        epoch = epochs
    return best if best is not None else network(epoch)


def mean_square(network: Network, x: np.ndarray, y: np.ndarray) -> float:
    """Mean squared error in scaled units; infinity if the network is not finite or overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.mean((network.output(x) - y) ** 2))
    return error if np.isfinite(error) else np.inf


def hold_out(n: int, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random row numbers (kept, held out); ``share`` of the rows is held out, at least one and never all.

    Raises ValueError if n < 2 or share is not in (0, 1).
    """
    if not 0 < share < 1:
        raise ValueError(f"validation share = {share}; give a number between 0 and 1")
    if n < 2:
        raise ValueError(f"{n} training rows cannot be parted into training and validation; give at least 2")
    order = rng.permutation(n)
    held = min(max(round(share * n), 1), n - 1)
    return order[held:], order[:held]


def compile_kernels() -> None:
    """Compile (or load from the cache) both kernels on two rows of zeros."""
    for optimiser in ("sgd", "adam"):
        train(
            np.zeros((2, 1)), np.zeros(2), 2,
            optimiser=optimiser, epochs=1, batch_size=2, learning_rate=0.1, rng=np.random.default_rng(0),
        )  # fmt: skip
