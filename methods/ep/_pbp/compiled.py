"""Compilation of the kernels, with a disk cache that depends on the sources of the inlined functions.

numba keys its cache by the file of the function alone. The kernels inline functions of ``lanes`` and ``hidden``, so an
edit there would leave the old machine code in use. Here the sources of both are part of the key.
"""

from __future__ import annotations

import hashlib
import inspect

from numba import njit

from methods.ep._pbp import hidden, lanes


def stamp(*modules) -> str:
    """Digest of the sources of ``modules``."""
    return hashlib.sha256("".join(inspect.getsource(m) for m in modules).encode()).hexdigest()


def kernel(function):
    """Compile with numba.njit, cached, without the lock or checks for division by zero. NaN and infinity are kept."""
    compiled = njit(function, cache=True, error_model="numpy", nogil=True)
    index = compiled._cache._cache_file  # numba has no public way to add to the key of its cache
    index._source_stamp = (*index._source_stamp, stamp(lanes, hidden))
    return compiled
