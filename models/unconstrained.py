"""Models with one vector of unconstrained parameters theta in R^D: likelihoods, posteriors and their predictions.

``models/conjugate_simulators.py``, ``models/linear_regression_unknown_noise.py`` and
``models/logistic_regression_normal_prior.py`` add priors. Coverage is measured in theta (Alrawajfeh, Jalko & Honkela
2025), so every posterior here can ``sample`` theta.

===========  ============================================  ==================================================
likelihood   one row                                       theta
===========  ============================================  ==================================================
exponential  x ~ Exp(rate lambda)                          log(exp(lambda) - 1), D = 1
bernoulli    x ~ Bernoulli(p)                              logit p, D = 1
categorical  x in {0, ..., D} ~ Categorical(p)             log(p_j / p_D), j < D
linear       y ~ N(w . [x, 1], v)                          (w, log(exp(v) - 1)), D = inputs + 2
logistic     y ~ Bernoulli(sigmoid(w . [scaled x, 1]))     w, D = inputs + 1
===========  ============================================  ==================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

NAMES = ("exponential", "bernoulli", "categorical", "linear", "logistic")
#: number of posterior draws per prediction.
PREDICTIVE_DRAWS = 1000
#: largest number of values that a prediction keeps in memory at a time (32 MB).
_AT_ONCE = 4_000_000


def softplus(x: np.ndarray) -> np.ndarray:
    """log(1 + exp(x))."""
    return np.logaddexp(0.0, x)


def inverse_softplus(x: np.ndarray) -> np.ndarray:
    """log(exp(x) - 1) for x > 0."""
    x = np.asarray(x, dtype=np.float64)
    return x + np.log(-np.expm1(-x))


@dataclass(frozen=True)
class Likelihood:
    """The likelihood p(row | theta) of one name of ``NAMES``, and for ``logistic`` the scaling of its inputs.

    ``shift``, ``scale``: (k,). The first k inputs become (x - shift) / scale. With ``own_moments``, predicted rows are
    instead standardised by their own moments, as the authors' code does with test rows.
    """

    name: str
    shift: np.ndarray = field(default_factory=lambda: np.empty(0))
    scale: np.ndarray = field(default_factory=lambda: np.empty(0))
    own_moments: bool = False

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"likelihood '{self.name}' is unknown; there are {', '.join(NAMES)}")

    def design(self, x: np.ndarray, own: bool = False) -> np.ndarray:
        """The rows that the likelihood reads. Regressions get scaled inputs and a column of ones."""
        x = np.asarray(x, dtype=np.float64)
        if self.name not in ("linear", "logistic"):
            return x
        out = np.column_stack([x, np.ones(len(x))])
        k = len(self.shift)
        if k and own and self.own_moments:
            shift, scale = moments(x[:, :k])
            out[:, :k] = (x[:, :k] - shift) / scale
        elif k:
            out[:, :k] = (x[:, :k] - self.shift) / self.scale
        return out

    def log_density(self, theta: np.ndarray, design: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        """log p(row | theta), (K, n), nats, for theta (K, D), the :meth:`design` of n rows, and any targets y (n,)."""
        if self.name == "exponential":
            rate = softplus(theta)  # (K, 1)
            return np.log(rate) - rate * design[:, 0]
        if self.name == "bernoulli":
            return design[:, 0] * log_expit(theta) + (1.0 - design[:, 0]) * log_expit(-theta)
        if self.name == "categorical":
            return log_softmax(with_zero(theta), axis=1) @ indicators(design, theta.shape[1] + 1).T
        if self.name == "linear":
            v = softplus(theta[:, -1:])
            return -0.5 * (np.log(2 * math.pi * v) + (theta[:, :-1] @ design.T - y) ** 2 / v)
        margins = theta @ design.T
        return y * log_expit(margins) + (1.0 - y) * log_expit(-margins)

    def gradient(self, theta: np.ndarray, design: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        """The gradient of -log p(row | theta) in theta, per row and draw: (n, K, D). See :meth:`log_density`."""
        if self.name == "exponential":
            return (design[:, None] - 1.0 / softplus(theta)) * expit(theta)
        if self.name == "bernoulli":
            return expit(theta) - design[:, None]
        if self.name == "categorical":
            d = theta.shape[1]
            return softmax(with_zero(theta), axis=1)[None, :, :d] - indicators(design, d + 1)[:, None, :d]
        if self.name == "linear":
            v, slope = softplus(theta[:, -1]), expit(theta[:, -1])
            r = design @ theta[:, :-1].T - y[:, None]  # (n, K)
            last = slope * (0.5 / v - 0.5 * (r / v) ** 2)
            return np.concatenate([(r / v)[:, :, None] * design[:, None, :], last[:, :, None]], axis=2)
        return (expit(design @ theta.T) - y[:, None])[:, :, None] * design[:, None, :]

    def parameters(self) -> dict[str, np.ndarray]:
        """Arrays that :func:`load_likelihood` rebuilds this from."""
        p = {"likelihood": np.int64(NAMES.index(self.name))}
        if len(self.shift):
            p |= {"shift": self.shift, "scale": self.scale, "own_moments": np.int64(self.own_moments)}
        return p


def load_likelihood(p: dict[str, np.ndarray]) -> Likelihood:
    """The likelihood of stored parameters."""
    name = NAMES[int(p["likelihood"])]
    if "shift" not in p:
        return Likelihood(name)
    return Likelihood(name, p["shift"], p["scale"], bool(p["own_moments"]))


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (ddof 0; 1 for a constant column) of every column."""
    sd = x.std(axis=0)
    return x.mean(axis=0), np.where(sd > 0, sd, 1.0)


def with_zero(theta: np.ndarray) -> np.ndarray:
    """Append the last log-ratio, which is 0: (K, D) -> (K, D + 1)."""
    return np.concatenate([theta, np.zeros((len(theta), 1))], axis=1)


def indicators(x: np.ndarray, categories: int) -> np.ndarray:
    """Map category numbers (n, 1) to 0 and 1, (n, categories). A row that is not a category has no 1."""
    return (x[:, :1] == np.arange(categories)).astype(np.float64)


# ---------------------------------------------------------------------------------------------------- predictions


@dataclass(frozen=True)
class MonteCarloPredictive:
    """A prediction for the rows ``design``: the likelihood averaged over ``draws`` (K, D) of theta."""

    likelihood: Likelihood
    draws: np.ndarray
    design: np.ndarray

    def _blocks(self):
        step = max(1, _AT_ONCE // len(self.draws))
        return [slice(i, i + step) for i in range(0, len(self.design), step)]

    @property
    def mean(self) -> np.ndarray:
        """P(y = 1) per row (logistic), the mean of y (linear), or the mean of x (other likelihoods)."""
        return self._moment()[0]

    @property
    def variance(self) -> np.ndarray:
        """The variance of the same, between draws and within draws."""
        return self._moment()[1]

    def _moment(self) -> tuple[np.ndarray, np.ndarray]:
        name, theta, n = self.likelihood.name, self.draws, len(self.design)
        if name in ("linear", "logistic"):
            out = np.empty((2, n))
            for rows in self._blocks():
                m = theta[:, : self.design.shape[1]] @ self.design[rows].T
                m = expit(m) if name == "logistic" else m
                within = m * (1 - m) if name == "logistic" else softplus(theta[:, -1:])
                out[:, rows] = m.mean(axis=0), m.var(axis=0) + within.mean(axis=0)
            return out[0], out[1]
        if name == "exponential":
            m = 1.0 / softplus(theta[:, 0])
            within = m**2
        elif name == "bernoulli":
            m = expit(theta[:, 0])
            within = m * (1 - m)
        else:
            p, values = softmax(with_zero(theta), axis=1), np.arange(theta.shape[1] + 1)
            m = p @ values
            within = p @ values**2 - m**2
        return np.full(n, m.mean()), np.full(n, m.var() + within.mean())

    def log_density(self, y: np.ndarray | None = None) -> np.ndarray:
        """The log of the mean over the draws of p(row | theta): (n,), nats. ``y``: (n,) for a regression."""
        out = np.empty(len(self.design))
        for rows in self._blocks():
            block = self.likelihood.log_density(self.draws, self.design[rows], None if y is None else y[rows])
            out[rows] = logsumexp(block, axis=0) - math.log(len(self.draws))
        return out


class Samples:
    """A mix-in that adds predictions to a posterior with a ``likelihood`` and ``sample(n, rng) -> (n, D)``."""

    likelihood: Likelihood

    def predictive(self, x: np.ndarray, rng: np.random.Generator) -> MonteCarloPredictive:
        """The prediction for rows x (n, d) in original units, over ``PREDICTIVE_DRAWS`` draws."""
        return MonteCarloPredictive(
            self.likelihood, self.sample(PREDICTIVE_DRAWS, rng), self.likelihood.design(x, own=True)
        )


@dataclass(frozen=True)
class UnconstrainedGaussian(Samples):
    """The posterior theta ~ N(mean, diag(sd^2)), both (D,)."""

    mean: np.ndarray
    sd: np.ndarray
    likelihood: Likelihood
    kind: str = "unconstrained_gaussian"

    def parameters(self) -> dict[str, np.ndarray]:
        return {"mean": self.mean, "sd": self.sd, **self.likelihood.parameters()}

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws, (n, D)."""
        return self.mean + self.sd * rng.standard_normal((n, len(self.mean)))


@dataclass(frozen=True)
class UnconstrainedDraws(Samples):
    """A posterior given by draws, or by an equal mixture of N(draws_i, diag(sds_i^2)) if there are ``sds``.

    ``draws``, ``sds``: (M, D) float32 or float64. ``centre``: (D,), the point around which references of TARP coverage
    are drawn, or None for the mean of the draws.
    """

    draws: np.ndarray
    likelihood: Likelihood
    sds: np.ndarray | None = None
    centre: np.ndarray | None = None
    kind: str = "unconstrained_draws"

    def parameters(self) -> dict[str, np.ndarray]:
        p = {"draws": self.draws, **self.likelihood.parameters()}
        p |= {} if self.sds is None else {"sds": self.sds}
        return p | ({} if self.centre is None else {"centre": self.centre})

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n draws, (n, D): a stored draw chosen with replacement, plus its Gaussian if there are ``sds``.

        If there are no ``sds`` and n is the number of stored draws, these themselves are returned.
        """
        m = len(self.draws)
        if self.sds is None and n == m:
            return self.draws.astype(np.float64)
        which = rng.integers(m, size=n)
        theta = self.draws[which].astype(np.float64)
        return theta if self.sds is None else theta + self.sds[which] * rng.standard_normal(theta.shape)


def load(kind: str, p: dict[str, np.ndarray]):
    """Rebuild one of this file's posteriors from its parameters. Raises KeyError for another kind."""
    if kind == "unconstrained_gaussian":
        return UnconstrainedGaussian(p["mean"], p["sd"], load_likelihood(p))
    if kind == "unconstrained_draws":
        return UnconstrainedDraws(p["draws"], load_likelihood(p), p.get("sds"), p.get("centre"))
    raise KeyError(f"models/unconstrained.py holds unconstrained_gaussian and unconstrained_draws, not '{kind}'")


#: for several kinds of model (``models.kind``).
POSTERIORS = (UnconstrainedGaussian, UnconstrainedDraws)
