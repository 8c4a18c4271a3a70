"""Replay with forged outputs: what a fit does with released numbers may depend only on them and on public knowledge.

A recorded fit only shows outputs that are likely under its noise. Forged outputs also show how a fit treats rare ones:
by a fallback, a skipped release or a failure. Given equal outputs, two fits must be equal on any two data sets with the
same public knowledge, not only on neighbours. So the data sets compared here also include few rows or far rows.
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


#: name -> the output that is returned instead of the value plus its noise
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
#: forgeries that are also tried with almost no noise
QUIET = ("zeros", "the noiseless values", "half of them")


def strangers(task, relation: Relation) -> Iterator[tuple[str, Any]]:
    """Data sets that share only their public knowledge with the task: (name, data)."""
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
    """Return "" if fits with equal forged outputs are equal on a neighbour and all :func:`strangers`.

    Otherwise return the first difference. The number of releases, the posterior, the diagnostics, the ledger and the
    error message of a failed fit are compared. Each data set has a copy of the method that was prepared on it, so that
    what ``prepare`` keeps is compared too. ``QUIET`` forgeries are also tried with almost no noise, because much noise
    can hide a fault.
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
    """Return "" if ``supports`` gives the same answer on the task, neighbours and strangers, otherwise the answers."""

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
