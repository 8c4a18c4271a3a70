"""All that the suite must know about a kind of model: one record, in the kind's own file.

A file of ``models/`` that brings a kind of model says ``KIND = Kind(...)``; for several, ``KINDS = (Kind(...), ...)``.
The records are found by scanning that folder, so that a new kind is one file and no other change. A posterior that
several kinds share is named where it lives, by ``POSTERIORS = (Class, ...)``.

A function above ``models/``, such as a scorer, is named by a text ``"module:function"`` and imported at its first use:
listing the kinds imports neither torch, jax, numba nor ``scipy.stats``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from models.task import Task

TARGETS = ("regression", "classification", "density")
#: the exact posterior in closed form: ``exact_posterior(x, y)`` of the model.
CONJUGATE = "conjugate"


@dataclass(frozen=True)
class Kind:
    """One kind of model.

    Parameters
    ----------
    name : as ``kind`` of the model and of experiment files.
    model : the model's class, a frozen dataclass (``models.task.Model``).
    scorer : ``"module:function"``, what one fit is scored by: takes an ``evaluation.case.Case``, gives metric ->
        (value, unit), raises ValueError where a number is not finite.
    tiny : name of a case -> function of (number of rows, seed) that gives a synthetic task with documented ranges.
        Tests try every method on them, and the audit every private one. The first case has the name of the kind.
    posteriors : classes of posterior that come with this kind. The module of each has ``load(kind, parameters)``, which
        rebuilds it from what its ``parameters()`` gave.
    target : "regression", "classification", or "density": rows without a target, and none is shown to a method.
    draws : ``"module:function"``, what the scores need many draws of a posterior for: takes a case, gives the array
        that ``workflow.draws`` keeps and the scorer then finds in the case; "" where scores need no such step.
    diagnostics : are the diagnostics of a fit (``evaluation.metrics.DIAGNOSTICS``) kept beside its scores?
    exact : where the exact posterior comes from to which distances are measured: ``CONJUGATE``, or the name of the
        method whose draws take its place; "" where there is none.
    references : methods without privacy with which the private ones are compared: the exact posterior if there is one.
    unaudited : cases of ``tiny`` that take no part in the audit, whose neighbours have rows of any value.

    Raises ValueError where a field does not fit the others; the message names the kind.
    """

    name: str
    model: type
    scorer: str
    tiny: Mapping[str, Callable[[int, int], Task]]
    posteriors: tuple[type, ...] = ()
    target: str = "regression"
    draws: str = ""
    diagnostics: bool = True
    exact: str = ""
    references: tuple[str, ...] = ()
    unaudited: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if getattr(self.model, "kind", None) != self.name:
            raise ValueError(f"kind {self.name}: {self.model.__name__}.kind must say '{self.name}' too")
        if self.target not in TARGETS:
            raise ValueError(f"kind {self.name}: target = '{self.target}'; give one of {', '.join(TARGETS)}")
        if next(iter(self.tiny), None) != self.name:
            raise ValueError(f"kind {self.name}: the first case of tiny must be '{self.name}'")
        if unknown := sorted(set(self.unaudited) - set(self.tiny)):
            raise ValueError(f"kind {self.name}: unaudited has '{unknown[0]}'; tiny has {', '.join(self.tiny)}")
        for field in ("scorer", "draws"):
            named = getattr(self, field)
            if (named or field == "scorer") and not all(named.partition(":")):
                raise ValueError(f"kind {self.name}: {field} = '{named}'; give 'module:function'")

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules that hold the model, its posteriors and what it is scored by: roots of what its scores rest on."""
        named = [d.partition(":")[0] for d in (self.draws, self.scorer) if d]
        classes = [c.__module__ for c in (self.model, *self.posteriors)]
        return tuple(dict.fromkeys([*classes, "models.posteriors", *named]))

    def score(self, case) -> dict[str, tuple[float, str]]:
        """metric -> (value, unit) of one fit, an ``evaluation.case.Case``. Raises ValueError, see ``scorer``."""
        return resolve(self.scorer)(case)


def resolve(name: str) -> Callable[..., Any]:
    """The function of a text ``"module:function"``. Raises ImportError or AttributeError where there is none."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def _modules() -> Iterator[ModuleType]:
    for info in pkgutil.iter_modules([str(Path(__file__).parent)]):
        yield importlib.import_module(f"{__package__}.{info.name}")


@cache
def _kinds() -> Mapping[str, Kind]:
    found: dict[str, Kind] = {}
    for module in _modules():
        here = (*getattr(module, "KINDS", ()), *([module.KIND] if hasattr(module, "KIND") else []))
        for record in here:
            if not isinstance(record, Kind) or record.model.__module__ != module.__name__:
                raise TypeError(
                    f"{module.__name__}: KIND must be a models.kind.Kind of a model of that file, not {record}"
                )
            if record.name in found:
                other = found[record.name].model.__module__
                raise TypeError(f"{module.__name__}: the kind '{record.name}' is that of {other}; give it another name")
            found[record.name] = record
    return found


@cache
def posteriors() -> Mapping[str, type]:
    """Kind of posterior -> its class, of all records and of all ``POSTERIORS``. Raises TypeError for a name twice."""
    classes = [c for record in _kinds().values() for c in record.posteriors]
    classes += [c for module in _modules() for c in getattr(module, "POSTERIORS", ())]
    found: dict[str, type] = {}
    for c in classes:
        if found.setdefault(c.kind, c) is not c:
            both = f"{found[c.kind].__module__}.{found[c.kind].__name__} and {c.__module__}.{c.__name__}"
            raise TypeError(f"two posteriors of kind '{c.kind}': {both}; rename one")
    return found


def kinds() -> list[str]:
    """Names of all kinds of model, sorted."""
    return sorted(_kinds())


def kind(name: str) -> Kind:
    """The record of a kind of model. Raises KeyError that lists the known ones."""
    try:
        return _kinds()[name]
    except KeyError:
        raise KeyError(f"unknown kind of model '{name}'; models/ has {', '.join(kinds())}") from None


def tiny_cases() -> dict[str, Callable[[int, int], Task]]:
    """The tiny tasks of all kinds: name of a case -> function of (rows, seed). Raises TypeError for a name twice."""
    found: dict[str, Callable[[int, int], Task]] = {}
    for record in map(kind, kinds()):
        if twice := sorted(set(found) & set(record.tiny)):
            raise TypeError(f"kind {record.name}: the case '{twice[0]}' is that of another kind; rename one")
        found |= record.tiny
    return found
