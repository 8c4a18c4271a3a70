"""For all tests: what JAX has compiled is kept on disk, and let go before a process grows large."""

import ctypes
import functools
import os
import re
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
#: files that fit every method there is
OF_EVERY_METHOD = ("test_conformance", "test_private_methods")

# no limit by the clock: another machine's load is no fault (CPU seconds of a test are limited below)
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="the tests of the night too: those marked nightly")


def pytest_configure(config):
    if config.option.all or os.environ.get("DPBAYES_TESTED_METHOD"):  # one method is asked for all of its cases
        config.option.markexpr = config.option.markexpr.replace("not nightly and ", "")
    share_compiled_code(config)


def share_compiled_code(config):
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


#: grids of the accountants in the tests of methods: points of a privacy loss distribution, instead of 150,000 and
#: 400,000, and whole Renyi orders, instead of 157 of which 90 are fractions that cost a series each. The tests ask
#: whether a fit keeps to what its accountant says. A coarser bound is an upper bound too. How tight it is on the fine
#: grid is tested in tests/privacy, and by what has the marker ``fine_grid``.
COARSE = {
    "loss_distributions": {"_PLD_POINTS": 5_000, "_PLD_LENGTH": 20_000},
    "renyi": {"_ORDERS": (*range(2, 65), 128, 256, 512, 1024)},
}


class _Grid:
    """The grid of the accountant in this process, and the costs that were computed on it."""

    def __init__(self) -> None:
        self.coarse, self.fine = False, {}

    def use(self, coarse: bool) -> None:
        if coarse == self.coarse:
            return
        from privacy import calibration, scaling
        from privacy.accountants import epsilon, loss_distributions, renyi

        modules = {"loss_distributions": loss_distributions, "renyi": renyi}
        if coarse:
            self.fine = {name: {key: getattr(modules[name], key) for key in grid} for name, grid in COARSE.items()}
        for name, grid in (COARSE if coarse else self.fine).items():
            for key, points in grid.items():
                setattr(modules[name], key, points)
        for kept in (epsilon._cost, scaling._remaining, calibration.noise_multiplier):
            kept.cache_clear()
        self.coarse = coarse


_grid = _Grid()


@pytest.hookimpl(tryfirst=True)  # before any fixture
def pytest_runtest_setup(item):
    below = item.path.relative_to(ROOT / "tests").parts[0] if ROOT / "tests" in item.path.parents else ""
    _grid.use(below in ("methods", "audit", "dpbayes_bench") and item.get_closest_marker("fine_grid") is None)


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


@functools.cache
def family(method: str) -> str:
    """The folder of a method's file; the method itself if its file is elsewhere."""
    return next((path.parent.name for path in ROOT.glob(f"methods/*/{method}.py")), method)


def together(item) -> str:
    """Name of the tests that `./bench test` gives to one process: those of a file, which share fits and imports.

    Tests with a fixture that is made once for tests/reports share a process too. So do those of one family of methods,
    those of the suites that test every method included: they share what they compile, and the costs that they compute.
    Two processes that need the same kernel at the same time would both compile it.
    """
    fixtures = {name: made[-1] for name, made in item._fixtureinfo.name2fixturedefs.items()}
    of_a_module = any(made.scope == "module" for made in fixtures.values())
    if fixtures.keys() & {"built", "committed", "housed"} or (
        of_a_module and ROOT / "tests/reports" in item.path.parents
    ):
        return "tests/reports"
    given = item.callspec.params if hasattr(item, "callspec") else {}
    if item.path.stem in OF_EVERY_METHOD and "name" in given:
        return f"methods of {family(given['name'].rpartition('/')[2])}"
    file = item.location[0]
    of_a_family = re.match(r"tests/methods/(?!_shared/)(\w+)/", file)
    return f"methods of {of_a_family[1]}" if of_a_family else file


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in a hook of its own
def pytest_collection_modifyitems(config, items):
    """Marks for xdist; with ``./bench try NAME``, of the suites that test every method, the tests of this one."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(together(item)))
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
