"""Mixture of isotropic Gaussians with known weights and known noise: the model of the clustering experiments.

h_n is uniform over J components, x_n | h_n = j ~ N(mu_j, noise_sd^2 I), and mu_j ~ N(m_j, prior_variance I).

The unknowns are the component means (J, D) and the assignments h. The posterior over the means has a closed form only
if the assignments are known (:func:`posterior_given_labels`). The code of Vinaroz & Park (2021, 2023) uses it as
"ground truth". If ``noise_sd`` is None, weights, means and covariances are all unknown. This is density estimation, the
model of DP-EM (Park et al. 2017), and no method of the EP family applies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp

from models import tiny
from models.kind import Kind


@dataclass(frozen=True)
class MixtureOfGaussians:
    """Sizes and known constants of the mixture. All its fields are public.

    Parameters
    ----------
    components : the number J of components.
    noise_sd : known standard deviation of every component in every coordinate, in data units. None means that
        covariances and weights are unknown too.
    prior_variance : prior variance of each coordinate of a component's mean, data units squared (Li et al. 2015: 10).
    prior_seed : the prior means m_j are one draw of N(0, I) from this seed, as in the authors' code of Li et al. 2015.
        They break the symmetry between components.
    """

    components: int
    noise_sd: float | None = 0.5
    prior_variance: float = 10.0
    prior_seed: int = 0
    kind: str = "mixture_of_gaussians"

    def __post_init__(self) -> None:
        if int(self.components) != self.components or self.components < 1:
            raise ValueError(f"mixture_of_gaussians: components = {self.components}; give a whole number, at least 1")
        if self.noise_sd is not None and not (math.isfinite(self.noise_sd) and self.noise_sd > 0):
            raise ValueError(f"mixture_of_gaussians: noise_sd = {self.noise_sd}; give a finite number above 0, or None")
        if not (math.isfinite(self.prior_variance) and self.prior_variance > 0):
            raise ValueError(
                f"mixture_of_gaussians: prior_variance = {self.prior_variance}; give a finite number above 0"
            )

    def prior_means(self, d: int) -> np.ndarray:
        """The prior means m, (components, d), in data units."""
        stream = np.random.RandomState(self.prior_seed)  # the published prior is a draw of this legacy stream
        return stream.randn(self.components, d)


@dataclass(frozen=True)
class MixtureMeans:
    """The posterior q(mu_1, ..., mu_J) = prod_j N(mu_j; means_j, covariances_j), with known noise and equal weights.

    ``means``: (J, D), in data units; ``covariances``: (J, D, D), in data units squared.
    """

    means: np.ndarray
    covariances: np.ndarray
    noise_sd: float
    kind: str = "mixture_means"

    def parameters(self) -> dict[str, np.ndarray]:
        return {"means": self.means, "covariances": self.covariances, "noise_sd": np.float64(self.noise_sd)}

    def log_joint(self, x: np.ndarray) -> np.ndarray:
        """The log joint densities log (1/J) N(x_n; means_j, covariances_j + noise_sd^2 I), (n, J), in nats."""
        noise = self.noise_sd**2 * np.eye(x.shape[1])
        return -math.log(len(self.means)) + gaussian_log_density(x, self.means, self.covariances + noise)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """The predictive log-density of rows x (n, D): (n,), nats. The component means are integrated out per row."""
        return logsumexp(self.log_joint(x), axis=1)

    def responsibilities(self, x: np.ndarray) -> np.ndarray:
        """The probabilities that row n belongs to component j, (n, J)."""
        joint = self.log_joint(x)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """The same as :meth:`log_density`, under the name that all posteriors have."""
        return self.log_density(x)


@dataclass(frozen=True)
class MixtureParameters:
    """A point estimate of a mixture: ``weights`` (J,), ``means`` (J, D), ``covariances`` (J, D, D) of the clusters."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    kind: str = "mixture_parameters"

    def parameters(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights, "means": self.means, "covariances": self.covariances}

    def log_joint(self, x: np.ndarray) -> np.ndarray:
        """The log joint densities log weights_j N(x_n; means_j, covariances_j), (n, J), in nats."""
        with np.errstate(divide="ignore"):  # -inf is the right log-weight of a component of weight 0
            weights = np.log(self.weights)
        return weights + gaussian_log_density(x, self.means, self.covariances)

    log_density = MixtureMeans.log_density
    responsibilities = MixtureMeans.responsibilities
    predictive = MixtureMeans.predictive


def gaussian_log_density(x: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """The log densities log N(x_n; means_j, covariances_j), (n, J), in nats.

    ``x`` is (n, D), ``means`` (J, D) and ``covariances`` (J, D, D).

    Raises numpy.linalg.LinAlgError if a covariance is not positive definite.
    """
    n, d = x.shape
    out = np.empty((n, len(means)))
    for j, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        factor = np.linalg.cholesky(covariance)
        z = np.linalg.solve(factor, (x - mean).T)
        log_det = 2.0 * float(np.log(np.diag(factor)).sum())
        out[:, j] = -0.5 * (d * math.log(2 * math.pi) + log_det + np.einsum("dn,dn->n", z, z))
    return out


def posterior_given_labels(
    model: MixtureOfGaussians, x: np.ndarray, labels: np.ndarray, prior_precision: float | None = None
) -> MixtureMeans:
    """The exact posterior over the means for known assignments: conjugate, one Gaussian per component.

        precision_j = p + n_j / noise_sd^2
        mean_j = (p m_j + sum_{h_n = j} x_n / noise_sd^2) / precision_j

    Parameters
    ----------
    x : (n, D).
    labels : (n,), whole numbers 0 to J - 1.
    prior_precision : p, by default 1 / prior_variance. The "ground truth" of Vinaroz & Park's code passes the prior's
        covariance instead of a precision, so p is 10 there instead of 0.1.

    Raises ValueError for a model without known noise or for labels out of range.
    """
    if model.noise_sd is None:
        raise ValueError("mixture_of_gaussians: the posterior given labels needs a known noise_sd")
    labels = np.asarray(labels).astype(np.int64)
    if labels.shape != (len(x),) or (len(labels) and not (labels.min() >= 0 and labels.max() < model.components)):
        raise ValueError(f"labels must be {len(x)} whole numbers from 0 to {model.components - 1}")
    d = x.shape[1]
    p = 1.0 / model.prior_variance if prior_precision is None else prior_precision
    noise = 1.0 / model.noise_sd**2
    one_hot = labels[:, None] == np.arange(model.components)
    precision = p + noise * one_hot.sum(axis=0)
    means = (p * model.prior_means(d) + noise * (one_hot.T.astype(np.float64) @ x)) / precision[:, None]
    return MixtureMeans(means, np.eye(d) / precision[:, None, None], model.noise_sd)


def load(kind: str, p: dict[str, np.ndarray]):
    """Rebuild one of this file's posteriors from its parameters. Raises KeyError for another kind."""
    if kind == "mixture_means":
        return MixtureMeans(p["means"], p["covariances"], float(p["noise_sd"]))
    if kind == "mixture_parameters":
        return MixtureParameters(p["weights"], p["means"], p["covariances"])
    raise KeyError(f"models/mixture_of_gaussians.py holds mixture_means and mixture_parameters, not '{kind}'")


KIND = Kind(
    name="mixture_of_gaussians",
    model=MixtureOfGaussians,
    posteriors=(MixtureMeans, MixtureParameters),
    target="density",
    scorer="evaluation.scorers:mixture_of_gaussians",
    tiny={
        "mixture_of_gaussians": partial(tiny.density, MixtureOfGaussians(2)),
        "mixture_with_unknown_covariances": partial(tiny.density, MixtureOfGaussians(2, noise_sd=None)),
    },
)
