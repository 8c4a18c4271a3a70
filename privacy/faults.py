"""Broken budgets, which show that the checks of the audit catch faults: each must make a check fail.

With a broken budget, a fit draws, charges or samples differently from what its ledger says. Examples are noise that is
missing or too small, and a wrong sensitivity, rate or number of steps. A fault is a mix-in over the mechanisms that a
budget makes, or a change of the events that it charges. So one list covers every adapter: the audit runs the unchanged
adapter with a ``FaultySpec`` in place of its ``BudgetSpec``. A fault in the code of one adapter (its clipping, its
scaling, a constant that reads rows) is a patch of ``privacy.mutants``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privacy.budget import Budget, BudgetSpec, PoissonSampler
from privacy.ledger import Event, Mechanism, Sampling


class NoNoise:
    """No noise, in single releases and in blocks."""

    def _draw(self, shape):
        return 0.0 * super()._draw(shape)

    def _fill(self, out):
        super()._fill(out)
        out *= 0.0


class Weak:
    """Noise with only a part of its declared scale."""

    part = 2 / 3

    def _draw(self, shape):
        return self.part * super()._draw(shape)

    def _fill(self, out):
        super()._fill(out)
        out *= self.part


class Strong(Weak):
    """More noise than declared: no loss of privacy, but not the distribution that the accountant assumes."""

    part = 3 / 2


class WeakBlocks:
    """Nine tenths of the declared scale in blocks of noise."""

    def _fill(self, out):
        super()._fill(out)
        out *= 0.9


class Uniform:
    """Uniform noise with the declared variance."""

    def _draw(self, shape):
        scale = self.noise_scale * (np.sqrt(2.0) if self.event.mechanism is Mechanism.LAPLACE else 1.0)
        return self._rng.uniform(-np.sqrt(3.0) * scale, np.sqrt(3.0) * scale, shape)

    def _fill(self, out):
        out[...] = Uniform._draw(self, out.shape)


class Repeated:
    """Every release gets the noise of the first one again, unless it needs more numbers."""

    _first = None

    def _again(self, shape, fresh):
        size = int(np.prod(shape))
        if self._first is None or len(self._first) < size:
            self._first = np.ravel(fresh).copy()
        return self._first[:size].reshape(shape)

    def _draw(self, shape):
        return self._again(shape, super()._draw(shape))

    def _fill(self, out):
        super()._fill(out)
        out[...] = self._again(out.shape[1:], out[0])


class PublicNoise:
    """Noise from a generator with a fixed seed, so every fit draws the same noise."""

    def __init__(self, event, releases, rng, recorder):
        super().__init__(event, releases, np.random.default_rng(0), recorder)


class HalfBlocks:
    """Blocks lose half of their noise. A fit whose releases are recorded one by one has no fault."""

    used = 0.5

    def noise(self, releases, size, dtype=np.float64):
        out = super().noise(releases, size, dtype)
        out *= self.used
        return out


class HalfUsed(HalfBlocks):
    """Only half of the drawn noise is used, in single releases and in blocks."""

    def release(self, value):
        value = np.asarray(value, dtype=np.float64)
        return value + self.used * (super().release(value) - value)


class ThrownAway(HalfUsed):
    """The noisy release is made and discarded, and the fit uses the value without noise."""

    used = 0.0


@dataclass(frozen=True)
class _Batches:
    """Replaces a ``PoissonSampler``. ``rows`` maps (n, rate, key, step) to row numbers."""

    n: int
    rate: float
    key: np.uint64
    rows: Callable[[int, float, np.uint64, int], np.ndarray]

    def draw(self, step: int) -> np.ndarray:
        return self.rows(self.n, self.rate, self.key, step)


class Sampled:
    """Batches of another distribution; here every row. Kernels that draw their own batches are not affected."""

    rows = staticmethod(lambda n, rate, key, step: np.arange(n))

    def batches(self, n, rng=None):
        true = super().batches(n, rng)
        return _Batches(true.n, true.rate, true.key, self.rows)


class InTurn(Sampled):
    """Batches in turn: each row is in every (1 / rate)-th batch."""

    rows = staticmethod(lambda n, rate, key, step: np.flatnonzero((np.arange(n) + step) % max(1, round(1 / rate)) == 0))


class FixedSize(Sampled):
    """Batches of one size, drawn uniformly without replacement."""

    @staticmethod
    def rows(n, rate, key, step):
        rng = np.random.Generator(np.random.Philox(key=[key, step]))
        return np.sort(rng.choice(n, max(1, round(rate * n)), replace=False))


class PublicBatches:
    """Batches whose key is a constant."""

    def batches(self, n, rng=None):
        true = super().batches(n, rng)
        return PoissonSampler(true.n, true.rate, np.random.default_rng(0))


class MoreOften:
    """Batches at a higher rate than the event says."""

    factor = 1.5

    def batches(self, n, rng=None):
        true = super().batches(n, rng)
        sampler = PoissonSampler(true.n, min(1.0, self.factor * true.rate), np.random.default_rng(0))
        sampler.key = true.key
        return sampler


@dataclass(frozen=True)
class Fault:
    """One way to break a budget.

    ``check`` : the check of ``privacy.audit.Audit`` that should find the fault.
    ``mixin`` : class that overrides methods of each mechanism.
    ``charged`` : gives the event that the ledger gets instead of the mechanism's.
    ``announced`` : gives the event that both the ledger and the mechanism get instead of the adapter's.
    ``declared`` : the part of the adapter's sensitivity that is declared.
    """

    name: str
    what: str
    check: str
    mixin: type = object
    charged: Callable[[Event], Event] = lambda event: event
    announced: Callable[[Event], Event] = lambda event: event
    declared: float = 1.0


def _larger(event: Event) -> Event:
    return replace(event, noise_scale=2 * event.noise_scale)


def _third(event: Event) -> Event:
    return replace(event, steps=max(1, event.steps // 3))


def _rarer(event: Event) -> Event:
    sampled = event.sampling is Sampling.POISSON
    return replace(event, sampling_rate=event.sampling_rate * 2 / 3) if sampled else event


FAULTS: tuple[Fault, ...] = (
    Fault("no noise", "no mechanism adds noise", "noise", NoNoise),
    Fault("two thirds of the noise", "2/3 of the declared scale", "noise", Weak),
    Fault("more noise than declared", "3/2 of the declared scale", "noise", Strong),
    Fault("weak blocks", "9/10 of the declared scale where noise is drawn in blocks", "noise", WeakBlocks),
    Fault("uniform noise", "the declared variance, another law", "noise", Uniform),
    Fault("noise used twice", "every release gets the noise of the first", "noise", Repeated),
    Fault("public noise", "the noise of a stream that everybody knows", "noise", PublicNoise),
    Fault(
        "release thrown away", "the release is drawn and thrown away, the bare value goes on", "posterior", ThrownAway
    ),
    Fault("half of the noise used", "half of the noise that is drawn reaches the fit", "posterior", HalfUsed),
    Fault("half of a block used", "half of the noise that is drawn in blocks reaches the fit", "same_path", HalfBlocks),
    Fault("half the sensitivity", "half of the sensitivity is declared", "sensitivity", declared=0.5),
    Fault("more noise in the ledger", "twice the noise that is drawn is charged", "steps", charged=_larger),
    Fault("a third of the steps", "a third of the releases is charged", "steps", charged=_third),
    Fault("a third of the steps announced", "a third of the releases is announced", "runs", announced=_third),
    Fault("full batches", "every row in every batch", "sampling", Sampled),
    Fault("batches in turn", "each row in every 1/rate-th batch", "sampling", InTurn),
    Fault("batches of one size", "drawn without replacement", "sampling", FixedSize),
    Fault("public batches", "batches of a constant key", "sampling", PublicBatches),
    Fault("batches at a higher rate", "3/2 of the declared rate", "sampling", MoreOften),
    Fault("a smaller rate in the ledger", "2/3 of the rate is charged", "steps", charged=_rarer),
)


#: for methods that release clipped sums. No committed method does, so it is not among the faults of every adapter.
HALF_CONTRIBUTION = Fault(
    "half the contribution",
    "half of what one row contributes is stated",
    "sensitivity",
    announced=lambda event: replace(event, contribution=event.contribution and event.contribution / 2),
)


class _FaultyBudget(Budget):
    fault: Fault

    def gaussian(self, what, *, sensitivity, **rest):
        return super().gaussian(what, sensitivity=self.fault.declared * sensitivity, **rest)

    def laplace(self, what, *, sensitivity, noise_scale, **rest):
        part = self.fault.declared
        return super().laplace(what, sensitivity=part * sensitivity, noise_scale=part * noise_scale, **rest)

    def _hand_out(self, kind, event, releases):
        if self.fault.mixin is not object:
            kind = type(f"{self.fault.mixin.__name__}{kind.__name__}", (self.fault.mixin, kind), {})
        return super()._hand_out(kind, self.fault.announced(event), event.steps if releases is None else releases)

    def _charge(self, event):
        super()._charge(self.fault.charged(event) if self._whole is None else event)


@dataclass(frozen=True)
class FaultySpec:
    """A ``BudgetSpec`` that opens budgets with a fault."""

    spec: BudgetSpec
    fault: Fault

    def __getattr__(self, name):
        return getattr(self.spec, name)

    def open(self, rng, recorder=None):
        """Open a budget with the fault."""
        return type("Faulty", (_FaultyBudget,), {"fault": self.fault})(self.spec, rng, recorder)


def view_of(budget: Budget, fault: Fault) -> Budget:
    """A view of an open budget with the fault. Its charges go to that budget."""
    view = copy.copy(budget)
    view.__class__ = type("Faulty", (_FaultyBudget,), {"fault": fault})
    return view


def of(name: str) -> Fault:
    """The fault of that name. Raises KeyError."""
    return {f.name: f for f in FAULTS}[name]
