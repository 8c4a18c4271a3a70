"""Exact posteriors of the common tasks, and of two private releases.

    python -m common_tasks.posteriors --data results/data

Writes ``reference/posteriors/<data set>-<family>.json`` (and ``.npz`` with draws) for the training rows of split 0. It
also writes ``absent.json`` with the tasks that have none and why. ``--check`` computes them again and compares.
``dpbayes_bench.reference_posterior`` reads them.

Linear regression has a closed form (normal-inverse-gamma). Logistic regression has draws of NumPyro's No-U-Turn sampler
in double precision, stored in single precision. Its chains are twice as long as those of the baseline ``nuts``.

The releases are the first data sets of two settings of :mod:`common_tasks.noise_aware`. Given a noisy count, draws are
independent. Given noisy moments, they are chains of :mod:`evaluation.release_posterior`. :mod:`evaluation.convergence`
has the diagnostics. Chains that have not converged are not written.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

import datasets
from common_tasks import PAPER, noise_aware
from datasets.files import replacing, write_json
from dpbayes_bench import posteriors as stored
from evaluation import release_posterior
from evaluation.convergence import QUANTILES, told_of
from models.bounded import Frame
from models.kind import CONJUGATE
from workflow import committed, papers, program
from workflow.experiments import Cell, cells
from workflow.score import public_frame
from workflow.worker import make_task

FOLDER = Path(__file__).resolve().parent / "reference" / "posteriors"
ABSENT = "absent.json"
SPLIT = 0
CHAINS = {"chains": 4, "warmup": 200, "samples": 500}
#: name of a private release -> model, method, rows, epsilon.
RELEASES = {
    f"{method}-{model}-n=1000-epsilon=1": (model, method, 1000, 1.0)
    for model, method in (("beta_bernoulli", noise_aware.B_S_2018), (noise_aware.ONE, noise_aware.B_S_2019))
}
RELEASE_CHAINS = {"chains": 4, "burn_in": 1000, "sweeps": 5000, "thin": 5}
#: kinds of model without an exact posterior -> why.
WITHOUT = {
    "bounded_mixture": "not computed: a mixture has a mode for every order of its components, and chains that stay in "
    "one would speak of that one alone; methods are compared by the density of test rows",
    "bnn_regression": "not computed: the weights of a network are known up to permutations and signs of its units, so "
    "that no chain over them converges; methods are compared by predictions",
}
#: suffixes of the names of experiments with further tables.
TABLES = ("_tables", "_levels", "rare_events")
FURTHER = "not computed: a further table, of which the advice reads scores alone"


def why_not(cell: Cell) -> str:
    """Why a task has no exact posterior here, or "" if it has one."""
    return WITHOUT.get(cell.about.name, FURTHER if cell.experiment.endswith(TABLES) else "")


def tasks() -> dict[str, Cell]:
    """Name of each common task with committed scores, ``<data set>-<family>`` -> one of its cells at full scale."""
    cell_of: dict[str, Cell] = {}
    for experiment, path in PAPER.experiments.items():
        if not committed.path_of(papers.REFERENCE, experiment).is_file():
            continue
        for cell in cells(path, "full"):
            cell_of.setdefault(f"{cell.dataset}-{experiment.removeprefix('common_')}", cell)
    return cell_of


def compute(name: str, cell: Cell, data) -> tuple[dict[str, Any], np.ndarray | None]:
    """The JSON content of a task, and draws (chains, samples, D) if there is no closed form.

    Raises ValueError for chains that have not converged.
    """
    task, frame = make_task(cell, data, SPLIT), public_frame(cell, data, SPLIT)
    scaled_task = frame.task(task)
    info = {
        "task": name,
        "dataset": cell.dataset,
        "protocol": cell.protocol,
        "split": SPLIT,
        "n": task.n,
        "model": dict(cell.model),
        "frame": _frame(frame),
        "data_hash": data.data_hash,
        "rows_hash": hashlib.sha256(
            np.ascontiguousarray(scaled_task.x).tobytes() + scaled_task.y.tobytes()
        ).hexdigest()[:16],
        "parameters": [*data.columns, "intercept"],
    }
    if cell.about.exact == CONJUGATE:
        info |= {"how": "closed form: normal-inverse-gamma", "settings": {}, "versions": versions("numpy", "scipy")}
        info["parameters"].append("noise_variance")
        return _hashed(info | _closed_form(scaled_task)), None
    info |= {"how": "draws of NumPyro's No-U-Turn sampler", "settings": CHAINS}
    info["versions"] = versions("numpy", "scipy", "jax", "numpyro", "arviz-stats")
    draws = _drawn(scaled_task, np.random.default_rng(cell.seed(SPLIT, "reference posterior")))
    return _hashed(info | told_of(draws)), draws


def compute_release(name: str) -> tuple[dict[str, Any], np.ndarray]:
    """The JSON content and draws of the posterior given a private release, as in :func:`compute`."""
    kind, method, n, epsilon = RELEASES[name]
    task, _, fit, z, _ = noise_aware.fitted(kind, method, n, epsilon, 0)
    b, rng = fit.diagnostics["noise_scale"], program.stream("reference posterior", name)
    if kind in noise_aware.INPUTS:
        release = noise_aware.release_of(kind, method, task, z, b)
        draws, _ = release_posterior.sample(task.model, release, rng, **RELEASE_CHAINS)
        how, settings = "data augmentation with non-centred moves", RELEASE_CHAINS
        model: dict[str, Any] = asdict(task.model) | {"inputs": "N(0, 1)", "bounds": release.bounds.tolist()}
        values = "sums over rows of u_a u_b (a <= b) and of u_a, u the input and the target, clipped to the bounds"
        parameters = release_posterior.names(task.x.shape[1])
    else:
        prior = np.array(task.model.prior)
        first, log_weight = noise_aware.counts(prior, z, b, n)
        count = rng.choice(first, size=(RELEASE_CHAINS["chains"], 1000, 1), p=softmax(log_weight))
        draws, how, settings = rng.beta(prior[0] + count, prior[1] + n - count), "independent draws", {}
        model, parameters, values = {"prior": prior.tolist()}, ("probability",), "the number of rows that are 1"
    draws = draws.astype(np.float32)
    release_told = {"values": z.tolist(), "noise": "laplace", "scale": b, "n": n, "claimed_epsilon": epsilon}
    info = {
        "task": name,
        "how": how,
        "model": {"name": kind, "release": values} | model,
        "release": release_told,
        "settings": settings,
    }
    info |= {"parameters": list(parameters), "versions": versions("numpy", "scipy", "arviz-stats")}
    return _hashed(info | told_of(draws)), draws


def _frame(frame: Frame) -> dict[str, Any]:
    """The scaling as JSON."""
    return {
        "x_shift": frame.x_shift.tolist(),
        "x_scale": frame.x_scale.tolist(),
        "y_shift": frame.y_shift,
        "y_scale": frame.y_scale,
    }


def _hashed(info: dict[str, Any]) -> dict[str, Any]:
    """The content, with a hash of the inputs of its numbers."""
    named = ("task", "protocol", "split", "model", "frame", "data_hash", "rows_hash", "release", "how", "settings")
    text = json.dumps({k: info[k] for k in named if k in info}, sort_keys=True)
    return info | {"hash": hashlib.sha256(text.encode()).hexdigest()[:16]}


def versions(*packages: str) -> dict[str, str]:
    """Versions of the libraries that computed the numbers."""
    return {p: importlib.metadata.version(p) for p in packages}


def _closed_form(box) -> dict[str, Any]:
    """Moments and quantiles of weights (Student t) and noise variance (inverse gamma) of a scaled task."""
    from scipy.stats import invgamma, t

    exact = box.model.exact_posterior(box.x, box.y)
    a, b = exact.shape, exact.scale
    inverse = np.linalg.inv(exact.factor)
    spread = inverse.T @ inverse
    scale = np.sqrt(b / a * np.diag(spread))
    mean, variance = b / (a - 1), b**2 / ((a - 1) ** 2 * (a - 2))
    covariance = np.zeros((len(spread) + 1,) * 2)
    covariance[:-1, :-1], covariance[-1, -1] = mean * spread, variance
    summary = {"mean": [*exact.mean, mean], "sd": np.sqrt(np.diag(covariance))}
    for word, level in QUANTILES.items():
        summary[word] = [*(exact.mean + scale * t.ppf(level, 2 * a)), invgamma.ppf(level, a, scale=b)]
    return {
        "closed_form": {
            "mean": exact.mean.tolist(),
            "weights_covariance_over_variance": spread.tolist(),
            "shape": a,
            "scale": b,
        },
        "covariance": covariance.tolist(),
        "summary": _numbers(summary),
        "diagnostics": {},
    }


def _numbers(summary: dict[str, Any]) -> dict[str, list[float]]:
    return {word: [float(v) for v in values] for word, values in summary.items()}


def _drawn(box, rng: np.random.Generator) -> np.ndarray:
    """Draws (chains, samples, D) in single precision."""
    from methods._shared.logistic.reference import long_chains
    from methods._shared.logistic.sampler import Target
    from methods._shared.logistic_gaussian.posterior import signed

    chains = long_chains(signed(box), Target(1.0, 1.0 / box.model.prior_sd**2), rng, **CHAINS)
    return chains.draws.astype(np.float32)


def write(folder: Path, data: Path, only: list[str] | None = None) -> list[str]:
    """Compute and write the posteriors of the named tasks (default: all that have one). Returns their names."""
    todo, done = tasks(), []
    for name in [*(n for n, cell in todo.items() if not why_not(cell)), *RELEASES]:
        if only and name not in only:
            continue
        cell = todo.get(name)
        info, draws = (
            compute(name, cell, datasets.load(data / f"{cell.dataset}.npz")) if cell else compute_release(name)
        )
        if draws is not None:
            with replacing(folder / f"{name}.npz") as f:
                np.savez_compressed(f, draws=draws)
        write_json(folder / f"{name}.json", info)
        done.append(name)
    absent = {name: why for name, cell in todo.items() if (why := why_not(cell))}
    write_json(folder / ABSENT, absent)
    return done


def differences(folder: Path, other: Path) -> list[str]:
    """Tasks whose hash differs between two folders, or whose mean differs by more than six errors of a mean of draws.

    A posterior that ``dpbayes_bench.posteriors.read`` refuses, or that is not committed, is listed with the reason.
    Other libraries give independent draws. The probability that one of some 200 means differs by six standard errors is
    10^-6.
    """
    lines = []
    for path in sorted(other.glob("*-*.json")):
        try:
            ours, theirs = (stored.read(f, path.stem) for f in (folder, other))
        except (LookupError, ValueError) as error:
            lines.append(str(error))
            continue
        ess = ours.summary.get("ess_bulk", 1e12)
        error = ours.summary["sd"] * np.sqrt(2 / ess)
        far = float(np.max(np.abs(ours.summary["mean"] - theirs.summary["mean"]) / error))
        if ours.info["hash"] != theirs.info["hash"]:
            lines.append(f"{path.stem}: hash {ours.info['hash']} is committed, {theirs.info['hash']} computed")
        elif not far <= 6:
            lines.append(f"{path.stem}: a mean is {far:.1f} standard errors from the committed one")
    return lines


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m common_tasks.posteriors", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("results/data"), help="folder of the fetched tables")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--only", nargs="+", choices=sorted([*tasks(), *RELEASES]), help="tasks; default: all")
    parser.add_argument("--check", action="store_true", help="compute into --out (another folder) and compare")
    options = parser.parse_args(argv)
    if options.check and options.out.resolve() == FOLDER:
        parser.error("--check compares with the committed folder: give --out another one")
    try:
        done = write(options.out, options.data, options.only)
    except (OSError, ValueError) as error:
        print(f"common_tasks.posteriors: {error}", file=sys.stderr)
        return 1
    print(f"{len(done)} posteriors in {options.out}")
    wrong = differences(FOLDER, options.out) if options.check else []
    print("\n".join(wrong), end="\n" * bool(wrong), file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
