"""State of probabilistic backpropagation: one Gaussian per weight, Gammas on the two precisions, prior factors.

Source: Hernandez-Lobato & Adams 2015, sections 3 and 4, with the initial values of their code. There are H hidden units
and D = d + 1 inputs with the bias LAST. All numbers are in standardised units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.bnn_regression import BNNRegression


@dataclass(frozen=True)
class Naturals:
    """Natural parameters of a Gaussian per weight and of one Gamma, or of a ratio of such factors.

    ``eta1, lam1`` (H, D) are mean naturals m/v and precisions 1/v of layer 1, and ``eta2, lam2`` (H + 1,) those of
    layer 2. ``shape`` is a - 1 and ``rate`` is -b of the Gamma. A product of factors is a sum here, and a power is a
    multiple.
    """

    eta1: np.ndarray
    lam1: np.ndarray
    eta2: np.ndarray
    lam2: np.ndarray
    shape: float
    rate: float

    def __add__(self, other: Naturals) -> Naturals:
        return Naturals(*(p + q for p, q in zip(self.parts(), other.parts(), strict=True)))

    def __sub__(self, other: Naturals) -> Naturals:
        return Naturals(*(p - q for p, q in zip(self.parts(), other.parts(), strict=True)))

    def __mul__(self, k: float) -> Naturals:
        return Naturals(*(k * p for p in self.parts()))

    __rmul__ = __mul__

    def parts(self) -> tuple:
        """The six parts in order."""
        return (self.eta1, self.lam1, self.eta2, self.lam2, self.shape, self.rate)

    def vector(self) -> np.ndarray:
        """All numbers as one vector (2 H D + 2 (H + 1) + 2,): eta1 row by row, lam1, eta2, lam2, a - 1, -b."""
        return np.concatenate([np.ravel(p) for p in self.parts()])

    @classmethod
    def from_vector(cls, v: np.ndarray, hidden: int, inputs: int) -> Naturals:
        """Inverse of :meth:`vector`; ``inputs`` is D, with the bias."""
        n1, n2 = hidden * inputs, hidden + 1
        ends = np.cumsum([n1, n1, n2, n2])
        e1, l1, e2, l2, g = np.split(np.asarray(v, dtype=np.float64), ends)
        return cls(e1.reshape(hidden, inputs), l1.reshape(hidden, inputs), e2, l2, float(g[0]), float(g[1]))

    def norm(self) -> float:
        """Euclidean norm of :meth:`vector`."""
        return float(np.linalg.norm(self.vector()))

    def clipped(self, bound: float) -> Naturals:
        """The vector scaled to norm <= bound; one with a NaN or infinity becomes zero."""
        norm = self.norm()
        if not np.isfinite(norm):
            return Naturals.zeros(*self.eta1.shape)
        return self if norm <= bound else self * (bound / norm)

    def clipped_per_block(self, bound: float) -> Naturals:
        """Each of eta1, lam1, eta2, lam2 scaled separately to Euclidean norm <= bound; the Gamma is unchanged."""
        parts = []
        for part in self.parts()[:4]:
            norm = np.linalg.norm(part)
            parts.append(part * (bound / norm) if norm > bound else part)
        return Naturals(*parts, self.shape, self.rate)

    @classmethod
    def zeros(cls, hidden: int, inputs: int) -> Naturals:
        layer1, layer2 = np.zeros((hidden, inputs)), np.zeros(hidden + 1)
        return cls(layer1, layer1.copy(), layer2, layer2.copy(), 0.0, 0.0)


@dataclass(frozen=True)
class State:
    """q: N(m, v) per weight, Gam(a, b) on the noise precision, Gam(a_w, b_w) on the weight precision.

    ``m1, v1``: (H, D); ``m2, v2``: (H + 1,). Gammas by shape and rate.
    """

    m1: np.ndarray
    v1: np.ndarray
    m2: np.ndarray
    v2: np.ndarray
    a: float
    b: float
    a_w: float = 6.0
    b_w: float = 6.0

    @property
    def hidden(self) -> int:
        return self.m1.shape[0]

    @property
    def inputs(self) -> int:
        """Number of inputs of layer 1, with the bias."""
        return self.m1.shape[1]

    @property
    def weights(self) -> int:
        return self.m1.size + self.m2.size

    def naturals(self) -> Naturals:
        return Naturals(self.m1 / self.v1, 1.0 / self.v1, self.m2 / self.v2, 1.0 / self.v2, self.a - 1.0, -self.b)

    def with_naturals(self, q: Naturals) -> State:
        """The same weight prior with another q."""
        return replace(
            self,
            m1=q.eta1 / q.lam1,
            v1=1.0 / q.lam1,
            m2=q.eta2 / q.lam2,
            v2=1.0 / q.lam2,
            a=q.shape + 1.0,
            b=-q.rate,
        )

    def finite(self) -> bool:
        arrays = (self.m1, self.v1, self.m2, self.v2, np.array([self.a, self.b, self.a_w, self.b_w]))
        return all(bool(np.isfinite(p).all()) for p in arrays)


@dataclass(frozen=True)
class PriorFactor:
    """Natural parameters of the prior's factor, one per weight: Gaussian (eta, lam) and Gamma (shape, rate).

    Suffix 1: (H, D), suffix 2: (H + 1,). ``shape`` is the natural a - 1, ``rate`` the natural -b.
    """

    eta1: np.ndarray
    lam1: np.ndarray
    shape1: np.ndarray
    rate1: np.ndarray
    eta2: np.ndarray
    lam2: np.ndarray
    shape2: np.ndarray
    rate2: np.ndarray

    @classmethod
    def constant(cls, precision1: float, precision2: float, hidden: int, inputs: int) -> PriorFactor:
        """Prior factors with zero means, one precision per layer, and empty Gamma factors."""
        one, two = np.zeros((hidden, inputs)), np.zeros(hidden + 1)
        return cls(one, one + precision1, one.copy(), one.copy(), two, two + precision2, two.copy(), two.copy())

    def naturals(self, noise_shape: float, noise_rate: float) -> Naturals:
        """theta_0: the weights' prior factors and the prior Gam(noise_shape, noise_rate) of the noise precision."""
        return Naturals(self.eta1, self.lam1, self.eta2, self.lam2, noise_shape - 1.0, -noise_rate)


def initial(model: BNNRegression, inputs: int, rng: np.random.Generator) -> tuple[State, PriorFactor]:
    """Initial q and prior factors. ``inputs`` is D, with the bias.

    Means are N(0, 1) / sqrt(fan-in), to break the symmetry, drawn for layer 1 row by row and then for layer 2. All
    variances are E[1 / lambda] = b_w / (a_w - 1). The prior factor is N(0, b_w / (a_w - 1)).
    """
    hidden = model.hidden
    variance = model.weight_rate / (model.weight_shape - 1.0)
    m1 = rng.standard_normal((hidden, inputs)) / np.sqrt(inputs)
    m2 = rng.standard_normal(hidden + 1) / np.sqrt(hidden + 1)
    state = State(
        m1,
        np.full_like(m1, variance),
        m2,
        np.full_like(m2, variance),
        model.noise_shape,
        model.noise_rate,
        model.weight_shape,
        model.weight_rate,
    )
    return state, PriorFactor.constant(1.0 / variance, 1.0 / variance, hidden, inputs)


def with_bias(x: np.ndarray) -> np.ndarray:
    """Inputs (N, d) with a last column of ones: (N, d + 1)."""
    return np.column_stack([x, np.ones(len(x))])
