"""DPVIm (Jalko et al. 2023): only the gradient in mu is released, and that in rho is computed from it."""

from __future__ import annotations

import math

import numpy as np

from methods.contract import Diverged, Fit
from methods.dpvi._noise_aware import kernels, training
from models.task import Task
from models.unconstrained import UnconstrainedGaussian, softplus
from privacy.budget import Budget
from privacy.ledger import Relation

#: the convergence rule of the authors' code: starts of the tail, as parts of the run, and the slope below which it is
#: flat (units of a parameter per length of the tail).
STARTS, FLAT = np.arange(10) / 10, 0.05


def tail_start(trace: np.ndarray) -> np.ndarray:
    """The step number (d,) of the first kept iterate of each coordinate of a trace (T, d), by slopes.

    The tail from each of ten starts is fitted by a line over time rescaled to [0, 1]. The first tail whose absolute
    slope is below ``FLAT`` is kept, or the last tail if there is none. One published script omits the absolute value.
    """
    steps = len(trace)
    out = np.full(trace.shape[1], int(STARTS[-1] * steps))
    open_ = np.ones(trace.shape[1], bool)
    for start in (STARTS * steps).astype(int):
        tail = trace[start:]
        if len(tail) < 2:
            break
        t = np.linspace(0.0, 1.0, len(tail))
        t -= t.mean()
        slope = t @ (tail - tail.mean(axis=0)) / (t @ t)
        flat = open_ & (np.abs(slope) < FLAT)
        out[flat] = start
        open_ &= ~flat
    return out


def average(trace: np.ndarray, first: np.ndarray, with_variance: bool) -> tuple[np.ndarray, np.ndarray]:
    """The mean and standard deviation (D,) of theta from iterates (T, 2 D) kept from ``first`` (2 D,) on.

    The variance is softplus(mean rho)^2, plus the variance (ddof 0) of the kept iterates of mu if ``with_variance``.
    """
    d = trace.shape[1] // 2
    mean = np.array([column[k:].mean() for column, k in zip(trace.T, first, strict=True)])
    variance = softplus(mean[d:]) ** 2
    if with_variance:
        variance = variance + np.array([trace[k:, j].var() for j, k in enumerate(first[:d])])
    return mean[:d], np.sqrt(variance)


def fit(task: Task, settings, budget: Budget, rng: np.random.Generator, relation: Relation) -> Fit:
    """Fit DPVIm with ``settings`` of ``methods.dpvi.dpvim.DPVIM.Settings``.

    Each step has one draw of theta, so the released gradient belongs to one e. The released sum has the D coordinates
    of mu only. Entries of rho have gradient scale 0, so they are left out of norm and noise. Raises what
    ``training.run`` raises.
    """
    from privacy.normal import NormalStream

    s, d = settings, task.model.dimension(task.x.shape[1])
    likelihood, sigma = training.scaling_and_noise(task, s, budget, relation)
    rows = training.prepare_rows(task, likelihood, s.sampling_rate)
    prior, n = training.prior_numbers(task.model), float(task.public.n)
    noise = training.mechanism(s, sigma, budget, relation)
    key, normals = noise.batches(task.n, rng).key, NormalStream(rng)
    start = training.spread(s.start_location, d, "start_location")
    phi = np.concatenate([start, training.spread(s.start_deviation, d, "start_deviation")])
    if s.optimiser == "adam":
        rates = np.full(2 * d, s.adam_rate)
    else:
        rates = training.spread(s.location_step, d, "location_step") / (math.sqrt(2 * d * s.steps) * sigma * s.clip)
        rates = np.concatenate([rates, s.deviation_ratio * rates])
    scale, moments, adam = np.repeat([1.0, 0.0], d), np.zeros((2, 2 * d)), s.optimiser == "adam"
    trace = np.empty((s.steps, 2 * d))
    for first, count in training.blocks(s.steps, d, noise):
        e = np.empty((count, 1, d))
        normals.fill(e.reshape(-1), 1.0)
        if not noise.audited:
            kernels.advance_aligned(
                rows, prior, n, phi, e, noise.noise(count, d), scale, s.clip, s.sampling_rate, key, first, rates,
                moments, adam, trace[first : first + count],
            )  # fmt: skip
            continue
        for t in range(first, first + count):
            value = kernels.clipped_sum(rows, prior, n, phi, e[t - first], scale, s.clip, s.sampling_rate, key, t)
            released = noise.release(value[:d])
            kernels.update_aligned(phi, released, e[t - first, 0], s.sampling_rate, t, rates, moments, adam)
            trace[t] = phi
    if not np.isfinite(trace).all():
        raise Diverged(f"{task.name}: a variational parameter is not finite; lower deviation_ratio or location_step")
    by_slope = s.average_from == "slope"
    kept = tail_start(trace) if by_slope else np.full(2 * d, int(s.burn_in * s.steps))
    mean, sd = average(trace, kept, s.trace_variance)
    told = {"noise_multiplier": sigma, "steps": float(s.steps), "kept_from": float(kept[:d].mean())}
    return Fit(UnconstrainedGaussian(mean, sd, likelihood), budget.ledger, told)
