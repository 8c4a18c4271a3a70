"""Replay with forged outputs: what is done with released numbers may depend on these and on public knowledge only.

A recorded fit shows the outputs that its noise happens to make. Forged outputs show what is done with rare
ones: a fallback, a skipped release, a failure. Given equal outputs, two fits must be equal on any two data sets
with the same public knowledge, not on neighbours alone: so the others here have few rows, or far ones.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from privacy.audit.pairs import ROWS, first_rows, neighbours
from privacy.audit.replays import REFUSED, Recorder, attempt, quiet, unequal
from privacy.budget import BudgetSpec
from privacy.ledger import Event, Relation

Forgery = Callable[[Event, np.ndarray, np.ndarray], np.ndarray]


def _unit(event: Event) -> float:
    return event.sensitivity if np.isfinite(event.sensitivity) else max(event.noise_scale, 1.0)


def _spike(size: float, place: int) -> Forgery:
    def forge(event, value, noise):
        out = np.array(value + noise)
        if out.size:
            out.reshape(-1)[place % out.size] = size * _unit(event)
        return out

    return forge


def _alternating(value: np.ndarray) -> np.ndarray:
    return (1.0 - 2.0 * (np.arange(value.size) % 2)).reshape(value.shape)


#: name -> what is handed out in the place of a value and its noise
FORGERIES: dict[str, Forgery] = {
    "zeros": lambda event, value, noise: np.zeros_like(value),
    "the noiseless values": lambda event, value, noise: np.array(value),
    "half of them": lambda event, value, noise: 0.5 * value,
    "a row at the bound": lambda event, value, noise: _unit(event) / max(value.size, 1) ** 0.5 * np.ones(value.shape),
    "rows at the bound, in turn": lambda event, value, noise: 10.0 * _unit(event) * _alternating(value),
    "noise ten times as large": lambda event, value, noise: value + 10.0 * noise,
    "next to nothing": lambda event, value, noise: 1e-3 * noise,
    "huge values": lambda event, value, noise: np.full(value.shape, 1e6 * _unit(event)),
    "huge negative values": lambda event, value, noise: np.full(value.shape, -1e6 * _unit(event)),
    "a spike at the start": _spike(1e4, 0),
    "a negative spike at the end": _spike(-1e4, -1),
}
#: those that are tried with next to no noise, too
QUIET = ("zeros", "the noiseless values", "half of them")


def strangers(task, relation: Relation) -> Iterator[tuple[str, Any]]:
    """Data sets that have nothing in common with the task but what is public; ``public`` is unchanged."""
    y = None if task.y is None else np.full(task.n, task.y[0])
    yield "one row over and over", replace(task, x=np.tile(task.x[:1], (task.n, 1)), y=y)
    far, _ = ROWS["outlier x 1e6"](np.array(task.x), 0.0)
    yield "far rows", replace(task, x=far, y=None if task.y is None else task.y[::-1].copy())
    if relation is Relation.ADD_REMOVE:
        yield "few rows", first_rows(task, 2)


def prepared(method, task, settings):
    """A copy of the method that has been prepared on this task."""
    out = copy.copy(method)
    out.prepare(task, settings)
    return out


def forged_fault(method, task, settings, spec: BudgetSpec, seed: int) -> str:
    """ "" if fits with equal forged outputs are equal on all :func:`strangers`, else the first difference.

    Compared are the releases, the posterior, the diagnostics, the ledger, and with which words a fit ends. Each data
    set has a copy of the method that was prepared on it, so that what ``prepare`` keeps is compared too. ``QUIET``
    forgeries are tried with next to no noise as well: what much noise hides, little shows.
    """
    one, other = next((d, dprime) for _, d, dprime in neighbours(task, method.privacy))
    others = [("a neighbour", other if method.privacy is Relation.ADD_REMOVE else one)]
    others += [*strangers(task, method.privacy)]
    ready = [(name, data, prepared(method, data, settings)) for name, data in others]
    base = prepared(method, task, settings)
    for budget, forgeries in ((spec, FORGERIES), (quiet(spec), QUIET)):
        for forgery in forgeries:
            recorder = Recorder(forge=FORGERIES[forgery])
            first = attempt(base, task, settings, budget, seed, recorder)
            for name, data, copied in ready:
                again = Recorder(recorder.outputs, recorder.events)
                second = attempt(copied, data, settings, budget, seed, again)
                if text := _difference(first, second, len(recorder.values), len(again.values)):
                    return f"{forgery}, {name}: {text}"
    return ""


def _difference(one, two, releases: int, others: int) -> str:
    if one.ended != two.ended:
        return f"one fit ends with '{one.ended or 'a result'}', the other with '{two.ended or 'a result'}'"
    if releases != others:
        return f"{releases} releases and {others}"
    if one.ended:
        return ""
    a, b = one.fit.posterior.parameters(), two.fit.posterior.parameters()
    if differ := unequal(a, b):
        return f"equal outputs, {', '.join(differ)} of the posterior differ"
    if differ := unequal(one.fit.diagnostics, two.fit.diagnostics):
        return f"equal outputs, {', '.join(differ)} of the diagnostics differ"
    return "the ledgers differ" if one.fit.ledger.to_json() != two.fit.ledger.to_json() else ""


def supports_fault(method, task) -> str:
    """ "" if ``supports`` says the same on neighbours and strangers, else what it says."""

    def said(data) -> str:
        try:
            return method.supports(data) or "yes"
        except REFUSED as error:
            return f"{type(error).__name__}: {error}"

    here = said(task)
    data = [(f"{name}, {which}", d) for name, *both in neighbours(task, method.privacy)
            for which, d in zip("DE", both, strict=True)]  # fmt: skip
    for name, other in [*data, *strangers(task, method.privacy)]:
        if said(other) != here:
            return f"{name}: supports says '{said(other)}' where it says '{here}' of the task"
    return ""
