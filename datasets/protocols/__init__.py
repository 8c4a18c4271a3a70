"""Split protocols: one module each, with a function ``split``. The scan for data sets passes this package by.

A protocol has the name of its module. A module with several protocols names them in ``PROTOCOLS``. It says
``POOLED = True`` if a cell has numbers of all its splits together, such as the coverage over simulated data sets, and
``OVERLAP`` if the overlap of its splits is not 1 / 9. A new protocol is one new file in this folder.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import ModuleType


@cache
def _homes() -> Mapping[str, ModuleType]:
    found: dict[str, ModuleType] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "split"):
            found |= dict.fromkeys(getattr(module, "PROTOCOLS", (info.name,)), module)
    return found


def names() -> list[str]:
    """Names of all protocols, sorted."""
    return sorted(_homes())


def home(protocol: str) -> ModuleType:
    """The module that splits by a protocol. Raises KeyError that lists the known ones."""
    try:
        return _homes()[protocol]
    except KeyError:
        raise KeyError(f"unknown protocol '{protocol}'; datasets/protocols/ has {', '.join(names())}") from None


def overlap(protocol: str) -> float:
    """Test rows over training rows, by which intervals over overlapping splits are widened (``evaluation.paired``).

    1 / 9 unless the protocol says otherwise; 0 if its runs share one split, or no row.
    """
    return getattr(_homes().get(protocol), "OVERLAP", 1 / 9)


def pooled(protocol: str) -> bool:
    """Has a cell numbers of all its splits together?"""
    return getattr(home(protocol), "POOLED", False)
