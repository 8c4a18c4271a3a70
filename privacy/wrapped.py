"""Broken copies of an adapter whose diagnostics, or whose failure, depend on the rows.

They wrap ``fit`` and change no line of the adapter. So they work for every adapter, including those that release a
draw. Broken noise, batches and charges are in ``privacy.faults``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Wrapped:
    """One way to break a fit, and the ``check`` of ``privacy.audit.Audit`` or ``DrawAudit`` that should find it."""

    name: str
    what: str
    check: str
    after: Callable  # maps (task, fit) to the fit that is returned

    def of(self, method):
        """The broken copy of a method."""
        base, after = type(method), self.after

        def fit(self, task, settings, budget, rng):
            return after(task, base.fit(self, task, settings, budget, rng))

        return type("Broken", (base,), {"fit": fit})()


def _telling(name: str, number: Callable) -> Callable:
    def after(task, fit):
        return replace(fit, diagnostics={**fit.diagnostics, name: float(number(task.x))})

    return after


def _refusing(task, fit):
    if np.abs(task.x).max() > 1e5:
        raise ValueError("a number is too large")
    return fit


_SQUARES = _telling("loss", lambda x: (x**2).mean())
_LARGEST = _telling("largest", lambda x: np.abs(x).max())
WRAPPED = (
    Wrapped("raw loss told", "the mean of the squared rows is told", "diagnostics", _SQUARES),
    Wrapped("largest value told", "the largest number is told", "diagnostics", _LARGEST),
    Wrapped("mean told", "the mean of the rows is told", "diagnostics", _telling("mean", np.mean)),
    Wrapped("extreme row refused", "a row above 1e5 ends the fit", "runs", _refusing),
)
#: the pair of ``privacy.audit.neighbours`` on which the broken copies are run
PAIR = "outlier x 1e6"
