"""Exponential families with their conjugate priors: Beta-Bernoulli, Dirichlet-categorical, mean of a Gaussian.

The notation is that of Geumlek, Song & Chaudhuri 2017, section 3.1. The likelihood is p(x | theta) = h(x) exp(S(x) .
theta - A(theta)). Prior and posterior are p(theta | eta) = exp((theta, -A(theta)) . eta - C(eta)), so that rows x_1,
..., x_n turn eta into eta + sum (S(x_i), 1). The last coordinate of eta is its equivalent number of observations. eta
is *normalizable* if the log-partition function C is finite. All divergences are in nats.

=========================  ==================================  ============================  =======================
family                     S(x)                                eta                           usual parameters
=========================  ==================================  ============================  =======================
``beta_bernoulli``         x in {0, 1}                         (a, a + b)                    Beta(a, b)
``dirichlet_categorical``  indicators of categories 0..d-2     (a_0, .., a_{d-2}, sum a)     Dirichlet(a)
``gaussian_mean``          x clipped to [-clip, clip]          (s, k), theta = mean / var    N(s / k, variance / k)
=========================  ==================================  ============================  =======================

Clipping bounds the statistic of ``gaussian_mean``. It is part of the model: the posterior and the guarantee are those
of the clipped rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import betaln, digamma, expit, gammaln, logsumexp, softmax

from models import tiny
from models.kind import Kind
from models.task import Task


class Family(Protocol):
    """A likelihood with its conjugate distributions. ``eta``: (..., k + 1) natural parameters, ``theta``: (..., k)."""

    name: ClassVar[str]

    @property
    def diameter(self) -> float:
        """The largest L2 distance Delta between the statistics of two rows."""

    def statistic(self, x: np.ndarray, *, fractional: bool = False) -> np.ndarray:
        """The statistics S(x) of rows x, (n, k). Raises ValueError for a row outside the support."""

    def project(self, total: np.ndarray, n: int) -> np.ndarray:
        """The nearest point to ``total`` (..., k) that is a possible sum of n statistics."""

    def normalizable(self, eta: np.ndarray) -> np.ndarray:
        """Whether C(eta) is finite. Shape (...)."""

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        """C(eta), or ``inf`` if eta is not normalizable. Shape (...)."""

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """The gradient of C, which is the expectation of (theta, -A(theta)). It has the shape of eta."""

    def sample(self, rng: np.random.Generator, eta: np.ndarray) -> np.ndarray:
        """One draw of theta for each eta, shape (..., k)."""

    def renyi(self, order: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The Renyi divergence of p(theta | p) from p(theta | q) in closed form, order >= 1 (1: Kullback-Leibler)."""

    def kl(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The Kullback-Leibler divergence in closed form."""

    def log_likelihood(self, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        """log p(x_i | theta) of rows x for one theta (k,): (n,), nats."""

    def value(self, theta: np.ndarray) -> np.ndarray:
        """The usual parameter: the probability of a 1 (), the probabilities of the categories (d,), or the mean ()."""


def check_order(order: float) -> float:
    """The order as a float. Raises ValueError unless it is finite and at least 1."""
    if not (math.isfinite(order) and order >= 1):
        raise ValueError(
            f"Renyi order {order}; give a finite number of at least 1 (1 is the Kullback-Leibler divergence)"
        )
    return float(order)


def renyi(law: Family, order: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The Renyi divergence of two members of one family, by Observation 7 of Geumlek et al. 2017.

    It is [C(order p + (1 - order) q) - order C(p)] / (order - 1) + C(q), or ``inf`` if order p + (1 - order) q is not
    normalizable. At order 1 it is the limit C(q) - C(p) - (q - p) . grad C(p). Raises ValueError for an order below 1,
    and if p or q is not normalizable.
    """
    order = check_order(order)
    p, q = _checked_pair(law, p, q)
    if order == 1:
        return law.log_partition(q) - law.log_partition(p) - ((q - p) * law.mean(p)).sum(axis=-1)
    beyond = law.log_partition(order * p + (1 - order) * q)
    return (beyond - order * law.log_partition(p)) / (order - 1) + law.log_partition(q)


def log_gamma_variates(rng: np.random.Generator, shape: np.ndarray) -> np.ndarray:
    """Logarithms of Gamma(shape, 1) draws, which are finite even if the draw itself would underflow.

    G(a) and G(a + 1) U^(1 / a) have the same distribution.
    """
    shape = np.asarray(shape, dtype=np.float64)
    return np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(shape.shape)) / shape


@dataclass(frozen=True)
class DirichletCategorical:
    """A category of ``categories``, with a Dirichlet prior on the probabilities; theta_k = log(p_k / p_last)."""

    categories: int
    name: ClassVar[str] = "dirichlet_categorical"

    @property
    def diameter(self) -> float:
        return 1.0 if self.categories == 2 else math.sqrt(2.0)

    def concentrations(self, eta: np.ndarray) -> np.ndarray:
        """Dirichlet parameters (..., d) of eta (..., d)."""
        eta = np.asarray(eta, dtype=np.float64)
        return np.concatenate([eta[..., :-1], eta[..., -1:] - eta[..., :-1].sum(axis=-1, keepdims=True)], axis=-1)

    def natural(self, concentrations: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`concentrations`."""
        a = np.asarray(concentrations, dtype=np.float64)
        return np.concatenate([a[..., :-1], a.sum(axis=-1, keepdims=True)], axis=-1)

    def statistic(self, x: np.ndarray, *, fractional: bool = False) -> np.ndarray:
        """Rows are category numbers 0 to d - 1, (n, 1), or one-hot, (n, d). ``fractional`` is refused."""
        d = self.categories
        if x.shape[1] == d and not fractional:
            bad = ~(np.isin(x, (0.0, 1.0)).all(axis=1) & (x.sum(axis=1) == 1))
            _refuse(bad, x, f"{self.name}: give one 1 and {d - 1} zeros, or one column with the number of the category")
            return x[:, :-1].copy()
        if x.shape[1] != 1 or fractional:
            raise ValueError(
                f"{self.name}: rows of {x.shape[1]} columns; give one column with category numbers 0 to {d - 1}, or "
                f"{d} one-hot columns"
            )
        _refuse(~np.isin(x[:, 0], np.arange(d)), x, f"{self.name}: give whole category numbers from 0 to {d - 1}")
        return (x == np.arange(d - 1)).astype(np.float64)

    def project(self, total: np.ndarray, n: int) -> np.ndarray:
        """The nearest point of {t >= 0, sum t <= n}, (..., k), by projection on a simplex (Held et al. 1974)."""
        total = np.asarray(total, dtype=np.float64)
        positive = np.maximum(total, 0.0)
        u = -np.sort(-total, axis=-1)
        excess = (np.cumsum(u, axis=-1) - n) / np.arange(1, u.shape[-1] + 1)
        last = np.maximum((u > excess).sum(axis=-1, keepdims=True) - 1, 0)
        on_face = np.maximum(total - np.take_along_axis(excess, last, axis=-1), 0.0)
        return np.where(positive.sum(axis=-1, keepdims=True) <= n, positive, on_face)

    def normalizable(self, eta: np.ndarray) -> np.ndarray:
        a = self.concentrations(eta)
        return (np.isfinite(a) & (a > 0)).all(axis=-1)

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return self._log_beta(self.concentrations(eta))

    def mean(self, eta: np.ndarray) -> np.ndarray:
        a = self.concentrations(eta)
        first = digamma(a[..., :-1]) - digamma(a[..., -1:])
        return np.concatenate([first, digamma(a[..., -1:]) - digamma(a.sum(axis=-1, keepdims=True))], axis=-1)

    def sample(self, rng: np.random.Generator, eta: np.ndarray) -> np.ndarray:
        g = log_gamma_variates(rng, self.concentrations(eta))
        return g[..., :-1] - g[..., -1:]

    def renyi(self, order: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The Renyi divergence of Dirichlet(a) from Dirichlet(c), with B the multivariate Beta function.

        It is [ln B(order a + (1 - order) c) - order ln B(a)] / (order - 1) + ln B(c). The absolute error is about
        1e-15 |ln B| / (order - 1). ``methods/_shared/exponential_family/guarantee.py`` treats small divergences.
        """
        order = check_order(order)
        a, c = map(self.concentrations, _checked_pair(self, p, q))
        if order == 1:
            return self.kl(p, q)
        beyond = self._log_beta(order * a + (1 - order) * c)
        return (beyond - order * self._log_beta(a)) / (order - 1) + self._log_beta(c)

    def kl(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        a, c = map(self.concentrations, _checked_pair(self, p, q))
        slope = digamma(a) - digamma(a.sum(axis=-1, keepdims=True))
        return self._log_beta(c) - self._log_beta(a) + ((a - c) * slope).sum(axis=-1)

    def log_likelihood(self, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._log_likelihood(theta, self.statistic(x))

    def value(self, theta: np.ndarray) -> np.ndarray:
        return softmax(np.concatenate([theta, np.zeros((*theta.shape[:-1], 1))], axis=-1), axis=-1)

    def possible(self, total: np.ndarray, count: float) -> bool:
        """Can ``count`` statistics add up to ``total``?"""
        return bool((total >= 0).all() and total.sum() <= count)

    @staticmethod
    def _log_likelihood(theta: np.ndarray, statistic: np.ndarray) -> np.ndarray:
        return statistic @ theta - logsumexp(np.append(theta, 0.0))

    @staticmethod
    def _log_beta(a: np.ndarray) -> np.ndarray:
        good = (np.isfinite(a) & (a > 0)).all(axis=-1)
        a = np.where(good[..., None], a, 1.0)
        two = a.shape[-1] == 2
        value = betaln(a[..., 0], a[..., 1]) if two else gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1))
        return np.where(good, value, math.inf)[()]


@dataclass(frozen=True)
class BetaBernoulli(DirichletCategorical):
    """A trial that is 0 or 1, with a Beta prior on the probability of a 1; theta is its logit."""

    categories: int = 2
    name: ClassVar[str] = "beta_bernoulli"

    def statistic(self, x: np.ndarray, *, fractional: bool = False) -> np.ndarray:
        """The statistics of one column of 0 and 1. ``fractional`` allows numbers in [0, 1], as of section 3.4."""
        if x.shape[1] != 1:
            raise ValueError(f"{self.name}: rows of {x.shape[1]} columns; give one column")
        if fractional:
            _refuse(~((x[:, 0] >= 0) & (x[:, 0] <= 1)), x, f"{self.name}: a query has values in [0, 1]; rescale it")
        else:
            _refuse(~np.isin(x[:, 0], (0.0, 1.0)), x, f"{self.name}: a trial is 0 or 1; number the two outcomes so")
        return x.copy()

    def log_likelihood(self, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        """x log rho + (1 - x) log(1 - rho). For x between 0 and 1 it is a cross-entropy."""
        return self._log_likelihood(theta, self.statistic(x, fractional=True))

    def value(self, theta: np.ndarray) -> np.ndarray:
        return expit(theta[..., 0])


@dataclass(frozen=True)
class GaussianMean:
    """N(mean, variance) with known variance and a Gaussian prior on the mean. Rows are clipped to [-clip, clip]."""

    variance: float
    clip: float
    name: ClassVar[str] = "gaussian_mean"

    @property
    def diameter(self) -> float:
        return 2.0 * self.clip

    def statistic(self, x: np.ndarray, *, fractional: bool = False) -> np.ndarray:
        """The clipped numbers of one column."""
        if x.shape[1] != 1 or fractional:
            raise ValueError(f"{self.name}: rows of {x.shape[1]} columns; give one column of numbers")
        return np.clip(x, -self.clip, self.clip)

    def project(self, total: np.ndarray, n: int) -> np.ndarray:
        return np.clip(total, -n * self.clip, n * self.clip)

    def normalizable(self, eta: np.ndarray) -> np.ndarray:
        eta = np.asarray(eta, dtype=np.float64)
        return np.isfinite(eta).all(axis=-1) & (eta[..., 1] > 0)

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        eta = np.asarray(eta, dtype=np.float64)
        good = self.normalizable(eta)
        precision = self.variance * np.where(good, eta[..., 1], 1.0)
        value = eta[..., 0] ** 2 / (2 * precision) + 0.5 * np.log(2 * math.pi / precision)
        return np.where(good, value, math.inf)[()]

    def mean(self, eta: np.ndarray) -> np.ndarray:
        centre, variance = self._moments(eta)
        return np.stack([centre, -0.5 * self.variance * (centre**2 + variance)], axis=-1)

    def sample(self, rng: np.random.Generator, eta: np.ndarray) -> np.ndarray:
        centre, variance = self._moments(eta)
        return (centre + np.sqrt(variance) * rng.standard_normal(np.shape(centre)))[..., None]

    def renyi(self, order: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The Renyi divergence of N(m1, s1^2) from N(m2, s2^2).

        It is ln(s2 / s1) + ln(s2^2 / v) / (2 (order - 1)) + order (m1 - m2)^2 / (2 v) with v = order s2^2 + (1 - order)
        s1^2, or ``inf`` if v <= 0.
        """
        order = check_order(order)
        if order == 1:
            return self.kl(p, q)
        (m1, v1), (m2, v2) = (self._moments(eta) for eta in _checked_pair(self, p, q))
        v = order * v2 + (1 - order) * v1
        good = v > 0
        v = np.where(good, v, 1.0)
        value = 0.5 * np.log(v2 / v1) + np.log(v2 / v) / (2 * (order - 1)) + order * (m1 - m2) ** 2 / (2 * v)
        return np.where(good, value, math.inf)[()]

    def kl(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        (m1, v1), (m2, v2) = (self._moments(eta) for eta in _checked_pair(self, p, q))
        return 0.5 * (np.log(v2 / v1) + v1 / v2 - 1 + (m1 - m2) ** 2 / v2)

    def log_likelihood(self, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        """log N(x_i; mean, variance) of the rows without clipping, for scores."""
        return -0.5 * ((x[:, 0] - self.value(theta)) ** 2 / self.variance + math.log(2 * math.pi * self.variance))

    def value(self, theta: np.ndarray) -> np.ndarray:
        return self.variance * theta[..., 0]

    def possible(self, total: np.ndarray, count: float) -> bool:
        """Can ``count`` statistics add up to ``total``?"""
        return bool((np.abs(total) <= count * self.clip).all())

    def _moments(self, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of theta."""
        eta = np.asarray(eta, dtype=np.float64)
        precision = self.variance * eta[..., 1]
        return eta[..., 0] / precision, 1.0 / precision


#: name of a family -> its class; the archive of a ParameterSample stores a family as its position here.
FAMILIES = {c.name: c for c in (BetaBernoulli, DirichletCategorical, GaussianMean)}


@dataclass(frozen=True)
class ExponentialFamily:
    """A family with a conjugate prior. All its fields are public.

    Parameters
    ----------
    family : "beta_bernoulli", "dirichlet_categorical" or "gaussian_mean".
    prior : the natural parameters eta0 (see the module): (6, 18) is Beta(6, 12). For gaussian_mean it is (mean k, k)
        with k = precision x variance, the equivalent number of observations of the prior.
    public : sum of (S(x), 1) over public rows, which is added to the prior (Geumlek, Song & Chaudhuri 2017, section
        3.3). Empty if there are none. :meth:`with_public_rows` adds rows.
    variance : variance of one observation of gaussian_mean, in data units squared.
    clip : bound of |x| of gaussian_mean, in data units.
    """

    family: str
    prior: tuple[float, ...]
    public: tuple[float, ...] = ()
    variance: float | None = None
    clip: float | None = None
    kind: str = "exponential_family"

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"exponential_family: family = '{self.family}'; give one of {', '.join(FAMILIES)}")
        for key in ("prior", "public"):
            object.__setattr__(self, key, tuple(float(v) for v in getattr(self, key)))
        for key in ("variance", "clip"):
            value = getattr(self, key)
            if (value is not None) != (self.family == "gaussian_mean"):
                raise ValueError(f"exponential_family: {key} = {value} for {self.family}; gaussian_mean alone has one")
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"exponential_family: {key} = {value}; give a finite number above 0")
        wanted = max(2, len(self.prior)) if self.family == "dirichlet_categorical" else 2
        if len(self.prior) != wanted or len(self.public) not in (0, wanted):
            raise ValueError(
                f"exponential_family: prior has {len(self.prior)} and public {len(self.public)} numbers; "
                f"{self.family} has {wanted} natural parameters (public may be empty)"
            )
        if self.public and not self.law.possible(np.array(self.public[:-1]), self.public[-1]):
            raise ValueError(
                f"exponential_family: public = {self.public} is not the sum of (S(x), 1) over rows; with_public_rows "
                "makes it"
            )
        if not self.law.normalizable(self.natural):
            raise ValueError(
                f"exponential_family: prior = {self.prior} is not normalizable for {self.family}"
                + (f", nor with public = {self.public}" if self.public else "")
                + "; every Beta or Dirichlet parameter and every precision must be above 0 (natural parameters of Beta("
                "a, b): [a, a + b])"
            )

    @property
    def law(self) -> Family:
        """The family itself."""
        if self.family == "beta_bernoulli":
            return BetaBernoulli()
        if self.family == "gaussian_mean":
            return GaussianMean(self.variance, self.clip)
        return DirichletCategorical(len(self.prior))

    @property
    def natural(self) -> np.ndarray:
        """The natural parameters of the prior, with the public rows added."""
        return np.array(self.prior) + (np.array(self.public) if self.public else 0.0)

    def with_public_rows(self, x: np.ndarray) -> ExponentialFamily:
        """The model with public rows x (n, ...) added to its prior. They must not be among the private rows."""
        total = self.law.statistic(np.asarray(x, dtype=np.float64)).sum(axis=0)
        before = np.array(self.public) if self.public else 0.0
        return replace(self, public=tuple(np.append(total, float(len(x))) + before))

    @classmethod
    def beta_bernoulli(cls, a: float, b: float) -> ExponentialFamily:
        """The model with prior Beta(a, b)."""
        return cls("beta_bernoulli", (a, a + b))

    @classmethod
    def dirichlet_categorical(cls, concentrations: Sequence[float]) -> ExponentialFamily:
        """The model with prior Dirichlet(concentrations)."""
        return cls("dirichlet_categorical", tuple(DirichletCategorical(len(concentrations)).natural(concentrations)))

    @classmethod
    def gaussian_mean(cls, mean: float, precision: float, variance: float, clip: float) -> ExponentialFamily:
        """The model with prior N(mean, 1 / precision) on the mean of a Gaussian with known ``variance``."""
        worth = precision * variance
        return cls("gaussian_mean", (mean * worth, worth), variance=variance, clip=clip)


@dataclass(frozen=True)
class ParameterSample:
    """One released draw of the natural parameter, ``theta`` (k,): a single value, not a posterior."""

    theta: np.ndarray
    law: Family
    kind: str = "parameter_sample"

    @property
    def value(self) -> np.ndarray:
        """The usual parameter (see :class:`Family`)."""
        return self.law.value(self.theta)

    def parameters(self) -> dict[str, np.ndarray]:
        constants = [self.law.variance, self.law.clip] if self.law.name == "gaussian_mean" else []
        family = np.int64(list(FAMILIES).index(self.law.name))
        return {"theta": self.theta, "family": family, "constants": np.array(constants, dtype=np.float64)}

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """log p(x_i | theta) of rows x, shape (n,), nats. Raises ValueError for a row outside the support."""
        return self.law.log_likelihood(self.theta, np.asarray(x, dtype=np.float64))

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """The same as :meth:`log_density`, under the name that all posteriors have."""
        return self.log_density(x)


def statistic_of(task: Task, *, fractional: bool = False) -> np.ndarray:
    """The statistics S(x) of the training rows, (n, k), after checks.

    Raises ValueError for a task without rows, for a number of rows that differs from the public one, for which the
    guarantee holds, and for a row outside the support, which is never clipped silently.
    """
    if task.n < 1 or task.public.n < 1:
        raise ValueError(f"{task.name}: an exponential family needs at least 1 training row, got {task.n}")
    if task.n != task.public.n:
        raise ValueError(
            f"{task.name}: {task.n} training rows, and the public number of rows is {task.public.n}; under replacement "
            "of one row they are equal"
        )
    try:
        return task.model.law.statistic(task.x, fractional=fractional)
    except ValueError as error:
        raise ValueError(f"{task.name}: {error}") from None


def load(kind: str, p: dict[str, np.ndarray]) -> ParameterSample:
    """Rebuild the sample from its parameters. Raises KeyError for another kind."""
    if kind != "parameter_sample":
        raise KeyError(f"models/exponential_family.py holds parameter_sample, not '{kind}'")
    name = list(FAMILIES)[int(p["family"])]
    if name == "gaussian_mean":
        law = GaussianMean(*map(float, p["constants"]))
    else:
        law = BetaBernoulli() if name == "beta_bernoulli" else DirichletCategorical(len(p["theta"]) + 1)
    return ParameterSample(p["theta"], law)


def _checked_pair(law: Family, p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if not (np.all(law.normalizable(p)) and np.all(law.normalizable(q))):
        raise ValueError(f"{law.name}: a divergence needs two normalizable natural parameters")
    return p, q


def _refuse(bad: np.ndarray, x: np.ndarray, remedy: str) -> None:
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"row {row} is {', '.join(f'{v:g}' for v in x[row])}; {remedy}")


KIND = Kind(
    name="exponential_family",
    model=ExponentialFamily,
    posteriors=(ParameterSample,),
    target="density",
    scorer="evaluation.scorers:heldout_rows",
    tiny={
        "exponential_family": partial(tiny.density, ExponentialFamily.gaussian_mean(0.0, 1.0, 1.0, 1.0), columns=1),
        "bernoulli_trials": partial(tiny.trials, ExponentialFamily.beta_bernoulli(6, 12), 2),
        "categorical_trials": partial(tiny.trials, ExponentialFamily.dirichlet_categorical((3, 4, 5)), 3),
    },
    # these families refuse a row outside their support; a Gaussian takes any number
    unaudited=("bernoulli_trials", "categorical_trials"),
)
