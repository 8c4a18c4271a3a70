"""The budget of one fit: it hands out the mechanisms, writes the ledger and refuses to overspend.

A method never draws its own noise. It asks the budget for a mechanism, states the sensitivity and the sampling
scheme, and passes each release through it::

    noise = budget.gaussian("clipped sum of sites", sensitivity=clip, noise_multiplier=sigma, steps=T,
                            sampling=Sampling.POISSON, sampling_rate=q, relation=Relation.ADD_REMOVE,
                            proof="methods.ep._pbp.clipped_site_sum")
    batches = noise.batches(n_rows)
    for t in range(T):
        released = noise.release(clipped_sum(state, batches.draw(t)))

All ``steps`` of the event are charged when the mechanism is made, so a fit cannot find out half-way that it has
overspent. The mechanism refuses more releases than were announced.

A method may leave clipping to the budget: :meth:`Budget.clipped_sum` takes one vector per row. Only then does the
ledger state the contribution of one row, which amplifies Poisson batches under REPLACE_ONE.

A budget limits the (epsilon, delta) of the whole ledger, its Renyi divergence at one order, or both.
"""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, TypeVar

import numpy as np

from privacy.ledger import EPOCHS, Event, Ledger, Mechanism, Relation, Sampling

GENERATOR = (
    "NumPy PCG64 with its ziggurat normals; large blocks: xoshiro256++ seeded by PCG64, with Box-Muller normals "
    "(neither cryptographic: for research, not for a release to the public)"
)
#: blocks of at least this many numbers come from the fast generator. NumPy is as fast for smaller ones, and needs no
#: compiled code.
_FAST_FROM = 256
_M = TypeVar("_M", bound="AdditiveMechanism")


class Mode(StrEnum):
    ENFORCE = "enforce"  # raise on a charge beyond (epsilon, delta) or the Renyi limit
    RECORD = "record"  # only record charges: for published variants that overspend by design, or without a budget


class Ranges(StrEnum):
    """The way in which a fit estimates ranges of columns that are not documented."""

    MILLIONTHS = "2^-20 to 2^20"  # privacy.scaling: the committed experiments
    ALL = "all doubles"  # privacy.ranges: tables of one's own


class BudgetExceeded(RuntimeError):
    """A release would cost more than the rest of the budget, or exceeds the number of announced releases."""


@dataclass(frozen=True)
class BudgetSpec:
    """A budget as the configuration states it.

    Parameters
    ----------
    epsilon, delta : limits that mode ``enforce`` keeps, or None. At delta = 0 the budget takes only Laplace releases
        and exponential mechanisms, whose epsilons add up.
    renyi : (order, epsilon), with order >= 1 and epsilon in nats, or None. Mode ``enforce`` keeps this limit on the
        Renyi divergence, in addition to (epsilon, delta) if both are given.
    noise_multiplier : noise standard deviation over sensitivity, if a published setting fixes it. Its epsilon is only
        reported.
    mode : see :class:`Mode`.
    claimed_epsilon : the epsilon that the paper claims for the run, to be shown next to the computed one.
    ranges : how a method on rows scaled to [-1, 1] estimates ranges, see :class:`Ranges`.

    Raises ValueError for a number out of range, and for mode ``enforce`` without a limit.
    """

    epsilon: float | None = None
    delta: float | None = None
    renyi: tuple[float, float] | None = None
    noise_multiplier: float | None = None
    mode: Mode = Mode.RECORD
    claimed_epsilon: float | None = None
    ranges: Ranges = Ranges.MILLIONTHS

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", Mode(self.mode))
        object.__setattr__(self, "ranges", Ranges(self.ranges))
        if self.epsilon is not None and not (self.epsilon > 0):
            raise ValueError(f"budget: epsilon = {self.epsilon}; give a number above 0, or leave it out")
        if self.delta is not None and not (0 <= self.delta < 1):
            raise ValueError(f"budget: delta = {self.delta}; give a number of at least 0 and below 1")
        if self.noise_multiplier is not None and not (self.noise_multiplier >= 0):
            raise ValueError(f"budget: noise_multiplier = {self.noise_multiplier}; give a number >= 0")
        if self.renyi is not None:
            try:
                order, epsilon = (float(v) for v in self.renyi)
            except (TypeError, ValueError):
                raise ValueError(f"budget: renyi = {self.renyi}; give two numbers: [order, epsilon]") from None
            check_renyi(order, epsilon, f"budget: renyi = [{order:g}, {epsilon:g}]")
            object.__setattr__(self, "renyi", (order, epsilon))
        whole = self.epsilon is not None and self.delta is not None
        # An epsilon without a delta cannot be enforced, even if there is a Renyi limit too.
        if self.mode is Mode.ENFORCE and not whole and (self.renyi is None or self.epsilon is not None):
            raise ValueError("budget: mode 'enforce' needs epsilon and delta (or renyi); give them or use 'record'")

    def open(self, rng: np.random.Generator, recorder: object | None = None) -> Budget:
        """Open the budget of one fit. ``rng`` draws its noise, ``recorder`` audits its releases."""
        return Budget(self, rng, recorder)


def check_renyi(order: float, epsilon: float, what: str = "budget") -> None:
    """Raise ValueError for an order below 1, or an epsilon that is not a finite number above 0."""
    from privacy.accountants import check_order  # heavy import, and only where it is needed

    check_order(order, what)
    if not (0 < epsilon < math.inf):
        raise ValueError(f"{what}: Renyi epsilon {epsilon} at order {order}; give a finite number above 0")


class Budget:
    """The budget of one fit. It is made by :meth:`BudgetSpec.open` and not shared between fits."""

    #: the budget that this one is a view of (:meth:`stating`) and that is charged instead.
    _whole: Budget | None = None

    def __init__(self, spec: BudgetSpec, rng: np.random.Generator, recorder: object | None = None):
        self.spec = spec
        self.ledger = Ledger()
        self._rng = rng
        self._recorder = recorder

    @property
    def epsilon(self) -> float | None:
        return self.spec.epsilon

    @property
    def delta(self) -> float | None:
        return self.spec.delta

    @property
    def noise_multiplier(self) -> float | None:
        return self.spec.noise_multiplier

    @property
    def renyi(self) -> tuple[float, float] | None:
        """(order, epsilon) of the Renyi limit, or None."""
        return self.spec.renyi

    def require_renyi(self, method: str) -> tuple[float, float]:
        """(order, epsilon) of the Renyi limit. Raises ValueError, which names ``method``, if there is none."""
        if self.renyi is None:
            raise ValueError(f"{method}: the budget states no Renyi order and epsilon; give renyi: [order, epsilon]")
        return self.renyi

    def stating(self, noise_multiplier: float) -> Budget:
        """A view of this budget that states a noise multiplier, for engines that would calibrate to the whole budget.

        The multiplier is the one that earlier releases leave. The view has the same ledger and random stream, and its
        charges go to this budget.
        """
        view = copy.copy(self)
        view._whole = self
        view.spec = replace(
            self.spec, noise_multiplier=float(noise_multiplier), epsilon=None, delta=None, mode=Mode.RECORD
        )
        return view

    def spend(self, event: Event) -> None:
        """Write the event to the ledger.

        In mode ``enforce``, raises :class:`BudgetExceeded` if the ledger would then exceed a limit of the budget: the
        Renyi divergence at its order, or (epsilon, delta). Raises ValueError for an event that states a contribution,
        because only :meth:`clipped_sum` bounds one.
        """
        if event.contribution is not None:
            raise ValueError(
                f"'{event.what}' states that a row contributes at most {event.contribution:g}, but nothing here clips "
                "it to that; release the sum through budget.clipped_sum, or state no contribution"
            )
        self._charge(event)

    def _charge(self, event: Event) -> None:
        if self._whole is not None:
            self._whole._charge(event)
            return
        if self.spec.mode is Mode.ENFORCE:
            self._refuse_overspending(event)
        self.ledger.record(event)

    def _refuse_overspending(self, event: Event) -> None:
        from privacy.accountants import epsilon_of, renyi_divergence  # heavy import, and only where it is needed

        trial = Ledger([*self.ledger.events])
        trial.record(event)
        if self.renyi is not None:
            order, allowed = self.renyi
            cost = renyi_divergence(trial, order)
            if not (cost <= allowed * (1 + 1e-9)):
                raise BudgetExceeded(
                    f"'{event.what}' would bring the cost to epsilon = {cost:.4g} at Renyi order {order:g}; the budget "
                    f"is {allowed:g}. Raise the noise multiplier, make fewer steps, or calibrate the release to it."
                )
        if self.epsilon is not None and self.delta is not None:
            found = epsilon_of(trial, self.delta)
            cost = found.epsilon
            if self.delta == 0 and math.isinf(cost):
                why = found.accountant.removeprefix("none: ")
                raise BudgetExceeded(
                    f"'{event.what}': {why}; give a budget with such releases only, or a delta above 0"
                )
            if not (cost <= self.epsilon * (1 + 1e-9)):
                raise BudgetExceeded(
                    f"'{event.what}' would bring the cost to epsilon = {cost:.4g} at delta = {self.delta:g}; "
                    f"the budget is {self.epsilon:g}. Raise the noise multiplier or make fewer steps."
                )

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

        ``releases`` is the number of calls that the mechanism allows, if it differs from ``steps``. A scheme by epochs
        makes many releases per epoch, but one row directly influences only one of them. The sampling rate of a secret
        permutation follows from them. Raises ValueError for a sensitivity or noise multiplier that is not a finite
        number above 0, BudgetExceeded in mode ``enforce``.
        """
        if sampling is Sampling.SHUFFLED_EPOCHS and releases:
            sampling_rate = steps / releases
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
        return self._hand_out(GaussianMechanism, event, releases)

    def clipped_sum(
        self,
        what: str,
        *,
        clip: float,
        noise_multiplier: float,
        relation: Relation,
        sampling_rate: float = 1.0,
        steps: int = 1,
    ) -> ClippedSum:
        """Charge ``steps`` noisy sums of clipped vectors, and return the object that clips, sums and adds the noise.

        The arguments are those of :func:`clipped_sum_event`, which raises ValueError. Raises BudgetExceeded in mode
        ``enforce``.
        """
        event = clipped_sum_event(
            what,
            clip=clip,
            noise_multiplier=noise_multiplier,
            relation=relation,
            sampling_rate=sampling_rate,
            steps=steps,
        )
        return ClippedSum(self._hand_out(GaussianMechanism, event, None), float(clip))

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
        """Charge Gaussian noise on a quantity that nothing bounds, as in authors' code whose clipping has no effect.

        The event has an infinite sensitivity, so its epsilon is infinite. Mode ``enforce`` refuses it.
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
        return self._hand_out(GaussianMechanism, event, releases)

    def laplace(
        self,
        what: str,
        *,
        sensitivity: float,
        noise_scale: float,
        relation: Relation,
        steps: int = 1,
        releases: int | None = None,
        proof: str,
    ) -> LaplaceMechanism:
        """Charge ``steps`` full-batch Laplace releases and return the mechanism; ``releases`` as for :meth:`gaussian`.

        ``sensitivity`` is the L1 sensitivity of one release under ``relation``. It is infinite if nothing bounds it, as
        in some authors' code, and epsilon is then infinite. ``noise_scale`` is b, in the same units. Raises ValueError
        for a sensitivity or scale that is not above 0, BudgetExceeded in mode ``enforce``.
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
        return self._hand_out(LaplaceMechanism, event, releases)

    def exponential(
        self, what: str, *, sensitivity: float, noise_scale: float, relation: Relation, steps: int = 1, proof: str
    ) -> ExponentialMechanism:
        """Charge ``steps`` exponential mechanisms and return the mechanism, which chooses a candidate by its score.

        ``sensitivity`` is the largest change of any candidate's score under ``relation``. ``noise_scale`` is the number
        by which scores are divided, in the same units. One choice costs 2 sensitivity / noise_scale at delta = 0.
        Raises ValueError unless both are finite numbers above 0, BudgetExceeded in mode ``enforce``.
        """
        for name, value in (("sensitivity", sensitivity), ("noise_scale", noise_scale)):
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{what}: {name} {value} must be a finite number above 0")
        event = Event(
            what=what,
            mechanism=Mechanism.EXPONENTIAL,
            relation=relation,
            sensitivity=float(sensitivity),
            noise_scale=float(noise_scale),
            steps=int(steps),
            proof=proof,
            generator=GENERATOR,
        )
        return self._hand_out(ExponentialMechanism, event, None)

    def no_noise(
        self,
        what: str,
        *,
        relation: Relation,
        steps: int = 1,
        sampling: Sampling = Sampling.FULL_BATCH,
        sampling_rate: float = 1.0,
    ) -> None:
        """Record a release without noise, as in authors' code that omits it. Mode ``enforce`` refuses it."""
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

    def draw(self, event: Event, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Charge a release that is itself a draw, then make it and return it. An audit records it like any release.

        ``event`` has the written bound of the draw, or none. ``make`` gives the released numbers.
        """
        self.spend(event)
        out = np.asarray(make(), dtype=np.float64)
        return out if self._recorder is None else self._recorder.drawn(event, out)

    def _hand_out(self, kind: type[_M], event: Event, releases: int | None) -> _M:
        """Charge the event and make its mechanism, which allows ``releases`` calls (None: the event's steps).

        Raises ValueError for more releases than steps if a row may enter each release.
        """
        if releases is not None and releases > event.steps and event.sampling not in EPOCHS:
            raise ValueError(
                f"'{event.what}': {releases} releases for {event.steps} steps; under {event.sampling} a row may enter "
                "every release: charge a step for each"
            )
        self._charge(event)
        return kind(event, event.steps if releases is None else int(releases), self._rng, self._recorder)


class AdditiveMechanism(abc.ABC):
    """The base class of all mechanisms. A mechanism adds noise to releases, limits their number and can be audited.

    ``audited`` is True while a recorder needs each value before its noise (``privacy.audit.Recorder``). A fast kernel
    that otherwise takes blocks of noise must then call :meth:`release` for each release. A ``privacy.audit.Listener``
    hears only the noise, so it leaves ``audited`` False.
    """

    def __init__(self, event: Event, releases: int, rng: np.random.Generator, recorder: object | None):
        self.event = event
        self.noise_scale = event.noise_scale
        self._left = releases
        self._sampled = False
        self._rng = rng
        self._recorder = recorder
        if recorder is not None:
            recorder.made(self)

    @property
    def audited(self) -> bool:
        return self._recorder is not None and self._recorder.one_by_one

    def _count(self, k: int) -> None:
        if k > self._left:
            raise BudgetExceeded(f"'{self.event.what}': {k} more releases asked, {self._left} left of those announced")
        self._left -= k

    def release(self, value: np.ndarray) -> np.ndarray:
        """One release: the value plus noise.

        Raises ValueError for a NaN or infinity in the value, which would void the sensitivity bound.
        """
        value = np.asarray(value, dtype=np.float64)
        if not np.isfinite(value).all():
            raise ValueError(
                f"'{self.event.what}': a NaN or infinity reached a release; clip must map it to a finite value first"
            )
        self._count(1)
        noise = self._draw(value.shape)
        return value + noise if self._recorder is None else self._recorder.release(self.event, value, noise)

    def batches(self, n: int, rng: np.random.Generator | None = None) -> PoissonSampler:
        """The sampler of this mechanism's batches: each of ``n`` rows enters with the sampling rate of the event.

        ``rng`` draws the key, for engines whose batches belong to the random stream of the fit. By default it is a
        child of the budget's stream, independent of the noise. Raises ValueError for a scheme that is not Poisson or
        full batch, and for a second call, because each step has only one batch.
        """
        if self.event.sampling not in (Sampling.POISSON, Sampling.FULL_BATCH):
            raise ValueError(f"'{self.event.what}': its scheme is {self.event.sampling}, which Poisson batches are not")
        if self._sampled:
            raise ValueError(f"'{self.event.what}' has its batches already; a step reads one batch")
        self._sampled = True
        sampler = PoissonSampler(n, self.event.sampling_rate, self._rng.spawn(1)[0] if rng is None else rng)
        return sampler if self._recorder is None else self._recorder.sampled(self.event, sampler)

    @abc.abstractmethod
    def _draw(self, shape: tuple[int, ...]) -> np.ndarray:
        """Draw the noise of one release of that shape."""


class LaplaceMechanism(AdditiveMechanism):
    """Adds independent Laplace noise of scale b = ``event.noise_scale`` (variance 2 b^2) to every coordinate."""

    def _draw(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._rng.laplace(0.0, self.noise_scale, shape)


class ExponentialMechanism(AdditiveMechanism):
    """Chooses candidate i with probability proportional to exp(score_i / noise scale).

    It adds Gumbel noise of that scale to each score and releases only the number of the largest sum (McSherry & Talwar
    2007).
    """

    def _draw(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._rng.gumbel(0.0, self.noise_scale, shape)

    def release(self, value: np.ndarray) -> np.ndarray:
        """The number of the chosen candidate, as an array without dimensions. ``value``: scores (candidates,)."""
        if np.ndim(value) != 1 or not np.size(value):
            raise ValueError(f"'{self.event.what}': scores of shape {np.shape(value)}; give one per candidate")
        return np.asarray(np.argmax(super().release(value)))

    def choose(self, scores: np.ndarray) -> int:
        """The number of the chosen candidate. ``scores``: (candidates,), higher is better."""
        return int(self.release(scores))


class GaussianMechanism(AdditiveMechanism):
    """Adds N(0, s^2), s = sensitivity x noise multiplier, to every coordinate of a release. It also gives noise in
    blocks."""

    def __init__(self, event: Event, releases: int, rng: np.random.Generator, recorder: object | None):
        super().__init__(event, releases, rng, recorder)
        self._stream = None

    def _draw(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._rng.normal(0.0, self.noise_scale, shape)

    def noise(self, releases: int, size: int, dtype=np.float64) -> np.ndarray:
        """Noise for ``releases`` releases of ``size`` numbers each: an array (releases, size).

        Large blocks of float64 come from a separate generator (:class:`privacy.normal.NormalStream`). Raises
        RuntimeError while audited.
        """
        if self.audited:
            raise RuntimeError("an audited mechanism gives no block of noise; call release() for each release")
        self._count(releases)
        out = np.empty((releases, size), dtype)
        self._fill(out)
        if self._recorder is not None:
            self._recorder.block(self.event, out)
        return out

    def at_once(self, releases: int) -> int:
        """How many releases' noise an engine should request at once: ``releases``, or fewer in an audit.

        So a toy fit has many blocks, as a real fit has.
        """
        return releases if self._recorder is None else min(releases, self._recorder.largest_block)

    def _fill(self, out: np.ndarray) -> None:
        """Fill a block (releases, size) with noise."""
        if out.dtype == np.float64 and out.size >= _FAST_FROM:
            if self._stream is None:
                from privacy.normal import NormalStream  # compiled: heavy import, and only where it is needed

                # Seeded from this stream, not from a child: children seed the batches, which must not change if an
                # audit draws other noise.
                self._stream = NormalStream(self._rng)
            self._stream.fill(out.reshape(-1), self.noise_scale)
        else:
            self._rng.standard_normal(out.shape, out.dtype, out)
            out *= out.dtype.type(self.noise_scale)


def clipped_sum_event(
    what: str,
    *,
    clip: float,
    noise_multiplier: float,
    relation: Relation,
    sampling_rate: float = 1.0,
    steps: int = 1,
) -> Event:
    """The event that :meth:`Budget.clipped_sum` charges, for :func:`privacy.scaling.remaining_noise_multiplier`.

    Parameters
    ----------
    clip : largest norm of one row's vector.
    noise_multiplier : noise standard deviation over the sensitivity, which is ``clip`` under ADD_REMOVE and twice that
        under REPLACE_ONE.
    sampling_rate : rate of the Poisson batches. 1 means full batches.
    steps : number of releases.

    Raises ValueError for a clip or noise multiplier that is not a finite number above 0.
    """
    for name, value in (("clip", clip), ("noise_multiplier", noise_multiplier)):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{what}: {name} {value} must be a finite number above 0")
    sensitivity = float(2 * clip if relation is Relation.REPLACE_ONE else clip)
    return Event(
        what=what,
        mechanism=Mechanism.GAUSSIAN,
        relation=relation,
        sensitivity=sensitivity,
        noise_scale=float(sensitivity * noise_multiplier),
        sampling=Sampling.POISSON if sampling_rate < 1 else Sampling.FULL_BATCH,
        sampling_rate=float(sampling_rate),
        steps=int(steps),
        proof="privacy.budget.ClippedSum",
        generator=GENERATOR,
        contribution=float(clip),
    )


class ClippedSum:
    """Releases noisy sums of vectors, one per row of a batch, after cutting each vector to norm ``clip``.

    :meth:`Budget.clipped_sum` makes it. It gives no noise by itself, so every release is clipped.

    A row that enters or leaves a batch changes the sum by at most ``clip``, which is the contribution that the event
    states. L2 sensitivity: ``clip`` under ADD_REMOVE, twice that under REPLACE_ONE. Proof: given earlier releases, each
    vector depends on one row alone, which the caller has to ensure. Its norm after clipping is at most ``clip``, and a
    vector whose norm is not finite becomes 0. One row therefore changes one term of the sum. If it is replaced, that
    term moves from one vector to another, by at most the sum of their norms.
    """

    def __init__(self, mechanism: GaussianMechanism, clip: float):
        self._mechanism, self.clip = mechanism, clip

    @property
    def event(self) -> Event:
        return self._mechanism.event

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise in each coordinate of a sum."""
        return self._mechanism.noise_scale

    def batches(self, n: int, rng: np.random.Generator | None = None) -> PoissonSampler:
        """The sampler of the batches, as :meth:`AdditiveMechanism.batches`."""
        return self._mechanism.batches(n, rng)

    def release(self, vectors: np.ndarray) -> np.ndarray:
        """The noisy sum (size,) of the clipped rows of ``vectors`` (rows of the batch, size); there may be no rows.

        Raises ValueError for another number of dimensions.
        """
        vectors = np.asarray(vectors, dtype=np.float64)
        if vectors.ndim != 2:
            raise ValueError(f"'{self.event.what}': vectors of shape {vectors.shape}; give (rows of the batch, size)")
        return self._mechanism.release(self._clipped(vectors).sum(axis=0))

    def _clipped(self, vectors: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            norm = np.linalg.norm(vectors, axis=1, keepdims=True)
            return np.where(np.isfinite(norm), vectors * (self.clip / np.maximum(norm, self.clip)), 0.0)


class PoissonSampler:
    """Draws Poisson batches: each row enters a batch independently with probability ``rate``.

    Each step has its own random stream. So on a neighbouring data set without the last row, all other rows are drawn in
    the same way, and record and replay compares equal batches. In large tables, the geometric gaps between the rows of
    a batch are drawn instead of one number per row. The distribution is the same, and the time is proportional to the
    size of the batch.
    """

    #: tables with more rows than this draw gaps
    GAPS_ABOVE: ClassVar[int] = 200_000

    def __init__(self, n: int, rate: float, rng: np.random.Generator):
        if not (0 < rate <= 1):
            raise ValueError(f"sampling rate {rate} is not in (0, 1]")
        self.n, self.rate = n, rate
        #: for kernels that draw the batches themselves
        self.key = np.uint64(rng.integers(2**63))

    def draw(self, step: int) -> np.ndarray:
        """The row numbers of batch ``step``, increasing. There may be none."""
        # NumPy would turn a list of both types into floats, which lose the last bits of the key
        key = np.array([self.key, step], np.uint64)
        stream = np.random.Generator(np.random.Philox(key=key))
        if self.n <= self.GAPS_ABOVE or self.rate > 0.5:
            return np.flatnonzero(stream.random(self.n) < self.rate)
        expected = self.n * self.rate
        size, last, parts = int(expected + 4 * math.sqrt(expected)) + 16, -1, []
        while last < self.n:
            # gaps come one after the other from one stream, so neither the size of a part nor n changes earlier rows
            parts.append(last + np.cumsum(np.minimum(stream.geometric(self.rate, size), self.n + 1)))
            last = int(parts[-1][-1])
        rows = np.concatenate(parts)
        return rows[: np.searchsorted(rows, self.n)]
