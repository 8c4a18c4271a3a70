"""The code of each fault of ``audit/faults.csv``: how a copy of a real adapter is broken.

A fault is a subclass of one adapter. During a fit, its budget, its mechanism or one function of its numerics behaves
differently from the real one. The real adapter does not change.
"""

from __future__ import annotations

import copy
import importlib
import logging
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from methods.contract import Diverged
from privacy.budget import Budget
from privacy.ledger import Ledger


# ------------------------------------------------------------------------------------------------ how a copy is built
def subclass(method, **members):
    """A copy of the adapter with other members."""
    return type(f"Faulty{type(method).__name__}", (type(method),), members)()


def fitting(change: Callable) -> Callable:
    """The copy whose fit returns ``change(copy, fit, task, budget, rng)``; ``fit(budget)`` is the real fit."""

    def make(method):
        def fit(self, task, settings, budget, rng):
            def real(budget):
                return type(method).fit(self, task, settings, budget, rng)

            return change(self, real, task, budget, rng)

        return subclass(method, fit=fit)

    return make


def numerics(module: str, name: str, made: Callable[[Any], Any]) -> Callable:
    """The copy whose fit uses ``made(function)`` in place of a function of a module."""

    @contextmanager
    def swapped() -> Iterator[None]:
        where = importlib.import_module(module)
        real = vars(where)[name]
        setattr(where, name, made(real))
        try:
            yield
        finally:
            setattr(where, name, real)

    def change(self, fit, task, budget, rng):
        with swapped():
            return fit(budget)

    return fitting(change)


def viewed(view: Callable) -> Callable:
    """The copy whose fit gets ``view(budget, task, rng)`` in place of its budget."""
    return fitting(lambda self, fit, task, budget, rng: fit(view(budget, task, rng)))


def with_members(budget: Budget, members: dict[str, Callable]) -> Budget:
    """A view of the budget with other members."""
    view = copy.copy(budget)
    view.__class__ = type("Faulty", (type(budget),), members)
    return view


def with_stream(budget: Budget, rng: np.random.Generator) -> Budget:
    """A view of the budget whose mechanisms draw from ``rng``."""
    view = copy.copy(budget)
    view._rng = rng
    return view


def handing_out(mixin: type, of: str = "") -> dict[str, Callable]:
    """Members of a budget whose mechanisms have the mix-in, for events whose text begins with ``of``."""

    def hand_out(self, kind, event, releases):
        if event.what.startswith(of):
            kind = type(f"{mixin.__name__}{kind.__name__}", (mixin, kind), {})
        return Budget._hand_out(self, kind, event, releases)

    return {"_hand_out": hand_out}


def mechanism(mixin: type, of: str = "") -> Callable:
    """The copy with the mix-in over the mechanisms of events whose text begins with ``of``."""
    return viewed(lambda budget, *_: with_members(budget, handing_out(mixin, of)))


def after_release(after: Callable[..., np.ndarray]) -> type:
    """A mix-in that returns ``after(mechanism, value, released)`` for each release."""

    class After:
        def release(self, value):
            return after(self, np.asarray(value, np.float64), super().release(value))

    return After


def released(after: Callable[..., np.ndarray], of: str = "") -> Callable:
    """The copy in which ``after(mechanism, value, released)`` is used instead of the release."""
    return mechanism(after_release(after), of)


def in_blocks(after: Callable[..., np.ndarray]) -> Callable:
    """The copy in which ``after(mechanism, noise)`` is used instead of a block of noise."""

    class Block:
        def noise(self, releases, size, dtype=np.float64):
            return after(self, super().noise(releases, size, dtype))

    return mechanism(Block)


def declaring(part: float, of: str = "") -> dict[str, Callable]:
    """Members of a budget that counts only this part of the declared sensitivity."""

    def some(what: str) -> float:
        return part if what.startswith(of) else 1.0

    def gaussian(self, what, *, sensitivity, **rest):
        return Budget.gaussian(self, what, sensitivity=some(what) * sensitivity, **rest)

    def laplace(self, what, *, sensitivity, noise_scale, **rest):
        k = some(what)
        return Budget.laplace(self, what, sensitivity=k * sensitivity, noise_scale=k * noise_scale, **rest)

    return {"gaussian": gaussian, "laplace": laplace}


def declared(part: float, of: str = "") -> Callable:
    """The copy that declares only this part of its sensitivity."""
    return viewed(lambda budget, *_: with_members(budget, declaring(part, of)))


def _follows_the_rows(budget, task, rng):
    """A budget that counts a little more than the sensitivity, by an amount that depends on the rows."""
    return with_members(budget, declaring(1.0 + 1e-3 * abs(float(np.mean(task.x)))))


def _unbounded(self, what, *, sensitivity, noise_multiplier, proof, **rest):
    return Budget.unbounded_gaussian(self, what, noise_scale=sensitivity * noise_multiplier, **rest)


# ------------------------------------------------------------------------------------------------ on the fast path only
def _times(part: float):
    def kernel(real):
        def steps(*a):
            noise = 18  # its place among the arguments
            return real(*a[:noise], a[noise] * part, *a[noise + 1 :])

        return steps

    return kernel


def _kernels(name: str, wrap: Callable) -> Callable:
    """The module of kernels with one kernel replaced by ``wrap(kernel)``."""

    def made(real):
        out = type(sys)(real.__name__)
        vars(out).update(vars(real) | {name: wrap(vars(real)[name])})
        return out

    return made


def _trace_without_noise(real):
    def advance(rows, prior, n, phi, normals, noise, *rest):
        *head, kept, burn_in = rest
        bare = phi.copy()
        real(rows, prior, n, bare, normals, 0.0 * noise, *head, kept, burn_in)
        real(rows, prior, n, phi, normals, noise, *head, np.zeros_like(kept), burn_in)

    return advance


def _last_of_block_bare(real):
    def advance(rows, prior, n, phi, normals, noise, *rest):
        noise = noise.copy()
        noise[-1] = 0.0
        real(rows, prior, n, phi, normals, noise, *rest)

    return advance


def _same_block(mechanism, noise):
    """The buffer of noise is filled only once."""
    if len(vars(mechanism).get("_block", ())) < len(noise):
        mechanism._block = noise
    return mechanism._block[: len(noise)].copy()


def _late_block(mechanism, noise):
    """All blocks except the first have half of their noise."""
    mechanism._blocks = vars(mechanism).get("_blocks", 0) + 1
    return noise if mechanism._blocks == 1 else noise * noise.dtype.type(0.5)


def _cut_block(mechanism, noise):
    """Noise in blocks is cut at four deviations."""
    return np.clip(noise, -4 * mechanism.noise_scale, 4 * mechanism.noise_scale)


def _last_coordinate(_, noise):
    """In blocks, the last number of each release has half of its noise."""
    noise[:, -1] *= 0.5
    return noise


# ----------------------------------------------------------------------------------- what is done with what is released
RANGES, SUMS = "histogram of magnitudes", "sums of the columns"


def _masked(_, value, out):
    return np.where(value > 0, out, 0.0)


def _coverage_of_rows(real):
    return lambda values, n, *rest, **more: real(values, len(values), *rest, **more)


def _fallback(limit: float):
    """Use the raw value if the released one is implausible: ``limit`` standard deviations beyond its bound."""

    def after(mechanism, value, out):
        most = 20 * mechanism.event.sensitivity + limit * mechanism.noise_scale
        return value if np.abs(out).max(initial=0.0) > most else out

    return after


def _negative(deviations: float):
    return lambda mechanism, value, out: np.where(out < -deviations * mechanism.noise_scale, value, out)


def _all_small(mechanism, value, out):
    return value if np.abs(out).max(initial=0.0) < 0.05 * mechanism.noise_scale else out


def _within(deviations: float):
    def after(mechanism, value, out):
        most = deviations * mechanism.noise_scale
        return np.clip(out, value - most, value + most)

    return after


def _bare_if_nothing(_, value, out):
    return out if value.any() else value


def _hopeless(real):
    def ratios(purse, multiplier, steps):
        ask = real(purse, multiplier, steps)

        def careful(energy, proposed, bound):
            raw = float(np.sum(proposed - energy))
            return -1e9 if raw < -1e3 else ask(energy, proposed, bound)

        return careful

    return ratios


def _restart(_, value, out):
    """Use the raw numbers if all released ones are below zero."""
    return value if (out < 0).all() else out


def _raw_size(mechanism, value, out):
    part = min(1.0, float(np.linalg.norm(value)) / mechanism.event.sensitivity)
    return value + (out - value) * part


# ------------------------------------------------------------------------------------------------------- late and rare
def after_steps(first: int) -> type:
    """From release number ``first`` on, values get no noise, one by one and in blocks."""

    class Late:
        _made = 0

        def release(self, value):
            self._made += 1
            out = super().release(value)
            return np.asarray(value, np.float64) if self._made > first else out

        def noise(self, releases, size, dtype=np.float64):
            out = super().noise(releases, size, dtype)
            out[max(0, first - self._made) :] = 0.0
            self._made += releases
            return out

    return Late


class GrowingClip:
    """The clip grows with the steps, but the declared sensitivity does not."""

    _made = 0

    def release(self, value):
        self._made += 1
        return super().release(np.asarray(value, np.float64) * (2.0 if self._made > 200 else 1.0))


def _rarely(mechanism, value, out):
    """One release in a thousand gets no noise."""
    return value if mechanism._rng.random() < 1e-3 else out


class CutNoise:
    """The mechanism cuts its noise at four deviations."""

    def _draw(self, shape):
        most = 4 * self.noise_scale
        return np.clip(super()._draw(shape), -most, most)

    def _fill(self, out):
        super()._fill(out)
        np.clip(out, -4 * self.noise_scale, 4 * self.noise_scale, out)


def few_keys(bits: int) -> type:
    """The key of the batches has few bits."""

    class Few:
        def batches(self, n, rng=None):
            rng = self._rng.spawn(1)[0] if rng is None else rng
            return super().batches(n, np.random.default_rng(int(rng.integers(2**bits))))

    return Few


def few_seeds(bits: int) -> Callable:
    """The noise of a fit is drawn from a seed of few bits."""
    return viewed(lambda budget, *_: with_stream(budget, np.random.default_rng(int(budget._rng.integers(2**bits)))))


# ---------------------------------------------------------------------------------------- dependent noise and batches
class OneNumber:
    """All numbers of a release have the same noise."""

    def _draw(self, shape):
        return np.full(shape, super()._draw(()))

    def _fill(self, out):
        super()._fill(out)
        out[...] = out[:, :1]


class InPairs:
    """Every second release has the negated noise of the release before."""

    _before = None

    def _draw(self, shape):
        if self._before is not None and self._before.shape == shape:
            out, self._before = -self._before, None
            return out
        self._before = super()._draw(shape)
        return self._before

    def _fill(self, out):
        super()._fill(out)
        out[1::2] = -out[: 2 * len(out[1::2]) : 2]


class Carried:
    """The noise of a release is correlated with that of the release before. Each has the declared variance."""

    _before = None

    def _carry(self, fresh):
        if self._before is not None and self._before.shape == fresh.shape:
            fresh = 0.6 * self._before + 0.8 * fresh
        self._before = fresh
        return fresh

    def _draw(self, shape):
        return self._carry(super()._draw(shape))

    def _fill(self, out):
        super()._fill(out)
        for k in range(len(out)):
            out[k] = self._carry(out[k].copy())


def batches_by(change: Callable) -> type:
    """A mix-in whose batch of a step is ``change(draw, step, expected size)``."""

    class Changed:
        def batches(self, n, rng=None):
            sampler = super().batches(n, rng)
            draw = sampler.draw
            sampler.draw = lambda step: change(draw, step, sampler.rate * n)
            return sampler

    return Changed


def _never_empty(draw, step, expected):
    rows = draw(step)
    return rows if len(rows) else draw(step + 2**20)


# ------------------------------------------------------------------------------ what reads rows outside of the releases
def with_centre(found, centre: float):
    """The fit with one more diagnostic."""
    return replace(found, diagnostics={**found.diagnostics, "centre": centre})


def _first_rows_kept(self, fit, task, budget, rng):
    """The centre of the rows of the first fit is kept for all later fits."""
    vars(self).setdefault("_centre", float(task.x.mean()))
    return with_centre(fit(budget), self._centre)


def _logged(self, fit, task, budget, rng):
    logging.getLogger(__name__).info("largest target: %g", np.abs(task.y).max())
    return fit(budget)


def _second_budget(self, fit, task, budget, rng):
    """The method opens its own budget, whose charges nobody counts."""
    own = budget.spec.open(rng.spawn(1)[0])
    mechanism = own.gaussian("centre", sensitivity=1.0, noise_multiplier=1.0, relation=self.privacy, proof="none")
    found = fit(budget)
    return with_centre(found, float(mechanism.release(np.clip(task.x, -1, 1).mean())))


def _last_event_dropped(self, fit, task, budget, rng):
    found = fit(budget)
    return replace(found, ledger=Ledger(found.ledger.events[:-1]))


def _first_chunk(rows: int) -> Callable:
    def made(real):
        return lambda values, norm: np.concatenate([real(values[:rows], norm), np.nan_to_num(values[rows:])])

    return made


def refusing(when: Callable[[Any], bool], reason: Callable[[Any], str]) -> Callable:
    """The copy whose ``supports`` reads the rows: it refuses a task with a reason."""

    def make(method):
        def supports(self, task):
            return type(method).supports(self, task) or (reason(task) if when(task) else None)

        return subclass(method, supports=supports)

    return make


def prepared(method):
    """The copy that keeps the centre of the rows in ``prepare`` and uses it in the fit and its diagnostics."""

    def prepare(self, task, settings):
        type(method).prepare(self, task, settings)
        self._first = float(task.x.mean())

    def fit(self, task, settings, budget, rng):
        return with_centre(type(method).fit(self, task, settings, budget, rng), getattr(self, "_first", 0.0))

    return subclass(method, prepare=prepare, fit=fit)


def failing(when: Callable, words: Callable) -> Callable:
    """The copy that fails if ``when(task, mechanism, released)``, with the reason ``words(task)``."""

    def watched(task):
        def after(mechanism, value, out):
            if when(task, mechanism, out):
                raise Diverged(words(task))
            return out

        return handing_out(after_release(after))

    return viewed(lambda budget, task, rng: with_members(budget, watched(task)))


def _wild(task, mechanism, out) -> bool:
    return bool(np.abs(out).max(initial=0.0) > 20 * mechanism.event.sensitivity + 12 * mechanism.noise_scale)


_EM, _DPVI = "methods.em.dp_em_corrected", "methods.dpvi._noise_aware"
#: name of a fault -> the code that makes its copy
MAKERS: dict[str, Callable] = {
    "half the sensitivity of AdaSSP": declared(0.5),
    "half the clip of DP-SGD": declared(0.5),
    "half the clip of DP-SEP": declared(0.5),
    "half the bound of output perturbation": declared(0.5, "minimiser"),
    "half of a Laplace sensitivity": declared(0.5),
    "two fifths less for a Laplace release": declared(0.6),
    "a fifth less for a network": declared(0.8),
    "a tenth less for EM": declared(0.9),
    "the second event of a method": declared(1.25**-0.5, SUMS),
    "coordinates clipped, not the norm": numerics(
        _EM, "clipped", lambda real: lambda rows, norm: np.clip(np.nan_to_num(rows), -norm, norm)
    ),
    "noise x .7 in the kernel of DP-SEP": numerics(
        "methods.ep._pbp.natural_training", "natural_kernel", _kernels("natural_steps", _times(0.7))
    ),
    "noise x .7 in the blocks of a mixture": in_blocks(lambda mechanism, noise: 0.7 * noise),
    "a trace without noise": numerics(f"{_DPVI}.training", "kernels", _kernels("advance", _trace_without_noise)),
    "noise of a block again": in_blocks(_same_block),
    "half the noise in later blocks": in_blocks(_late_block),
    "the last release of a block": numerics(
        f"{_DPVI}.aligned", "kernels", _kernels("advance_aligned", _last_of_block_bare)
    ),
    "a block cut at four deviations": in_blocks(_cut_block),
    "the last coordinate of a block": in_blocks(_last_coordinate),
    "raw counts mask a release of ranges": released(_masked, RANGES),
    "coverage reads n": numerics("privacy.scaling", "private_ranges", _coverage_of_rows),
    "hopeless proposals are not released": numerics("methods.mcmc.dp_penalty", "ratios", _hopeless),
    "a fallback on raw moments": released(_fallback(8.0), SUMS),
    "a fallback on raw second moments": released(_negative(6.0)),
    "a fallback on a raw gradient": released(_all_small),
    "noise cut at four deviations": released(_within(4.0)),
    "Laplace noise cut at twenty scales": released(_within(20.0)),
    "an empty batch without noise": released(_bare_if_nothing),
    "impossible sums are the raw ones": released(_restart),
    "bare after 1,000 steps": mechanism(after_steps(1000)),
    "bare after 100 steps": mechanism(after_steps(100)),
    "the clip grows": mechanism(GrowingClip),
    "one release of a thousand": released(_rarely),
    "the mechanism cuts at four deviations": mechanism(CutNoise),
    "batches of 8 bits": mechanism(few_keys(8)),
    "batches of 16 bits": mechanism(few_keys(16)),
    "noise of 16 bits": few_seeds(16),
    "noise of 32 bits": few_seeds(32),
    "supports refuses large rows": refusing(
        lambda task: np.abs(task.x).max(initial=0.0) > 1e4, lambda task: "a value is too large for this method"
    ),
    "supports refuses a wide target": refusing(
        lambda task: np.ptp(task.y) > 1e4, lambda task: "the target does not vary"
    ),
    "supports counts the rows": refusing(lambda task: task.n < 12, lambda task: f"{task.n} rows are too few"),
    "prepare looks at rows": prepared,
    "a reason names a row": failing(
        _wild, lambda task: f"the moments diverge; the largest target is {np.abs(task.y).max():.6g}"
    ),
    "a status follows rows": failing(
        lambda task, *seen: _wild(task, *seen) and task.n % 2 == 0, lambda task: "the gradient diverges"
    ),
    "calibrated to more than the budget": numerics(
        "methods.sufficient_statistics.adassp", "left_for", lambda real: lambda *a, **more: real(*a, **more) / 1.5
    ),
    "what was spent is forgotten": numerics(
        "privacy.scaling", "remaining_noise_multiplier", lambda real: lambda spent, *rest: real(Ledger(), *rest)
    ),
    "noise of the fit's stream": viewed(lambda budget, task, rng: with_stream(budget, rng)),
    "a ledger without an epsilon": viewed(lambda budget, *_: with_members(budget, {"gaussian": _unbounded})),
    "a sensitivity that follows the rows": viewed(_follows_the_rows),
    "one number for all coordinates": mechanism(OneNumber),
    "noise in pairs": mechanism(InPairs),
    "noise that is carried on": mechanism(Carried),
    "noise that follows the raw size": released(_raw_size),
    "no batch is empty": mechanism(batches_by(_never_empty)),
    "batches are cut": mechanism(batches_by(lambda draw, step, expected: draw(step)[: math.ceil(1.5 * expected)])),
    "ten batches in turn": mechanism(batches_by(lambda draw, step, expected: draw(step % 10))),
    "the first rows are kept": fitting(_first_rows_kept),
    "the log tells a row": fitting(_logged),
    "a second budget": fitting(_second_budget),
    "the last event is dropped": fitting(_last_event_dropped),
    "the first chunk is clipped": numerics(_EM, "clipped", _first_chunk(32)),
}
