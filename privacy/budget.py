"""The budget of one fit: it hands out the mechanisms, writes the ledger and refuses to overspend.

A method never draws its own noise. It asks the budget for a mechanism, states the sensitivity and the sampling
scheme, and passes each release through it::

    noise = budget.gaussian("clipped sum of sites", sensitivity=clip, noise_multiplier=sigma, steps=T,
                            sampling=Sampling.POISSON, sampling_rate=q, relation=Relation.ADD_REMOVE,
                            proof="methods.engines.pbp.clipped_site_sum")
    batches = budget.poisson(n_rows, q)
    for t in range(T):
        released = noise.release(clipped_sum(state, batches.draw(t)))

The whole event is charged when the mechanism is made (``steps`` in advance), so a fit cannot find out half-way
that it has overspent; the mechanism then refuses a release beyond the number announced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling

GENERATOR = (
    "NumPy PCG64 with its ziggurat normals; large blocks: xoshiro256++ seeded by PCG64, with Box-Muller normals "
    "(neither cryptographic: for research, not for a release to the public)"
)
#: numbers from which a block comes from the fast generator; NumPy is as quick below, and needs no compiled code.
_FAST_FROM = 256


class Mode(StrEnum):
    ENFORCE = "enforce"  # a charge beyond (epsilon, delta) raises
    RECORD = "record"  # charge only: for published variants that overspend by construction, and for no budget


class BudgetExceeded(RuntimeError):
    """A release would cost more than what is left."""


@dataclass(frozen=True)
class BudgetSpec:
    """A budget as the config states it.

    Parameters
    ----------
    epsilon, delta : the (epsilon, delta) to keep in mode ``enforce``; None where nothing is asked.
    renyi : (order, epsilon) for a Renyi budget, else None.
    noise_multiplier : noise standard deviation over sensitivity, fixed by a published setting; its epsilon is
        only reported.
    mode : see :class:`Mode`.
    claimed_epsilon : what the paper says the run costs; shown beside the epsilon that the run really has.
    """

    epsilon: float | None = None
    delta: float | None = None
    renyi: tuple[float, float] | None = None
    noise_multiplier: float | None = None
    mode: Mode = Mode.RECORD
    claimed_epsilon: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", Mode(self.mode))
        if self.epsilon is not None and not (self.epsilon > 0):
            raise ValueError(f"budget: epsilon = {self.epsilon}; give a number above 0, or leave it out")
        if self.delta is not None and not (0 < self.delta < 1):
            raise ValueError(f"budget: delta = {self.delta}; give a number between 0 and 1")
        if self.noise_multiplier is not None and not (self.noise_multiplier >= 0):
            raise ValueError(f"budget: noise_multiplier = {self.noise_multiplier}; give a number >= 0")
        if self.mode is Mode.ENFORCE and self.renyi is None and (self.epsilon is None or self.delta is None):
            raise ValueError("budget: mode 'enforce' needs epsilon and delta (or renyi); give them or use 'record'")

    def open(self, rng: np.random.Generator, recorder: object | None = None) -> Budget:
        return Budget(self, rng, recorder)


class Budget:
    """One fit's budget. Made by :meth:`BudgetSpec.open`; not shared between fits."""

    def __init__(self, spec: BudgetSpec, rng: np.random.Generator, recorder: object | None = None):
        self.spec = spec
        self.ledger = Ledger()
        self._rng = rng
        self._recorder = recorder
        self._samplers = 0

    @property
    def epsilon(self) -> float | None:
        return self.spec.epsilon

    @property
    def delta(self) -> float | None:
        return self.spec.delta

    @property
    def noise_multiplier(self) -> float | None:
        return self.spec.noise_multiplier

    def spend(self, event: Event) -> None:
        """Write the event. In mode ``enforce`` raise :class:`BudgetExceeded` if the ledger would then cost too much."""
        if self.spec.mode is Mode.ENFORCE:
            from privacy.accountants import epsilon_of  # heavy import, and only where it is needed

            trial = Ledger([*self.ledger.events])
            trial.record(event)
            cost = epsilon_of(trial, self.spec.delta).epsilon
            if not (cost <= self.spec.epsilon * (1 + 1e-9)):
                raise BudgetExceeded(
                    f"'{event.what}' would bring the cost to epsilon = {cost:.4g} at delta = {self.spec.delta:g}; "
                    f"the budget is {self.spec.epsilon:g}. Raise the noise multiplier or make fewer steps."
                )
        self.ledger.record(event)

    def gaussian(
        self,
        what: str,
        *,
        sensitivity: float,
        noise_multiplier: float,
        relation: Relation,
        sampling: Sampling = Sampling.FULL_BATCH,
        sampling_rate: float = 1.0,
        steps: int = 1,
        releases: int | None = None,
        proof: str,
    ) -> GaussianMechanism:
        """Charge ``steps`` Gaussian releases and return the mechanism.

        ``releases`` is the number of calls that the mechanism allows where it differs from ``steps`` (an epoch
        scheme makes N releases an epoch, of which one row can influence one directly).
        """
        if not (math.isfinite(sensitivity) and sensitivity > 0):
            raise ValueError(f"{what}: sensitivity {sensitivity} must be a finite number above 0")
        if not (math.isfinite(noise_multiplier) and noise_multiplier > 0):
            raise ValueError(
                f"{what}: noise_multiplier {noise_multiplier} must be above 0; use no_noise() to record a bare release"
            )
        event = Event(
            what=what,
            mechanism=Mechanism.GAUSSIAN,
            relation=relation,
            sensitivity=float(sensitivity),
            noise_scale=float(sensitivity * noise_multiplier),
            sampling=sampling,
            sampling_rate=float(sampling_rate),
            steps=int(steps),
            proof=proof,
            generator=GENERATOR,
        )
        self.spend(event)
        return GaussianMechanism(event, int(releases if releases is not None else steps), self._rng, self._recorder)

    def unbounded_gaussian(
        self,
        what: str,
        *,
        noise_scale: float,
        relation: Relation,
        sampling: Sampling = Sampling.FULL_BATCH,
        sampling_rate: float = 1.0,
        steps: int = 1,
        releases: int | None = None,
    ) -> GaussianMechanism:
        """Noise on a quantity that nothing bounds (released programs whose clipping does nothing).

        The event holds an infinite sensitivity, so its epsilon is infinite whatever the noise. Refused in ``enforce``.
        """
        if not (math.isfinite(noise_scale) and noise_scale > 0):
            raise ValueError(f"{what}: noise_scale {noise_scale} must be above 0; no_noise() records a bare release")
        event = Event(
            what=what,
            mechanism=Mechanism.GAUSSIAN,
            relation=relation,
            sensitivity=math.inf,
            noise_scale=float(noise_scale),
            sampling=sampling,
            sampling_rate=float(sampling_rate),
            steps=int(steps),
            proof="none: nothing bounds what one row can change",
            generator=GENERATOR,
        )
        self.spend(event)
        return GaussianMechanism(event, int(releases if releases is not None else steps), self._rng, self._recorder)

    def no_noise(
        self,
        what: str,
        *,
        relation: Relation,
        steps: int = 1,
        sampling: Sampling = Sampling.FULL_BATCH,
        sampling_rate: float = 1.0,
    ) -> None:
        """Record that private numbers leave without noise (released programs that drop it). Refused in ``enforce``."""
        self.spend(
            Event(
                what=what,
                mechanism=Mechanism.NO_NOISE,
                relation=relation,
                sensitivity=math.inf,
                noise_scale=0.0,
                sampling=sampling,
                sampling_rate=float(sampling_rate),
                steps=int(steps),
                proof="none: nothing bounds what one row can change",
            )
        )

    def poisson(self, n: int, rate: float) -> PoissonSampler:
        """Poisson batches of ``n`` rows at ``rate``; independent of the noise stream."""
        self._samplers += 1
        return PoissonSampler(n, rate, self._rng.spawn(1)[0])


class GaussianMechanism:
    """Adds N(0, (sensitivity x noise multiplier)^2) to every coordinate of a release.

    ``audited`` is True while a recorder listens (``privacy.audit``): a fast kernel that takes blocks of noise must
    then go release by release through :meth:`release`, so that the value before the noise is seen.
    """

    def __init__(self, event: Event, releases: int, rng: np.random.Generator, recorder: object | None):
        self.event = event
        self.noise_scale = event.noise_scale
        self._left = releases
        self._rng = rng
        self._stream = None
        self._recorder = recorder

    @property
    def audited(self) -> bool:
        return self._recorder is not None

    def _count(self, k: int) -> None:
        if k > self._left:
            raise BudgetExceeded(f"'{self.event.what}': {k} more releases asked, {self._left} left of those announced")
        self._left -= k

    def release(self, value: np.ndarray) -> np.ndarray:
        """One release: the value plus noise. A NaN or infinity in the value is refused (it would void the bound)."""
        value = np.asarray(value, dtype=np.float64)
        if not np.isfinite(value).all():
            raise ValueError(
                f"'{self.event.what}': a NaN or infinity reached a release; clip must map it to a finite value first"
            )
        self._count(1)
        if self._recorder is not None:
            return self._recorder.release(self.event, value, self._rng)
        return value + self._rng.normal(0.0, self.noise_scale, value.shape)

    def noise(self, releases: int, size: int, dtype=np.float64) -> np.ndarray:
        """Noise for ``releases`` releases of ``size`` numbers each: array (releases, size). Not while audited.

        Large blocks of float64 come from a generator of their own (:class:`privacy.normal.NormalStream`).
        """
        if self.audited:
            raise RuntimeError("an audited mechanism gives no block of noise; call release() for each release")
        self._count(releases)
        if dtype == np.float64 and releases * size >= _FAST_FROM:
            if self._stream is None:
                from privacy.normal import NormalStream  # compiled: heavy import, and only where it is needed

                # Seeded by the state of this stream, not by a child: children seed the batches, which are held fixed
                # where an audit draws other noise.
                self._stream = NormalStream(self._rng)
            out = np.empty((releases, size))
            self._stream.fill(out.reshape(-1), self.noise_scale)
            return out
        out = self._rng.standard_normal((releases, size), dtype=dtype)
        out *= dtype(self.noise_scale)
        return out


class PoissonSampler:
    """Each row enters a batch independently with probability ``rate``.

    Step t has a stream of its own, so that on a neighbouring data set (last row removed) all other rows are drawn
    alike: record-and-replay compares the same batches.
    """

    def __init__(self, n: int, rate: float, rng: np.random.Generator):
        if not (0 < rate <= 1):
            raise ValueError(f"sampling rate {rate} is not in (0, 1]")
        self.n, self.rate = n, rate
        self._key = int(rng.integers(0, 2**63))

    def draw(self, step: int) -> np.ndarray:
        """Row numbers of batch ``step``, increasing; may be empty."""
        u = np.random.Generator(np.random.Philox(key=[self._key, step])).random(self.n)
        return np.flatnonzero(u < self.rate)
