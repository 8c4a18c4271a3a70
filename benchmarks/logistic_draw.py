"""Seconds and gradients of one draw from a logistic posterior, per data set and sampler, in one run on one core.

    python -m benchmarks.logistic_draw --data results/data [results/benchmarks/logistic_draw.csv]

Posteriors: those that ``posterior_sampling_glm_diffused`` draws from at order 10 and nine budgets, on the first split
of experiment rdp_logistic; the single draws are at the middle one. Rows:

hmc_batched       ours (``methods._shared.logistic.sampler``), the nine posteriors at once, as a family of cells runs
hmc_single        ours, one posterior alone
nuts              No-U-Turn sampler (NumPyro) in the same whitened coordinates: 300 iterations of warm-up, the last is
                  the draw
elliptical_slice  elliptical slice sampling (Murray, Adams & MacKay 2010) from the prior, 1,000 iterations: the burn-in
                  that the paper gives its slice sampler. An evaluation is one pass over the rows, counted as half a
                  gradient. How near the law of its draw is to the posterior is not judged here.

``seconds``: CPU seconds a draw, the mode search and its factorisation included (NUTS without its compilation: a first
run is thrown away); ``gradients``: passes forth and back over the rows; ``ratio``: seconds over those of hmc_batched.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy and JAX are imported
from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
    os.environ.setdefault(_name, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd

import datasets
from datasets.protocols import thirds
from methods import contract
from methods._shared.logistic.sampler import Plan, Target, laplace, sample
from models.logistic_regression import LogisticRegression, rows_of, signed_rows
from models.task import Task
from privacy.budget import BudgetSpec

METHOD = "posterior_sampling_glm_diffused"
ORDER, LOG_EPSILONS = 10.0, range(-5, 4)
WARMUP, SLICES = 300, 1000


def hmc(z: np.ndarray, targets: list[Target]) -> tuple[float, float]:
    """(seconds, gradients) a draw."""
    rngs = [np.random.default_rng(k) for k in range(len(targets))]
    start = time.process_time()
    draws = sample(z, targets, rngs)
    seconds = time.process_time() - start
    gradients = Plan().gradients * draws.runs.sum() + draws.mode_gradients[0]
    return seconds / len(targets), float(gradients) / len(targets)


def nuts(z: np.ndarray, target: Target, warmup: int = WARMUP) -> tuple[float, float]:
    """(seconds, gradients) of one run, the Laplace approximation that it starts from included."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS

    with jax.enable_x64(True):
        start = time.process_time()
        (around,), searched = laplace(z, [target])
        rows, mode, whitening = jnp.asarray(z), jnp.asarray(around.mode), jnp.asarray(around.whitening)
        seconds = time.process_time() - start

        def energy(u):
            w = mode + whitening @ u
            return target.power * jnp.logaddexp(0.0, -(rows @ w)).sum() + 0.5 * target.precision * (w @ w)

        run = MCMC(NUTS(potential_fn=energy), num_warmup=warmup, num_samples=1, progress_bar=False)
        at = jnp.zeros(z.shape[1])
        options = {"init_params": at, "extra_fields": ("num_steps",), "collect_warmup": True}
        run.warmup(jax.random.PRNGKey(0), **options)  # compiles
        start = time.process_time()
        run.warmup(jax.random.PRNGKey(1), **options)
        steps = np.asarray(run.get_extra_fields()["num_steps"])
        seconds += time.process_time() - start
    return seconds, float(steps.sum() + searched)


def elliptical_slice(z: np.ndarray, target: Target, iterations: int = SLICES) -> tuple[float, float]:
    """(seconds, gradients) of one run; a pass over the rows without the way back is half a gradient."""
    rng = np.random.default_rng(0)
    scale = 1.0 / math.sqrt(target.precision)
    start = time.process_time()

    def log_likelihood(w):
        return -target.power * np.logaddexp(0.0, -(z @ w)).sum()

    w = scale * rng.standard_normal(z.shape[1])
    here, evaluations = log_likelihood(w), 1
    for _ in range(iterations):
        other = scale * rng.standard_normal(z.shape[1])
        level = here - rng.exponential()
        angle = rng.uniform(0.0, 2.0 * math.pi)
        low, high = angle - 2.0 * math.pi, angle
        while True:
            proposal = w * math.cos(angle) + other * math.sin(angle)
            value = log_likelihood(proposal)
            evaluations += 1
            if value > level:
                break
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = rng.uniform(low, high)
        w, here = proposal, value
    return time.process_time() - start, 0.5 * evaluations


def measure(dataset: str, data_path: Path) -> list[dict]:
    """The rows of one data set."""
    data = datasets.load(data_path)
    if data.status != "ok":
        print(f"{dataset}: {data.reason}", file=sys.stderr)
        return []
    train, _ = thirds.split(dataset, "thirds", len(data.y), 0)
    model = LogisticRegression(scaling="data")
    rows = rows_of(Task(dataset, model, data.x[train], data.y[train]))
    z = signed_rows(rows.x, rows.y)
    method = contract.get(METHOD)
    targets = []
    for k in LOG_EPSILONS:
        budget = BudgetSpec(renyi=(ORDER, math.exp(k))).open(np.random.default_rng(0))
        targets.append(method.release(model, len(z), method.Settings(), budget).target)
    one = targets[len(targets) // 2]
    hmc(z[:50], targets[:1])  # first calls load libraries
    found = {
        "hmc_batched": hmc(z, targets),
        "hmc_single": hmc(z, [one]),
        "nuts": nuts(z, one),
        "elliptical_slice": elliptical_slice(z, one),
    }
    base = found["hmc_batched"][0]
    return [
        {"dataset": dataset, "n": len(z), "d": z.shape[1], "sampler": name, "seconds": s, "gradients": g}
        | {"ratio": s / base}
        for name, (s, g) in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of one draw from a logistic posterior, sampler by sampler.")
    parser.add_argument("out", nargs="?", type=Path, help="CSV to write")
    parser.add_argument("--data", type=Path, default=Path("results/data"), help="folder of the data sets' npz files")
    parser.add_argument("--datasets", nargs="+", default=["abalone", "adult", "mnist"])
    args = parser.parse_args()
    table = pd.DataFrame([row for d in args.datasets for row in measure(d, args.data / f"{d}.npz")])
    print(table.to_string(index=False, float_format=lambda v: f"{v:.4g}"))
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
