"""The random streams of the source: JAX's threefry keys and normal numbers as they were in 2021, in NumPy.

JAX has other streams since version 0.5 (``jax_threefry_partitionable``). So the data, exact draws and starting values
of the source are generated here. Threefry-2x32: Salmon et al. 2011, 20 rounds.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfinv

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_WORD = np.uint32


def key_of(seed: int) -> np.ndarray:
    """The key (2,) of ``jax.random.PRNGKey(seed)`` with ``jax_enable_x64``."""
    return np.array([seed >> 32, seed & 0xFFFFFFFF], _WORD)


def threefry(key: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The Threefry cipher of an even number of counters, the first half paired with the second."""
    a, b = np.split(count.astype(_WORD), 2)
    keys = (key[0], key[1], key[0] ^ key[1] ^ _WORD(0x1BD11BDA))
    with np.errstate(over="ignore"):
        a, b = a + keys[0], b + keys[1]
        for i in range(5):
            for r in _ROTATIONS[i % 2]:
                a = a + b
                b = ((b << _WORD(r)) | (b >> _WORD(32 - r))) ^ a
            a, b = a + keys[(i + 1) % 3], b + keys[(i + 2) % 3] + _WORD(i + 1)
    return np.concatenate([a, b])


def split(key: np.ndarray, count: int) -> np.ndarray:
    """The keys (count, 2) of ``jax.random.split``."""
    return threefry(key, np.arange(2 * count)).reshape(count, 2)


def normal(key: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The normal numbers of ``jax.random.normal`` in float64."""
    size = int(np.prod(shape))
    high, low = np.split(threefry(key, np.arange(2 * size)).astype(np.uint64), 2)
    bits = (high << np.uint64(32)) | low
    unit = ((bits >> np.uint64(12)) | np.uint64(0x3FF0000000000000)).view(np.float64) - 1.0
    least = np.nextafter(-1.0, 0.0)
    return np.sqrt(2) * erfinv(np.maximum(least, unit * (1 - least) + least)).reshape(shape)
