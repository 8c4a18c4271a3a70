"""The sampler of logistic posteriors, with one run per draw, compared with long chains of NUTS on 12 fixed posteriors.

    python -m workflow.extra geumlek2017rdp rdp_sampler_abalone.csv

The guarantees of the released draws are for exact samples. 12 posteriors of split 0 (``LAWS``) span the range from
which the experiment draws. For each, 200 independent draws of ``methods._shared.logistic.sampler`` are compared with
four chains of the No-U-Turn sampler (NumPyro), which have their R-hat and effective sample sizes.

Columns mean_z, variance_z and energy_z are differences in standard errors. The first two are the largest over the
coordinates. If both distributions are equal, they stay below ``limit_z`` with probability of about 1 - 1 / 1000. That
is a Bonferroni limit over all coordinates with normal tails. The variance of 200 draws has a heavier tail, so it
exceeds the limit somewhat more often. A posterior above the limit is checked once more, with other random numbers and
ten times the draws, and both rows are kept. Then a chance deviation disappears, and an error grows.

Finished posteriors of an interrupted run are stored next to the output and not computed again.

``separable`` and ``common_tasks.sampler_distance`` measure the distance of draws from exact ones and its effect on
delta, in cases for which these chains say little.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from scipy.stats import norm

from datasets.files import write_text
from methods import contract
from methods._shared.logistic.reference import compare, long_chains
from methods._shared.logistic.sampler import Target, sample
from models.logistic_regression import potential, rows_of, signed_rows
from workflow.experiments import Cell
from workflow.extra import Request, text_of
from workflow.imports import code_hash
from workflow.worker import make_task

#: method and setting of the experiment's cells whose posteriors are checked.
LAWS = (
    ("posterior_sampling_glm_direct", ""),
    *(
        (f"posterior_sampling_glm_{kind}", f"order=10;epsilon=e^{k}")
        for kind in ("concentrated", "diffused")
        for k in (-5, -3, -1, 1, 3)
    ),
    ("posterior_sampling_ops", "as charged;order=10;epsilon=e^3"),
)
DRAWS, CHAINS, WARMUP, SAMPLES = 200, 4, 200, 450
#: number of draws of the second check, and of draws per batch.
AGAIN, BATCH = 2000, 500
#: probability that one of the three differences of a posterior is above ``limit_z`` if both samplers are right.
FALSE_ALARM = 1e-3
COLUMNS = (
    *("dataset", "method", "setting", "n", "d", "power", "precision", "chains", "warmup", "samples", "rhat"),
    *("ess_min", "ess_square_min", "ess_energy", "draws", "gradients_a_draw", "acceptance", "energy_error"),
    *("mean_z", "variance_z", "energy_z", "limit_z", "seconds_a_draw", "seconds_of_chains"),
)


def check(cell: Cell, z: np.ndarray, n: int, count: int = DRAWS, chains=(CHAINS, WARMUP, SAMPLES)) -> dict:
    """One row of the table: the posterior of ``cell`` given signed rows z (n, d), by ``count`` draws."""
    method = contract.get(cell.method)
    budget = cell.build_budget().open(np.random.default_rng(0))
    target: Target = method.release(cell.build_model(), n, cell.build_settings(), budget).target
    role = "sampler check" if count == DRAWS else "sampler check again"
    seeds = np.random.SeedSequence(cell.seed(0, role)).spawn(count + 1)
    plan = cell.build_settings().plan
    start = time.perf_counter()
    made = [
        sample(z, [target] * len(part), [np.random.default_rng(s) for s in part], plan)
        for part in (seeds[1 + k : 1 + k + BATCH] for k in range(0, count, BATCH))
    ]
    seconds = time.perf_counter() - start
    weights, acceptance, errors, runs = (
        np.concatenate([getattr(m, f) for m in made]) for f in ("weights", "acceptance", "energy_error", "runs")
    )
    energy = np.concatenate([potential(m.weights.T, z, target.power, target.precision) for m in made])
    start = time.perf_counter()
    long = long_chains(z, target, np.random.default_rng(seeds[0]), *chains)
    return {
        "dataset": cell.dataset,
        "method": cell.method,
        "setting": cell.setting,
        "n": n,
        "d": z.shape[1],
        "power": target.power,
        "precision": target.precision,
        **dict(zip(("chains", "warmup", "samples"), chains, strict=True)),
        "rhat": long.rhat,
        "ess_min": float(long.ess.min()),
        "ess_square_min": float(long.ess_square.min()),
        "ess_energy": long.ess_energy,
        "draws": count,
        "gradients_a_draw": plan.gradients * runs.mean(),
        "acceptance": float(acceptance.mean()),
        "energy_error": float(errors.mean()),
        **compare(weights, energy, long),
        "limit_z": limit(z.shape[1]),
        "seconds_a_draw": seconds / count,
        "seconds_of_chains": time.perf_counter() - start,
    }


def above(row: dict) -> bool:
    """Whether one of a row's differences is above the limit, or not a number."""
    return not all(row[k] <= row["limit_z"] for k in ("mean_z", "variance_z", "energy_z"))


def limit(d: int) -> float:
    """The limit on differences for d coordinates.

    It is the two-sided normal quantile at ``FALSE_ALARM`` over 2 d + 1 differences.
    """
    return float(norm.isf(FALSE_ALARM / (2 * (2 * d + 1))))


def chains(request: Request) -> dict[str, str]:
    """The check of the request's data set, as text. Below full scale, it has one posterior, which runs every line."""
    (name,), (dataset,) = request.extra.tables, request.extra.datasets
    data, laws = request.data(), LAWS if request.scale == "full" else LAWS[:1]
    if data.status != "ok":
        print(f"{name}: {data.reason}", file=sys.stderr)
        return {name: text_of(COLUMNS, [])}
    known = {(c.method, c.setting): c for c in request.cells("full") if c.dataset == dataset}
    partial = (request.out / name).with_suffix(".partial")
    head = {"code": code_hash(__name__), "data": data.data_hash}
    lines = [json.loads(line) for line in partial.read_text().splitlines()] if partial.exists() else []
    done = lines[1:] if lines[:1] == [head] else []
    if not done:
        write_text(partial, json.dumps(head) + "\n")
    rows = rows_of(make_task(known[LAWS[0]], data, 0))
    z = signed_rows(rows.x, rows.y)
    for k, law in enumerate(laws):
        mine = [r for r in done if (r["method"], r["setting"]) == law]
        for count in (DRAWS, AGAIN)[len(mine) :]:
            if count == AGAIN and not above(mine[0]):
                continue
            row = check(known[law], z, len(z), count)
            mine.append(row)
            done.append(row)
            with partial.open("a", encoding="utf-8") as f:
                f.write(json.dumps(row) + "\n")
            said = f"{count} draws, R-hat {row['rhat']:.4f}, {row['seconds_of_chains']:.0f} s"
            print(f"{name}: posterior {k + 1} of {len(laws)}: {said}", file=sys.stderr, flush=True)
    partial.unlink()
    return {name: text_of(COLUMNS, done, 10)}
