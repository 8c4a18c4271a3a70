"""Noise sources that let one engine make a single fit, or many repetitions of it as one array computation.

An engine that gets its releases from a noise source instead of the budget can be run in two ways:

* Once, with :class:`OneFit`. Each release goes through the mechanism of the budget, as in any other fit, so the audit
  can record and replay it.
* Many times, with :class:`Repeats`: ``count`` independent repetitions of the same fit on the same rows, in one array.
  Each event is charged once, to one budget, so the ledger and its epsilon are those of ONE fit. The noise of the
  repetitions is independent, with the scale of the charged event.

The repetitions together release more than one fit does, and no ledger covers all of them. They are only for studies of
a method's distribution on public rows.

In both cases the first axis of an array counts the repetitions, so that an engine is written once. Its length is 1 for
:class:`OneFit`. A quantity whose sensitivity depends on an earlier release is first divided by it. Then the event
states sensitivity 1 and is the same in every repetition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from privacy.budget import AdditiveMechanism, Budget
from privacy.ledger import Event, Relation


class NoiseSource(Protocol):
    """The releases that an engine may ask for."""

    count: int

    def gaussian(
        self,
        what: str,
        value: np.ndarray,
        *,
        sensitivity: float,
        noise_multiplier: float,
        relation: Relation,
        proof: str,
        batched: bool = False,
    ) -> np.ndarray:
        """``value`` plus Gaussian noise: (count, ...). ``batched``: the first axis of ``value`` counts repetitions."""

    def steps(self, mechanism: AdditiveMechanism) -> Callable[[np.ndarray], np.ndarray]:
        """A function that makes one release of the mechanism per call: (count, ...) in and out."""

    def draw(self, event: Event, size: int, make: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Charge a release that is itself a draw, and return it: (count, ...).

        ``make`` computes it from standard normals (count, size).
        """


class OneFit:
    """One fit, whose releases all go through their mechanism. ``rng`` makes the draws of :meth:`draw`."""

    count = 1

    def __init__(self, budget: Budget, rng: np.random.Generator):
        self.budget = budget
        self._rng = rng

    def gaussian(self, what, value, *, sensitivity, noise_multiplier, relation, proof, batched=False):
        mechanism = self.budget.gaussian(
            what, sensitivity=sensitivity, noise_multiplier=noise_multiplier, relation=relation, proof=proof
        )
        value = np.asarray(value, dtype=np.float64)
        return mechanism.release(value[0] if batched else value)[None]

    def steps(self, mechanism):
        return lambda value: mechanism.release(value[0])[None]

    def draw(self, event, size, make):
        return self.budget.draw(event, lambda: make(self._rng.standard_normal((1, size))))


class Repeats:
    """``count`` independent repetitions of one fit, whose ledger is that of ``budget``. ``rng`` draws all noise.

    Raises ValueError for a count below 1.
    """

    def __init__(self, budget: Budget, rng: np.random.Generator, count: int):
        if count < 1:
            raise ValueError(f"repeats: count = {count}; ask for at least 1")
        self.budget, self.count = budget, int(count)
        self._rng = rng

    def gaussian(self, what, value, *, sensitivity, noise_multiplier, relation, proof, batched=False):
        event_scale = self.budget.gaussian(
            what, sensitivity=sensitivity, noise_multiplier=noise_multiplier, relation=relation, proof=proof
        ).noise_scale
        value = np.asarray(value, dtype=np.float64)
        if not np.isfinite(value).all():
            raise ValueError(f"'{what}': a NaN or infinity reached a release")
        shape = value.shape[1:] if batched else value.shape
        return value + event_scale * self._rng.standard_normal((self.count, *shape))

    def steps(self, mechanism):
        left = mechanism.event.steps

        def release(value: np.ndarray) -> np.ndarray:
            nonlocal left
            if left == 0:
                raise ValueError(f"'{mechanism.event.what}': more releases than were charged")
            if not np.isfinite(value).all():
                raise ValueError(f"'{mechanism.event.what}': a NaN or infinity reached a release")
            left -= 1
            return value + mechanism.noise_scale * self._rng.standard_normal(value.shape)

        return release

    def draw(self, event, size, make):
        self.budget.spend(event)
        return make(self._rng.standard_normal((self.count, size)))
