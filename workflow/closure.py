"""All code that the score rows of a pair (experiment, method) depend on, and whether it was verified.

The table of what was verified is ``workflow.verified``; what a pair's samples show, ``workflow.gates``.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from datasets.files import ROOT
from workflow import arithmetic, verified
from workflow.experiments import Cell, cells, experiment_files
from workflow.imports import code_hash, reached
from workflow.verified import Pair

#: libraries whose version may move a number.
LIBRARIES = ("numpy", "scipy", "numba", "jax", "numpyro", "torch", "scikit-learn", "autodp", "dp-accounting")


def pairs() -> dict[Pair, list[Cell]]:
    """(experiment, method) -> its cells at full scale, in the order of the config."""
    out: dict[Pair, list[Cell]] = {}
    for path in experiment_files():
        for cell in cells(path, "full"):
            out.setdefault((cell.experiment, cell.method), []).append(cell)
    return out


def roots(of: Iterable[Cell]) -> tuple[str, ...]:
    """Modules from which all code is reached that the score rows of these cells depend on."""
    return tuple(sorted(frozenset().union(*(c.closure_roots for c in of))))


def closure(of: Iterable[Cell], root: Path = ROOT) -> str:
    """Digest of that code in the checkout at ``root``. Comments, docstrings and layout do not move it."""
    return code_hash(*roots(of), root=root)


def modules(of: Iterable[Cell]) -> tuple[str, ...]:
    """The modules themselves."""
    return reached(*roots(of))


@cache
def versions() -> str:
    """Versions of Python and of the libraries that make numbers, and which code of theirs is run, in one line."""
    found = [f"python {'.'.join(platform.python_version_tuple()[:2])}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join([*found, f"code for {arithmetic.NAME}"])


def states() -> dict[Pair, str]:
    """Pair -> verified, stale or unverified, for code and libraries as they are now."""
    rows = verified.read()
    return {pair: verified.state(rows.get(pair), closure(of), versions()) for pair, of in pairs().items()}
