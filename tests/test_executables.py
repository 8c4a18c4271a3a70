"""The fixture of tests/conftest.py that keeps test processes small."""

import sys
import types


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
