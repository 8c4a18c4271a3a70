"""For all tests: what JAX has compiled is let go before a process grows large."""

import ctypes
import sys

import psutil
import pytest

#: megabytes that a process may grow by, since executables were last freed.
GROWTH_MB = 400


def resident_mb() -> float:
    return psutil.Process().memory_info().rss / 2**20


class _Executables:
    """JAX keeps every executable that it has compiled, some 90 MB for NUTS; few tests use one again.

    Clearing its caches alone gives nothing back: the C library keeps the memory until it is told to trim.
    """

    def __init__(self) -> None:
        self.least = resident_mb()

    def free(self) -> bool:
        """Free them where the process has grown by ``GROWTH_MB``; were they freed?"""
        jax = sys.modules.get("jax")
        if jax is None or resident_mb() < self.least + GROWTH_MB:
            return False
        jax.clear_caches()
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
        self.least = resident_mb()
        return True


@pytest.fixture(scope="session")
def executables():
    return _Executables()


@pytest.fixture(autouse=True)
def _free_executables(executables):
    yield
    executables.free()
