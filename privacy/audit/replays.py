"""Record and replay: measures by how much each release changes between two neighbouring data sets.

A method is run on D, and for each release the value before the noise and the noisy output are stored. Then it is run
on a neighbour D' with the same random streams, and gets the STORED outputs. Conditioned on the outputs, an adaptive
mechanism is private if each release changes by at most its declared sensitivity. So no measured change may exceed the
declared sensitivity. Everything else that depends on the outputs (posterior, diagnostics, events) must not change.
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


#: the norm in which the sensitivity bounds the change of a release; 2 for the other mechanisms
NORMS = {Mechanism.LAPLACE: 1, Mechanism.EXPONENTIAL: math.inf}


class StructureDiffers(RuntimeError):
    """The neighbour's run made other releases (number, order or shape), so the pattern of releases depends on rows."""


#: exceptions with which a fit refuses rows or a replay stops
REFUSED = (StructureDiffers, BudgetExceeded, ValueError, RuntimeError, ArithmeticError)


#: how many releases' noise a method may request at once if the audit does not ask for small blocks
ANY_BLOCK = 2**62


@dataclass
class Recorder:
    """Records or replays the releases of one fit. Pass it to ``BudgetSpec.open``.

    It records each release if there are no ``outputs``: ``values`` (before the noise) and ``outputs`` (after). With the
    ``outputs`` of an earlier run it replays: each release returns the stored output, and the new values are stored.

    Parameters
    ----------
    expected : events of the earlier run.
    noise : pairs (event, (releases, size)) that replace the mechanism's own noise while recording, in their order.
    forge : makes the recorded output from event, value and noise; by default value plus noise.
    largest_block : see :data:`ANY_BLOCK`.
    without : the number of a row that is left out of all batches, or None.
    """

    outputs: list[np.ndarray] | None = None
    expected: list[Event] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    noise: Sequence[tuple[Event, np.ndarray]] | None = None
    forge: Callable[[Event, np.ndarray, np.ndarray], np.ndarray] | None = None
    largest_block: int = ANY_BLOCK
    without: int | None = None
    #: a mechanism must release one value at a time, and gives no block of noise
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
        """Do nothing; called when the budget makes a mechanism."""

    def sampled(self, event: Event, sampler):
        """The sampler of the batches of an event, without the row that is left out."""
        return sampler if self.without is None else _Without(sampler, self.without)

    def release(self, event: Event, value: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The noisy output (recording) or the stored one (replaying). Raises :class:`StructureDiffers`."""
        if self.noise is not None and not self.replaying:
            noise = self._again(event, value.shape)
        return self._handed_out(event, value, noise)

    def drawn(self, event: Event, value: np.ndarray) -> np.ndarray:
        """The same as :meth:`release` for a release that is itself a draw, without added noise."""
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
        """The next noise of this event that a listener heard in the ordinary fit."""
        rows = self._heard.get(replace(event, steps=0))
        if not rows or rows[-1].size != math.prod(shape):
            raise StructureDiffers(f"the ordinary fit drew no noise of shape {shape} for this release, '{event.what}'")
        return rows.pop().reshape(shape)

    def _due(self, i: int, event: Event) -> bool:
        return not self.expected or self.expected[i].what == event.what


@dataclass(frozen=True)
class _Without:
    """A sampler whose batches lack one row."""

    sampler: Any
    row: int

    def __getattr__(self, name):
        return getattr(self.sampler, name)

    def draw(self, step: int) -> np.ndarray:
        rows = self.sampler.draw(step)
        return rows[rows != self.row]


@dataclass(frozen=True)
class Gap:
    """Declared and measured sensitivity of one event on one pair of neighbours.

    ``ratio`` is measured / declared. Above 1, the declared sensitivity is wrong. The two runs differ in ``moved`` of
    the ``releases`` releases.
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
    """One fit. The fit's random stream and the budget's are children 0 and 1 of ``seed``.

    Each fit has a new copy of the adapter. Otherwise whatever one fit stores on the adapter would be the same in the
    next fit, and a leak by it would go unnoticed. In a real run one adapter makes many fits.
    """
    fit_seed, noise_seed = np.random.SeedSequence(seed).spawn(2)
    budget = spec.open(np.random.default_rng(noise_seed), recorder)
    return copy.copy(method).fit(task, settings, budget, np.random.default_rng(fit_seed))


def varied(spec, **changes):
    """The spec with these changes. In a wrapper such as ``FaultySpec``, the spec inside is changed."""
    return replace(spec, spec=varied(spec.spec, **changes)) if hasattr(spec, "spec") else replace(spec, **changes)


def quiet(spec):
    """The spec with almost no noise: a noise multiplier of 0.02.

    It states no large epsilon, because an accountant takes minutes to calibrate to one. So a method that needs an
    epsilon stops at once with an error.
    """
    return varied(spec, epsilon=None, delta=None, renyi=None, mode=Mode.RECORD, noise_multiplier=0.02)


@dataclass(frozen=True)
class Outcome:
    """The fit, or the type and message of the exception with which it ended."""

    fit: Any = None
    ended: str = ""


def attempt(method, task, settings, spec: BudgetSpec, seed: int, recorder: Any = None) -> Outcome:
    """:func:`run`, which returns an exception of ``REFUSED`` as text. Floating-point warnings are off."""
    try:
        with np.errstate(all="ignore"):
            return Outcome(run(method, task, settings, spec, seed, recorder))
    except REFUSED as error:
        return Outcome(ended=f"{type(error).__name__}: {error}")


def replay(method, task, neighbour, settings, spec: BudgetSpec, seed: int, without: int | None = None) -> Replay:
    """Record on ``task``, replay on ``neighbour`` (with the same ``public``), and compare.

    In the replay, batches lack the row number ``without``. Raises :class:`StructureDiffers` if the two runs do not make
    the same releases.
    """
    first, second, fit, again = both_runs(method, task, neighbour, settings, spec, seed, without)
    gaps = []
    for event in fit.ledger:
        norm = NORMS.get(event.mechanism, 2)
        mine = [i for i, e in enumerate(first.events) if same_event(e, event)]
        moves = [float(np.linalg.norm((first.values[i] - second.values[i]).ravel(), norm)) for i in mine]
        moves = [math.inf if math.isnan(m) else m for m in moves]
        top = max(moves, default=math.nan)
        tiny = ROUNDING * event.sensitivity if math.isfinite(event.sensitivity) else 0.0
        # The bound of a draw is proved next to its code. No sensitivity of the drawn numbers is declared.
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


def both_runs(method, task, neighbour, settings, spec: BudgetSpec, seed: int, without: int | None = None):
    """The recorders and then the fits of the run on ``task`` and its replay on ``neighbour``.

    ``without``, and the error that is raised: as for :func:`replay`.
    """
    first = Recorder()
    fit = run(method, task, settings, spec, seed, first)
    second = Recorder(first.outputs, first.events, without=without)
    again = run(method, neighbour, settings, spec, seed, second)
    if len(second.values) != len(first.values):
        raise StructureDiffers(f"{len(first.values)} releases on the data, {len(second.values)} on the neighbour")
    return first, second, fit, again


def replay_gap(method, task, neighbour, settings, spec: BudgetSpec, seed: int) -> tuple[Gap, ...]:
    """Declared sensitivity, largest measured change and their ratio per event; see :func:`replay`."""
    return replay(method, task, neighbour, settings, spec, seed).gaps


def unequal(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, ...]:
    """Names whose values differ, or that only one of the two mappings has. NaN equals NaN."""

    def same(x, y) -> bool:
        try:
            return bool(np.array_equal(np.asarray(x, np.float64), np.asarray(y, np.float64), equal_nan=True))
        except (TypeError, ValueError):
            return x == y

    return tuple(sorted(k for k in {*a, *b} if k not in a or k not in b or not same(a[k], b[k])))


def parameter_distance(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> float:
    """The largest absolute difference of any parameter; infinite if names or shapes differ, or only one is a number.

    Two NaN are equal, and so are two equal infinities.
    """
    if a.keys() != b.keys() or any(np.shape(a[k]) != np.shape(b[k]) for k in a):
        return math.inf
    return max((largest_gap(np.asarray(a[k], np.float64), np.asarray(b[k], np.float64)) for k in a), default=0.0)


def largest_gap(a: np.ndarray, b: np.ndarray) -> float:
    """The largest absolute difference of two arrays of one shape, as in :func:`parameter_distance`."""
    differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    gap = np.abs(a[differ] - b[differ])
    return float(np.max(np.where(np.isnan(gap), np.inf, gap), initial=0.0))


def flat_parameters(fit) -> np.ndarray:
    """All posterior parameters of a fit as one vector."""
    p = fit.posterior.parameters()
    return np.concatenate([np.ravel(np.asarray(p[k], dtype=np.float64)) for k in sorted(p)])


def same_event(a: Event, b: Event) -> bool:
    """Whether two events are equal except for their number of steps."""
    return replace(a, steps=0) == replace(b, steps=0)  # the ledger merges equal events by adding their steps
