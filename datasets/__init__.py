"""The data sets: sources, checksums, parsing, splits. One file per data set; each holds one ``DATASET``.

Importing this package reads no file and imports neither pandas, openpyxl nor scikit-learn. A new data set is
one new file in this folder and no other change.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from datasets.base import DataError, DataSet, RawFile, Source, Table, table_sha256
from datasets.store import Loaded, load

__all__ = ["DataError", "DataSet", "Loaded", "RawFile", "Source", "Table", "get", "load", "names", "table_sha256"]

# Files of this folder that are no data set.
_PLUMBING = frozenset({"base", "fetch", "folds", "replicates", "splits", "store", "synthetic", "thirds"})


@cache
def _datasets() -> Mapping[str, DataSet]:
    found: dict[str, DataSet] = {}
    for info in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if info.ispkg or info.name in _PLUMBING:
            continue
        entry = getattr(importlib.import_module(f"datasets.{info.name}"), "DATASET", None)
        if not isinstance(entry, DataSet) or entry.name != info.name:
            raise TypeError(
                f"datasets/{info.name}.py must hold one DATASET, a datasets.base.DataSet whose name is '{info.name}'"
            )
        found[info.name] = entry
    return found


def names(kind: str | None = None) -> list[str]:
    """Names of all data sets, sorted; with ``kind`` ("table", "simulated" or "synthetic") only those."""
    return sorted(n for n, d in _datasets().items() if kind is None or d.kind == kind)


def get(name: str) -> DataSet:
    """The data set of that name. Raises KeyError that lists the known ones."""
    try:
        return _datasets()[name]
    except KeyError:
        raise KeyError(f"unknown data set '{name}'; datasets/ has {', '.join(names())}") from None
