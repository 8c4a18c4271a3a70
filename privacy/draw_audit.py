"""Audit of a method whose release is one posterior draw: everything but the draw is equal on neighbours.

Such a method adds no noise, so there is nothing to replay; its bound is proved beside its code and checked by brute
force in its tests. All else that leaves the fit must be a function of public numbers: diagnostics, ledger, parameters
that come with the draw, whether a task is taken, and whether there is a result at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from privacy import audit
from privacy.audit.forged import prepared, supports_fault
from privacy.budget import BudgetSpec

CHECKS = ("runs", "diagnostics", "events", "posterior", "supports")


class DrawAudit:
    """The checks of one adapter on one task, each when it is asked for; "" or what was found.

    ``only``: the names of the pairs of ``audit.neighbours`` that are wanted, all by default.
    """

    def __init__(self, method, task, settings, spec: BudgetSpec, seed: int, only: Sequence[str] = ()):
        self._fit, self._only = (method, task, settings, spec, seed), tuple(only)

    @cached_property
    def pairs(self) -> list[tuple[str, object, object]]:
        """(name, fit on D, fit on D') of each pair of ``audit.neighbours``; an exception takes the place of a fit.

        Each fit has a copy of the method that was prepared on its rows, so that what ``prepare`` keeps is compared too.
        """
        method, task, settings, spec, seed = self._fit

        def one(data):
            try:
                return audit.run(prepared(method, data, settings), data, settings, spec, seed)
            except audit.REFUSED as error:
                return error

        pairs = [p for p in audit.neighbours(task, method.privacy) if not self._only or p[0] in self._only]
        return [(name, one(d), one(other)) for name, d, other in pairs]

    def runs(self) -> str:
        """Both fits of each pair have a result."""
        for name, *fits in self.pairs:
            if failed := [f for f in fits if isinstance(f, Exception)]:
                return f"{name}: {type(failed[0]).__name__}: {failed[0]}"
        return ""

    def _both(self):
        return [(name, a, b) for name, a, b in self.pairs if not isinstance(a, Exception) | isinstance(b, Exception)]

    def diagnostics(self) -> str:
        """Equal diagnostics."""
        for name, a, b in self._both():
            if differ := audit.unequal(a.diagnostics, b.diagnostics):
                return f"{name}: {', '.join(differ)} differ"
        return ""

    def events(self) -> str:
        """Equal ledgers."""
        return next((f"{n}: the ledgers differ" for n, a, b in self._both() if a.ledger != b.ledger), "")

    def posterior(self) -> str:
        """Exactly one parameter moves: the draw."""
        for name, a, b in self._both():
            one, two = a.posterior.parameters(), b.posterior.parameters()
            differ = [k for k in one if k not in two or not np.array_equal(one[k], two[k])]
            if len(differ) > 1:
                return f"{name}: {', '.join(differ)} differ; a draw is one of them"
        return ""

    def supports(self) -> str:
        """See ``audit.forged.supports_fault``."""
        method, task, *_ = self._fit
        return supports_fault(method, task)
