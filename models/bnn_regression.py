"""Bayesian neural network for regression: one hidden layer of rectified linear units, a bias in every layer.

y | x, W, gamma ~ N(f_W(x), 1/gamma), w ~ N(0, 1/lambda) i.i.d., gamma ~ Gam(6, 6) and lambda ~ Gam(6, 6) by shape and
rate. Every pre-activation is divided by sqrt(fan-in), where fan-in counts the bias (Hernandez-Lobato & Adams 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import erfc

from models import tiny
from models.kind import Kind
from models.predictive import GaussianPredictive, MixturePredictive
from models.standardise import Standardiser


@dataclass(frozen=True)
class BNNRegression:
    """The model: one hidden layer of ``hidden`` ReLU units, Gamma(shape, rate) priors on noise and weight precision."""

    hidden: int
    noise_shape: float = 6.0
    noise_rate: float = 6.0
    weight_shape: float = 6.0
    weight_rate: float = 6.0
    kind: str = "bnn_regression"

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"bnn_regression: hidden = {self.hidden}; give a whole number of units, at least 1")


def relu_moments(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and variance of z = max(0, a) for a ~ N(m, v), elementwise, with m = ``mean`` and v = ``variance``.

    In closed form, with s = sqrt(v) and Phi and phi taken at m / s,

        E[z] = m Phi + s phi,   E[z^2] = (m^2 + v) Phi + m s phi.

    Phi is computed by erfc, which is accurate in the tail. The variance is at least 0, against cancellation far in the
    negative tail.
    """
    sd = np.sqrt(variance)
    alpha = mean / sd
    cdf = 0.5 * erfc(-alpha / np.sqrt(2.0))
    pdf = np.exp(-0.5 * alpha**2) / np.sqrt(2 * np.pi)
    first = np.maximum(mean * cdf + sd * pdf, 0.0)
    second = (mean**2 + variance) * cdf + mean * sd * pdf
    return first, np.maximum(second - first**2, 0.0)


@dataclass(frozen=True)
class NetworkMoments:
    """The posterior with N(m, v) per weight and Gamma(a, b) on the noise precision. Predictions propagate moments.

    The propagation is that of probabilistic backpropagation (PBP). ``m1, v1``: (hidden, d + 1) and ``m2, v2``:
    (hidden + 1,), bias last. The predictive noise variance is b / (a - 1) in standardised units.
    """

    m1: np.ndarray
    v1: np.ndarray
    m2: np.ndarray
    v2: np.ndarray
    noise_shape: float
    noise_rate: float
    scale: Standardiser
    kind: str = "network_moments"

    def parameters(self) -> dict[str, np.ndarray]:
        return {
            "m1": self.m1,
            "v1": self.v1,
            "m2": self.m2,
            "v2": self.v2,
            "noise_shape": np.float64(self.noise_shape),
            "noise_rate": np.float64(self.noise_rate),
            **self.scale.parameters(),
        }

    def moments(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance, without noise, of the output in standardised units, for x in original units."""
        x1 = np.column_stack([self.scale.x(x), np.ones(len(x))])
        n1, n2 = x1.shape[1], len(self.m2)
        z, zv = relu_moments(x1 @ self.m1.T / np.sqrt(n1), x1**2 @ self.v1.T / n1)
        z = np.column_stack([z, np.ones(len(x))])
        zv = np.column_stack([zv, np.zeros(len(x))])
        mean = z @ self.m2 / np.sqrt(n2)
        variance = (zv @ (self.v2 + self.m2**2) + z**2 @ self.v2) / n2
        return mean, variance

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> GaussianPredictive:
        mean, variance = self.moments(x)
        noise = self.noise_rate / (self.noise_shape - 1.0)
        s = self.scale
        return GaussianPredictive(mean * s.y_scale + s.y_shift, (variance + noise) * s.y_scale**2)


@dataclass(frozen=True)
class NetworkMonteCarlo:
    """The posterior with N(m, v) per weight and a fixed noise precision. Predictions are by Monte Carlo.

    Nothing is divided by sqrt(fan-in), and the bias is FIRST: f(x) = w1 . [1; relu(W0 [1; x])], as in the variational
    scripts of DP-SEP. ``m1, v1``: (hidden, d + 1); ``m2, v2``: (hidden + 1,). ``draws`` samples of each layer give
    draws x draws pairs.
    """

    m1: np.ndarray
    v1: np.ndarray
    m2: np.ndarray
    v2: np.ndarray
    noise_precision: float
    draws: int
    scale: Standardiser
    kind: str = "network_monte_carlo"

    def parameters(self) -> dict[str, np.ndarray]:
        return {
            "m1": self.m1,
            "v1": self.v1,
            "m2": self.m2,
            "v2": self.v2,
            "noise_precision": np.float64(self.noise_precision),
            "draws": np.int64(self.draws),
            **self.scale.parameters(),
        }

    def predictive(self, x: np.ndarray, rng: np.random.Generator) -> GaussianPredictive:
        """A Gaussian with the mean and the unbiased variance of the draws^2 predictions, plus the noise variance."""
        x1 = np.column_stack([np.ones(len(x)), self.scale.x(x)])
        w0 = self.m1 + np.sqrt(self.v1) * rng.standard_normal((self.draws, *self.m1.shape))
        w1 = self.m2 + np.sqrt(self.v2) * rng.standard_normal((self.draws, len(self.m2)))
        total = np.zeros(len(x))
        square = np.zeros(len(x))
        first = None
        for w in w0:
            out = np.maximum(x1 @ w.T, 0.0) @ w1[:, 1:].T + w1[:, 0]  # (n, draws)
            if first is None:
                first = out[:, :1]  # shift against cancellation in the variance
            total += (out - first).sum(axis=1)
            square += ((out - first) ** 2).sum(axis=1)
        k = self.draws**2
        mean = total / k
        variance = np.maximum(square - k * mean**2, 0.0) / max(k - 1, 1)
        s = self.scale
        return GaussianPredictive(
            (mean + first[:, 0]) * s.y_scale + s.y_shift, (variance + 1.0 / self.noise_precision) * s.y_scale**2
        )


@dataclass(frozen=True)
class NetworkEnsemble:
    """S networks of equal weight (an ensemble, or draws of a sampler), each with its own noise variance.

    ``w1`` is (S, hidden, d + 1) and ``w2`` is (S, hidden + 1), bias last. ``noise`` (S,) has variances in standardised
    units. Pre-activations are divided by sqrt(fan-in) as in the model.
    """

    w1: np.ndarray
    w2: np.ndarray
    noise: np.ndarray
    scale: Standardiser
    kind: str = "network_ensemble"

    def parameters(self) -> dict[str, np.ndarray]:
        return {"w1": self.w1, "w2": self.w2, "noise": self.noise, **self.scale.parameters()}

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> MixturePredictive:
        x1 = np.column_stack([self.scale.x(x), np.ones(len(x))])
        n1, n2 = self.w1.shape[2], self.w2.shape[1]
        means = np.empty((len(self.w1), len(x)))
        for s, (w1, w2) in enumerate(zip(self.w1, self.w2, strict=True)):
            means[s] = (np.maximum(x1 @ w1.T / np.sqrt(n1), 0.0) @ w2[:-1] + w2[-1]) / np.sqrt(n2)
        sc = self.scale
        variances = np.repeat(self.noise[:, None] * sc.y_scale**2, len(x), axis=1)
        return MixturePredictive(means * sc.y_scale + sc.y_shift, variances)


def load(kind: str, p: dict[str, np.ndarray]):
    """Rebuild one of this file's posteriors from its parameters."""
    scale = Standardiser.load(p)
    if kind == "network_moments":
        return NetworkMoments(
            p["m1"], p["v1"], p["m2"], p["v2"], float(p["noise_shape"]), float(p["noise_rate"]), scale
        )
    if kind == "network_monte_carlo":
        return NetworkMonteCarlo(
            p["m1"], p["v1"], p["m2"], p["v2"], float(p["noise_precision"]), int(p["draws"]), scale
        )
    return NetworkEnsemble(p["w1"], p["w2"], p["noise"], scale)


KIND = Kind(
    name="bnn_regression",
    model=BNNRegression,
    posteriors=(NetworkMoments, NetworkMonteCarlo, NetworkEnsemble),
    scorer="evaluation.scorers:regression",
    diagnostics=False,
    references=("sep", "vi"),
    tiny={"bnn_regression": partial(tiny.regression, BNNRegression(3))},
)
