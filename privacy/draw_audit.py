"""Audit of a method whose release is one posterior draw: everything except the draw must be equal on neighbours.

Such a method adds no noise, so there is nothing to replay. Its privacy bound is proved next to its code and checked by
brute force in its tests. Everything else that a fit returns must depend only on public numbers: diagnostics, ledger,
the other parameters of the posterior, whether the method accepts a task, and whether the fit succeeds.
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
    """The checks of one adapter on one task. Each returns "" if it passes, otherwise what it found.

    ``only``: names of the pairs of ``audit.neighbours`` to use; by default all.
    """

    def __init__(self, method, task, settings, spec: BudgetSpec, seed: int, only: Sequence[str] = ()):
        self._fit, self._only = (method, task, settings, spec, seed), tuple(only)

    @cached_property
    def pairs(self) -> list[tuple[str, object, object]]:
        """(name, fit on D, fit on D') of each pair of ``audit.neighbours``. A failed fit is its exception.

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
        """Check that no fit raises an exception."""
        for name, *fits in self.pairs:
            if failed := [f for f in fits if isinstance(f, Exception)]:
                return f"{name}: {type(failed[0]).__name__}: {failed[0]}"
        return ""

    def _both(self):
        return [(name, a, b) for name, a, b in self.pairs if not isinstance(a, Exception) | isinstance(b, Exception)]

    def diagnostics(self) -> str:
        """Check that the diagnostics are equal."""
        for name, a, b in self._both():
            if differ := audit.unequal(a.diagnostics, b.diagnostics):
                return f"{name}: {', '.join(differ)} differ"
        return ""

    def events(self) -> str:
        """Check that the ledgers are equal."""
        return next((f"{n}: the ledgers differ" for n, a, b in self._both() if a.ledger != b.ledger), "")

    def posterior(self) -> str:
        """Check that at most one parameter differs: the draw."""
        for name, a, b in self._both():
            one, two = a.posterior.parameters(), b.posterior.parameters()
            differ = [k for k in one if k not in two or not np.array_equal(one[k], two[k])]
            if len(differ) > 1:
                return f"{name}: {', '.join(differ)} differ; a draw is one of them"
        return ""

    def supports(self) -> str:
        """Run ``audit.forged.supports_fault``."""
        method, task, *_ = self._fit
        return supports_fault(method, task)
