"""Mean-field Gaussian variational inference for the one-layer network: objective, gradients and clipping.

The model is that of Vinaroz & Park 2023, appendix D, with bias FIRST in both layers and no fan-in scaling:

    f(x) = w1 . [1; relu(W0 [1; x])],   y ~ N(f(x), 1/gamma),   every weight ~ N(0, 1/lambda).

The variational distribution q gives each weight its own N(m, v). The parameters are one flat vector
[m0 (H, d+1), m1 (H+1), rho0 (H, d+1), rho1 (H+1)]. As in the authors' scripts, v = |rho| + 1e-6.

There are two estimators of a row's data term. Both average over L draws of W0, which a whole batch shares:

``pair``      L draws of w1 as well, and the mean over all L x L pairs, as in the authors' scripts.
``marginal``  w1 integrated in closed form, as in equation 123 of the paper.

Gradients are in closed form. Matrix products of batch sums use BLAS, and elementwise operations are one compiled loop,
in blocks that fit the second-level cache. Clipping works row by row in one compiled loop that stores no per-example
gradient. Draws of the two layers are arguments, so every gradient is a deterministic function of its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.vi import _mean_field_kernels as kernels
from models.bnn_regression import NetworkMonteCarlo
from models.standardise import Standardiser

#: added to |rho| so that a variance stays above 0 (authors' scripts).
FLOOR = 1e-6

#: rows of a block times draws times hidden units. Two such arrays of 4-byte numbers fill most of a 1 MiB cache.
_BLOCK = 100_000


@dataclass(frozen=True)
class Layout:
    """The layout of the flat parameter vector for ``inputs`` columns, bias not counted, and H ``hidden`` units."""

    inputs: int
    hidden: int

    @property
    def first(self) -> int:
        """The number of weights of the first layer."""
        return self.hidden * (self.inputs + 1)

    @property
    def second(self) -> int:
        """The number of weights of the second layer."""
        return self.hidden + 1

    @property
    def weights(self) -> int:
        return self.first + self.second

    @property
    def size(self) -> int:
        """The length of the flat vector."""
        return 2 * self.weights

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The views m0 (H, d+1), m1 (H+1,), rho0 (H, d+1), rho1 (H+1,). Raises ValueError for another length."""
        if theta.shape != (self.size,):
            raise ValueError(f"theta has shape {theta.shape}; this layout needs ({self.size},)")
        a, n = self.first, self.weights
        shape = (self.hidden, self.inputs + 1)
        return theta[:a].reshape(shape), theta[a:n], theta[n : n + a].reshape(shape), theta[n + a :]

    def standard_normal(self, rng: np.random.Generator) -> np.ndarray:
        """A start with every m and every rho from N(0, 1), as in the authors' scripts."""
        return rng.standard_normal(self.size)


def variance(rho: np.ndarray) -> np.ndarray:
    """The variances v = |rho| + 1e-6, elementwise."""
    return np.abs(rho) + FLOOR


def kl(theta: np.ndarray, prior_precision: float | np.ndarray, *, halved_log: bool = False) -> float:
    """KL[q || prior] in nats, by equation 119.

    The last term of that equation's second sum is for h_d + 1 weights. ``prior_precision`` is lambda, one number for
    all weights or one per weight (half the length of theta). ``halved_log`` follows the authors' code. It takes the
    logarithm of a ratio of standard deviations where the formula has variances, so the logarithm counts half.
    """
    n = len(theta) // 2
    m, v = theta[:n], variance(theta[n:])
    log_ratio = -np.log(prior_precision) - np.log(v)
    return float(0.5 * np.sum(prior_precision * (v + m * m) - 1.0 + (0.5 if halved_log else 1.0) * log_ratio))


def kl_gradient(theta: np.ndarray, prior_precision: float | np.ndarray, *, halved_log: bool = False) -> np.ndarray:
    """The gradient of :func:`kl`, with the shape of ``theta``. The derivative of |rho| at 0 is taken as 0."""
    n = len(theta) // 2
    out = np.empty_like(theta)
    np.multiply(theta[:n], prior_precision, out=out[:n])
    log_weight = 0.5 if halved_log else 1.0
    out[n:] = 0.5 * np.sign(theta[n:]) * (prior_precision - log_weight / variance(theta[n:]))
    return out


class Gradients:
    """Gradients of the data term for one network shape, with their buffers.

    Parameters
    ----------
    layout : sizes of the network.
    draws : L, Monte Carlo draws of each layer.
    dtype : float32 or float64, for the products over rows. Sums over blocks and results are float64. float32 agrees
        with float64 to 1e-4 of the gradient's norm, which is tested, and takes half the time.

    The methods take ``x1`` (n, d+1) with a leading column of ones, and ``y`` (n,). Both have ``dtype`` and standardised
    units. ``gamma`` is the noise precision. ``eps0`` (d+1, L, H) and ``eps1`` (L, H+1) are standard normal.
    """

    def __init__(self, layout: Layout, draws: int, dtype=np.float64):
        if draws < 1:
            raise ValueError(f"draws = {draws}; give at least 1 Monte Carlo draw")
        self.layout, self.draws, self.dtype = layout, int(draws), np.dtype(dtype)
        h, d1 = layout.hidden, layout.inputs + 1
        self.block = max(1, _BLOCK // (draws * h))
        wide = draws * h
        self._w0 = np.empty((d1, wide), self.dtype)
        self._eps0 = np.empty((d1, draws, h), self.dtype)
        self._eps1 = np.empty((draws, h + 1), self.dtype)
        self._a = np.empty((self.block, wide), self.dtype)
        self._da = np.empty((self.block, wide), self.dtype)
        self._r = np.empty((self.block * draws, draws), self.dtype)
        self._g0 = np.empty((d1, wide), self.dtype)

    def draw0(self, rng: np.random.Generator) -> np.ndarray:
        """Standard normal draws for W0, (d+1, L, H); the buffer is reused by the next call."""
        return rng.standard_normal(dtype=self.dtype, out=self._eps0)

    def draw1(self, rng: np.random.Generator) -> np.ndarray:
        """Standard normal draws for w1, (L, H+1); the buffer is reused by the next call."""
        return rng.standard_normal(dtype=self.dtype, out=self._eps1)

    def pair(self, theta, x1, y, gamma: float, eps0, eps1) -> np.ndarray:
        """The gradient (size,) of the SUM over rows of the data term with all L x L pairs of draws.

        Row n gives (gamma / 2) mean_{l,k} (y - w1_k . [1; relu(W0_l x1)])^2.
        """
        lay, L, h = self.layout, self.draws, self.layout.hidden
        m0, m1, rho0, rho1 = lay.split(theta)
        kernels.sample_first(m0, rho0, FLOOR, eps0, self._w0.reshape(eps0.shape))
        s1 = np.sqrt(variance(rho1))
        w1 = (m1 + s1 * eps1).astype(self.dtype)
        bias, slope = np.ascontiguousarray(w1[:, 0]), np.ascontiguousarray(w1[:, 1:])
        out = np.zeros(lay.size)
        g_m0, g_m1, g_r0, g_r1 = lay.split(out)
        for lo in range(0, len(y), self.block):
            xb, yb = x1[lo : lo + self.block], y[lo : lo + self.block]
            n = len(yb)
            z = np.matmul(xb, self._w0, out=self._a[:n])
            kernels.relu(z)
            z = z.reshape(n * L, h)
            r = np.matmul(z, slope.T, out=self._r[: n * L])
            bias_sum = kernels.pair_residual(r.reshape(n, L, L), bias, yb, self.dtype.type(gamma / (L * L)))
            w_grad = r.T @ z  # (L, h): sum over rows and draws of W0
            dz = np.matmul(r, slope, out=self._da[:n].reshape(n * L, h))
            kernels.gate(dz, z)
            g_m1[0] += bias_sum.sum()
            g_m1[1:] += w_grad.sum(axis=0)
            g_r1[0] += bias_sum @ eps1[:, 0]
            g_r1[1:] += np.einsum("kh,kh->h", w_grad, eps1[:, 1:])
            g0 = np.matmul(xb.T, self._da[:n], out=self._g0)
            kernels.collect_first(g0.reshape(eps0.shape), eps0, g_m0, g_r0)
        g_r0 *= _chain(rho0)
        g_r1 *= _chain(rho1)
        return out

    def marginal(self, theta, x1, y, gamma: float, eps0) -> np.ndarray:
        """The gradient (size,) of the SUM over rows of the data term of equation 123, without its constant.

        Row n gives (gamma / 2) mean_l [(m1 . z - y)^2 + v1 . z^2] with z = [1; relu(W0_l x1)].
        """
        lay = self.layout
        m0, m1, rho0, rho1 = lay.split(theta)
        kernels.sample_first(m0, rho0, FLOOR, eps0, self._w0.reshape(eps0.shape))
        m1c, v1c = m1.astype(self.dtype), variance(rho1).astype(self.dtype)
        out = np.zeros(lay.size)
        g_m0, g_m1, g_r0, g_r1 = lay.split(out)
        for lo in range(0, len(y), self.block):
            xb, yb = x1[lo : lo + self.block], y[lo : lo + self.block]
            a = np.matmul(xb, self._w0, out=self._a[: len(yb)])
            shaped = a.reshape(len(yb), self.draws, lay.hidden)
            kernels.marginal_batch(shaped, yb, m1c, v1c, self.dtype.type(gamma / self.draws), g_m1, g_r1)
            g0 = np.matmul(xb.T, a, out=self._g0)
            kernels.collect_first(g0.reshape(eps0.shape), eps0, g_m0, g_r0)
        g_r0 *= _chain(rho0)
        g_r1 *= np.sign(rho1)
        return out

    def clipped_sum(
        self,
        theta,
        x1,
        y,
        gamma: float,
        eps0,
        clip: float,
        *,
        offset: np.ndarray | None = None,
        scale: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The sum over rows of the clipped gradients (size,), and the norms before clipping (n,).

        The sum is that of clip(scale * g_n + offset), where g_n is row n's gradient of equation 123. Here clip(g) = g
        min(1, clip / |g|), with the Euclidean norm over the whole vector. ``offset`` (size,), a share of the KL
        gradient, and ``scale`` (size,), a preconditioner, do not depend on the data. A row whose gradient is not finite
        contributes 0, and its norm is given as infinity. Raises ValueError for a ``clip`` that is not above 0.

        Sensitivity: ``clip`` under add/remove, 2 ``clip`` under replacement of a row. Proof: A row contributes a vector
        of norm at most ``clip``. The vector is a function of that row and of public numbers alone. This holds to the
        last bit, because rows are processed one by one. So adding or removing a row changes the sum by at most
        ``clip``, and replacing one by at most 2 ``clip``. Rounding: norms and sums are those of ``dtype`` and float64.
        In float64 the bound holds to about 1e-13 of the sum.
        """
        lay = self.layout
        if not (clip > 0):
            raise ValueError(f"clip = {clip}; give a norm above 0")
        m0, m1, rho0, rho1 = lay.split(theta)
        dt = self.dtype
        kernels.sample_first(m0, rho0, FLOOR, eps0, self._w0.reshape(eps0.shape))
        chain0 = np.ascontiguousarray(_chain(rho0).T, dtype=dt)
        sign1 = np.sign(rho1).astype(dt)
        m1c, v1c = m1.astype(dt), variance(rho1).astype(dt)
        flat_scale = np.ones(lay.size) if scale is None else scale
        flat_offset = np.zeros(lay.size) if offset is None else offset
        # hidden units are the last axis, along which the kernel reads memory
        parts = [_transposed(lay, v, dt) for v in (flat_scale, flat_offset)]
        total = _transposed(lay, np.zeros(lay.size), np.float64)
        norms = np.empty(len(y))
        kernels.clipped_rows(
            self._w0.reshape(eps0.shape),
            np.ascontiguousarray(x1),
            np.ascontiguousarray(y),
            m1c,
            v1c,
            chain0,
            sign1,
            eps0,
            dt.type(gamma / self.draws),
            float(clip),
            *parts[0],
            *parts[1],
            *total,
            norms,
        )
        out = np.empty(lay.size)
        g_m0, g_m1, g_r0, g_r1 = lay.split(out)
        g_m0[:], g_m1[:], g_r0[:], g_r1[:] = total[0].T, total[1], total[2].T, total[3]
        return out, norms


def _chain(rho: np.ndarray) -> np.ndarray:
    """d sqrt(|rho| + 1e-6) / d rho."""
    return np.sign(rho) / (2.0 * np.sqrt(variance(rho)))


def _transposed(layout: Layout, flat: np.ndarray, dtype) -> tuple[np.ndarray, ...]:
    m0, m1, r0, r1 = layout.split(flat)
    return (
        np.array(m0.T, dtype=dtype, order="C"),
        np.array(m1, dtype=dtype),
        np.array(r0.T, dtype=dtype, order="C"),
        np.array(r1, dtype=dtype),
    )


def design(scale: Standardiser, x: np.ndarray, y: np.ndarray, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Standardised rows with a leading column of ones (n, d+1), and standardised targets (n,)."""
    x1 = np.empty((len(x), x.shape[1] + 1), dtype)
    x1[:, 0] = 1.0
    x1[:, 1:] = scale.x(x)
    return x1, scale.y(y).astype(dtype)


def posterior(
    layout: Layout, theta: np.ndarray, noise_precision: float, draws: int, scale: Standardiser
) -> NetworkMonteCarlo:
    """The fitted q as a posterior, which predicts by Monte Carlo with ``draws`` x ``draws`` pairs."""
    m0, m1, rho0, rho1 = (part.copy() for part in layout.split(theta))
    return NetworkMonteCarlo(m0, variance(rho0), m1, variance(rho1), float(noise_precision), int(draws), scale)
