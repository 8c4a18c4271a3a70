"""Runs of DPVI: its releases, its loop over the steps, and the sufficient statistics of its trace."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from methods.contract import Diverged, Fit
from methods.dpvi._noise_aware import kernels
from models.noise_aware import Statistics, TracePosterior
from models.task import Task
from models.unconstrained import NAMES, Likelihood
from privacy.budget import Budget, GaussianMechanism
from privacy.ledger import Event, Mechanism, Relation, Sampling

_PROOF = "methods.dpvi._noise_aware.kernels.clipped_sum"
_WHAT = "clipped sum of the scaled per-example gradients"
#: largest count of normal numbers drawn at once for a block of steps (1.6 MB).
_AT_ONCE = 200_000


def prior_numbers(model) -> np.ndarray:
    """The constants of the prior in the order in which ``kernels`` reads them."""
    if model.kind == "conjugate_simulator":
        return np.array(model.prior)
    if model.kind == "linear_regression_unknown_noise":
        return np.array([model.shape, model.scale, model.precision])
    return np.array([model.prior_sd**-2.0])


#: number of rows that are converted at once.
_BLOCK = 4096


def prepare_rows(task: Task, likelihood: Likelihood, sampling_rate: float) -> kernels.Rows:
    """The rows in the form that ``likelihood`` needs.

    Raises ValueError for missing or unexpected targets, and for a task that has neither rows nor targets.
    """
    if task.public.n < 1 or (task.y is None and task.n < 1):
        raise ValueError(f"{task.name}: this method needs at least 1 training row, got {task.n}")
    if (task.y is None) == (likelihood.name in ("linear", "logistic")):
        wants = "a target for each row" if task.y is None else "no target"
        raise ValueError(f"{task.name}: the {likelihood.name} likelihood wants {wants}")
    rows = {
        "likelihood": NAMES.index(likelihood.name),
        "n": task.n,
        "columns": np.empty((0, 0)),
        "y": np.empty(0) if task.y is None else np.array(task.y),
        **dict.fromkeys(("value", "cdf", "entry"), np.empty(0)),
        **dict.fromkeys(("count", "first", "start"), np.empty(0, np.int64)),
        "index": np.empty(0, np.int32),
    }
    if likelihood.name in ("bernoulli", "categorical"):
        # in the order of first appearance, so that a value that only the last row has is last
        value, at, count = np.unique(likelihood.design(task.x)[:, 0], return_index=True, return_counts=True)
        order = np.argsort(at)
        rows["value"], rows["count"] = value[order], count[order].astype(np.int64)
        tables = [binom.cdf(np.arange(c + 1), c, sampling_rate) for c in rows["count"]]
        rows["first"] = np.concatenate([[0], np.cumsum([len(t) for t in tables])[:-1]]).astype(np.int64)
        rows["cdf"] = np.concatenate(tables)
    elif likelihood.name == "logistic":
        rows["start"], rows["index"], rows["entry"] = sparse_rows(task.x, likelihood)
    else:
        rows["columns"] = np.empty((likelihood.design(task.x[:1]).shape[1], task.n))
        for k in range(0, task.n, _BLOCK):  # in blocks, so that a large table is never copied as a whole
            rows["columns"][:, k : k + _BLOCK] = likelihood.design(task.x[k : k + _BLOCK]).T
    return kernels.Rows(**rows)


def sparse_rows(x: np.ndarray, likelihood: Likelihood) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The non-zero entries of the design, row after row: where each row begins, their columns, and their values.

    They are collected in blocks, so that a large table is never copied as a whole.
    """
    blocks = [slice(k, min(k + _BLOCK, len(x))) for k in range(0, max(len(x), 1), _BLOCK)]
    counts = [np.count_nonzero(likelihood.design(x[b]), axis=1) for b in blocks]
    start = np.append(0, np.cumsum(np.concatenate(counts)))
    index, entry = np.empty(start[-1], np.int32), np.empty(start[-1])
    for b in blocks:
        part, here = likelihood.design(x[b]), slice(start[b.start], start[b.stop])
        at = np.nonzero(part)
        index[here], entry[here] = at[1], part[at]
    return start, index, entry


@dataclass(frozen=True)
class Plan:
    """Start, gradient scales, step sizes and noise multiplier of a run; arrays (2 D,) over (mu, rho)."""

    start: np.ndarray
    scale: np.ndarray
    step: np.ndarray
    noise_multiplier: float


def spread(values: tuple[float, ...], d: int, key: str) -> np.ndarray:
    """The setting ``key`` as an array (D,) from one number or D. Raises ValueError for another length."""
    if len(values) not in (1, d):
        raise ValueError(f"dpvi: {key} has {len(values)} numbers; theta has {d} coordinates: give 1 or {d}")
    return np.broadcast_to(np.array(values), (d,)).copy()


def make_plan(settings, d: int, noise_multiplier: float) -> Plan:
    """The plan of a run, with step sizes lambda_j = v_j c_j / (sqrt(2 D T) sigma C)."""
    s = settings

    def both(*keys):
        return np.concatenate([spread(getattr(s, key), d, key) for key in keys])

    start, v = both("start_location", "start_deviation"), both("location_step", "deviation_step")
    scale = np.repeat([s.location_scale, s.deviation_scale], d)
    return Plan(start, scale, v * scale / (math.sqrt(2 * d * s.steps) * noise_multiplier * s.clip), noise_multiplier)


def scaling_and_noise(task: Task, settings, budget: Budget, relation: Relation) -> tuple[Likelihood, float]:
    """The likelihood with its scaling, and the noise multiplier of the steps.

    The multiplier is the budget's own if it states one, and otherwise the smallest that keeps (epsilon, delta). With
    the model's scaling "paid", the scaling is estimated privately. It then costs ``scaling_share`` of mu^2, and the
    steps get the rest of (epsilon, delta). Raises ValueError for a budget that states too little.
    """
    from privacy.calibration import noise_multiplier

    model, rate = task.model, settings.sampling_rate
    stated = budget.epsilon is not None and budget.delta is not None
    if getattr(model, "scaling", "none") == "paid":
        from privacy.scaling import remaining_noise_multiplier

        if not stated:
            raise ValueError(f"{task.name}: scaling 'paid' needs a budget with epsilon and delta; give both")
        likelihood = bought_scaling(task, settings, budget)
        sampling = Sampling.POISSON if rate < 1 else Sampling.FULL_BATCH
        event = Event(
            _WHAT, Mechanism.GAUSSIAN, relation, 1.0, 1.0, sampling=sampling, sampling_rate=rate, steps=settings.steps
        )
        return likelihood, remaining_noise_multiplier(budget.ledger, event, budget.epsilon, budget.delta)
    likelihood = model.likelihood
    if hasattr(model, "scaled_likelihood"):
        likelihood = model.scaled_likelihood(task.x, task.public)
    if budget.noise_multiplier is not None:
        if not budget.noise_multiplier > 0:
            raise ValueError("dpvi: noise_multiplier is 0; step sizes are in units of the noise: give more")
        return likelihood, budget.noise_multiplier
    if not stated:
        raise ValueError("dpvi: the budget has neither a noise_multiplier nor epsilon and delta; give one of them")
    return likelihood, noise_multiplier(budget.epsilon, budget.delta, rate, settings.steps, relation)


def bought_scaling(task: Task, settings, budget: Budget) -> Likelihood:
    """The logistic likelihood, scaled by privately estimated means and standard deviations of continuous inputs.

    ``privacy.scaling`` releases them, charged to the budget. Raises ValueError for fewer than 2 continuous inputs.
    """
    from dataclasses import replace

    from privacy.scaling import private_scaling, scaling_noise_multiplier

    k = task.model.continuous
    if k < 2:
        raise ValueError(f"{task.name}: scaling 'paid' is for 2 continuous inputs or more; the model has {k}")
    bounds = task.model.bounds(task.public)
    public = replace(task.public, x_bounds=tuple(bounds[:-1]), y_bounds=bounds[-1])
    multiplier = scaling_noise_multiplier(budget.epsilon, budget.delta, settings.scaling_share)
    found = private_scaling(task.x[:, : k - 1], task.x[:, k - 1], public, budget, multiplier)
    return Likelihood("logistic", np.append(found.x_shift, found.y_shift), np.append(found.x_scale, found.y_scale))


def mechanism(settings, noise_multiplier: float, budget: Budget, relation: Relation):
    """The Gaussian mechanism of all steps, charged as a whole."""
    return budget.gaussian(
        _WHAT,
        sensitivity=settings.clip,
        noise_multiplier=noise_multiplier,
        relation=relation,
        sampling=Sampling.POISSON if settings.sampling_rate < 1 else Sampling.FULL_BATCH,
        sampling_rate=settings.sampling_rate,
        steps=settings.steps,
        proof=_PROOF,
    )


def blocks(steps: int, numbers: int, noise: GaussianMechanism):
    """The blocks of steps, as (first step, number of steps), for ``numbers`` normal numbers per step."""
    size = noise.at_once(max(1, _AT_ONCE // numbers))
    return [(t, min(size, steps - t)) for t in range(0, steps, size)]


def run(task: Task, settings, budget: Budget, rng: np.random.Generator, relation: Relation) -> TracePosterior:
    """One run of DPVI, whose trace ``TracePosterior.read`` turns into a posterior.

    Raises ValueError for unsuitable rows, settings or budget, and :class:`Diverged` if phi is not finite.
    """
    from privacy.normal import NormalStream

    s, d = settings, task.model.dimension(task.x.shape[1])
    if s.steps - int(s.burn_in * s.steps) < 2:
        raise ValueError(f"dpvi: steps = {s.steps} with burn_in = {s.burn_in} keep fewer than 2; make more steps")
    likelihood, sigma = scaling_and_noise(task, s, budget, relation)
    rows = prepare_rows(task, likelihood, s.sampling_rate)
    plan, prior = make_plan(s, d, sigma), prior_numbers(task.model)
    noise = mechanism(s, sigma, budget, relation)
    key, burn_in = noise.batches(task.n, rng).key, int(s.burn_in * s.steps)
    normals = NormalStream(rng)
    phi, kept, n = plan.start.copy(), np.zeros((5, 2 * d)), float(task.public.n)
    for first, count in blocks(s.steps, s.draws * d, noise):
        e = np.empty((count, s.draws, d))
        normals.fill(e.reshape(-1), 1.0)
        if not noise.audited:
            added = noise.noise(count, 2 * d)
            kernels.advance(
                rows, prior, n, phi, e, added, plan.scale, s.clip, s.sampling_rate, key, first, plan.step, kept, burn_in
            )
        else:
            for t in range(first, first + count):
                value = kernels.clipped_sum(
                    rows, prior, n, phi, e[t - first], plan.scale, s.clip, s.sampling_rate, key, t
                )
                released = noise.release(value)
                kernels.update(phi, released, plan.scale, plan.step, kept, max(0, t + 1 - burn_in))
        if not np.isfinite(phi).all():
            raise Diverged(f"{task.name}: a variational parameter is not finite; lower location_step or deviation_step")
    variance = (noise.noise_scale / plan.scale) ** 2
    trace = Statistics(float(s.steps - burn_in), *kept)
    return TracePosterior(trace, phi, variance, s.sampling_rate, likelihood)


def fit(task: Task, settings, budget: Budget, rng: np.random.Generator, relation: Relation) -> Fit:
    """The fit of :func:`run`, with diagnostics that are functions of released and public numbers alone."""
    posterior = run(task, settings, budget, rng, relation)
    event = budget.ledger.events[-1]
    told = {"noise_multiplier": event.noise_multiplier, "steps": float(settings.steps)}
    return Fit(posterior, budget.ledger, told)


def compile_kernels(task: Task, settings, train=None) -> None:
    """Compile the loops that ``train`` needs, by a few steps on two synthetic rows of the task's shape.

    ``train`` is :func:`run`, or another function of task, settings, budget and rng.
    """
    from dataclasses import replace

    from privacy.budget import BudgetSpec

    columns = task.x.shape[1]
    zeros = np.zeros((2, columns))
    toy = replace(task, x=zeros, y=None if task.y is None else np.zeros(2), public=replace(task.public, n=2))
    if getattr(task.model, "scaling", "none") in ("moments", "paid"):
        toy = replace(toy, model=replace(task.model, scaling="none", continuous=0, declared_bounds=()))
    budget = BudgetSpec(noise_multiplier=1.0).open(np.random.default_rng(0))
    arguments = toy, replace(settings, steps=10), budget, np.random.default_rng(0)
    run(*arguments, Relation.ADD_REMOVE) if train is None else train(*arguments)
