"""The Laplace mechanism, handed out by a budget like the Gaussian one."""

from __future__ import annotations

import math

import numpy as np

from privacy.budget import GENERATOR, Budget, BudgetExceeded
from privacy.ledger import Event, Mechanism, Relation


class LaplaceMechanism:
    """Adds independent Laplace noise of scale b = ``event.noise_scale`` (variance 2 b^2) to every coordinate."""

    def __init__(self, event: Event, releases: int, rng: np.random.Generator, recorder: object | None):
        self.event = event
        self.noise_scale = event.noise_scale
        self._left = releases
        self._rng = rng
        self._recorder = recorder

    def release(self, value: np.ndarray) -> np.ndarray:
        """One release: the value plus noise. A NaN or infinity in the value is refused (it would void the bound)."""
        value = np.asarray(value, dtype=np.float64)
        if not np.isfinite(value).all():
            raise ValueError(
                f"'{self.event.what}': a NaN or infinity reached a release; clip must map it to a finite value first"
            )
        if self._left < 1:
            raise BudgetExceeded(f"'{self.event.what}': one more release asked, none left of those announced")
        self._left -= 1
        if self._recorder is not None:
            return self._recorder.release(self.event, value, self._rng)
        return value + self._rng.laplace(0.0, self.noise_scale, value.shape)


def laplace(
    budget: Budget,
    what: str,
    *,
    sensitivity: float,
    noise_scale: float,
    relation: Relation,
    steps: int = 1,
    proof: str,
) -> LaplaceMechanism:
    """Charge ``steps`` full-batch Laplace releases to ``budget`` and return the mechanism.

    ``sensitivity``: L1 sensitivity of one release under ``relation``; infinite where nothing bounds it (a published
    program; then epsilon is infinite whatever the noise). ``noise_scale``: b, same units. Raises ValueError for a
    sensitivity or scale that is not above 0, BudgetExceeded in mode ``enforce``.
    """
    if not sensitivity > 0:
        raise ValueError(f"{what}: sensitivity {sensitivity} must be above 0")
    if not (math.isfinite(noise_scale) and noise_scale > 0):
        raise ValueError(f"{what}: noise_scale {noise_scale} must be a finite number above 0")
    event = Event(
        what=what,
        mechanism=Mechanism.LAPLACE,
        relation=relation,
        sensitivity=float(sensitivity),
        noise_scale=float(noise_scale),
        steps=int(steps),
        proof=proof,
        generator=GENERATOR,
    )
    budget.spend(event)
    return LaplaceMechanism(event, int(steps), budget._rng, budget._recorder)
