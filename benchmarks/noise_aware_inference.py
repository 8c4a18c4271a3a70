"""CPU seconds of NA-DPVI, ours and the authors' way, for the same work, in one run on one core.

    python -m benchmarks.noise_aware_inference --data results/data [results/benchmarks/noise_aware_inference.csv]

Three data sets of each simulated model, and three runs on Adult where ``--data`` holds ``adult_complete.npz``. Rows:

part       implementation  what is timed
=========  ==============  ==========================================================================================
dpvi       kernels         ours: 10,000 steps, gradients by formula, only the sampled rows (counts for discrete data)
dpvi       row_batches     the same kernels with the batch drawn row by row (beta-bernoulli: logistic likelihood with an
                           intercept alone, the same gradients but for the prior's)
dpvi       autodiff        the authors' way: per-example gradients of ALL rows by JAX (vmap of grad, jit, scan), float32
posterior  exact_draws     ours: 4,000 independent draws of phi* from six numbers a coordinate
posterior  nuts_collapsed  1,000 + 4,000 iterations of NUTS (NumPyro) on the collapsed density, float64, one chain
posterior  nuts_full       the authors' way: the same on the explicit likelihood of 8,000 terms, dense normals, float32
laplace    nested_grids    ours
laplace    adam_full       the authors' way: 100,000 iterations of Adam on the explicit likelihood, float32

The authors' way is timed over ``measured`` steps, gradients or iterations and scaled to the ``full`` number, which is
linear in it. For nuts_full the full number is counted, not guessed: one chain on the collapsed density in the authors'
parametrisation (the same density, so the same law of the number) with NumPyro's defaults and start, warm-up included;
what NUTS does besides gradients is left out, as is the Hessian of adam_full. Their program (Alrawajfeh, Jalko & Honkela
2025) is not run: this is its way on the JAX at hand, which is newer than theirs (0.4.25). ``seconds`` is without
compilation, which ``compile_seconds`` tells (0 where a model of the same size came before): the authors pay it in every
process, ours is kept on disk. Before a case is timed, both ways agree on the clipped sum of a batch, on the gradient of
the log density and on the mode of the Laplace approximation.
``ratio``: mean seconds over those of ours in the same part.

A second file, ``..._tables.csv``, has the CPU hours of the three published tables that follow from the means: the
authors run DPVI again for Laplace; ours shares a run between all methods that read it. Left out on both sides: the
methods of Bernstein & Sheldon, DPVIm, scoring, compilation and tuning. Linear regression is timed at the step sizes of
epsilon 0.1.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy and JAX are imported
from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
    os.environ.setdefault(_name, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpyro import distributions, optim
from numpyro.infer.hmc import hmc

import datasets
from datasets import beta_bernoulli, dirichlet_categorical, gamma_exponential, linear_regression_10d
from datasets.protocols import repeats
from methods.dpvi._noise_aware import kernels, sampling, training
from methods.dpvi.na_dpvi_nuts import NADPVINUTS
from models.conjugate_simulators import ConjugateSimulator
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise
from models.logistic_regression_normal_prior import LogisticRegressionNormalPrior
from models.noise_aware import TracePosterior, laplace, slope_prior
from models.task import Task
from models.unconstrained import Likelihood
from privacy.audit import Recorder
from privacy.budget import BudgetSpec
from privacy.ledger import Relation

SQRT2 = 2**0.5
#: epsilon -> the noise multiplier of the authors' calibration.
SIGMA = {0.1: 360.0, 0.3: 117.5, 1.0: 37.8125}
SIMULATED = {
    "gamma_exponential": (gamma_exponential, ConjugateSimulator("gamma_exponential")),
    "beta_bernoulli": (beta_bernoulli, ConjugateSimulator("beta_bernoulli")),
    "dirichlet_categorical": (dirichlet_categorical, ConjugateSimulator("dirichlet_categorical")),
    "linear_regression_10d": (linear_regression_10d, LinearRegressionUnknownNoise()),
}
ADULT = "adult_complete"
#: settings of the authors' program where they differ from the adapter's defaults (which are those of beta_bernoulli).
SETTINGS = {
    "gamma_exponential": {"deviation_scale": 100.0},
    "beta_bernoulli": {},
    "dirichlet_categorical": {"clip": SQRT2, "deviation_scale": 100.0, "start_deviation": (-6.0,)},
    "linear_regression_10d": {
        "clip": 260.0,
        "deviation_scale": 1500.0,
        "location_step": (4 * SQRT2,) * 11 + (SQRT2 / 7,),
        "deviation_step": (4 * SQRT2,),
        "start_location": (1.0,) * 11 + (-4.0,),
        "start_deviation": (-6.0,),
    },
    ADULT: {
        "clip": 11.0,
        "deviation_scale": 550.0,
        "location_step": (SQRT2 * 57**0.5,),
        "deviation_step": (SQRT2 * 57**0.5,),
        "start_deviation": (-6.0,),
    },
}
FAMILIES = tuple(SIMULATED)[:3]
#: published table, part, models, runs a model: the authors', ours. Table 2: 3 epsilons x 500 data sets, run apart for
#: NUTS and Laplace, which share settings at epsilon 0.1 alone. Table 3: 3 epsilons x 20 seeds.
TABLES = (
    (1, "dpvi", FAMILIES, 500, 500),
    (1, "posterior", FAMILIES, 500, 500),
    (2, "dpvi", ("linear_regression_10d",), 3000, 2500),
    (2, "posterior", ("linear_regression_10d",), 1500, 1500),
    (2, "laplace", ("linear_regression_10d",), 1500, 1500),
    (3, "dpvi", (ADULT,), 120, 60),
    (3, "posterior", (ADULT,), 60, 60),
    (3, "laplace", (ADULT,), 60, 60),
)
OURS = {"dpvi": "kernels", "posterior": "exact_draws", "laplace": "nested_grids"}
AUTHORS = {"dpvi": "autodiff", "posterior": "nuts_full", "laplace": "adam_full"}


@dataclass(frozen=True)
class Work:
    """Sizes: of the full work, and of the parts of it that are measured where the authors' way is scaled."""

    steps: int = 10_000
    warmup: int = 1000
    draws: int = 4000
    adam: int = 100_000
    measured_steps: int = 40
    measured_gradients: int = 60
    measured_adam: int = 60


@dataclass(frozen=True)
class Case:
    """One DPVI run and what is made from it."""

    task: Task
    settings: NADPVINUTS.Settings
    epsilon: float
    seed: int

    @property
    def likelihood(self) -> Likelihood:
        model = self.task.model
        if hasattr(model, "scaled_likelihood"):
            return model.scaled_likelihood(self.task.x, self.task.public)
        return model.likelihood

    def train(self, recorder: Recorder | None = None) -> TracePosterior:
        budget = BudgetSpec(noise_multiplier=SIGMA[self.epsilon]).open(np.random.default_rng(self.seed), recorder)
        return training.run(
            self.task, self.settings, budget, np.random.default_rng([self.seed, 1]), Relation.ADD_REMOVE
        )


def cases(name: str, data_path: Path, work: Work, many: int = 3) -> list[Case]:
    """Data sets 0, 1, ... of a model; epsilon 0.1 in Table 1, one of each where the tables have all. [] without data"""
    settings = NADPVINUTS.Settings(
        steps=work.steps, num_warmup=work.warmup, num_samples=work.draws, chains=1, **SETTINGS[name]
    )
    epsilons = [0.1] * many if name in FAMILIES else list(SIGMA)[:many]
    if name in SIMULATED:
        source, model = SIMULATED[name]
        rows = [source.draw(np.random.default_rng([k, 0]))[:2] for k in range(many)]
    else:
        path = data_path / f"{ADULT}.npz"
        data = datasets.load(path) if path.is_file() else None
        if data is None or not data.ok:
            print(f"{ADULT}: {data.reason if data else f'{path} does not exist'}; left out", file=sys.stderr)
            return []
        model = LogisticRegressionNormalPrior(1.0, 5, "moments")
        train, _ = repeats.split(ADULT, "repeats", len(data.y), 0)
        rows = [(data.x[train], data.y[train])] * many
    return [Case(Task(name, model, *rows[k]), settings, epsilons[k], k) for k in range(many)]


def timed(function: Callable, repeats: int = 1) -> tuple[object, float]:
    """What ``function`` gives, and CPU seconds a call; waits for JAX."""
    start = time.process_time()
    for _ in range(repeats):
        out = jax.block_until_ready(function())
    return out, (time.process_time() - start) / repeats


# ------------------------------------------------------------------------------------------- DPVI, the authors' way


def log_likelihood(name: str, theta, x, y):
    """log p of one row of the design, up to a constant; theta (D,)."""
    if name == "exponential":
        rate = jax.nn.softplus(theta[0])
        return jnp.log(rate) - rate * x[0]
    if name == "bernoulli":
        return x[0] * jax.nn.log_sigmoid(theta[0]) + (1 - x[0]) * jax.nn.log_sigmoid(-theta[0])
    if name == "categorical":
        return jax.nn.log_softmax(jnp.append(theta, 0.0))[x[0].astype(int)]
    if name == "linear":
        v = jax.nn.softplus(theta[-1])
        return -0.5 * (jnp.log(v) + (theta[:-1] @ x - y) ** 2 / v)
    return y * jax.nn.log_sigmoid(theta @ x) + (1 - y) * jax.nn.log_sigmoid(-theta @ x)


def log_prior(name: str, theta, p):
    """log density of theta (D,) up to a constant; ``p`` as ``training.prior_numbers`` orders it."""
    if name == "exponential":
        rate = jax.nn.softplus(theta[0])
        return (p[0] - 1) * jnp.log(rate) - p[1] * rate + jax.nn.log_sigmoid(theta[0])
    if name == "bernoulli":
        return p[0] * jax.nn.log_sigmoid(theta[0]) + p[1] * jax.nn.log_sigmoid(-theta[0])
    if name == "categorical":
        return p @ jax.nn.log_softmax(jnp.append(theta, 0.0))
    if name == "linear":
        v, w = jax.nn.softplus(theta[-1]), theta[:-1]
        weights = -0.5 * (len(w) * jnp.log(v) + p[2] * (w @ w) / v)
        return weights - (p[0] + 1) * jnp.log(v) - p[1] / v + jax.nn.log_sigmoid(theta[-1])
    return -0.5 * p[0] * (theta @ theta)


def autodiff_sum(name: str, phi, e, rows, batch, scale, clip, prior):
    """Clipped scaled per-example gradients of all rows by autodiff, summed over the rows in ``batch`` (n,) of 0, 1."""
    n = len(batch)

    def loss(phi, x, y):
        mu, deviation = phi[: len(phi) // 2], jax.nn.softplus(phi[len(phi) // 2 :])

        def one(e):
            theta = mu + deviation * e
            q = distributions.Normal(mu, deviation).log_prob(theta).sum()
            return (q - log_prior(name, theta, prior)) / n - log_likelihood(name, theta, x, y)

        return jax.vmap(one)(e).mean()

    g = jax.vmap(jax.grad(loss), (None, 0, 0))(phi, *rows) * scale
    return (batch * jnp.minimum(1.0, clip / jnp.linalg.norm(g, axis=1))) @ g


def autodiff_run(name: str, settings, steps: int, key, phi, rows, scale, step, noise, prior):
    """``steps`` steps of DPVI; gives the trace (phi before a step, its noisy gradient), (steps, 2 D) each."""

    def one(phi, key):
        draw, choose, add = jax.random.split(key, 3)
        e = jax.random.normal(draw, (settings.draws, len(phi) // 2))
        batch = jax.random.bernoulli(choose, settings.sampling_rate, (len(rows[1]),))
        g = autodiff_sum(name, phi, e, rows, batch, scale, settings.clip, prior)
        g = (g + noise * jax.random.normal(add, phi.shape)) / scale
        return phi - step * g, (phi, g)

    return jax.lax.scan(one, phi, jax.random.split(key, steps))[1]


def design_and_targets(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Rows as the likelihood sees them (n, p), and targets (n,), 0 where there are none."""
    y = np.zeros(case.task.n) if case.task.y is None else case.task.y
    return case.likelihood.design(case.task.x), y


def check_sums(case: Case) -> float:
    """Largest difference of the two clipped sums of one Poisson batch over the sum of the norms; float32 against 64.

    At the run's clipping norm and at a twentieth of it, so that rows are clipped. Raises RuntimeError above 1e-5.
    """
    task, s, rng = case.task, case.settings, np.random.default_rng(case.seed)
    d = task.model.dimension(task.x.shape[1])
    plan, prior = training.make_plan(s, d, SIGMA[case.epsilon]), training.prior_numbers(task.model)
    batch, e = rng.random(task.n) < s.sampling_rate, rng.standard_normal((s.draws, d))
    phi = plan.start + 0.1 * rng.standard_normal(2 * d)
    likelihood, (x, y) = case.likelihood, design_and_targets(case)
    chosen = Task(task.name, task.model, task.x[batch], None if task.y is None else task.y[batch])
    rows = training.prepare_rows(chosen, likelihood, 1.0)
    autodiff, worst = jax.jit(partial(autodiff_sum, likelihood.name)), 0.0
    for clip in (s.clip, s.clip / 20):
        ours = kernels.clipped_sum(rows, prior, float(task.n), phi, e, plan.scale, clip, 1.0, np.uint64(0), 0)
        theirs = autodiff(*single((phi, e, (x, y), batch, plan.scale, clip, prior)))
        worst = max(worst, float(np.linalg.norm(np.asarray(theirs) - ours) / (clip * batch.sum())))
    return agreed(f"{task.name}: the clipped sums of a batch", worst, 1e-5)


def agreed(what: str, difference: float, allowed: float) -> float:
    """``difference``; RuntimeError where it is above ``allowed``."""
    if not difference <= allowed:
        raise RuntimeError(f"{what} differ by {difference:.2g} (allowed {allowed:g}); nothing is reported")
    return difference


# ---------------------------------------------------------------------------- noise-aware density, both ways


def priors(z, centre, hm, hs):
    """Minus the log prior of z = (phi*, h, s), (3, 2 D)."""
    return 0.5 * ((z[0] - centre) ** 2 + ((z[1] - hm) / hs) ** 2 + z[2] ** 2).sum()


def full_energy(rate: float, extra_term: bool, z, data):
    """Minus the log density by the explicit likelihood; data: phi, g (n, 2 D), V0, hm, hs, mean of phi (2 D,)."""
    phi, g, v0, hm, hs, centre = data
    a = jax.nn.softplus(z[1])
    mean = rate * (phi - z[0]) @ jnp.diag(a)
    terms = distributions.MultivariateNormal(mean, covariance_matrix=jnp.diag(v0 + z[2] ** 2)).log_prob(g)
    return priors(z, centre, hm, hs) - terms.sum() - extra_term * len(g) * jax.nn.log_sigmoid(a).sum()


def collapsed_energy(rate: float, z, data):
    """The same up to a constant without the extra term; data: (9, 2 D), Statistics (n first), V0, hm, hs."""
    n, centre, mean_g, pp, gp, gg, v0, hm, hs = data
    k, v = rate * jax.nn.softplus(z[1]), v0 + z[2] ** 2
    residual = gg - gp**2 / pp + pp * (k - gp / pp) ** 2 + n * (mean_g + k * (z[0] - centre)) ** 2
    return priors(z, centre, hm, hs) + 0.5 * (n * jnp.log(v / v0) + residual / v).sum()


def trace_of(case: Case) -> tuple[TracePosterior, tuple[np.ndarray, ...], np.ndarray]:
    """A recorded run: its posterior, and the data of :func:`full_energy` and of :func:`collapsed_energy`, float64."""
    recorder = Recorder()
    posterior = case.train(recorder)
    plan = training.make_plan(case.settings, len(posterior.last) // 2, SIGMA[case.epsilon])
    g = np.array(recorder.outputs) / plan.scale
    phi = np.concatenate([plan.start[None], plan.start - np.cumsum(plan.step * g, axis=0)[:-1]])
    keep = int(case.settings.burn_in * len(g))
    t, v0 = posterior.trace, posterior.noise_variance
    hm, hs = slope_prior(t, v0, posterior.rate)
    collapsed = np.stack(np.broadcast_arrays(*t, v0, hm, hs))
    return posterior, (phi[keep:], g[keep:], v0, hm, hs, t.phi), collapsed


def check_densities(name: str, posterior: TracePosterior, full, collapsed) -> float:
    """Largest difference of the gradients of the two log densities, in units of the prior's scales and of its norm.

    Raises RuntimeError above 1e-6 (both in float64; the statistics were summed in another order than the terms), or
    where the gradient at the mode of ``laplace`` is more than 1e-3 of a posterior standard deviation.
    """
    hm, hs, v0 = collapsed[7], collapsed[8], collapsed[6]
    scale, rng = np.stack([np.ones_like(hs), hs, np.ones_like(hs)]), np.random.default_rng(0)
    mode = laplace(posterior.trace, v0, posterior.rate, posterior.priors, extra_term=True)
    with jax.enable_x64(True):
        explicit = jax.jit(jax.grad(partial(full_energy, posterior.rate, False)))
        extra = jax.jit(jax.grad(partial(full_energy, posterior.rate, True)))
        short = jax.jit(jax.grad(partial(collapsed_energy, posterior.rate)))
        worst = 0.0
        for _ in range(3):
            z = jnp.asarray(np.stack([collapsed[1], hm, 0 * hm]) + scale * rng.standard_normal(scale.shape))
            a, b = scale * np.asarray(explicit(z, full)), scale * np.asarray(short(z, collapsed))
            worst = max(worst, float(np.linalg.norm(a - b) / np.linalg.norm(b)))
        slope = np.asarray(extra(jnp.asarray(np.stack([mode.optimum, mode.h, 0 * mode.h])), full))
    agreed(f"{name}: the gradients of the two densities", worst, 1e-6)
    off = max(np.abs(slope[0] * np.sqrt(mode.variance)).max(), np.abs(slope[1] * hs).max())
    agreed(f"{name}: the modes of the Laplace approximation", float(off), 1e-3)
    return worst


def count_gradients(rate: float, work: Work, key, start, data):
    """Leapfrog steps of one NUTS chain on the collapsed density, NumPyro's defaults; start (3, 2 D)."""
    begin, step = hmc(potential_fn_gen=lambda data: lambda z: collapsed_energy(rate, z, data), algo="NUTS")
    state = begin(start, num_warmup=work.warmup, trajectory_length=None, model_args=(data,), rng_key=key)

    def draw(state, _):
        state = step(state, (data,), {})
        return state, state.num_steps

    return jax.lax.scan(draw, state, None, length=work.warmup + work.draws)[1].sum()


def leapfrogs(energy: Callable, count: int, z, momentum, scale, data):
    """``count`` leapfrog steps of length 0.01 in units of ``scale`` (3, 2 D), one gradient each; the last place."""
    slope = jax.value_and_grad(energy)

    def one(at, _):
        z, p, g = at
        p = p - 0.005 * scale * g
        z = z + 0.01 * scale * p
        value, g = slope(z, data)
        return (z, p - 0.005 * scale * g, g), value

    (z, _, _), values = jax.lax.scan(one, (z, momentum, slope(z, data)[1]), None, length=count - 1)
    return z, values


def adam(energy: Callable, count: int, z, data):
    """``count`` iterations of Adam with learning rate 1; all iterates, of which the authors average the last fifth."""
    optimiser = optim.Adam(1.0)

    def one(state, _):
        g = jax.grad(energy)(optimiser.get_params(state), data)
        state = optimiser.update(g, state)
        return state, optimiser.get_params(state)

    return jax.lax.scan(one, optimiser.init(z), None, length=count)[1]


# ------------------------------------------------------------------------------------------------- measurement


class Compiled:
    """Compiles each named function once, for the shapes of the first call, and keeps the CPU seconds that it took."""

    def __init__(self):
        self.functions, self.seconds = {}, {}

    def __call__(self, name: str, function: Callable, *arguments):
        """Bound to its arguments, ready to be timed."""
        if name not in self.functions:
            self.functions[name], self.seconds[name] = timed(lambda: jax.jit(function).lower(*arguments).compile())
        return partial(self.functions[name], *arguments)

    def twice(self, name: str, function: Callable) -> float:
        """CPU seconds of a function that compiles by itself; the first of all calls is not counted."""
        first = None if name in self.seconds else timed(function)[1]
        _, seconds = timed(function)
        if first is not None:
            self.seconds[name] = max(0.0, first - seconds)
        return seconds


def rows_one_by_one(case: Case) -> Case:
    """The same Bernoulli rows as the targets of an intercept alone."""
    task = case.task
    logistic = Task(task.name, LogisticRegressionNormalPrior(), np.empty((task.n, 0)), task.x[:, 0])
    return Case(logistic, case.settings, case.epsilon, case.seed)


def measure_case(case: Case, work: Work, compiled: Compiled) -> list[dict]:
    """The rows of one case. Raises RuntimeError where the two ways disagree or a number is not finite."""
    check_sums(case)
    posterior, full, collapsed = trace_of(case)
    check_densities(case.task.name, posterior, full, collapsed)
    s, sigma, rate, likelihood = case.settings, SIGMA[case.epsilon], posterior.rate, case.likelihood
    d_phi, key, found = len(posterior.last), jax.random.PRNGKey(case.seed), []

    def add(part, implementation, unit, seconds, measured, whole, compilation=0.0):
        row = {"model": case.task.name, "n": case.task.n, "d_phi": d_phi, "part": part}
        row |= {"implementation": implementation, "unit": unit, "measured": measured, "full": whole}
        row |= {"measured_seconds": seconds, "seconds": seconds / measured * whole, "compile_seconds": compilation}
        found.append(row)

    def add_theirs(part, implementation, unit, measured, whole, function, *arguments):
        out, seconds = timed(compiled(implementation, function, *arguments))
        if not all(np.isfinite(a).all() for a in jax.tree.leaves(out)):
            raise RuntimeError(f"{case.task.name}: {implementation} gave a number that is not finite")
        add(part, implementation, unit, seconds, measured, whole, compiled.seconds[implementation])

    contestants = {"kernels": case}
    if likelihood.name == "bernoulli":
        contestants["row_batches"] = rows_one_by_one(case)
    for name, one in contestants.items():
        compilation = timed(partial(training.compile_kernels, one.task, s))[1]
        add("dpvi", name, "steps", timed(one.train)[1], s.steps, s.steps, compilation)
    plan, prior = training.make_plan(s, d_phi // 2, sigma), training.prior_numbers(case.task.model)
    arrays = (plan.start, design_and_targets(case), plan.scale, plan.step, sigma * s.clip, prior)
    add_theirs(
        "dpvi", "autodiff", "steps", work.measured_steps, s.steps,
        partial(autodiff_run, likelihood.name, s, work.measured_steps), key, *single(arrays),
    )  # fmt: skip

    draw = partial(posterior.sample_parameters, work.draws, np.random.default_rng(0))
    add("posterior", "exact_draws", "draws", timed(draw)[1], work.draws, work.draws)
    name, iterations = "nuts_collapsed", work.warmup + work.draws
    seconds = compiled.twice(name, lambda: sampling.sample(posterior, s, np.random.default_rng(0)))
    add("posterior", name, "iterations", seconds, iterations, iterations, compiled.seconds[name])
    start = np.random.default_rng(case.seed).uniform(-2.0, 2.0, (3, d_phi))  # as NumPyro starts
    with jax.enable_x64(True):
        count = partial(count_gradients, rate, work)
        gradients = int(compiled("count", count, key, jnp.asarray(start), jnp.asarray(collapsed))())
    mode = laplace(posterior.trace, posterior.noise_variance, rate, posterior.priors, extra_term=True)
    here, hs = np.stack([mode.optimum, mode.h, 0 * mode.h]), collapsed[8]
    spread, momentum = np.stack([np.sqrt(mode.variance), hs, np.ones(d_phi)]), np.sign(start)
    add_theirs(
        "posterior", "nuts_full", "gradients", work.measured_gradients, gradients,
        partial(leapfrogs, partial(full_energy, rate, False), work.measured_gradients),
        *single((here, momentum, spread, full)),
    )  # fmt: skip

    grids = partial(laplace, posterior.trace, posterior.noise_variance, rate, posterior.priors, True)
    add("laplace", "nested_grids", "fits", timed(grids, 10)[1], 1, 1)
    begin = np.stack([collapsed[1], collapsed[7], 0 * hs])
    add_theirs(
        "laplace", "adam_full", "iterations", work.measured_adam, work.adam,
        partial(adam, partial(full_energy, rate, True), work.measured_adam), *single((begin, full)),
    )  # fmt: skip
    return found


def single(tree):
    """The same arrays in single precision, as the authors compute."""
    return jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), tree)


def measure(name: str, data_path: Path, work: Work, many: int = 3) -> pd.DataFrame:
    """Means over the cases of a model, a row an implementation; empty without data."""
    compiled = Compiled()
    rows = [row for case in cases(name, data_path, work, many) for row in measure_case(case, work, compiled)]
    if not rows:
        return pd.DataFrame()
    table = pd.DataFrame(rows)
    keys = ["model", "n", "d_phi", "part", "implementation", "unit"]
    out = table.groupby(keys, sort=False).mean().reset_index()
    out.insert(3, "cases", len(rows) // len(out))
    base = {part: out.loc[out.implementation == ours, "seconds"].item() for part, ours in OURS.items()}
    out["ratio"] = out.seconds / out.part.map(base)
    return out


def tables(measured: pd.DataFrame) -> pd.DataFrame:
    """CPU hours of the published tables, a row a part, and their sum; without parts whose models were not measured."""
    mean = measured.set_index(["model", "part", "implementation"]).seconds
    rows = []
    for table, part, models, theirs, ours in TABLES:
        if set(models) <= set(measured.model):
            found = {"table": table, "part": part}
            for whose, runs, way in (("authors", theirs, AUTHORS), ("our", ours, OURS)):
                found[f"{whose}_runs"] = runs * len(models)
                found[f"{whose}_hours"] = sum(runs * mean[model, part, way[part]] for model in models) / 3600
            rows.append(found)
    if not rows:
        return pd.DataFrame()
    out = pd.DataFrame(rows)
    total = {"table": "all", "part": "all", **out.drop(columns=["table", "part"]).sum()}
    out = pd.concat([out, pd.DataFrame([total])], ignore_index=True)
    return out.assign(ratio=out.authors_hours / out.our_hours)


def write(table: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    table.to_csv(temporary, index=False, float_format="%.6g")
    os.replace(temporary, path)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Cost of NA-DPVI, ours and the authors' way, for the same work.")
    parser.add_argument("out", nargs="?", type=Path, help="CSV to write; the second is written beside it")
    parser.add_argument("--data", type=Path, default=Path("results/data"), help="folder of adult_complete.npz")
    parser.add_argument("--models", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--cases", type=int, default=3, choices=(1, 2, 3), help="data sets a model")
    options = parser.parse_args(argv)
    start = time.process_time()
    measured = pd.concat([measure(m, options.data, Work(), options.cases) for m in options.models], ignore_index=True)
    if measured.empty:
        raise SystemExit(f"none of {', '.join(options.models)} has data; see the message above")
    hours = tables(measured)
    for table in (measured, hours):
        print("" if table.empty else table.to_string(index=False, float_format=lambda v: f"{v:.4g}"), end="\n\n")
    print(f"measured in {time.process_time() - start:.0f} CPU seconds")
    if options.out:
        write(measured, options.out)
        write(hours, options.out.with_name(f"{options.out.stem}_tables.csv"))


if __name__ == "__main__":
    main()
