"""The log-posterior that the private chains sample for the weights of a network."""

from __future__ import annotations

import math

import numpy as np

from methods.mcmc._targets import Residuals, Size, shrinking


class Network(Residuals):
    """The posterior of the network of ``models.bnn_regression`` on standardised rows.

    The weight precision lambda ~ Gam(a, b) is integrated out. A vector w of k weights then has the log prior density

        log p = -(a + k / 2) log(b + |w|^2 / 2) + constant.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, model, n: int, rng: np.random.Generator):
        self.x = np.column_stack([x, np.ones(len(x))])
        self.y, self.n = np.array(y, dtype=np.float64), len(x)
        self.hidden, self.inputs = model.hidden, self.x.shape[1]
        self.shape, self.rate = model.noise_shape, model.noise_rate
        self.weight_shape, self.weight_rate = model.weight_shape, model.weight_rate
        self._first = self.hidden * self.inputs
        weights = self._first + self.hidden + 1
        # under the prior a weight has the mean square b / (a - 1), and a hidden unit half of it for inputs of size 1
        square = self.weight_rate / (self.weight_shape - 1.0)
        trace = (self.hidden * square + 1.0) / (self.hidden + 1.0)  # of both layers, each with half a square per unit
        self.size = Size(n, weights + 1, trace + 1.0, 1.0 / square, 2.0 * math.sqrt(trace + 1.0))
        # at 0 both layers have no gradient, so the start is a draw from the prior, which reads no row
        drawn = rng.standard_normal(weights) * math.sqrt(self.weight_rate / self.weight_shape)
        self.start = np.append(drawn, math.log(self.rate / self.shape))

    def unit(self, theta):
        return np.append(np.full(len(theta) - 1, self._width(theta)), math.sqrt(2.0))

    def _width(self, theta: np.ndarray) -> float:
        return math.exp(0.5 * min(max(float(theta[-1]), -300.0), 300.0))

    def layers(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first layer (..., hidden, d + 1) and the second (..., hidden + 1) of theta (..., D), bias last."""
        first = theta[..., : self._first].reshape(*theta.shape[:-1], self.hidden, self.inputs)
        return first, theta[..., self._first : -1]

    def _forward(self, theta, x):
        w1, w2 = self.layers(theta)
        a = x @ (w1.T / math.sqrt(self.inputs))
        z = np.maximum(a, 0.0)
        return a, z, (z @ w2[:-1] + w2[-1]) / math.sqrt(self.hidden + 1.0), w2

    def residuals(self, theta):
        with np.errstate(over="ignore", invalid="ignore"):
            return self.y - self._forward(theta, self.x)[2]

    def clipped_gradients(self, theta, scale, rows, clip):
        x, y = (self.x, self.y) if rows is None else (self.x[rows], self.y[rows])
        with np.errstate(over="ignore", invalid="ignore"):
            a, z, f, w2 = self._forward(theta, x)
            v, e, m = self._width(theta) ** 2, y - f, self.hidden + 1.0
            first, last = e / v, 0.5 * (e**2 / v - 1.0)
            on = np.where(a > 0, w2[:-1] / math.sqrt(m * self.inputs), 0.0)  # derivative of f in a unit's input sum
            of_first = np.einsum("nh,nh->n", on, on) * np.einsum("nd,nd->n", x, x)
            of_second = (np.einsum("nh,nh->n", z, z) + 1.0) / m
            norm = np.sqrt((first * scale[0]) ** 2 * (of_first + of_second) + (last * scale[-1]) ** 2)
            factor = shrinking(norm, clip)
            weight = np.where(factor > 0, first * factor, 0.0)
        kept = factor > 0
        if not kept.all():  # a row that is not finite must not reach a sum, not even times 0
            x, z, on, weight, last, factor = x[kept], z[kept], on[kept], weight[kept], last[kept], factor[kept]
        one = (on * weight[:, None]).T @ x
        two = np.append(weight @ z, weight.sum()) / math.sqrt(m)
        return np.concatenate([one.ravel() * scale[0], two * scale[0], [(last * factor).sum() * scale[-1]]])

    clipped_gradients.__doc__ = Residuals.clipped_gradients.__doc__

    def public_gradient(self, theta):
        w = theta[:-1]
        pull = (self.weight_shape + 0.5 * len(w)) / (self.weight_rate + 0.5 * float(w @ w))
        return np.append(-pull * w, self.noise_gradient(theta))

    def public_log_density(self, theta):
        w = theta[:-1]
        prior = -(self.weight_shape + 0.5 * len(w)) * math.log(self.weight_rate + 0.5 * float(w @ w))
        return prior + self.noise_log_density(theta)

    def function(self, draws: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The network's function f, (m, k), for draws (m, D) at standardised inputs x (k, d)."""
        inputs = np.column_stack([x, np.ones(len(x))])
        return np.array([self._forward(theta, inputs)[2] for theta in draws])
