"""For all tests: what JAX has compiled is kept on disk, and let go before a process grows large."""

import ctypes
import os
import re
import resource
import signal
import sys
import tempfile
import time

import psutil
import pytest
from hypothesis import settings

# no limit by the clock: another machine's load is no fault (CPU seconds of a test are limited below)
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


def pytest_configure(config):
    """One folder for what JAX compiles in any process of this run: half of the CPU time of tests of NUTS was that.

    It is removed at the end: a run that is killed may leave half a file. A limit of its size makes JAX lock it.
    """
    if hasattr(config, "workerinput") or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = tempfile.TemporaryDirectory(prefix="compiled-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = folder.name
    os.environ["JAX_COMPILATION_CACHE_MAX_SIZE"] = str(10**9)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"


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


#: CPU seconds of a test of a method; a fit that never ends fails there, and does not hold the suite.
TEST_CPU_SECONDS = float(os.environ.get("DPBAYES_TEST_CPU_SECONDS", "240"))
#: CPU seconds more, after which a loop in compiled code, which no handler reaches, ends the process.
COMPILED_CPU_SECONDS = 60


@pytest.fixture(autouse=True)
def limited(request):
    """Limits the CPU seconds of each test below tests/methods and tests/privacy; gives what starts the limit again."""
    if request.path.parent.name not in ("methods", "privacy"):
        yield lambda: None
        return

    def out_of_time(number, frame):
        if os.environ.get("DPBAYES_TESTED_METHOD"):  # the other tests of this method would not end either
            request.session.shouldfail = "a fit does not end"
        raise TimeoutError(
            f"no end within {TEST_CPU_SECONDS:g} CPU seconds: {frame.f_code.co_filename}:{frame.f_lineno}"
        )

    def start():
        signal.setitimer(signal.ITIMER_PROF, TEST_CPU_SECONDS)
        limit = int(time.process_time() + TEST_CPU_SECONDS) + COMPILED_CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))

    before = signal.signal(signal.SIGPROF, out_of_time)
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    start()
    yield start
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def together(item) -> str | None:
    """Name of the tests that `./bench test` gives to one process, since what they share is dear; None for any process.

    Those of a fixture that is made once a module, or once for tests/reports. In the suites that test every method,
    those of one method, whose fits are cached.
    """
    fixtures = {name: made[-1] for name, made in item._fixtureinfo.name2fixturedefs.items()}
    if fixtures.keys() & {"built", "committed"}:
        return "tests/reports"
    if any(made.scope == "module" for made in fixtures.values()):
        return item.location[0]
    given = item.callspec.params if hasattr(item, "callspec") else {}
    if item.path.stem in ("test_conformance", "test_private_methods") and "name" in given:
        return f"{item.path.stem} {given['name']}"
    return None


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in a hook of its own
def pytest_collection_modifyitems(config, items):
    """Marks for xdist; with ``./bench try NAME``, of the suites that test every method, the tests of this one."""
    for item in items:
        if group := together(item):
            item.add_marker(pytest.mark.xdist_group(group))
    name = os.environ.get("DPBAYES_TESTED_METHOD")
    if not name:
        return
    from methods import contract

    known = "|".join(sorted(contract.names(), key=len, reverse=True))
    of_all = re.compile(rf"(?:\w+/)?({known})(?:-|$)")  # an adapter that is not the method's own has its kind first
    kept, left = [], []
    for item in items:
        words = item.callspec.id if hasattr(item, "callspec") else ""
        found = of_all.match(words)
        mine = found[1] == name if found else words == contract.module_of(name)
        (kept if mine or (not words and item.path.name == "test_conformance.py") else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)
