"""The data sets: sources, checksums, parsing and splits.

There is one file per data set, which holds one ``DATASET``. A file that reads a collection of tables holds them as
``DATASETS``. A new data set needs one new file in this folder and no other change. Importing this package reads no
file, and does not import pandas, openpyxl or scikit-learn.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from datasets.base import DataError, DataSet, RawFile, Source, Table, table_sha256
from datasets.store import Loaded, load

__all__ = ["DataError", "DataSet", "Loaded", "RawFile", "Source", "Table", "get", "load", "names", "table_sha256"]

#: environment variable that names files of data sets outside of this folder, separated as in PATH.
OUTSIDE = "DPBAYES_DATASETS"

# Files of this folder that are not data sets.
_PLUMBING = frozenset(
    {"arrays", "base", "draft", "fetch", "files", "packages", "records", "row_faults", "schema", "store", "synthetic"}
    | {"yaml_file"}
)


@cache
def _datasets() -> Mapping[str, DataSet]:
    found: dict[str, DataSet] = {}
    for info in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if info.ispkg or info.name in _PLUMBING:
            continue
        module = importlib.import_module(f"datasets.{info.name}")
        if hasattr(module, "DATASETS"):
            found |= {entry.name: entry for entry in module.DATASETS}
            continue
        entry = getattr(module, "DATASET", None)
        if not isinstance(entry, DataSet) or entry.name != info.name:
            raise TypeError(
                f"datasets/{info.name}.py must hold one DATASET, a datasets.base.DataSet whose name is '{info.name}', "
                "or several as DATASETS"
            )
        found[info.name] = entry
    for path in outside():
        entry = _from_outside(path)
        if entry.name in found:
            raise TypeError(f"{path}: there is a data set '{entry.name}' already; give it another name")
        found[entry.name] = entry
    return found


def outside() -> list[Path]:
    """The files of data sets outside of this folder."""
    return [Path(p) for p in os.environ.get(OUTSIDE, "").split(os.pathsep) if p]


def take(paths: Iterable[Path]) -> None:
    """Use exactly these files as data sets from outside, in this process and in processes that start from now on."""
    os.environ[OUTSIDE] = os.pathsep.join(str(Path(p).resolve()) for p in paths)
    _datasets.cache_clear()


def _from_outside(path: Path) -> DataSet:
    """The data set of a file outside of this folder. Raises TypeError if it holds none with the file's name."""
    spec = importlib.util.spec_from_file_location(f"datasets.outside.{path.stem}", path)
    if spec is None or not path.is_file():
        raise TypeError(f"{path}: no such Python file; {OUTSIDE} names data sets from outside")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    entry = vars(module).get("DATASET")
    if not isinstance(entry, DataSet) or entry.name != path.stem:
        raise TypeError(f"{path} must hold one DATASET, a datasets.base.DataSet whose name is '{path.stem}'")
    return entry


def names(kind: str | None = None) -> list[str]:
    """The names of all data sets, sorted, or of those with ``kind`` "table", "simulated" or "synthetic"."""
    return sorted(n for n, d in _datasets().items() if kind is None or d.kind == kind)


def get(name: str) -> DataSet:
    """The data set of that name. Raises KeyError, which lists the known ones."""
    try:
        return _datasets()[name]
    except KeyError:
        raise KeyError(f"unknown data set '{name}'; datasets/ has {', '.join(names())}") from None
