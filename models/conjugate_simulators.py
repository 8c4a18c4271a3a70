"""Three conjugate families that simulate their own data, in unconstrained parameters: the models of NA-DPVI's table 1.

==================== ========================================== ==================================== ===============
family               prior (default)                            likelihood                           theta
==================== ========================================== ==================================== ===============
gamma_exponential    lambda ~ Gamma(shape 8, rate 2)            x ~ Exp(rate lambda)                 log(e^lambda - 1)
beta_bernoulli       p ~ Beta(10, 10)                           x ~ Bernoulli(p)                     logit p
dirichlet_categorical p ~ Dirichlet(5, 5, 5)                    x in {0, 1, 2} ~ Categorical(p)      log(p_j / p_3)
==================== ========================================== ==================================== ===============

Source: Alrawajfeh, Jalko & Honkela 2025, exponential families experiment, as their code has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, gammaln, log_expit, log_softmax, softmax

from models import tiny
from models.kind import Kind
from models.unconstrained import Likelihood, Samples, indicators, inverse_softplus, load_likelihood, softplus, with_zero

#: family -> (likelihood, default prior parameters)
FAMILIES = {
    "gamma_exponential": ("exponential", (8.0, 2.0)),
    "beta_bernoulli": ("bernoulli", (10.0, 10.0)),
    "dirichlet_categorical": ("categorical", (5.0, 5.0, 5.0)),
}


@dataclass(frozen=True)
class ConjugateSimulator:
    """A conjugate model of one column of data. All its fields are public.

    Parameters
    ----------
    family : one of ``FAMILIES``.
    prior : (shape, rate), (a, b) or (alpha_1, ..., alpha_K); empty for the default of the family.
    """

    family: str
    prior: tuple[float, ...] = ()
    kind: str = "conjugate_simulator"

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(f"conjugate_simulator: family = '{self.family}'; give one of {', '.join(FAMILIES)}")
        prior = tuple(float(v) for v in (self.prior or FAMILIES[self.family][1]))
        many = len(prior) >= 2 if self.family == "dirichlet_categorical" else len(prior) == 2
        if not many or not all(math.isfinite(v) and v > 0 for v in prior):
            raise ValueError(
                f"conjugate_simulator: prior = {prior} of {self.family}; give {'2 or more' if not many else 'finite'} "
                "numbers above 0"
            )
        object.__setattr__(self, "prior", prior)

    def dimension(self, inputs: int = 1) -> int:
        """The dimension D of theta. Raises ValueError unless the data have one column."""
        if inputs != 1:
            raise ValueError(f"conjugate_simulator: the rows have {inputs} columns; {self.family} has one")
        return len(self.prior) - 1 if self.family == "dirichlet_categorical" else 1

    @property
    def likelihood(self) -> Likelihood:
        return Likelihood(FAMILIES[self.family][0])

    def log_prior(self, theta: np.ndarray) -> np.ndarray:
        """The log prior density of theta (K, D), with the Jacobian of the transformation: (K,), nats."""
        p = self.prior
        if self.family == "gamma_exponential":
            rate = softplus(theta[:, 0])
            constant = p[0] * math.log(p[1]) - gammaln(p[0])
            return constant + (p[0] - 1) * np.log(rate) - p[1] * rate + log_expit(theta[:, 0])
        if self.family == "beta_bernoulli":
            constant = gammaln(p[0] + p[1]) - gammaln(p[0]) - gammaln(p[1])
            return constant + p[0] * log_expit(theta[:, 0]) + p[1] * log_expit(-theta[:, 0])
        a = np.array(p)
        return gammaln(a.sum()) - gammaln(a).sum() + log_softmax(with_zero(theta), axis=1) @ a

    def prior_gradient(self, theta: np.ndarray) -> np.ndarray:
        """The gradient of -log_prior, (K, D)."""
        p = self.prior
        if self.family == "gamma_exponential":
            d = expit(theta)
            return -((p[0] - 1) * d / softplus(theta) - p[1] * d + 1 - d)
        if self.family == "beta_bernoulli":
            return -(p[0] * expit(-theta) - p[1] * expit(theta))
        a = np.array(p)
        return a.sum() * softmax(with_zero(theta), axis=1)[:, :-1] - a[:-1]

    def sample_prior(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n draws of theta from the prior, (n, D)."""
        return self.to_unconstrained(_draw(self.family, np.array(self.prior), n, rng))

    def to_unconstrained(self, natural: np.ndarray) -> np.ndarray:
        """Map lambda (n,), p (n,) or p (n, K) to theta (n, D)."""
        return _to_unconstrained(self.family, natural)

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n rows (n, 1) from the likelihood at theta (D,)."""
        if self.family == "gamma_exponential":
            return rng.exponential(1.0 / softplus(theta[0]), (n, 1))
        p = np.array([1 - expit(theta[0]), expit(theta[0])])
        if self.family == "dirichlet_categorical":
            p = softmax(np.append(theta, 0.0))
        return rng.choice(len(p), size=(n, 1), p=p).astype(np.float64)

    def exact_posterior(self, x: np.ndarray) -> ConjugatePosterior:
        """The conjugate posterior given rows x (n, 1).

        Raises ValueError for a row outside the support, where the conjugate update has no meaning.
        """
        self.dimension(x.shape[1])
        good = x[:, 0] >= 0
        if self.family != "gamma_exponential":
            good &= (x[:, 0] < max(2, len(self.prior))) & (x[:, 0] == np.floor(x[:, 0]))
        if not good.all():
            row = int(np.argmin(good))
            raise ValueError(f"{self.family}: x = {x[row, 0]:g} in row {row} is outside the support; correct that row")
        a = np.array(self.prior)
        if self.family == "gamma_exponential":
            update = np.array([len(x), x.sum()])
        elif self.family == "beta_bernoulli":
            update = np.array([x.sum(), len(x) - x.sum()])
        else:
            update = indicators(x, len(a)).sum(axis=0)
        return ConjugatePosterior(self.family, a + update)


def _draw(family: str, parameters: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    if family == "gamma_exponential":
        return rng.gamma(parameters[0], 1.0 / parameters[1], n)
    if family == "beta_bernoulli":
        return rng.beta(parameters[0], parameters[1], n)
    return rng.dirichlet(parameters, n)


def _to_unconstrained(family: str, natural: np.ndarray) -> np.ndarray:
    natural = np.asarray(natural, dtype=np.float64)
    if family == "gamma_exponential":
        return inverse_softplus(natural)[:, None]
    if family == "beta_bernoulli":
        return (np.log(natural) - np.log1p(-natural))[:, None]
    return np.log(natural[:, :-1]) - np.log(natural[:, -1:])


@dataclass(frozen=True)
class ConjugatePosterior(Samples):
    """The exact posterior, given by the family and its conjugate parameters ``natural`` of shape (2,) or (K,)."""

    family: str
    natural: np.ndarray
    kind: str = "conjugate_posterior"

    @property
    def likelihood(self) -> Likelihood:
        return Likelihood(FAMILIES[self.family][0])

    def parameters(self) -> dict[str, np.ndarray]:
        return {"natural": self.natural, **self.likelihood.parameters()}

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws of theta, (n, D)."""
        return _to_unconstrained(self.family, _draw(self.family, self.natural, n, rng))


def load(kind: str, p: dict[str, np.ndarray]) -> ConjugatePosterior:
    """Rebuild the posterior from its parameters. Raises KeyError for another kind."""
    if kind != "conjugate_posterior":
        raise KeyError(f"models/conjugate_simulators.py holds conjugate_posterior, not '{kind}'")
    name = load_likelihood(p).name
    family = next(f for f, (likelihood, _) in FAMILIES.items() if likelihood == name)
    return ConjugatePosterior(family, p["natural"])


KIND = Kind(
    name="conjugate_simulator",
    model=ConjugateSimulator,
    posteriors=(ConjugatePosterior,),
    target="density",
    draws="evaluation.drawn:fractions",
    scorer="evaluation.scorers:fraction_nearer",
    tiny={
        "conjugate_simulator": partial(tiny.simulated, ConjugateSimulator("beta_bernoulli")),
        "gamma_simulator": partial(tiny.simulated, ConjugateSimulator("gamma_exponential")),
        "dirichlet_simulator": partial(tiny.simulated, ConjugateSimulator("dirichlet_categorical")),
    },
)
