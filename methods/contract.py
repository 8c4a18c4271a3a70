"""The contract of a method: what an adapter gives, and what it may NOT do.

An adapter is one file in ``methods/`` with one subclass of :class:`Method`. It is found by scanning that
folder, so a new method needs no other change: it becomes one more column of every table whose task it can fit.

An adapter may not
  - open a file, reach the network or print;
  - use global random state: all randomness comes from the ``rng`` it is given, or from the budget;
  - see a test row (it is given none) or change its inputs (they are read-only);
  - add noise by itself: every noisy release goes through ``budget`` (see ``privacy/``), which writes the ledger; where
    the release is a draw from a posterior, the draw is charged as an event with a written bound before it is made;
  - state an epsilon of its own: the budget goes in, the ledger comes out, and the suite computes epsilon;
  - let anything that its accountant does not count reach a private release: moments of the private data,
    starting values or priors from a non-private fit, hyper-parameters chosen on the private data;
  - hide a hyper-parameter: each one is a field of ``Settings`` with its unit and source, and the values of a
    published experiment live in ``config/experiments/``;
  - import torch, jax or numba at module level: listing the methods must stay fast. Heavy imports go inside
    ``prepare`` and ``fit`` (or into an engine under ``methods/engines/`` that is imported there).
"""

from __future__ import annotations

import abc
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Ledger, Relation


class Posterior(Protocol):
    """What a fit returns: parameters, not draws (at most 50 MB over all splits of a cell).

    ``kind`` names the class in ``models.posteriors`` that rebuilds it from ``parameters()``, so that a new
    metric re-runs no fit. Model families add what they can answer; regression has ``predictive``.
    """

    kind: str

    def parameters(self) -> dict[str, np.ndarray]: ...

    def predictive(self, x: np.ndarray, rng: np.random.Generator): ...


@dataclass(frozen=True)
class Fit:
    """Posterior, privacy ledger and diagnostics of one fit."""

    posterior: Posterior
    ledger: Ledger
    diagnostics: Mapping[str, float] = field(default_factory=dict)


class MethodError(RuntimeError):
    """A fit that cannot go on; the message says why and what to do. Becomes a row with status ``failed``."""


class Diverged(MethodError):
    """The numbers left the finite range. Becomes a row with status ``diverged``."""


class Method(abc.ABC):
    """One published (or corrected) algorithm behind the common interface."""

    #: name in the DAG, equal to the file's name; letters, digits and underscores.
    name: ClassVar[str]
    #: column heading.
    title: ClassVar[str]
    #: bibliography key, with the place in the paper, e.g. ``"vinaroz2023dpsep, algorithm 3"``.
    reference: ClassVar[str]
    #: kinds of model it can fit, e.g. ``("bnn_regression",)``.
    models: ClassVar[tuple[str, ...]]
    #: the neighbouring relation its guarantee is for; None where it gives no guarantee.
    privacy: ClassVar[Relation | None] = None
    #: one sentence per leak that the ledger does not count (shown in the leak table); empty when there is none.
    leaks: ClassVar[tuple[str, ...]] = ()

    @dataclass(frozen=True)
    class Settings:
        """Every hyper-parameter, with unit, default and source. Subclasses declare their own."""

    def supports(self, task: Task) -> str | None:
        """None, or the reason why this task cannot be fitted (it reaches the report)."""
        if task.model.kind not in self.models:
            return f"{self.name} fits {', '.join(self.models)}, not {task.model.kind}"
        return None

    def prepare(self, task: Task, settings: Any) -> None:  # noqa: B027 - optional, empty by default
        """Optional: compile what ``fit`` needs. Called once before the timed fit; may not learn from the data."""

    @abc.abstractmethod
    def fit(self, task: Task, settings: Any, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        Deterministic given ``rng``. Raises ValueError for a setting out of range, :class:`Diverged` where the
        numbers leave the finite range, ``privacy.budget.BudgetExceeded`` where a release would overspend.
        """

    def fit_many(
        self,
        tasks: Sequence[Task],
        settings: Any,
        budgets: Sequence[Budget],
        rngs: Sequence[np.random.Generator],
    ) -> list[Fit]:
        """Several fits at one setting in one go, for kernels that gain from it; each keeps its own budget and rng.

        The fits are of different splits, or of one split at several budgets (its tasks are then one and the same
        object).
        """
        return [self.fit(t, settings, b, r) for t, b, r in zip(tasks, budgets, rngs, strict=True)]


@cache
def _methods() -> Mapping[str, Method]:
    found: dict[str, Method] = {}
    for info in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if info.ispkg or info.name == "contract":
            continue
        module = importlib.import_module(f"methods.{info.name}")
        classes = [
            c
            for c in vars(module).values()
            if isinstance(c, type) and issubclass(c, Method) and c.__module__ == module.__name__ and "name" in vars(c)
        ]
        if len(classes) != 1 or classes[0].name != info.name:
            raise TypeError(
                f"methods/{info.name}.py must hold exactly one subclass of Method whose `name` is '{info.name}'; "
                f"found {[c.__name__ for c in classes]}. Shared numerics belong in methods/engines/."
            )
        found[info.name] = classes[0]()
    return found


def names() -> list[str]:
    """Names of all methods, sorted. Imports no torch, jax or numba."""
    return sorted(_methods())


def get(name: str) -> Method:
    """The adapter of that name. Raises KeyError that lists the known ones."""
    try:
        return _methods()[name]
    except KeyError:
        raise KeyError(f"unknown method '{name}'; methods/ has {', '.join(names())}") from None
