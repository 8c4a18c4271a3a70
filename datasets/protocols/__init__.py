"""Split protocols, one module each with a function ``split``. The search for data sets skips this package.

A protocol has the name of its module. A module with several protocols names them in ``PROTOCOLS``. A new protocol is
one new file in this folder. A module can set two constants:

* ``POOLED = True`` if a cell has numbers of all its splits together, such as the coverage over simulated data sets.
* ``OVERLAP`` if the overlap of its splits is not 1 / 9.
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
    """The module that splits by a protocol. Raises KeyError, which lists the known ones."""
    try:
        return _homes()[protocol]
    except KeyError:
        raise KeyError(f"unknown protocol '{protocol}'; datasets/protocols/ has {', '.join(names())}") from None


def overlap(protocol: str) -> float:
    """Ratio of test to training rows, which widens intervals over overlapping splits (``evaluation.paired``).

    It is 1 / 9 unless the protocol states another value, and 0 if its runs share one split or no row.
    """
    return getattr(_homes().get(protocol), "OVERLAP", 1 / 9)


def pooled(protocol: str) -> bool:
    """Whether a cell has numbers of all its splits together."""
    return getattr(home(protocol), "POOLED", False)
