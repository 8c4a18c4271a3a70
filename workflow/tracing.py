"""Which lines of changed files a process executes. Must be imported before every other module of the project.

The gate (``workflow.gates check --changed``) names the files in the environment of the processes that it starts; where
it names none, nothing is traced. Line numbers are those of statements, as the library ``coverage`` counts them.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "DPBAYES_TRACED_FILES"
FILES = tuple(filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)))
_tracer = None

if FILES:
    import coverage

    _tracer = coverage.Coverage(data_file=None, config_file=False, include=list(FILES), messages=False)
    _tracer.start()


def begin(label: str) -> None:
    """What is executed from here on belongs to ``label``."""
    if _tracer is not None:
        _tracer.switch_context(label)


def executed(label: str) -> dict[str, set[int]]:
    """File -> first lines of the statements that were executed under ``label``; compiled functions count as a whole.

    A function that numba compiled runs out of the tracer's sight: all its statements count as executed once it was
    compiled for some types.
    """
    if _tracer is None:
        return {}
    _tracer.stop()
    data, out = _tracer.get_data(), {}
    for path in FILES:
        data.set_query_context(label)
        if path in data.measured_files():
            _, statements, _, missing, _ = _tracer.analysis2(path)
            out[path] = set(statements) - set(missing)
        for first, last in _compiled(path):
            out.setdefault(path, set()).update(range(first, last + 1))
    data.set_query_contexts(None)
    _tracer.start()
    return out


def _compiled(path: str) -> list[tuple[int, int]]:
    """First and last line of every function of a file that numba has compiled in this process."""
    if "numba" not in sys.modules:
        return []
    from numba.core.registry import CPUDispatcher

    found = []
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) != path:
            continue
        for value in vars(module).values():
            if isinstance(value, CPUDispatcher) and value.signatures and value.py_func.__code__.co_filename == path:
                lines = [line for *_, line in value.py_func.__code__.co_lines() if line]
                found.append((min(lines), max(lines)))
    return found
