"""Hidden layer and output of one row, forward and backward, shared by the kernels.

Layout: hidden units are in blocks of eight lanes. Layer 1 is stored block by block, input by input (see :func:`pack1`),
so a sweep over the weights reads memory once and in order. Unused lanes hold mean 0 and variance 1 and are masked.

The moments of a rectified Gaussian N(M, V), with S = sqrt(V) and alpha = M / S (Hernandez-Lobato & Adams 2015, section
3), are

    z = S zeta(alpha),   v_z = V (Phi - zeta(alpha) zeta(-alpha)),   zeta(alpha) = alpha Phi + phi.

Their partial derivatives are

    dz/dM = Phi,   dz/dV = phi / (2 S),   dv_z/dM = 2 z (1 - Phi),   dv_z/dV = Phi - zeta phi.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from methods._shared.lanes import WIDTH, exp, fabs, load, select, splat, sqrt, store, total

# Mills ratio (1 - Phi(a)) / phi(a) for a >= 0 is p(t) / (a + 5) with t = (a - 5) / (a + 5) in [-1, 1): interpolation
# in Chebyshev nodes. Relative error below 8e-15: 2e-15 of degree 20, the rest from rounding 21 coefficients below 2.
_POLE, _DEGREE = 5.0, 20


def _mills_times_pole(t):
    a = _POLE * (1.0 + t) / (1.0 - t)
    return (a + _POLE) * math.sqrt(math.pi / 2) * erfcx(a / math.sqrt(2.0))


_MILLS = tuple(float(c) for c in chebyshev.cheb2poly(chebyshev.chebinterpolate(_mills_times_pole, _DEGREE)))
_INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
# exp(-300) = 5e-131: a smaller output of a unit counts as 0, and products of two such numbers are not denormal.
_LARGEST_EXPONENT = 300.0

#: rows of the scratch array, each of the length of a padded layer 2.
M, V, Z, ZV, CDF, DZ_DV, DZV_DM, DZV_DV, G1, S1, G2, S2, MASK, BIAS, M2, V2 = range(16)
ROWS = 16


def blocks(units: int) -> int:
    """Number of blocks of eight lanes that hold ``units``."""
    return -(-units // WIDTH)


def scratch(hidden: int) -> np.ndarray:
    """Scratch memory of the kernels: (16 * padded length of layer 2,)."""
    length = blocks(hidden + 1) * WIDTH
    h = np.zeros((ROWS, length))
    h[V] = 1.0
    h[MASK, :hidden] = 1.0
    h[BIAS, hidden] = 1.0
    return h.ravel()


def pack1(w: np.ndarray, fill: float = 0.0) -> np.ndarray:
    """Layer 1 (H, D) as a flat array of (block, input, lane); unused lanes hold ``fill``."""
    hidden, inputs = w.shape
    nb = blocks(hidden)
    padded = np.full((nb * WIDTH, inputs), fill)
    padded[:hidden] = w
    return np.ascontiguousarray(padded.reshape(nb, WIDTH, inputs).transpose(0, 2, 1)).ravel()


def unpack1(flat: np.ndarray, hidden: int, inputs: int) -> np.ndarray:
    """Inverse of :func:`pack1`."""
    nb = blocks(hidden)
    w = flat.reshape(nb, inputs, WIDTH).transpose(0, 2, 1).reshape(nb * WIDTH, inputs)
    return np.array(w[:hidden], dtype=np.float64, order="C")


def pack2(w: np.ndarray, fill: float = 0.0) -> np.ndarray:
    """Layer 2 (H + 1,) padded to whole blocks with ``fill``."""
    out = np.full(blocks(len(w)) * WIDTH, fill)
    out[: len(w)] = w
    return out


def unpack2(flat: np.ndarray, hidden: int) -> np.ndarray:
    """Inverse of :func:`pack2`."""
    return flat[: hidden + 1].copy()


@njit(error_model="numpy", forceinline=True)
def mills(a):
    """Mills ratio (1 - Phi(a)) / phi(a), lane by lane, for a >= 0."""
    inverse = splat(1.0) / (a + _POLE)
    t = (a - _POLE) * inverse
    p = t * _MILLS[_DEGREE] + _MILLS[_DEGREE - 1]
    for i in range(_DEGREE - 2, -1, -1):
        p = p * t + _MILLS[i]
    return p * inverse


@njit(error_model="numpy", forceinline=True)
def forward(h, m2, v2, hidden):
    """Moments of the hidden units, stored in ``h``, and mean and variance of the output.

    ``h[M], h[V]`` hold the moments of the pre-activations. ``m2, v2`` are the padded moments of layer 2 under the
    cavity.
    """
    n2 = hidden + 1
    nb = (n2 + 7) // 8
    w = nb * 8
    mean = splat(0.0)
    variance = splat(0.0)
    one = splat(1.0)
    for k in range(nb):
        i = k * 8
        pre_v = load(h, V * w + i)
        sd = sqrt(pre_v)
        inverse_sd = one / sd
        alpha = load(h, M * w + i) * inverse_sd
        size = fabs(alpha)
        exponent = alpha * alpha * 0.5
        exponent = select(exponent < splat(_LARGEST_EXPONENT), exponent, splat(_LARGEST_EXPONENT))
        pdf = exp(exponent * -1.0) * _INV_SQRT_2PI
        ratio = mills(size)
        upper = pdf * ratio
        tail = pdf * (one - size * ratio)  # zeta(-|alpha|)
        positive = alpha > splat(0.0)
        cdf = select(positive, one - upper, upper)
        complement = select(positive, upper, one - upper)
        zeta = select(positive, size + tail, tail)
        spread = cdf - tail * (size + tail)
        spread = select(spread > splat(0.0), spread, splat(0.0))
        mask = load(h, MASK * w + i)
        z = sd * zeta * mask + load(h, BIAS * w + i)
        zv = pre_v * spread * mask
        store(h, Z * w + i, z)
        store(h, ZV * w + i, zv)
        store(h, CDF * w + i, cdf)
        store(h, DZ_DV * w + i, pdf * inverse_sd * 0.5)
        store(h, DZV_DM * w + i, z * complement * 2.0)
        store(h, DZV_DV * w + i, cdf - zeta * pdf)
        m = load(m2, i)
        v = load(v2, i)
        mean = mean + z * m
        variance = variance + (zv * (v + m * m) + z * z * v)
    return total(mean) / math.sqrt(n2), total(variance) / n2


@njit(error_model="numpy", forceinline=True)
def backward(h, m2, v2, hidden, d_mean, d_variance):
    """Propagate d logZ/d mean and d logZ/d variance of the output back to every unit.

    ``h[G1]`` receives the derivative g with respect to the mean of a pre-activation, and ``h[S1]`` receives s = g^2 - 2
    d logZ/d variance. A weight has g x and s x^2. ``h[G2], h[S2]`` receive the same for the weights of layer 2.
    """
    n2 = hidden + 1
    nb = (n2 + 7) // 8
    w = nb * 8
    gm = splat(d_mean / math.sqrt(n2))
    gv = splat(d_variance / n2)
    for k in range(nb):
        i = k * 8
        m = load(m2, i)
        v = load(v2, i)
        z = load(h, Z * w + i)
        zv = load(h, ZV * w + i)
        mask = load(h, MASK * w + i)
        g2 = gm * z + gv * 2.0 * (m * zv)
        store(h, G2 * w + i, g2)
        store(h, S2 * w + i, g2 * g2 - gv * 2.0 * (zv + z * z))
        dz = (gm * m + gv * 2.0 * (z * v)) * mask
        dzv = gv * (v + m * m) * mask
        g1 = dz * load(h, CDF * w + i) + dzv * load(h, DZV_DM * w + i)
        d_v = dz * load(h, DZ_DV * w + i) + dzv * load(h, DZV_DV * w + i)
        store(h, G1 * w + i, g1)
        store(h, S1 * w + i, g1 * g1 - d_v * 2.0)


@njit(error_model="numpy", forceinline=True)
def gamma_step(a, b, variance, residual2):
    """Shape and rate of the Gamma that matches two moments of Gam(a, b) x likelihood.

    ``residual2`` is (y - mean)^2. Ratios of normalisers need a square root and an exponential, and no logarithm.
    """
    t0 = variance + b / (a - 1.0)
    t1 = variance + b / a
    t2 = variance + b / (a + 1.0)
    r0, r1, r2 = 1.0 / t0, 1.0 / t1, 1.0 / t2
    first = math.sqrt(t0 * r1) * math.exp(0.5 * residual2 * (r0 - r1))  # Z_1 / Z_0
    second = math.sqrt(t1 * r2) * math.exp(0.5 * residual2 * (r1 - r2))  # Z_2 / Z_1
    new_a = 1.0 / (second / first * (a + 1.0) / a - 1.0)
    new_b = 1.0 / (second * (a + 1.0) / b - first * a / b)
    return new_a, new_b
