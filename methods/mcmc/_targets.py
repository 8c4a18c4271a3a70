"""What the chains move on: posteriors as clipped per-row sums, in coordinates where a row tells about as much of each.

A chain has one vector theta (D,). Its steps are taken in phi = theta / scale, with ``scale`` a function of theta
(:meth:`Target.unit`) that is read from released iterates and held fixed once draws are kept: a constant change of
coordinates, which leaves the posterior what it is.

==================  ==============================================================================================
target              theta
==================  ==============================================================================================
:class:`Logistic`   weights and intercept of rows around released column means (``logistic_gaussian.centred``)
:class:`Linear`     the same, then eta = log v
``_network``        both layers of the network on standardised rows, then eta = log v
==================  ==============================================================================================

The parts of the log-posterior that read no row (prior, Jacobian, -n eta / 2 with the public n) stay outside of every
release: :meth:`Target.public_gradient`, :meth:`Target.public_log_density`.
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

#: log v at which its exponential is held: far beyond any posterior, and squares still finite.
_FURTHEST = 300.0


@dataclass(frozen=True)
class Size:
    """What public numbers and releases say of a target; a row's gradients are in phi.

    ``trace``: of the Fisher information of one row at a typical point. ``prior``: largest curvature of the prior.
    ``norm``: Euclidean norm up to which a row's gradient is not clipped by default. ``bound``: norm that no row
    exceeds, infinite where there is none.
    """

    rows: int
    coordinates: int
    trace: float
    prior: float
    norm: float
    bound: float = math.inf

    @property
    def stiffness(self) -> float:
        """The largest curvature that the posterior can have: all of the trace in one direction, and the prior's."""
        return self.rows * self.trace + self.prior


def shrinking(norm: np.ndarray, clip: float) -> np.ndarray:
    """Factor that brings each norm to at most ``clip``; 0 for a norm that is not finite."""
    return np.where(np.isfinite(norm), clip / np.maximum(norm, clip), 0.0)


def inverse_variance(theta: np.ndarray) -> float:
    """1 / v = exp(-eta) with eta the last entry of theta; held in the finite range."""
    return math.exp(min(max(-float(theta[-1]), -_FURTHEST), _FURTHEST))


def clipped_ratio_sum(energy: np.ndarray, proposed: np.ndarray, bound: float) -> float:
    """Sum over rows of log p(row | proposed) - log p(row | current), each cut to [-bound, bound], over ``bound``.

    ``energy``, ``proposed``: (n,) the rows' terms at the two points, nats.

    Sensitivity under add/remove: 1. Proof: both points and ``bound`` are functions of earlier releases and of coins
    that read no row, so a row contributes one number that depends on it alone, of size at most ``bound`` / ``bound``;
    one that is not a number contributes 0. (Replacing a row: 2.) Where ``bound`` is the target's own
    (:meth:`Target.ratio_bound`), nothing is cut and the sum is exact.
    """

    def part(energy: np.ndarray, proposed: np.ndarray) -> float:
        with np.errstate(invalid="ignore"):
            ratio = np.clip(proposed - energy, -bound, bound)
        return float(ratio.sum(where=~np.isnan(ratio)))

    return row_blocks.total(part, energy, proposed, rows=row_blocks.CACHED) / bound


class Target(abc.ABC):
    """A log-posterior over theta (D,). ``n``: rows at hand (``size.rows`` is the public number)."""

    size: Size
    start: np.ndarray
    n: int

    def unit(self, theta: np.ndarray) -> np.ndarray:
        """Scale (D,) of phi at a released point."""
        return np.ones(len(theta))

    @abc.abstractmethod
    def clipped_gradients(self, theta: np.ndarray, scale: np.ndarray, rows, clip: float) -> np.ndarray:
        """Sum over ``rows`` of the gradient of log p(row | theta) in phi, each of norm at most ``clip``; (D,).

        L2 sensitivity under add/remove: ``clip``. Proof: theta and ``scale`` are functions of earlier releases, so a
        row contributes a vector that depends on it alone, multiplied by ``shrinking``, so of norm at most ``clip``; a
        row whose vector is not finite contributes 0.
        """

    @abc.abstractmethod
    def energy(self, theta: np.ndarray) -> np.ndarray:
        """The part of log p(row | theta) that reads the row, (n,), nats. Private."""

    @abc.abstractmethod
    def public_gradient(self, theta: np.ndarray) -> np.ndarray:
        """Gradient in theta of the part of the log-posterior that the clipped gradients leave out, (D,)."""

    @abc.abstractmethod
    def public_log_density(self, theta: np.ndarray) -> float:
        """The part of the log-posterior that :meth:`energy` leaves out, nats, up to a constant."""

    def ratio_bound(self, theta: np.ndarray, other: np.ndarray) -> float:
        """The largest change of a row's :meth:`energy` between two points, over all rows; symmetric in them."""
        return math.inf

    def in_box(self, draws: np.ndarray) -> np.ndarray:
        """(m, D) of the chain -> (m, D) of the model (``models.unconstrained``)."""
        return draws


class Logistic(Target):
    """Rows z (n, D) are (2 y - 1) [x - centre, 1], log p = log sigmoid(z . theta), |x| <= 1; theta ~ N(0, P^-1).

    The gradient of a row has norm at most that of z; the trace of its Fisher information is at most a quarter of the
    typical squared norm.
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
        """L1 norm of the step in the box. log sigmoid has slope at most 1, and each entry of [x, 1] at most 1."""
        return float(np.abs(self.centre.map @ (theta - other)).sum())

    def in_box(self, draws):
        return draws @ self.centre.map.T


class Residuals(Target):
    """A regression y ~ N(f, v) with eta = log v the last entry of theta, v ~ InvGamma(shape, rate); e = y - f.

    In phi a row's gradient is (e / sqrt v) times that of f over the typical size of its entries, then
    (e^2 / v - 1) / sqrt 2: all of about unit size where f fits.
    """

    shape: float
    rate: float

    @abc.abstractmethod
    def residuals(self, theta: np.ndarray) -> np.ndarray:
        """y - f, (n,)."""

    def energy(self, theta):
        with np.errstate(over="ignore", invalid="ignore"):
            return -0.5 * self.residuals(theta) ** 2 * inverse_variance(theta)

    def noise_log_density(self, theta: np.ndarray) -> float:
        """log p(eta) - n eta / 2: prior, Jacobian of v = exp(eta) and what the likelihood says without a row."""
        return -(self.shape + 0.5 * self.size.rows) * theta[-1] - self.rate * inverse_variance(theta)

    def noise_gradient(self, theta: np.ndarray) -> float:
        """Derivative of log p(eta); the rows' -1/2 each is in the clipped gradients."""
        return -self.shape + self.rate * inverse_variance(theta)


class Linear(Residuals):
    """f = w . [x - centre, 1]; w | v ~ N(0, v (p K)^-1), K as the centring makes it; rows in the box."""

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
        v, width = 1.0 / inverse_variance(theta), scale[-2]  # of the intercept; the other weights by ``_entry``

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
        """Half of |e'^2 / v' - e^2 / v| over the box: |x| <= 1, |y| <= 1, so that |e| <= 1 + |w|_1 =: E, |e' - e| <=
        |w' - w|_1 =: m. By the triangle inequality at most m (E + E') / (2 v') + E^2 |1 / v' - 1 / v| / 2, and the
        same with the points exchanged: the smaller of the two."""
        w, u = self.centre.map @ theta[:-1], self.centre.map @ other[:-1]
        moved, e, f = float(np.abs(w - u).sum()), 1.0 + float(np.abs(w).sum()), 1.0 + float(np.abs(u).sum())
        p, q = inverse_variance(theta), inverse_variance(other)
        return 0.5 * min(moved * (e + f) * q + e**2 * abs(p - q), moved * (e + f) * p + f**2 * abs(p - q))

    def in_box(self, draws):
        v = np.exp(draws[:, -1:])
        return np.concatenate([draws[:, :-1] @ self.centre.map.T, inverse_softplus(v)], axis=1)
