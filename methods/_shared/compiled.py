"""Compilation of kernels, with a disk cache that depends on the sources of inlined modules.

numba keys its cache by the file of the function alone. A kernel that inlines functions of another module would keep its
old machine code after an edit there. Here the sources of such modules are part of the key.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from numba import njit


@njit(cache=True, error_model="numpy", nogil=True)
def assign(out, values):
    """Write ``values`` (n,) to ``out`` (n,), which has the same length.

    ``out[:] = values`` also compiles the message of its error, which takes longer than most kernels.
    """
    for i in range(len(out)):
        out[i] = values[i]


def stamp(*modules: ModuleType) -> str:
    """Digest of the sources of ``modules``."""
    return hashlib.sha256("".join(inspect.getsource(m) for m in modules).encode()).hexdigest()


def kernel(*inlined: ModuleType, **options: Any) -> Callable[[Callable], Any]:
    """A decorator: numba.njit with ``options``, cached, without the lock or checks for division by zero.

    NaN and infinity are kept. ``inlined`` are the other modules whose functions the kernel inlines.
    """

    def compiled(function: Callable) -> Any:
        made = njit(function, cache=True, error_model="numpy", nogil=True, **options)
        index = made._cache._cache_file  # numba has no public way to add to the key of its cache
        index._source_stamp = (*index._source_stamp, stamp(*inlined))
        return made

    return compiled
