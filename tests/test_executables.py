"""What tests/conftest.py does for all tests: small processes, few of them for what is dear, compiled code kept."""

import os
import sys
import tomllib
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_what_jax_compiled_is_freed_when_a_process_has_grown_and_not_before(executables, monkeypatch):
    freed = []
    monkeypatch.setattr(executables, "least", executables.least)  # put back afterwards
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(clear_caches=lambda: freed.append(1)))
    executables.least = 1e9
    assert not executables.free()
    executables.least = -1e9
    assert executables.free()
    assert not executables.free()  # it counts from what is left
    assert freed == [1]
    executables.least = -1e9
    monkeypatch.delitem(sys.modules, "jax")
    assert not executables.free()


@pytest.fixture(scope="module")
def made_once():
    return object()


def test_tests_that_share_a_fixture_are_given_to_one_process(request, made_once):
    """xdist groups tests by a suffix of their ids; a pytest that it does not know drops it without a word."""
    assert ("@" in request.node.nodeid) is bool(getattr(request.config.option, "loadgroup", False))


def test_all_takes_the_night_in_by_the_words_that_leave_it_out(pytestconfig):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert "-m 'not nightly and not slow" in settings["addopts"]
    if pytestconfig.option.all:
        assert "nightly" not in pytestconfig.option.markexpr


def test_what_jax_compiles_is_kept_for_all_processes():
    assert Path(os.environ["JAX_COMPILATION_CACHE_DIR"]).is_dir()
