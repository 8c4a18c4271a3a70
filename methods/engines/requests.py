"""How many splits of a cell a method fits at one request."""

from __future__ import annotations


class Together:
    """Mixin: many splits at one request, one after the other. A request loads its table once: simulated ones are large.

    ``splits_at_once``: splits of one request, and so what a killed run loses at most.
    """

    splits_at_once = 50

    def fit_many(self, tasks, settings, budgets, rngs):
        """The single fits."""
        return [self.fit(t, settings, b, r) for t, b, r in zip(tasks, budgets, rngs, strict=True)]
