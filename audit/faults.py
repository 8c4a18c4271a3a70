"""Realistic faults of developers, each built into a copy of a real adapter, and the checks of the audit that find them.

    python -m audit.faults --out results/extra/audit_faults.csv --kept results/audit

A fault is a subclass of one adapter. During a fit, its budget, its mechanism or one function of its numerics behaves
differently from the real one. The real adapter does not change. Each fault has one sentence that says what the
developer did wrong. The table says which checks find it, or that none does.

Most faults are made for one adapter: a fault on one code path, after many steps, for rare numbers, or in what a method
does with released numbers. The broken budgets of ``privacy.faults`` and the copies of ``privacy.wrapped`` work for
every adapter, and are tried here on one.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import logging
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from audit import cases, resume
from datasets.files import ROOT, write_text
from methods.contract import Diverged
from privacy import audit, mutants
from privacy.budget import Budget, GaussianMechanism
from privacy.faults import FAULTS as BUDGET_FAULTS
from privacy.faults import Fault as BudgetFault
from privacy.faults import view_of
from privacy.ledger import Ledger
from privacy.wrapped import WRAPPED

LINEAR, LOGISTIC, NETWORK = "bounded_linear_regression", "bounded_logistic_regression", "bnn_regression"
MIXTURE, SIMULATOR = "mixture_of_gaussians", "conjugate_simulator"
SURVIVED = "survived"
#: the committed table
TABLE = ROOT / "audit" / "faults.csv"
COLUMNS = ["fault", "class", "method", "case", "what", "killed_by", "found", "seconds"]


# ------------------------------------------------------------------------------------------------ how a copy is built
@contextmanager
def swapped(*changes: tuple[str, str, Callable[[Any], Any]]) -> Iterator[None]:
    """Replace objects during the block. A change is (module, name, function of the real object that replaces it)."""
    modules = [importlib.import_module(module) for module, _, _ in changes]
    before = [vars(module)[name] for module, (_, name, _) in zip(modules, changes, strict=True)]
    try:
        for module, real, (_, name, made) in zip(modules, before, changes, strict=True):
            setattr(module, name, made(real))
        yield
    finally:
        for module, real, (_, name, _) in zip(modules, before, changes, strict=True):
            setattr(module, name, real)


def subclass(method, **members):
    """A copy of the adapter with other members."""
    return type(f"Faulty{type(method).__name__}", (type(method),), members)()


def numerics(*changes: tuple[str, str, Callable[[Any], Any]]) -> Callable:
    """The copy whose fit uses replaced functions of these modules."""

    def make(method):
        def fit(self, task, settings, budget, rng):
            with swapped(*changes):
                return type(method).fit(self, task, settings, budget, rng)

        return subclass(method, fit=fit)

    return make


def budget_of(**members) -> Callable:
    """The copy whose budget has other members; ``mechanism``: a mix-in over the mechanisms that it hands out."""

    def make(method):
        def fit(self, task, settings, budget, rng):
            view = copy.copy(budget)
            view.__class__ = type("Faulty", (type(budget),), members)
            return type(method).fit(self, task, settings, view, rng)

        return subclass(method, fit=fit)

    return make


def mechanism(mixin: type, of: str = "") -> Callable:
    """The copy with the mix-in over the mechanisms of events whose text begins with ``of``."""

    def hand_out(self, kind, event, releases):
        if event.what.startswith(of):
            kind = type(f"{mixin.__name__}{kind.__name__}", (mixin, kind), {})
        return Budget._hand_out(self, kind, event, releases)

    return budget_of(_hand_out=hand_out)


def released(after: Callable[..., np.ndarray], of: str = "") -> Callable:
    """The copy in which ``after(mechanism, value, released)`` is used instead of the release."""

    class After:
        def release(self, value):
            return after(self, np.asarray(value, np.float64), super().release(value))

    return mechanism(After, of)


def declared(part: float, of: str = "") -> Callable:
    """The copy that declares only this part of its sensitivity."""

    def some(what: str) -> float:
        return part if what.startswith(of) else 1.0

    def gaussian(self, what, *, sensitivity, **rest):
        return Budget.gaussian(self, what, sensitivity=some(what) * sensitivity, **rest)

    def laplace(self, what, *, sensitivity, noise_scale, **rest):
        k = some(what)
        return Budget.laplace(self, what, sensitivity=k * sensitivity, noise_scale=k * noise_scale, **rest)

    return budget_of(gaussian=gaussian, laplace=laplace)


def budget_with(fault: BudgetFault) -> Callable:
    """The copy whose budget has a fault of ``privacy.faults``."""

    def make(method):
        def fit(self, task, settings, budget, rng):
            return type(method).fit(self, task, settings, view_of(budget, fault), rng)

        return subclass(method, fit=fit)

    return make


def noise_of_the_fit(method):
    """The copy whose mechanisms draw from the generator of the fit."""

    def fit(self, task, settings, budget, rng):
        view = copy.copy(budget)
        view._rng = rng
        return type(method).fit(self, task, settings, view, rng)

    return subclass(method, fit=fit)


def sensitivity_of_rows(method):
    """The copy that declares a little more than its sensitivity, by an amount that depends on the rows."""

    def fit(self, task, settings, budget, rng):
        return type(declared(1.0 + 1e-3 * abs(float(np.mean(task.x))))(method)).fit(self, task, settings, budget, rng)

    return subclass(method, fit=fit)


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


class SameBlock:
    """The buffer of noise is filled only once."""

    _block = None

    def noise(self, releases, size, dtype=np.float64):
        fresh = super().noise(releases, size, dtype)
        if self._block is None or len(self._block) < releases:
            self._block = fresh
        return self._block[:releases].copy()


class LateBlock:
    """All blocks except the first have half of their noise."""

    _blocks = 0

    def noise(self, releases, size, dtype=np.float64):
        self._blocks += 1
        return super().noise(releases, size, dtype) * dtype(1.0 if self._blocks == 1 else 0.5)


class CutBlock:
    """Noise in blocks is cut at four deviations."""

    def noise(self, releases, size, dtype=np.float64):
        return np.clip(super().noise(releases, size, dtype), -4 * self.noise_scale, 4 * self.noise_scale)


class LastCoordinate:
    """In blocks, the last number of each release has half of its noise."""

    def noise(self, releases, size, dtype=np.float64):
        out = super().noise(releases, size, dtype)
        out[:, -1] *= 0.5
        return out


# ----------------------------------------------------------------------------------- what is done with what is released
RANGES, SUMS = "histogram of magnitudes", "sums of the columns"


def _masked(_, value, out):
    return np.where(value > 0, out, 0.0)


def _coverage_of_rows(real):
    def private_ranges(values, n, *rest, **more):
        return real(values, len(values), *rest, **more)

    return private_ranges


def _fallback(limit: float):
    """Use the raw value if the released one is implausible: ``limit`` standard deviations beyond its bound."""

    def after(mechanism, value, out):
        most = 20 * mechanism.event.sensitivity + limit * mechanism.noise_scale
        return value if np.abs(out).max(initial=0.0) > most else out

    return after


def _negative(deviations: float):
    def after(mechanism, value, out):
        return np.where(out < -deviations * mechanism.noise_scale, value, out)

    return after


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


class Rarely:
    """One release in a thousand gets no noise."""

    def release(self, value):
        out = super().release(value)
        return np.asarray(value, np.float64) if self._rng.random() < 1e-3 else out


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

    def make(method):
        def fit(self, task, settings, budget, rng):
            view = copy.copy(budget)
            view._rng = np.random.default_rng(int(budget._rng.integers(2**bits)))
            return type(method).fit(self, task, settings, view, rng)

        return subclass(method, fit=fit)

    return make


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


def _at_most(draw, step, expected):
    return draw(step)[: math.ceil(1.5 * expected)]


def _of_ten(draw, step, expected):
    return draw(step % 10)


# ------------------------------------------------------------------------------ what reads rows outside of the releases
def first_rows_kept(method):
    """The copy that keeps the centre of the rows of its first fit for all later fits."""

    def fit(self, task, settings, budget, rng):
        if not hasattr(self, "_centre"):
            self._centre = float(task.x.mean())
        found = type(method).fit(self, task, settings, budget, rng)
        return replace(found, diagnostics={**found.diagnostics, "centre": self._centre})

    return subclass(method, fit=fit)


def logged(method):
    """The copy that writes its largest target to the log."""

    def fit(self, task, settings, budget, rng):
        logging.getLogger(__name__).info("largest target: %g", np.abs(task.y).max())
        return type(method).fit(self, task, settings, budget, rng)

    return subclass(method, fit=fit)


def second_budget(method):
    """The copy that opens its own budget, whose charges nobody counts."""

    def fit(self, task, settings, budget, rng):
        own = budget.spec.open(rng.spawn(1)[0])
        mechanism = own.gaussian("centre", sensitivity=1.0, noise_multiplier=1.0, relation=method.privacy, proof="none")
        found = type(method).fit(self, task, settings, budget, rng)
        centre = float(mechanism.release(np.clip(task.x, -1, 1).mean()))
        return replace(found, diagnostics={**found.diagnostics, "centre": centre})

    return subclass(method, fit=fit)


def last_event_dropped(method):
    """The copy whose ledger lacks the last event."""

    def fit(self, task, settings, budget, rng):
        found = type(method).fit(self, task, settings, budget, rng)
        return replace(found, ledger=Ledger(found.ledger.events[:-1]))

    return subclass(method, fit=fit)


def _raw_size(mechanism, value, out):
    part = min(1.0, float(np.linalg.norm(value)) / mechanism.event.sensitivity)
    return value + (out - value) * part


def _first_chunk(rows: int) -> Callable:
    def made(real):
        return lambda values, norm: np.concatenate([real(values[:rows], norm), np.nan_to_num(values[rows:])])

    return made


def refusing(reason: Callable[[Any], str]) -> Callable:
    """The copy whose ``supports`` reads the rows and gives a reason or ""."""

    def make(method):
        return subclass(method, supports=lambda self, task: type(method).supports(self, task) or reason(task) or None)

    return make


def _too_large(task):
    return "a value is too large for this method" if np.abs(task.x).max(initial=0.0) > 1e4 else ""


def _constant_target(task):
    return "the target does not vary" if np.ptp(task.y) > 1e4 else ""


def _few_rows(task):
    return f"{task.n} rows are too few" if task.n < 12 else ""


def prepared(method):
    """The copy that keeps the centre of the rows in ``prepare`` and uses it in the fit and its diagnostics."""

    def prepare(self, task, settings):
        type(method).prepare(self, task, settings)
        self._first = float(task.x.mean())

    def fit(self, task, settings, budget, rng):
        found = type(method).fit(self, task, settings, budget, rng)
        return replace(found, diagnostics={**found.diagnostics, "centre": getattr(self, "_first", 0.0)})

    return subclass(method, prepare=prepare, fit=fit)


def failing(when: Callable, words: Callable) -> Callable:
    """The copy that fails if ``when(task, mechanism, released)``, with the reason ``words(task)``."""

    def make(method):
        def fit(self, task, settings, budget, rng):
            def hand_out(view, kind, event, releases):
                class Watched:
                    def release(mechanism, value):
                        out = super().release(value)
                        if when(task, mechanism, out):
                            raise Diverged(words(task))
                        return out

                return Budget._hand_out(view, type("Watched", (Watched, kind), {}), event, releases)

            view = copy.copy(budget)
            view.__class__ = type("Faulty", (type(budget),), {"_hand_out": hand_out})
            return type(method).fit(self, task, settings, view, rng)

        return subclass(method, fit=fit)

    return make


def _wild(task, mechanism, out) -> bool:
    return bool(np.abs(out).max(initial=0.0) > 20 * mechanism.event.sensitivity + 12 * mechanism.noise_scale)


def _too_little(real):
    return lambda *a, **more: real(*a, **more) / 1.5


def _as_if_nothing_were_spent(real):
    return lambda spent, *rest: real(Ledger(), *rest)


@dataclass(frozen=True)
class Fault:
    """One fault. ``make`` makes the broken copy of the real adapter.

    ``kind`` is the class of fault, and ``what`` says what was done wrong. ``survives`` says why no check finds it, and
    is empty if one does.
    """

    name: str
    kind: str
    adapter: str
    case: str
    make: Callable
    what: str
    survives: str = ""


_ADASSP, _SGD, _DPVI_LOGISTIC = f"{LINEAR}/adassp", f"{LOGISTIC}/dp_sgd", f"{LOGISTIC}/dpvi"
_NATURALS = "methods.ep._pbp.natural_training"
_DPVI = "methods.dpvi._noise_aware.training"
FREE = cases.NO_RANGES
BOUND, PATH, READS, LATE, SEES = "sensitivity", "path", "released numbers", "late or rare", "beside the fit"
EVERY = "every adapter"
FAULTS: tuple[Fault, ...] = (
    Fault("half the sensitivity of AdaSSP", BOUND, _ADASSP, LINEAR, declared(0.5),
          "the norm of a row is declared where its square moves the moments"),
    Fault("half the clip of DP-SGD", BOUND, _SGD, LOGISTIC, declared(0.5), "half the clip is declared"),
    Fault("half the clip of DP-SEP", BOUND, "dp_sep", NETWORK, declared(0.5),
          "replace-one is declared as if a site were removed alone"),
    Fault("half the bound of output perturbation", BOUND, "output_perturbation", LOGISTIC, declared(0.5, "minimiser"),
          "the factor 2 of two minimisers is forgotten"),
    Fault("half of a Laplace sensitivity", BOUND, "bernstein_sheldon_2018", SIMULATOR, declared(0.5),
          "the sensitivity of one statistic is declared for all"),
    Fault("two fifths less for a Laplace release", BOUND, "bernstein_sheldon_2019_corrected",
          "linear_regression_unknown_noise", declared(0.6), "cross products are left out of the bound"),
    Fault("a fifth less for a network", BOUND, "dp_vi_vinaroz", NETWORK, declared(0.8),
          "a row is taken to move one of two clipped gradients"),
    Fault("a tenth less for EM", BOUND, "dp_em_corrected", MIXTURE, declared(0.9),
          "the proof of the joint moments is rounded down"),
    Fault("the second event of a method", BOUND, "adassp", NETWORK, declared(1.25**-0.5, SUMS),
          "the sums of squares are declared as if they were left out of the bound"),
    Fault("coordinates clipped, not the norm", BOUND, "dp_em_corrected", MIXTURE,
          numerics(("methods.em.dp_em_corrected", "clipped", lambda real: lambda rows, norm: np.clip(
              np.nan_to_num(rows), -norm, norm))),
          "each coordinate is clipped to the norm that the whole row may have"),
    Fault("noise x .7 in the kernel of DP-SEP", PATH, "dp_sep", NETWORK,
          numerics((_NATURALS, "natural_kernel", _kernels("natural_steps", _times(0.7)))),
          "the kernel scales the noise of a block once more"),
    Fault("noise x .7 in the blocks of a mixture", PATH, "dp_sep", MIXTURE,
          mechanism(type("Some", (), {"noise": lambda self, *a: 0.7 * GaussianMechanism.noise(self, *a)})),
          "the block of noise is scaled once more before the kernel"),
    Fault("a trace without noise", PATH, "dpvi_trace_average", SIMULATOR,
          numerics((_DPVI, "kernels", _kernels("advance", _trace_without_noise))),
          "the kernel keeps the iterates before their noise"),
    Fault("noise of a block again", PATH, "dpvi", SIMULATOR, mechanism(SameBlock),
          "the buffer of noise is filled for the first block alone"),
    Fault("half the noise in later blocks", PATH, "dpvi_last_iterate", SIMULATOR, mechanism(LateBlock),
          "from the second block on the noise is scaled twice"),
    Fault("the last release of a block", PATH, "dpvim", SIMULATOR,
          numerics(("methods.dpvi._noise_aware.aligned", "kernels", _kernels("advance_aligned", _last_of_block_bare))),
          "the loop over a block adds its noise one step too late"),
    Fault("a block cut at four deviations", PATH, f"{LOGISTIC}/dpvi", LOGISTIC, mechanism(CutBlock),
          "outliers of the noise are cut where it comes in blocks"),
    Fault("the last coordinate of a block", PATH, f"{LINEAR}/na_dpvi", LINEAR, mechanism(LastCoordinate),
          "the last coordinate is scaled twice where noise comes in blocks"),
    Fault("raw counts mask a release of ranges", READS, "adassp", "linear_regression" + FREE, released(_masked, RANGES),
          "bins that are empty in the rows are set to zero after the release"),
    Fault("coverage reads n", READS, f"{LINEAR}/dp_sgd", LINEAR + FREE,
          numerics(("privacy.scaling", "private_ranges", _coverage_of_rows)),
          "the rule of coverage takes the number of rows in the place of the public one"),
    Fault("hopeless proposals are not released", READS, "dp_penalty", LINEAR,
          numerics(("methods.mcmc.dp_penalty", "ratios", _hopeless)),
          "a proposal whose raw ratio is hopeless is refused without its release"),
    Fault("a fallback on raw moments", READS, "adassp", NETWORK, released(_fallback(8.0), SUMS),
          "moments that cannot be, after their noise, are replaced by the raw ones"),
    Fault("a fallback on raw second moments", READS, _ADASSP, LINEAR, released(_negative(6.0)),
          "second moments far below zero are replaced by the raw ones"),
    Fault("a fallback on a raw gradient", READS, _SGD, LOGISTIC, released(_all_small),
          "a released gradient of next to nothing is replaced by the raw one"),
    Fault("noise cut at four deviations", READS, _ADASSP, LINEAR, released(_within(4.0)),
          "a release is clipped to four deviations around its value"),
    Fault("Laplace noise cut at twenty scales", READS, "bernstein_sheldon_2018", SIMULATOR, released(_within(20.0)),
          "a release is clipped to twenty scales around its value"),
    Fault("an empty batch without noise", READS, "dp_sgd", "bnn_classification", released(_bare_if_nothing),
          "a batch without rows makes no release"),
    Fault("impossible sums are the raw ones", READS, "sufficient_statistics_perturbation", "exponential_family",
          released(_restart), "released sums that are all negative are replaced by the raw ones"),
    Fault("bare after 1,000 steps", LATE, "dpvi", SIMULATOR, mechanism(after_steps(1000)),
          "the noise of an announced number of steps is made, and the loop goes on"),
    Fault("bare after 100 steps", LATE, _SGD, LOGISTIC, mechanism(after_steps(100)), "the last steps add no noise"),
    Fault("the clip grows", LATE, f"{LINEAR}/dp_sgd", LINEAR, mechanism(GrowingClip),
          "a schedule doubles the clip after 200 steps and not the noise"),
    Fault("one release of a thousand", LATE, "dp_sgld", LINEAR, mechanism(Rarely),
          "a release that comes while the stream is filled leaves bare",
          "a long fit of 1,000 steps meets it with probability .63, and a moved row has to be in its batch"),
    Fault("the mechanism cuts at four deviations", LATE, _ADASSP, LINEAR, mechanism(CutNoise),
          "outliers of the noise are cut"),
    Fault("batches of 8 bits", LATE, "dp_sgd", "bnn_classification", mechanism(few_keys(8)),
          "the key of the batches is drawn from 256 numbers"),
    Fault("batches of 16 bits", LATE, _SGD, LOGISTIC, mechanism(few_keys(16)),
          "the key of the batches is drawn from 2^16 numbers"),
    Fault("noise of 16 bits", LATE, _ADASSP, LINEAR, few_seeds(16), "the noise is seeded by 16 bits"),
    Fault("noise of 32 bits", LATE, _ADASSP, LINEAR, few_seeds(32), "the noise is seeded by 32 bits",
          "secrets of 32 bits collide in 1,000 fits with probability 1e-4; it takes 100,000 fits to see them"),
    Fault("supports refuses large rows", SEES, _SGD, LOGISTIC, refusing(_too_large),
          "whether the method takes a task follows the largest value of its rows"),
    Fault("supports refuses a wide target", SEES, _ADASSP, LINEAR, refusing(_constant_target),
          "whether the method takes a task follows the spread of its target"),
    Fault("supports counts the rows", SEES, "dp_em_corrected", MIXTURE, refusing(_few_rows),
          "whether the method takes a task follows the private number of rows, and the reason tells it"),
    Fault("prepare looks at rows", SEES, "output_perturbation", LOGISTIC, prepared,
          "the mean of the rows is kept when the method is prepared"),
    Fault("a reason names a row", SEES, _ADASSP, LINEAR,
          failing(_wild, lambda task: f"the moments diverge; the largest target is {np.abs(task.y).max():.6g}"),
          "the message of a failed fit tells the largest target"),
    Fault("a status follows rows", SEES, f"{LINEAR}/dp_sgd", LINEAR,
          failing(lambda task, m, out: _wild(task, m, out) and task.n % 2 == 0, lambda task: "the gradient diverges"),
          "a wild release ends the fit for some rows only"),
    Fault("calibrated to more than the budget", SEES, _ADASSP, LINEAR,
          numerics(("methods.sufficient_statistics.adassp", "left_for", _too_little)),
          "the noise is calibrated to 1.5 times the mu of the budget"),
    Fault("what was spent is forgotten", SEES, f"{LINEAR}/dp_sgd", LINEAR + FREE,
          numerics(("privacy.scaling", "remaining_noise_multiplier", _as_if_nothing_were_spent)),
          "the noise is calibrated as if the ranges had cost nothing"),
    Fault("noise of the fit's stream", LATE, _ADASSP, LINEAR, noise_of_the_fit,
          "mechanisms draw from the generator of the fit, which does not have to be secret"),
    Fault("a ledger without an epsilon", BOUND, "dp_sep", NETWORK, budget_of(gaussian=_unbounded),
          "nothing is declared to bound what is released"),
    Fault("a sensitivity that follows the rows", BOUND, _ADASSP, LINEAR, sensitivity_of_rows,
          "the declared sensitivity grows with the mean of the rows"),
    Fault("one number for all coordinates", LATE, _SGD, LOGISTIC, mechanism(OneNumber),
          "noise of the wrong shape is broadcast over the release"),
    Fault("noise in pairs", LATE, _DPVI_LOGISTIC, LOGISTIC, mechanism(InPairs),
          "antithetic noise, so that the noise of two releases cancels"),
    Fault("noise that is carried on", LATE, _SGD, LOGISTIC, mechanism(Carried),
          "the noise is smoothed over the steps at the declared variance"),
    Fault("noise that follows the raw size", READS, _SGD, LOGISTIC, released(_raw_size),
          "the noise of a small gradient is scaled down with the gradient"),
    Fault("no batch is empty", LATE, _SGD, LOGISTIC, mechanism(batches_by(_never_empty)),
          "an empty batch is drawn again",
          "of a dozen rows at rate 1/3, 8 batches of 1,000 are empty; to draw them again moves the rate by 1 %"),
    Fault("batches are cut", LATE, _SGD, LOGISTIC, mechanism(batches_by(_at_most)),
          "a batch holds at most 1.5 times its expected size, and the last rows are left out",
          "the audit moves the last row, which is the one that is left out; it is read less often than declared"),
    Fault("ten batches in turn", LATE, _SGD, LOGISTIC, mechanism(batches_by(_of_ten)),
          "the key of a batch is that of the step in its epoch, so that each epoch has the same batches"),
    Fault("the first rows are kept", SEES, _ADASSP, LINEAR, first_rows_kept,
          "the centre of the first rows is kept on the adapter, and reported by the fits of others"),
    Fault("the log tells a row", SEES, _ADASSP, LINEAR, logged, "a line of the log holds the largest target",
          "what a fit returns is compared; its log is not, and may not leave the machine"),
    Fault("a second budget", SEES, _ADASSP, LINEAR, second_budget,
          "a release is made by a budget that the method has opened by itself"),
    Fault("the last event is dropped", BOUND, "adassp", NETWORK, last_event_dropped,
          "the ledger that is returned lacks the last event"),
    Fault("the first chunk is clipped", BOUND, "dp_em_corrected", MIXTURE,
          numerics(("methods.em.dp_em_corrected", "clipped", _first_chunk(32))),
          "rows are clipped in chunks, and only the first chunk is",
          "the toy has a dozen rows, and the first chunk 32"),
    *(Fault(f"{f.name} (every adapter)", EVERY, _SGD if f.check == "sampling" else _DPVI_LOGISTIC, LOGISTIC,
            budget_with(f), f.what) for f in BUDGET_FAULTS),
    *(Fault(f"{w.name} (every adapter)", EVERY, _DPVI_LOGISTIC, LOGISTIC, w.of, w.what) for w in WRAPPED),
)  # fmt: skip

#: check -> the fault that it is meant for, for the checks that are not the only one to find any fault
MEANT: dict[str, str] = {
    "sensitivity": "half the sensitivity (every adapter)",
    "posterior": "release thrown away (every adapter)",
    "events": "a sensitivity that follows the rows",
    "same_path": "noise x .7 in the kernel of DP-SEP",
}


def alone(table: pd.DataFrame) -> pd.DataFrame:
    """One row per check, cheap ones first: the class of fault that it is for, and how many of ``table`` it finds.

    Columns: check, kills, sees (number of faults), alone (faults that no other check finds, separated by "; "), and
    meant (the fault that a check is meant for, if it finds none alone).
    """
    rows = []
    for check, words in audit.KILLS.items():
        seen = table[[check in found.split() for found in table["killed_by"]]]
        only = list(seen.loc[seen["killed_by"] == check, "fault"])
        meant = "" if only else MEANT.get(check, "")
        rows.append({"check": check, "kills": words, "sees": len(seen), "alone": "; ".join(only), "meant": meant})
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------------------------ the table
def row(fault: Fault) -> dict:
    """The checks that find this fault. All are run, and a leak that the adapter declares is closed first."""
    began = time.process_time()
    ask, leaks = cases.faults(fault.adapter, fault.case), cases.closed(fault.adapter, fault.case)
    if leaks:
        with mutants.loaded(cases.get(fault.adapter), leaks) as method:
            found = ask(fault.make(method))
    else:
        found = ask(fault.make(cases.get(fault.adapter)))
    return {
        "fault": fault.name,
        "class": fault.kind,
        "method": cases.get(fault.adapter).name,
        "case": fault.case,
        "what": fault.what,
        "killed_by": " ".join(found) or SURVIVED,
        "found": next(iter(found.values()), ""),
        "seconds": f"{time.process_time() - began:.1f}",
    }


def table(wanted: Sequence[Fault], folder: Path | None = None) -> pd.DataFrame:
    """One row per fault. Progress goes to the error stream. ``folder``: as for ``audit.tables``."""
    rows = []
    for fault in wanted:
        path = None if folder is None else folder / resume.file_name("fault", fault.name)
        key = resume.key_of([*resume.files_of(cases.get(fault.adapter)), Path(__file__)])
        told = resume.kept(path, key, partial(row, fault)).result
        print(
            f"{told['fault']}: {told['killed_by']} ({told['seconds']} s) {told['found']}", file=sys.stderr, flush=True
        )
        rows.append(told)
    return pd.DataFrame(rows, columns=COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Which checks of the audit see each fault of a developer.")
    parser.add_argument("--out", required=True, type=Path, help="CSV, one row per fault")
    parser.add_argument("--only", nargs="*", default=[], help="names of faults; default: all")
    parser.add_argument("--kept", type=Path, help="folder that keeps the row of each fault; default: none")
    args = parser.parse_args()
    wanted = [fault for fault in FAULTS if not args.only or fault.name in args.only]
    write_text(args.out, table(wanted, args.kept).to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    main()
