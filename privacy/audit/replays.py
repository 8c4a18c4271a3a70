"""Record and replay.

Run on D and store, for each release, the value before the noise and the noisy output; run on a neighbour D' with the
same random streams and hand out the STORED outputs. Conditioned on the outputs, an adaptive mechanism is private if
each release moves by at most its declared sensitivity; so the largest measured move must not exceed the declared one,
and everything that is not a release (the posterior, the declared events) must not move at all.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Event, Mechanism

#: allowance for rounding in the ratio of a measured to a declared sensitivity: norms of sums in double precision
ROUNDING = 1e-7


#: norm of the change of a release that its sensitivity bounds; 2 for the others
NORMS = {Mechanism.LAPLACE: 1, Mechanism.EXPONENTIAL: math.inf}


class StructureDiffers(RuntimeError):
    """The neighbour's run made other releases (number, order or shape): the pattern of releases leaks rows."""


#: exceptions by which a fit refuses rows, or a replay ends
REFUSED = (StructureDiffers, BudgetExceeded, ValueError, RuntimeError, ArithmeticError)


#: releases of which an engine may ask the noise at once, where the audit does not make blocks small
ANY_BLOCK = 2**62


@dataclass
class Recorder:
    """Listens to the releases of one fit; pass it to ``BudgetSpec.open``.

    It records if there are no ``outputs``: ``values`` (before the noise) and ``outputs`` (after). With the ``outputs``
    of an earlier run it replays: each release returns the stored output, and the new values are stored. ``expected``
    are the events of that run. A recorded release is noisy by the mechanism's own noise, by that of ``noise`` (event,
    rows of (releases, size)) in its order, or it is what ``forge`` makes of event, value and noise.
    """

    outputs: list[np.ndarray] | None = None
    expected: list[Event] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    noise: Sequence[tuple[Event, np.ndarray]] | None = None
    forge: Callable[[Event, np.ndarray, np.ndarray], np.ndarray] | None = None
    largest_block: int = ANY_BLOCK
    #: releases come one by one, never as a block of noise.
    one_by_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.replaying = self.outputs is not None
        self.outputs = [] if self.outputs is None else list(self.outputs)
        self._heard: dict[Event, list[np.ndarray]] = {}
        for event, rows in self.noise or ():
            self._heard.setdefault(replace(event, steps=0), []).extend(rows)
        for rows in self._heard.values():
            rows.reverse()

    def made(self, mechanism) -> None:
        """A mechanism was handed out; nothing is done."""

    def sampled(self, event: Event, sampler) -> None:
        """The batches of an event are known; nothing is done."""

    def release(self, event: Event, value: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The noisy output (recording) or the stored one (replaying). Raises :class:`StructureDiffers`."""
        if self.noise is not None and not self.replaying:
            noise = self._again(event, value.shape)
        return self._handed_out(event, value, noise)

    def drawn(self, event: Event, value: np.ndarray) -> np.ndarray:
        """The same of a release that is itself a draw, which has no noise beside it."""
        return self._handed_out(event, value, np.zeros_like(value))

    def _handed_out(self, event: Event, value: np.ndarray, noise: np.ndarray) -> np.ndarray:
        assert self.outputs is not None  # since __post_init__
        i = len(self.values)
        self.events.append(event)
        self.values.append(np.array(value, dtype=np.float64))
        if not self.replaying:
            self.outputs.append(value + noise if self.forge is None else self.forge(event, value, noise))
        elif i >= len(self.outputs) or self.outputs[i].shape != value.shape or not self._due(i, event):
            raise StructureDiffers(
                f"release {i + 1} ('{event.what}', shape {value.shape}) has no counterpart in the recorded run"
            )
        return self.outputs[i].copy()

    def _again(self, event: Event, shape: tuple[int, ...]) -> np.ndarray:
        """The next noise that was heard of this event."""
        rows = self._heard.get(replace(event, steps=0))
        if not rows or rows[-1].size != math.prod(shape):
            raise StructureDiffers(f"the ordinary fit drew no noise of shape {shape} for this release, '{event.what}'")
        return rows.pop().reshape(shape)

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
    """One fit; the fit's stream and the budget's stream are children 0 and 1 of ``seed``.

    It is made by a copy of the adapter: what a fit keeps on it would be the same in the next, so that nobody would see
    it. In a run one adapter makes many fits.
    """
    fit_seed, noise_seed = np.random.SeedSequence(seed).spawn(2)
    budget = spec.open(np.random.default_rng(noise_seed), recorder)
    return copy.copy(method).fit(task, settings, budget, np.random.default_rng(fit_seed))


def varied(spec, **changes):
    """The spec, or what a faulty one is made of, with these changes."""
    return replace(spec, spec=varied(spec.spec, **changes)) if hasattr(spec, "spec") else replace(spec, **changes)


def quiet(spec):
    """The spec with next to no noise, as a multiplier: an accountant takes minutes to calibrate to a large epsilon.

    A method that needs an epsilon ends at once with it.
    """
    return varied(spec, epsilon=None, delta=None, renyi=None, mode=Mode.RECORD, noise_multiplier=0.02)


@dataclass(frozen=True)
class Outcome:
    """A fit, or the words with which it ended."""

    fit: Any = None
    ended: str = ""


def attempt(method, task, settings, spec: BudgetSpec, seed: int, recorder: Any = None) -> Outcome:
    """:func:`run`, with an exception of ``REFUSED`` as words. Floating-point warnings are off: numbers may be wild."""
    try:
        with np.errstate(all="ignore"):
            return Outcome(run(method, task, settings, spec, seed, recorder))
    except REFUSED as error:
        return Outcome(ended=f"{type(error).__name__}: {error}")


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
        # the written bound of a draw is proved beside its code; no sensitivity of the drawn numbers is declared
        open_ended = math.isinf(event.sensitivity) or event.mechanism is Mechanism.WRITTEN_BOUND
        ratio = 0.0 if not moves or open_ended else top / event.sensitivity
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
