"""Small problems for the tests of the PBP engine, and the kernels called as the training loops call them."""

from __future__ import annotations

import numpy as np

from methods.ep._pbp import ep_kernel, moment_kernel, natural_kernel
from methods.ep._pbp import hidden as hl
from methods.ep._pbp.state import Naturals, State, initial, with_bias
from methods.ep._pbp.training import kernel_rows
from models.bnn_regression import BNNRegression

SEP_RANGE = (1e-20, 1e20)


def problem(n: int, d: int, hidden: int, seed: int = 0):
    """Rows with the bias last, targets, initial state and prior factors; everything of order one."""
    rng = np.random.default_rng(seed)
    x = with_bias(rng.standard_normal((n, d)))
    y = np.sin(2 * x[:, 0]) + 0.3 * rng.standard_normal(n)
    state, prior = initial(BNNRegression(hidden), d + 1, rng)
    return x, y, state, prior, rng.permutation(n)


def packed(q: Naturals) -> list[np.ndarray]:
    return [hl.pack1(q.eta1), hl.pack1(q.lam1, 1.0), hl.pack2(q.eta2), hl.pack2(q.lam2, 1.0)]


def unpacked(arrays, gamma, hidden: int, inputs: int) -> Naturals:
    eta1, lam1, eta2, lam2 = arrays
    one = [hl.unpack1(a, hidden, inputs) for a in (eta1, lam1)]
    two = [hl.unpack2(a, hidden) for a in (eta2, lam2)]
    return Naturals(*one, *two, gamma[0] - 1.0, -gamma[1])


def moment_epoch(
    x, y, order, state: State, prior: Naturals, power, variance_range=SEP_RANGE, freeze=False, reject=True
):
    """(state, rejected weights, rejected Gammas) after one epoch of the fused kernel."""
    hidden, inputs = state.hidden, state.inputs
    q = [hl.pack1(state.m1), hl.pack1(state.v1, 1.0), hl.pack2(state.m2), hl.pack2(state.v2, 1.0)]
    gamma = np.array([state.a, state.b, prior.shape + 1.0, -prior.rate])
    bad = moment_kernel.moment_epoch(
        kernel_rows(x), y, order, *q, *(power * p for p in packed(prior)), gamma, power, *variance_range,
        np.array([freeze, reject], dtype=np.int64), hidden, hl.scratch(hidden),
    )  # fmt: skip
    m1, v1 = (hl.unpack1(a, hidden, inputs) for a in q[:2])
    m2, v2 = (hl.unpack2(a, hidden) for a in q[2:])
    return State(m1, v1, m2, v2, gamma[0], gamma[1], state.a_w, state.b_w), *bad


def natural_steps(
    x, y, order, theta: Naturals, theta_0: Naturals, k, bound, factor_bound, rules, noise=None, floor=1e-4
):
    """(theta, counts) after the rows ``order``."""
    hidden, inputs = theta.eta1.shape
    q = packed(theta)
    gamma = np.array([theta.shape + 1.0, -theta.rate, theta_0.shape + 1.0, -theta_0.rate])
    counts = np.zeros(len(natural_kernel.COUNTS))
    size = 2 * (hidden * inputs + hidden + 1) + (2 if rules[1] == natural_kernel.GAMMA_JOINT else 0)
    natural_kernel.natural_steps(
        kernel_rows(x), y, order, *q, gamma, *packed(theta_0), 1.0 / len(y), k, bound, factor_bound, floor,
        np.array(rules, dtype=np.int64), np.zeros((0, size)) if noise is None else noise, counts, hidden,
        hl.scratch(hidden),
    )  # fmt: skip
    return unpacked(q, gamma, hidden, inputs), dict(zip(natural_kernel.COUNTS, counts, strict=True))


def noise_as_naturals(row: np.ndarray, hidden: int, inputs: int) -> Naturals:
    """One row of the kernel's noise in the shape of theta: blocks of eight units, input by input."""
    n1, n2 = hidden * inputs, hidden + 1

    def layer1(flat):
        out = np.empty((hidden, inputs))
        for start in range(0, hidden, hl.WIDTH):
            used = min(hl.WIDTH, hidden - start)
            out[start : start + used] = flat[start * inputs : (start + used) * inputs].reshape(inputs, used).T
        return out

    e1, l1, e2, l2, rest = np.split(row, np.cumsum([n1, n1, n2, n2]))
    return Naturals(layer1(e1), layer1(l1), e2, l2, *(rest if len(rest) else (0.0, 0.0)))


class EP:
    """Expectation propagation by the kernel, epoch by epoch."""

    def __init__(self, x, y, state: State, storage: str, damping: float = 0.4):
        self.x, self.y, self.storage, self.damping = kernel_rows(x), y, storage, damping
        self.hidden, self.inputs = state.hidden, state.inputs
        self.q, self.gamma = packed(state.naturals()), np.array([state.a, state.b])
        self.sites = ep_kernel.Sites(len(y), self.hidden, self.inputs, storage)

    def epoch(self, order):
        s = self.sites
        rest = (s.eta2, s.lam2, s.gamma, self.damping, self.hidden, hl.scratch(self.hidden))
        args = (self.x, self.y, order, *self.q, self.gamma, s.eta1, s.lam1)
        if self.storage == "int8":
            return ep_kernel.ep_epoch_int8(*args, s.eta_scale, s.lam_scale, *rest)
        return ep_kernel.ep_epoch(*args, *rest)

    def naturals(self) -> Naturals:
        return unpacked(self.q, self.gamma, self.hidden, self.inputs)

    def sum_of_sites(self) -> Naturals:
        parts = [self.sites.row(n) for n in range(len(self.y))]
        totals = [np.sum([p[i] for p in parts], axis=0) for i in range(5)]
        return unpacked(totals[:4], (totals[4][0] + 1.0, -totals[4][1]), self.hidden, self.inputs)


def relative(ours: Naturals, theirs: Naturals) -> float:
    """Largest difference, relative to the largest number of its part."""
    worst = 0.0
    for p, q in zip(ours.parts(), theirs.parts(), strict=True):
        worst = max(worst, float(np.max(np.abs(np.asarray(p) - q)) / np.max(np.abs(q))))
    return worst
