"""Record and replay.

Run on D and store, for each release, the value before the noise and the noisy output; run on a neighbour D' with the
same random streams and hand out the STORED outputs. Conditioned on the outputs, an adaptive mechanism is private if
each release moves by at most its declared sensitivity; so the largest measured move must not exceed the declared one,
and everything that is not a release (the posterior, the declared events) must not move at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from privacy.budget import BudgetExceeded, BudgetSpec
from privacy.ledger import Event, Mechanism

#: allowance for rounding in the ratio of a measured to a declared sensitivity: norms of sums in double precision
ROUNDING = 1e-7


#: norm of the change of a release that its sensitivity bounds; 2 for the others
NORMS = {Mechanism.LAPLACE: 1, Mechanism.EXPONENTIAL: math.inf}


class StructureDiffers(RuntimeError):
    """The neighbour's run made other releases (number, order or shape): the pattern of releases leaks rows."""


#: exceptions by which a fit refuses rows, or a replay ends
REFUSED = (StructureDiffers, BudgetExceeded, ValueError, RuntimeError, ArithmeticError)


@dataclass
class Recorder:
    """Listens to the releases of one fit; pass it to ``BudgetSpec.open``.

    Without ``outputs`` it records: ``values`` (before the noise) and ``outputs`` (after). With the ``outputs`` of an
    earlier run it replays: each release returns the stored output, and the new values are stored; ``expected`` are the
    events of that run. The noise is always the mechanism's own.
    """

    outputs: list[np.ndarray] | None = None
    expected: list[Event] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    #: releases come one by one, never as a block of noise.
    one_by_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.replaying = self.outputs is not None
        self.outputs = [] if self.outputs is None else list(self.outputs)

    def release(self, event: Event, value: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The noisy output (recording) or the stored one (replaying). Raises :class:`StructureDiffers`."""
        assert self.outputs is not None  # since __post_init__
        i = len(self.values)
        self.events.append(event)
        self.values.append(np.array(value, dtype=np.float64))
        if not self.replaying:
            self.outputs.append(value + noise)
        elif i >= len(self.outputs) or self.outputs[i].shape != value.shape or not self._due(i, event):
            raise StructureDiffers(
                f"release {i + 1} ('{event.what}', shape {value.shape}) has no counterpart in the recorded run"
            )
        return self.outputs[i].copy()

    def _due(self, i: int, event: Event) -> bool:
        return not self.expected or self.expected[i].what == event.what


@dataclass(frozen=True)
class Gap:
    """Declared against measured sensitivity of one event over one pair of neighbours.

    ``ratio`` = measured / declared: above 1 the declared sensitivity is wrong. ``moved`` releases of ``releases``
    differ between the two runs.
    """

    what: str
    declared: float
    measured: float
    releases: int
    moved: int
    ratio: float


@dataclass(frozen=True)
class Replay:
    """Result of :func:`replay`.

    ``posterior_change`` : largest absolute difference of any posterior parameter, given equal outputs.
    ``diagnostics_differ`` : names of diagnostics that differ, given equal outputs.
    ``events_differ`` : the two ledgers differ, so a declared number depends on the rows.
    """

    gaps: tuple[Gap, ...]
    posterior_change: float
    diagnostics_differ: tuple[str, ...]
    events_differ: bool
    recorded: Recorder
    ledger: Any

    @property
    def ratio(self) -> float:
        return max((g.ratio for g in self.gaps), default=0.0)


def run(method, task, settings, spec: BudgetSpec, seed: int, recorder: Recorder | None = None):
    """One fit; the fit's stream and the budget's stream are children 0 and 1 of ``seed``."""
    fit_seed, noise_seed = np.random.SeedSequence(seed).spawn(2)
    budget = spec.open(np.random.default_rng(noise_seed), recorder)
    return method.fit(task, settings, budget, np.random.default_rng(fit_seed))


def replay(method, task, neighbour, settings, spec: BudgetSpec, seed: int) -> Replay:
    """Record on ``task``, replay on ``neighbour`` (``public`` unchanged), compare.

    Raises :class:`StructureDiffers` where the two runs do not make the same releases.
    """
    first, second, fit, again = both_runs(method, task, neighbour, settings, spec, seed)
    gaps = []
    for event in fit.ledger:
        norm = NORMS.get(event.mechanism, 2)
        mine = [i for i, e in enumerate(first.events) if same_event(e, event)]
        moves = [float(np.linalg.norm((first.values[i] - second.values[i]).ravel(), norm)) for i in mine]
        top = max(moves, default=math.nan)
        tiny = ROUNDING * event.sensitivity if math.isfinite(event.sensitivity) else 0.0
        ratio = 0.0 if not moves or math.isinf(event.sensitivity) else top / event.sensitivity
        gaps.append(Gap(event.what, event.sensitivity, top, len(moves), sum(m > tiny for m in moves), ratio))
    return Replay(
        tuple(gaps),
        parameter_distance(fit.posterior.parameters(), again.posterior.parameters()),
        unequal(fit.diagnostics, again.diagnostics),
        fit.ledger.to_json() != again.ledger.to_json(),
        first,
        fit.ledger,
    )


def both_runs(method, task, neighbour, settings, spec: BudgetSpec, seed: int):
    """Recorder of the run on ``task`` and of its replay on ``neighbour``, and the two fits. Raises as replay."""
    first = Recorder()
    fit = run(method, task, settings, spec, seed, first)
    second = Recorder(first.outputs, first.events)
    again = run(method, neighbour, settings, spec, seed, second)
    if len(second.values) != len(first.values):
        raise StructureDiffers(f"{len(first.values)} releases on the data, {len(second.values)} on the neighbour")
    return first, second, fit, again


def replay_gap(method, task, neighbour, settings, spec: BudgetSpec, seed: int) -> tuple[Gap, ...]:
    """Declared sensitivity, largest measured change and their ratio, per event; see :func:`replay`."""
    return replay(method, task, neighbour, settings, spec, seed).gaps


def unequal(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, ...]:
    """Names under which two mappings do not hold the same; NaN equals NaN."""

    def same(x, y) -> bool:
        try:
            return bool(np.array_equal(np.asarray(x, np.float64), np.asarray(y, np.float64), equal_nan=True))
        except (TypeError, ValueError):
            return x == y

    return tuple(sorted(k for k in {*a, *b} if k not in a or k not in b or not same(a[k], b[k])))


def parameter_distance(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> float:
    """Largest absolute difference; infinite where names or shapes differ."""
    if a.keys() != b.keys() or any(np.shape(a[k]) != np.shape(b[k]) for k in a):
        return math.inf
    return max((float(np.max(np.abs(np.asarray(a[k]) - np.asarray(b[k])), initial=0.0)) for k in a), default=0.0)


def flat_parameters(fit) -> np.ndarray:
    """All posterior parameters of a fit as one vector."""
    p = fit.posterior.parameters()
    return np.concatenate([np.ravel(np.asarray(p[k], dtype=np.float64)) for k in sorted(p)])


def same_event(a: Event, b: Event) -> bool:
    """One event, whatever its number of steps."""
    return replace(a, steps=0) == replace(b, steps=0)  # the ledger merges equal events by adding their steps
