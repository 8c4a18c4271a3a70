"""A private method small enough to be proved by eye, and variants of it that are wrong in one way each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit
from models.task import PublicKnowledge, Task
from privacy.ledger import Relation, Sampling


@dataclass(frozen=True)
class Point:
    w: np.ndarray
    kind: str = "toy"

    def parameters(self):
        return {"w": self.w}

    def predictive(self, x, rng):
        raise NotImplementedError


class Toy:
    """Gradient steps towards the mean of the rows [x, y], each row's gradient clipped to ``clip``."""

    name = "toy"
    models = ("toy",)
    privacy = Relation.ADD_REMOVE
    leaks = ()

    @dataclass(frozen=True)
    class Settings:
        steps: int = 60
        rate: float = 0.5
        clip: float = 1.0

    declared = 1.0  # declared over true sensitivity
    clips = True
    read_moments = False
    steps_declared = 1.0
    fast_noise = 1.0
    bare_after = 10**9  # steps
    refuses = np.inf  # numbers above it
    told = staticmethod(lambda rows: {})  # diagnostics
    uses_noise = True

    def supports(self, task):
        return None

    def prepare(self, task, settings):
        pass

    def fit(self, task, settings, budget, rng):
        s = settings
        if np.abs(task.x).max() > self.refuses:
            raise ValueError("a number is too large")
        if budget.noise_multiplier is None:
            raise ValueError("the budget states no noise multiplier")
        rows = np.column_stack([task.x, task.y])
        if self.read_moments:
            rows = rows - rows.mean(axis=0)
        sampling = Sampling.POISSON if s.rate < 1 else Sampling.FULL_BATCH
        mechanism = budget.gaussian(
            "clipped sum",
            sensitivity=self.declared * s.clip,
            noise_multiplier=budget.noise_multiplier,
            relation=self.privacy,
            sampling=sampling,
            sampling_rate=s.rate,
            steps=max(1, int(self.steps_declared * s.steps)),
            releases=s.steps,
            proof="toys",
        )
        batches = mechanism.batches(task.n)
        w = rng.standard_normal(rows.shape[1])
        for t in range(s.steps):
            g = rows[batches.draw(t)] - w
            norm = np.linalg.norm(g, axis=1, keepdims=True)
            if self.clips:
                g = g * np.minimum(1.0, s.clip / np.maximum(norm, 1e-300))
            total = g.sum(axis=0)
            if mechanism.audited:
                noisy = mechanism.release(total)
            else:
                noisy = total + self.fast_noise * mechanism.noise(1, total.size)[0]
            w = w + 0.3 * (noisy if self.uses_noise and t < self.bare_after else total) / (s.rate * task.public.n)
        return Fit(Point(w), budget.ledger, self.told(rows))


class ClippedToy(Toy):
    """The same steps under REPLACE_ONE, with sums that the budget clips."""

    privacy = Relation.REPLACE_ONE
    own_batches = False  # rows are drawn without the mechanism's sampler

    def fit(self, task, settings, budget, rng):
        s = settings
        if budget.noise_multiplier is None:
            raise ValueError("the budget states no noise multiplier")
        rows = np.column_stack([task.x, task.y])
        sums = budget.clipped_sum(
            "clipped sum",
            clip=s.clip,
            noise_multiplier=budget.noise_multiplier,
            relation=self.privacy,
            sampling_rate=s.rate,
            steps=s.steps,
        )
        batches = sums.batches(task.n)
        if self.own_batches:
            batches = type("Own", (), {"draw": lambda _, step: np.flatnonzero(rng.random(task.n) < s.rate)})()
        w = rng.standard_normal(rows.shape[1])
        for t in range(s.steps):
            w = w + 0.3 * sums.release(rows[batches.draw(t)] - w) / (s.rate * task.public.n)
        return Fit(Point(w), budget.ledger, {})


def variant(_of=Toy, **attributes) -> Toy:
    """A toy that differs in the given attributes."""
    return type("Variant", (_of,), attributes)()


def toy_task(n: int = 12, d: int = 2, seed: int = 0) -> Task:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, d))
    y = np.clip(x[:, 0] + 0.2 * rng.standard_normal(n), -5, 5)
    return Task("toy", None, x, y, PublicKnowledge(n, ((-2.0, 2.0),) * d, (-5.0, 5.0), "the law that draws these rows"))
