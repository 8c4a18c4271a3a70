"""Installs torch before the first run that imports it. ``./bench`` sets up all other packages.

    python -m workflow.on_demand WHAT

Only networks import torch, and where its build without CUDA cannot be had, it is by far the largest download. Whether a
cell, a table or an audit needs it follows from the imports of its code (``workflow.imports.libraries``). Elsewhere than
in the environment of ``./bench`` nothing is installed: the error says what to install.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib import invalidate_caches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from datasets.files import ROOT, locked
from methods import contract
from workflow.experiments import Cell
from workflow.imports import libraries, libraries_of

LIBRARY = "torch"
#: the environment of ``./bench``. Its file ``.torch_unfinished`` is there while torch is installed, and after a kill.
HOME = ROOT / ".venv"
UNFINISHED = ".torch_unfinished"


def for_cells(cells: Iterable[Cell]) -> None:
    """Install torch if the method of a cell, or the method whose run it reads, imports it."""
    for_methods({(name, c.kind) for c in cells for name in (c.method, c.run_of)})


def for_methods(pairs: Iterable[tuple[str, str]]) -> None:
    """Install torch if one of these methods, each with a kind of model, imports it."""
    if there():
        return
    for name, kind in sorted(pairs):
        adapter = type(contract.get(name, kind))
        if LIBRARY in libraries_of(adapter.__module__, adapter.__name__):
            install(name)
            return


def for_module(module: str) -> None:
    """Install torch if a module imports it, directly or indirectly."""
    if LIBRARY in libraries(module):
        install(module)


def there() -> bool:
    """Whether torch is installed, and not by a call that was killed."""
    invalidate_caches()
    try:
        version(LIBRARY)
    except PackageNotFoundError:
        return False
    return not (HOME / UNFINISHED).exists()


def pin() -> str:
    """``torch==VERSION`` of requirements.lock."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return re.findall(rf"^{LIBRARY}==[^ ;\\]+", lock, re.MULTILINE)[0]


def install(what: str) -> None:
    """Install torch, unless it is there. One process installs, and others wait for it.

    Raises SystemExit with the reason if it cannot be installed. ``what``: what needs it.
    """
    if there():
        return
    if Path(sys.prefix).resolve() != HOME.resolve():
        raise SystemExit(f"{what} needs {LIBRARY}, which is not installed; install {pin()} into {sys.prefix}")
    with locked(HOME / f"{LIBRARY}.lock", LIBRARY):
        if there():
            return
        print(f"bench: {what} needs {LIBRARY}", file=sys.stderr, flush=True)
        given = os.environ | {"_BENCH_LOCKED": "1"}
        made = subprocess.run([ROOT / "bench", "setup", LIBRARY], stdout=sys.stderr, env=given)
        if made.returncode or not there():
            raise SystemExit(f"{what} needs {LIBRARY}, which could not be installed (see above); run the command again")


if __name__ == "__main__":
    install(" ".join(sys.argv[1:]))
