"""How much of the Laplace mechanism's guarantee double precision takes away (Mironov 2012, section 4).

A noisy number has few values: noise is a function of a uniform number of 53 bits, and the sum is rounded. Some outputs
of one data set cannot come from its neighbour at all, and whoever sees one knows which it was. Here that share is
counted: for outputs of value 0, all uniform numbers that could have given the same output from the neighbour's value
are tried.
"""

from __future__ import annotations

import math

import numpy as np

#: uniform numbers that NumPy draws are multiples of this
GRID = 2.0**-53
#: uniform numbers tried on each side of the one that the inverse of the distribution gives; its rounding is below one
TRIED = 8


def laplace(u: float, scale: float) -> float:
    """Noise of NumPy's generator from its uniform number u in (0, 1)."""
    return -scale * math.log(2.0 - u - u) if u >= 0.5 else scale * math.log(u + u)


def possible(output: float, value: float, scale: float) -> bool:
    """Can ``value`` plus Laplace noise, rounded, be that output?"""
    z = (output - value) / scale
    u = 1.0 - 0.5 * math.exp(-z) if z >= 0 else 0.5 * math.exp(z)
    # a step of the uniform number moves the noise by scale GRID / min(u, 1 - u): where that is less than a unit in the
    # last place of the output several numbers round to it, and where it is more none may
    return any(
        value + laplace(v, scale) == output
        for k in range(-TRIED, TRIED + 1)
        if 0.0 < (v := (math.floor(u / GRID) + k) * GRID) < 1.0
    )


def ruled_out(sensitivity: float, scale: float, n: int, rng: np.random.Generator, near: float = math.inf) -> float:
    """Share of ``n`` outputs of the value 0, no further than ``near`` from it, that ``sensitivity`` cannot give."""
    found = []
    while len(found) < n:
        z = rng.laplace(0.0, scale, 4 * n)
        found += [float(o) for o in z if abs(o) <= near][: n - len(found)]
    return sum(not possible(o, sensitivity, scale) for o in found) / n


def reachable(output: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Which outputs are ``value`` plus some number of the same precision, rounded? Boolean, shapes broadcast.

    It asks nothing of the generator or the distribution, so it is a bound: where it is False, no noise in this
    precision gives the output. The exact difference is the middle of the noise that would, except at a step at a
    power of two, so the number next to it and both its neighbours are tried.
    """
    output, value = np.broadcast_arrays(output, value)
    z = output - value
    inf = z.dtype.type(np.inf)
    return np.any([value + s == output for s in (z, np.nextafter(z, -inf), np.nextafter(z, inf))], axis=0)
