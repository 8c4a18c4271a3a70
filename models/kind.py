"""The record of a kind of model: everything that the suite must know about it, in the kind's own file.

A file of ``models/`` declares a kind of model by ``KIND = Kind(...)``, or several by ``KINDS = (Kind(...), ...)``. The
records are found by scanning that folder, so a new kind needs one new file and no other change. A file whose posteriors
are shared by several kinds names them by ``POSTERIORS = (Class, ...)``.

A function outside of ``models/``, such as a scorer, is named by a text ``"module:function"`` and imported at its first
use. So listing the kinds imports neither torch, jax, numba nor ``scipy.stats``.
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
#: the exact posterior has a closed form, ``exact_posterior(x, y)`` of the model.
CONJUGATE = "conjugate"


@dataclass(frozen=True)
class Kind:
    """One kind of model.

    Parameters
    ----------
    name : the ``kind`` of the model and of experiment files.
    model : the model's class, a frozen dataclass (``models.task.Model``).
    scorer : ``"module:function"`` that scores one fit. It takes an ``evaluation.case.Case``, returns metric -> (value,
        unit), and raises ValueError if a number is not finite.
    tiny : name of a case -> function of (number of rows, seed) that gives a synthetic task with documented ranges.
        Tests run every method on these tasks, and the audit every private one. The first case has the kind's name.
    posteriors : classes of posterior that come with this kind. The module of each has ``load(kind, parameters)``, which
        rebuilds it from its ``parameters()``.
    target : "regression", "classification", or "density" for rows without a target.
    draws : ``"module:function"`` that computes an array from many draws of a posterior. It takes a case.
        ``workflow.draws`` stores the array, and the scorer finds it in the case. "" if scores need no such step.
    diagnostics : whether the diagnostics of a fit (``evaluation.metrics.DIAGNOSTICS``) are stored with its scores.
    exact : the source of the exact posterior to which distances are measured: ``CONJUGATE``, or the name of a method
        whose draws replace it. "" if there is none.
    references : methods without privacy with which the private ones are compared: the exact posterior if there is one.
    unaudited : cases of ``tiny`` that the audit leaves out, because its neighbours have rows of any value.

    Raises ValueError if a field contradicts the others. The message names the kind.
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
        """The modules of the model, its posteriors and its scorer, on whose code its scores depend."""
        named = [d.partition(":")[0] for d in (self.draws, self.scorer) if d]
        classes = [c.__module__ for c in (self.model, *self.posteriors)]
        return tuple(dict.fromkeys([*classes, "models.posteriors", *named]))

    def score(self, case) -> dict[str, tuple[float, str]]:
        """Score one fit, an ``evaluation.case.Case``: metric -> (value, unit). Raises ValueError as ``scorer`` does."""
        return resolve(self.scorer)(case)


def resolve(name: str) -> Callable[..., Any]:
    """The function of a text ``"module:function"``. Raises ImportError or AttributeError if it does not exist."""
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
    """Kind of posterior -> its class, from all records and all ``POSTERIORS``. Raises TypeError for a repeated name."""
    classes = [c for record in _kinds().values() for c in record.posteriors]
    classes += [c for module in _modules() for c in getattr(module, "POSTERIORS", ())]
    found: dict[str, type] = {}
    for c in classes:
        if found.setdefault(c.kind, c) is not c:
            both = f"{found[c.kind].__module__}.{found[c.kind].__name__} and {c.__module__}.{c.__name__}"
            raise TypeError(f"two posteriors of kind '{c.kind}': {both}; rename one")
    return found


def kinds() -> list[str]:
    """The names of all kinds of model, sorted."""
    return sorted(_kinds())


def kind(name: str) -> Kind:
    """The record of a kind of model. Raises KeyError, which lists the known ones."""
    try:
        return _kinds()[name]
    except KeyError:
        raise KeyError(f"unknown kind of model '{name}'; models/ has {', '.join(kinds())}") from None


def tiny_cases() -> dict[str, Callable[[int, int], Task]]:
    """The tiny tasks of all kinds: name of a case -> function of (rows, seed). Raises TypeError for a repeated name."""
    found: dict[str, Callable[[int, int], Task]] = {}
    for record in map(kind, kinds()):
        if twice := sorted(set(found) & set(record.tiny)):
            raise TypeError(f"kind {record.name}: the case '{twice[0]}' is that of another kind; rename one")
        found |= record.tiny
    return found
