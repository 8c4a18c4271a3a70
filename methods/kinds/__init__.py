"""Methods taught a further kind of model: ``methods/kinds/<kind of model>/<method>.py``.

A method's own file (``methods/<method>.py``) is what its paper describes. Where the suite runs it on a model that the
file does not know, a file of the same name under ``methods/kinds/<kind>/`` holds one more subclass of
``methods.contract.Method`` with that ``name`` and ``models = ("<kind>",)``: its own settings, leaks and relation. Cells
of other kinds do not depend on it, so that teaching a method a new model makes no committed score stale.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from methods import contract
from methods.contract import Method

_HERE = Path(__file__).parent


@cache
def _taught(kind: str) -> Mapping[str, Method]:
    folder = _HERE / kind
    if not folder.is_dir():
        return {}
    found: dict[str, Method] = {}
    for info in pkgutil.iter_modules([str(folder)]):
        module = importlib.import_module(f"methods.kinds.{kind}.{info.name}")
        classes = [
            c
            for c in vars(module).values()
            if isinstance(c, type) and issubclass(c, Method) and c.__module__ == module.__name__ and "name" in vars(c)
        ]
        if len(classes) != 1 or classes[0].name != info.name or classes[0].models != (kind,):
            raise TypeError(
                f"methods/kinds/{kind}/{info.name}.py must hold exactly one subclass of Method with its own `name` = "
                f"'{info.name}' and `models` = ('{kind}',); found {[c.__name__ for c in classes]}"
            )
        found[info.name] = classes[0]()
    return found


def kinds() -> list[str]:
    """Kinds of model that have a folder here."""
    return sorted(p.name for p in _HERE.iterdir() if (p / "__init__.py").is_file())


def names(kind: str) -> list[str]:
    """Names of all methods that fit this kind of model, sorted."""
    return sorted({n for n in contract.names() if kind in contract.get(n).models} | set(_taught(kind)))


def get(name: str, kind: str) -> Method:
    """The method for this kind of model; its own adapter where it was not taught the kind.

    Raises KeyError that lists the known methods.
    """
    return _taught(kind)[name] if name in _taught(kind) else contract.get(name)


def module_of(name: str, kind: str) -> str:
    """Module of :func:`get`."""
    return f"methods.kinds.{kind}.{name}" if name in _taught(kind) else f"methods.{name}"
