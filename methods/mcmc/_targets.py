"""Log-posteriors that the private chains sample, as sums of clipped terms of the rows.

A chain has one vector theta (D,). Its steps are taken in phi = theta / scale, so that a row's information about each
coordinate has about the same size. The ``scale`` is a function of released iterates (:meth:`Target.unit`). It is held
fixed once draws are kept, so phi is then a constant change of coordinates and the posterior stays the same.

==================  ==============================================================================================
target              theta
==================  ==============================================================================================
:class:`Logistic`   weights and intercept of rows around released column means (``logistic_gaussian.centred``)
:class:`Linear`     the same, then eta = log v
``_network``        both layers of the network on standardised rows, then eta = log v
==================  ==============================================================================================

Some parts of the log-posterior read no row: the prior, the Jacobian, and -n eta / 2 with the public n. They are added
outside of every release, by :meth:`Target.public_gradient` and :meth:`Target.public_log_density`.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from methods._shared import row_blocks
from methods._shared.logistic_gaussian.centred import Centre
from models.unconstrained import inverse_softplus

#: |log v| is limited to this: it is far beyond any posterior, and squares of v are still finite.
_FURTHEST = 300.0


@dataclass(frozen=True)
class Size:
    """The size of a target's gradients and curvatures in phi, from public numbers and releases.

    ``rows`` is the public number n, ``coordinates`` is D. ``trace`` is the trace of the Fisher information of one row
    at a typical point. ``prior`` is the largest curvature of the prior. ``norm`` is the Euclidean norm up to which a
    row's gradient is not clipped by default. ``bound`` is a norm that no row's gradient exceeds, or infinity.
    """

    rows: int
    coordinates: int
    trace: float
    prior: float
    norm: float
    bound: float = math.inf

    @property
    def stiffness(self) -> float:
        """The largest possible curvature of the posterior: the whole trace in one direction, plus the prior's."""
        return self.rows * self.trace + self.prior


def shrinking(norm: np.ndarray, clip: float) -> np.ndarray:
    """Factor that brings each norm to at most ``clip``; 0 for a norm that is not finite."""
    return np.where(np.isfinite(norm), clip / np.maximum(norm, clip), 0.0)


def inverse_variance(theta: np.ndarray) -> float:
    """1 / v = exp(-eta), with eta the last entry of theta. The exponent is limited so that the result is finite."""
    return math.exp(min(max(-float(theta[-1]), -_FURTHEST), _FURTHEST))


def clipped_ratio_sum(energy: np.ndarray, proposed: np.ndarray, bound: float) -> float:
    """The sum of the rows' log-likelihood ratios, each clipped to [-bound, bound], divided by ``bound``.

    A row's ratio is log p(row | proposed) - log p(row | current). ``energy`` and ``proposed``, each (n,), are the rows'
    log-likelihoods at the current and the proposed point, in nats.

    Sensitivity under add/remove: 1. Proof: Both points and ``bound`` are functions of earlier releases and of random
    numbers that read no row. So a row contributes one number that depends on that row alone. After the division its
    size is at most ``bound`` / ``bound`` = 1. A ratio that is not a number contributes 0. Under replacement of a row
    the sensitivity is 2. If ``bound`` is the target's own (:meth:`Target.ratio_bound`), nothing is clipped and the sum
    is exact.
    """

    def part(energy: np.ndarray, proposed: np.ndarray) -> float:
        with np.errstate(invalid="ignore"):
            ratio = np.clip(proposed - energy, -bound, bound)
        return float(ratio.sum(where=~np.isnan(ratio)))

    return row_blocks.total(part, energy, proposed, rows=row_blocks.CACHED) / bound


class Target(abc.ABC):
    """A log-posterior over theta (D,). ``n`` is the actual number of rows, and ``size.rows`` the public one."""

    size: Size
    start: np.ndarray
    n: int

    def unit(self, theta: np.ndarray) -> np.ndarray:
        """The scale (D,) of phi at a released point."""
        return np.ones(len(theta))

    @abc.abstractmethod
    def clipped_gradients(self, theta: np.ndarray, scale: np.ndarray, rows, clip: float) -> np.ndarray:
        """The sum over ``rows`` of the gradients of log p(row | theta) in phi, each clipped to norm ``clip``; (D,).

        L2 sensitivity under add/remove: ``clip``. Proof: theta and ``scale`` are functions of earlier releases, so a
        row contributes a vector that depends on that row alone. The vector is multiplied by ``shrinking``, so its norm
        is at most ``clip``. A row whose vector is not finite contributes 0.
        """

    @abc.abstractmethod
    def energy(self, theta: np.ndarray) -> np.ndarray:
        """The part of log p(row | theta) that reads the row, (n,), in nats. It is private."""

    @abc.abstractmethod
    def public_gradient(self, theta: np.ndarray) -> np.ndarray:
        """The gradient in theta, (D,), of the part of the log-posterior that the clipped gradients leave out."""

    @abc.abstractmethod
    def public_log_density(self, theta: np.ndarray) -> float:
        """The part of the log-posterior that :meth:`energy` leaves out, in nats, up to a constant."""

    def ratio_bound(self, theta: np.ndarray, other: np.ndarray) -> float:
        """The largest change of a row's :meth:`energy` between two points, over all rows. Symmetric in the points."""
        return math.inf

    def on_scaled_rows(self, draws: np.ndarray) -> np.ndarray:
        """Draws (m, D) of the chain as theta (m, D) of the model on scaled rows (``models.unconstrained``)."""
        return draws


class Logistic(Target):
    """The posterior of logistic regression: log p = log sigmoid(z . theta), with the prior theta ~ N(0, P^-1).

    The rows z (n, D) are (2 y - 1) [x - centre, 1], with every |x_j| <= 1. The gradient of a row has at most the norm
    of z. The trace of its Fisher information is at most a quarter of the typical squared norm of z.
    """

    def __init__(self, z: np.ndarray, centre: Centre, precision: float, n: int):
        self.z, self.centre, self.precision = np.ascontiguousarray(z), centre, centre.prior(precision)
        self.n, d = len(z), z.shape[1]
        self._norm = np.sqrt(np.einsum("nd,nd->n", self.z, self.z))
        longest = math.sqrt(1.0 + float(np.square(1.0 + np.abs(centre.mean)).sum()))
        length = centre.length
        self.size = Size(n, d, length**2 / 4.0, float(np.linalg.norm(self.precision, 2)), length, longest)
        self.start = np.zeros(d)

    def clipped_gradients(self, theta, scale, rows, clip):
        def part(z, norm):
            g = expit(-(z @ theta))
            return (g * shrinking(g * norm, clip)) @ z

        return row_blocks.total(part, self.z, self._norm, batch=rows, rows=row_blocks.CACHED)

    clipped_gradients.__doc__ = Target.clipped_gradients.__doc__

    def energy(self, theta):
        def of(z):
            t = z @ theta  # log(1 + e) to 1e-16 nats, in half of the time of log1p
            return np.minimum(t, 0.0) - np.log(1.0 + np.exp(-np.abs(t)))

        return row_blocks.numbers(of, self.z, rows=row_blocks.CACHED)

    def public_gradient(self, theta):
        return -self.precision @ theta

    def public_log_density(self, theta):
        return -0.5 * float(theta @ self.precision @ theta)

    def ratio_bound(self, theta, other):
        """The L1 norm of the step, in coordinates of [x, 1].

        It is a bound because log sigmoid has slope at most 1 and each entry of [x, 1] has size at most 1.
        """
        return float(np.abs(self.centre.map @ (theta - other)).sum())

    def on_scaled_rows(self, draws):
        return draws @ self.centre.map.T


class Residuals(Target):
    """The posterior of a regression y ~ N(f, v), where v ~ InvGamma(shape, rate) and eta = log v ends theta.

    Let e = y - f. In phi, a row's gradient in the other entries is e / sqrt(v) times the gradient of f, divided by the
    typical size of its entries. In the last entry it is (e^2 / v - 1) / sqrt(2). All entries have about unit size if f
    fits.
    """

    shape: float
    rate: float

    @abc.abstractmethod
    def residuals(self, theta: np.ndarray) -> np.ndarray:
        """The residuals y - f, (n,)."""

    def energy(self, theta):
        with np.errstate(over="ignore", invalid="ignore"):
            return -0.5 * self.residuals(theta) ** 2 * inverse_variance(theta)

    def noise_log_density(self, theta: np.ndarray) -> float:
        """log p(eta) - n eta / 2: prior, Jacobian of v = exp(eta), and the likelihood's part that reads no row."""
        return -(self.shape + 0.5 * self.size.rows) * theta[-1] - self.rate * inverse_variance(theta)

    def noise_gradient(self, theta: np.ndarray) -> float:
        """The derivative of log p(eta). The -1/2 of each row is in the clipped gradients."""
        return -self.shape + self.rate * inverse_variance(theta)


class Linear(Residuals):
    """The posterior of linear regression f = w . [x - centre, 1] on scaled rows, with w | v ~ N(0, v (p K)^-1).

    Here p is the prior precision of the model and K = M' M, with M the map of the centring (``Centre.map``).
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, centre: Centre, model, n: int):
        self.x = np.ones((len(x), x.shape[1] + 1))
        np.subtract(x, centre.mean, out=self.x[:, :-1])
        self.y, self.centre, self.n = np.array(y, dtype=np.float64), centre, len(x)
        self.precision, self.shape, self.rate = centre.prior(model.precision), model.shape, model.scale
        d = x.shape[1]
        spread = math.sqrt(max(float(np.square(centre.sd).mean()), 1e-6))
        self._entry = np.append(np.full(d, 1.0 / spread), 1.0)  # scale of the weights over sqrt(v)
        self._squares = row_blocks.numbers(lambda u: np.einsum("nd,nd->n", u * self._entry, u * self._entry), self.x)
        self.size = Size(
            n, d + 2, d + 2.0, float(np.linalg.norm(self.precision * np.outer(self._entry, self._entry), 2)),
            2.0 * math.sqrt(d + 2.0),
        )  # fmt: skip
        level = self.rate / (self.shape - 1.0) if self.shape > 1.0 else self.rate / (self.shape + 1.0)
        self.start = np.append(np.zeros(d + 1), math.log(level))

    def unit(self, theta):
        return np.append(self._entry * inverse_variance(theta) ** -0.5, math.sqrt(2.0))

    def residuals(self, theta):
        return self.y - self.x @ theta[:-1]

    def clipped_gradients(self, theta, scale, rows, clip):
        v, width = 1.0 / inverse_variance(theta), scale[-2]  # width: scale of the intercept; ``_entry`` has the others

        def part(x, y, squares):
            with np.errstate(over="ignore", invalid="ignore"):
                e = y - x @ theta[:-1]
                first, last = e / v, 0.5 * (e**2 / v - 1.0)
                factor = shrinking(np.sqrt((first * width) ** 2 * squares + (last * scale[-1]) ** 2), clip)
            lost = factor == 0.0  # infinity times 0 is no number
            if lost.any():
                first[lost], last[lost] = 0.0, 0.0
            return np.append((first * factor) @ x * scale[:-1], (last * factor).sum() * scale[-1])

        return row_blocks.total(part, self.x, self.y, self._squares, batch=rows, rows=row_blocks.CACHED)

    clipped_gradients.__doc__ = Target.clipped_gradients.__doc__

    def public_gradient(self, theta):
        w, v = theta[:-1], 1.0 / inverse_variance(theta)
        pull = self.precision @ w / v
        return np.append(-pull, self.noise_gradient(theta) + 0.5 * float(w @ pull) - 0.5 * len(w))

    def public_log_density(self, theta):
        w, eta = theta[:-1], theta[-1]
        return self.noise_log_density(theta) - 0.5 * (
            len(w) * eta + float(w @ self.precision @ w) * inverse_variance(theta)
        )

    def ratio_bound(self, theta, other):
        """A bound on |e'^2 / v' - e^2 / v| / 2 over all scaled rows, with a prime for the other point.

        Since every |x_j| <= 1 and |y| <= 1, |e| <= 1 + |w|_1 =: E and |e' - e| <= |w' - w|_1 =: m. By the triangle
        inequality the change is at most

            m (E + E') / (2 v') + E^2 |1 / v' - 1 / v| / 2,

        and at most the same with the points exchanged. The result is the smaller of the two.
        """
        w, u = self.centre.map @ theta[:-1], self.centre.map @ other[:-1]
        moved, e, f = float(np.abs(w - u).sum()), 1.0 + float(np.abs(w).sum()), 1.0 + float(np.abs(u).sum())
        p, q = inverse_variance(theta), inverse_variance(other)
        return 0.5 * min(moved * (e + f) * q + e**2 * abs(p - q), moved * (e + f) * p + f**2 * abs(p - q))

    def on_scaled_rows(self, draws):
        v = np.exp(draws[:, -1:])
        return np.concatenate([draws[:, :-1] @ self.centre.map.T, inverse_softplus(v)], axis=1)
