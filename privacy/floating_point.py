"""The part of the Laplace mechanism's guarantee that is lost in double precision (Mironov 2012, section 4).

A noisy number can take few values, because noise is a function of a uniform number of 53 bits, and the sum is rounded.
So some outputs of one data set cannot come from its neighbour at all, and such an output reveals the data set. The
share of these outputs is counted here. For each output of the value 0, all uniform numbers are tried that could give
the same output from the neighbour's value.
"""

from __future__ import annotations

import math

import numpy as np

#: uniform numbers that NumPy draws are multiples of this
GRID = 2.0**-53
#: uniform numbers tried on each side of the one that the inverse of the distribution function gives. Rounding moves
#: that one by less than a step of the grid.
TRIED = 8


def laplace(u: float, scale: float) -> float:
    """The Laplace noise that NumPy's generator computes from its uniform number u in (0, 1)."""
    return -scale * math.log(2.0 - u - u) if u >= 0.5 else scale * math.log(u + u)


def possible(output: float, value: float, scale: float) -> bool:
    """Whether ``value`` plus Laplace noise, rounded, can be ``output``."""
    z = (output - value) / scale
    u = 1.0 - 0.5 * math.exp(-z) if z >= 0 else 0.5 * math.exp(z)
    # A step of the uniform number moves the noise by scale GRID / min(u, 1 - u). If that is less than a unit in the
    # last place of the output, several uniform numbers round to the output. If it is more, possibly none does.
    return any(
        value + laplace(v, scale) == output
        for k in range(-TRIED, TRIED + 1)
        if 0.0 < (v := (math.floor(u / GRID) + k) * GRID) < 1.0
    )


def ruled_out(sensitivity: float, scale: float, n: int, rng: np.random.Generator, near: float = math.inf) -> float:
    """The share of ``n`` noisy outputs of the value 0 that the value ``sensitivity`` cannot give.

    Only outputs at most ``near`` from 0 are counted.
    """
    found = []
    while len(found) < n:
        z = rng.laplace(0.0, scale, 4 * n)
        found += [float(o) for o in z if abs(o) <= near][: n - len(found)]
    return sum(not possible(o, sensitivity, scale) for o in found) / n


def reachable(output: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Whether each output is ``value`` plus some number of the same precision, rounded. Boolean; shapes broadcast.

    It assumes nothing about the generator or the distribution. If it is False, no noise in this precision gives the
    output. The noise that does lies around the exact difference, except near a power of two. So the rounded difference
    and both its neighbours are tried.
    """
    output, value = np.broadcast_arrays(output, value)
    z = output - value
    inf = z.dtype.type(np.inf)
    return np.any([value + s == output for s in (z, np.nextafter(z, -inf), np.nextafter(z, inf))], axis=0)
