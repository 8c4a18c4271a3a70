"""What a method gives back, checked at once: one that breaks the contract is its own row and nobody else's."""

from __future__ import annotations

import numbers
import re
from collections.abc import Mapping

import numpy as np

from methods.contract import Fit, Method, MethodError
from models import posteriors
from models.task import Task
from privacy.ledger import Ledger

#: kinds of array that a file holds without running code when it is read: numbers, switches, words.
_PLAIN = "biufcUS"
#: rows that the rebuilt posterior has to answer for.
_ROWS = 2
#: how NumPy says that arrays do not fit together. Its other ValueErrors are about the numbers in them.
_SHAPES = re.compile(r"shape|dimension|broadcast|too many values|not enough values")


class BadFit(MethodError):
    """A fit that is not what the contract says; the message names the method and what is wrong."""


def parameters_of(method: Method, task: Task, fit: object) -> dict[str, np.ndarray]:
    """The posterior's parameters as they are stored, of a fit that is what the contract says. Raises BadFit elsewhere.

    NaN and infinity are looked for by the caller: they are a result, ``diverged``.
    """
    name = method.name
    if not isinstance(fit, Fit):
        raise BadFit(f"{name} gives {_kind(fit)} where a methods.contract.Fit is due")
    if not isinstance(fit.ledger, Ledger):
        raise BadFit(f"{name}: its ledger is {_kind(fit.ledger)}; give the ledger of the budget")
    if not isinstance(fit.diagnostics, Mapping):
        raise BadFit(f"{name}: its diagnostics are {_kind(fit.diagnostics)}; give a mapping of words to numbers")
    for word, value in fit.diagnostics.items():
        number = isinstance(value, numbers.Real | np.bool_) or (isinstance(value, np.ndarray) and value.size == 1)
        if not isinstance(word, str) or not number:
            raise BadFit(f"{name}: diagnostic {word!r} is {_kind(value)}; give one number")
    return _stored(name, task, fit.posterior)


def _stored(name: str, task: Task, posterior) -> dict[str, np.ndarray]:
    kind = getattr(posterior, "kind", None)
    if not isinstance(kind, str) or not callable(getattr(posterior, "parameters", None)):
        raise BadFit(f"{name}: its posterior is {_kind(posterior)}, without `kind` or without `parameters()`")
    given = posterior.parameters()
    if not isinstance(given, Mapping) or not all(isinstance(word, str) for word in given):
        raise BadFit(f"{name}: parameters() of its posterior gives {_kind(given)}; give name -> array")
    parameters = {word: np.asarray(value) for word, value in given.items()}
    if odd := [word for word, value in parameters.items() if value.dtype.kind not in _PLAIN]:
        raise BadFit(f"{name}: the posterior's {odd[0]} is an array of {parameters[odd[0]].dtype}; give numbers")
    if not_finite(parameters) is None:
        try:
            rebuilt = posteriors.load(kind, parameters)
            if hasattr(rebuilt, "predictive"):
                with np.errstate(all="ignore"):
                    # a generator of its own: the fit's and the scores' stay where they are
                    rebuilt.predictive(task.x[:_ROWS], np.random.default_rng(0))
        except Exception as error:
            if isinstance(error, ValueError | FloatingPointError) and not _SHAPES.search(str(error)):
                return parameters
            shapes = ", ".join(f"{word} {value.shape}" for word, value in parameters.items())
            words = error.args[0] if isinstance(error, KeyError) and error.args else error
            raise BadFit(f"{name}: no '{kind}' that predicts can be made of {shapes}: {words}") from error
    return parameters


def not_finite(parameters: Mapping[str, np.ndarray]) -> str | None:
    """Name of the first array with a NaN or an infinity; None where there is none."""
    return next((n for n, v in parameters.items() if v.dtype.kind in "fc" and not np.isfinite(v).all()), None)


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
