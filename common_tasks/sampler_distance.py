"""The distance of released draws of the common task's logistic posteriors from exact draws.

    python -m workflow.extra common_tasks sampler_common_abalone.csv

The posteriors are those of split 0. A draw is projected to s, the log ratio of the Laplace approximation, from which a
chain starts, to the posterior. No other function distinguishes the two better.

The reference has draws of the Laplace approximation with weights exp(-s). If the effective number of these draws is
below ``LEAST`` of their number, it has draws of the No-U-Turn sampler.

The Kolmogorov distance of s is at most t, the total variation distance. A kernel that leaves the posterior invariant
cannot increase t, so t is at most that of the start. If draws outside of a ball are discarded, that bound is divided by
the posterior mass of the ball. ``tv_low`` and ``tv_high`` are these bounds, a wide interval. The other columns are
those of ``evaluation.sampler_distance``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.special import logsumexp

from evaluation.sampler_distance import ALPHA, COLUMNS, epsilon_of, facts, half_width, kolmogorov, share
from methods._shared.frames import make_frame
from methods._shared.logistic.reference import independent_draws, long_chains
from methods._shared.logistic.sampler import Plan, laplace
from models.logistic_regression import potential
from workflow.experiments import Cell
from workflow.extra import Request, resumed, text_of
from workflow.imports import code_hash
from workflow.worker import make_task

CONCENTRATED, DIFFUSED = "posterior_sampling_glm_concentrated", "posterior_sampling_glm_diffused"
OPS = "posterior_sampling_ops"
#: cells by data set: all if there are few rows, else those whose start is farthest from the posterior.
COMMON = {
    "abalone": tuple((m, e) for m in (CONCENTRATED, DIFFUSED, OPS) for e in ("0.1", "1", "8")),
    "adult": ((CONCENTRATED, "8"), (DIFFUSED, "0.1")),
}
#: number of draws, and the smallest tail probability that they can show.
DRAWS = {"abalone": 400, "adult": 100}
LEVEL = {"abalone": 0.02, "adult": 0.05}
#: number of weighted draws of the reference, their smallest effective number per draw, and chains, warm-up and samples
#: of the other reference.
WEIGHTED, LEAST, CHAINS = 4000, 0.1, (4, 100, 150)


def common_row(cell: Cell, data, count: int, level: float, wrong=None) -> dict:
    """One row: the posterior from which ``cell`` releases a draw on its split 0.

    ``wrong``: a function that distorts the draws, for tests.
    """
    start = time.process_time()
    from methods._shared.logistic_gaussian.posterior import signed

    seeds = np.random.SeedSequence(cell.seed(0, "sampler distance")).spawn(count + 2)
    method, task, settings = cell.adapter(), make_task(cell, data, 0), cell.build_settings()
    budget = cell.build_budget().open(np.random.default_rng(seeds[0]))
    inner = make_frame(task, budget, method.share).task(task)
    target, event = method.law(inner.model, inner.x.shape[1], settings, budget)
    z, plan = signed(inner, strict=False), Plan(settings.trajectories, settings.leapfrog_steps)
    (around,), _ = laplace(z, [target])
    rng = np.random.default_rng(seeds[1])

    def log_ratio(w):
        """The log ratio s at weights (k, d), up to a constant."""
        u = np.linalg.solve(around.whitening, (w - around.mode).T)
        return potential(w.T, z, target.power, target.precision) - 0.5 * (u**2).sum(axis=0)

    far = around.mode + rng.standard_normal((WEIGHTED, z.shape[1])) @ around.whitening.T
    far = far[: max(1, int(min(WEIGHTED, 4e7 / len(z))))]
    s0 = log_ratio(far)
    inside = np.linalg.norm(far, axis=1) <= target.radius
    log_weight = -s0 - logsumexp(-s0)
    weight = np.exp(log_weight)
    if 1.0 / (weight**2).sum() >= LEAST * len(far):
        by, s = "importance sampling", s0
    else:
        chains = long_chains(z, target, rng, *CHAINS)
        flat = chains.draws.reshape(-1, z.shape[1])
        by, s, inside = "No-U-Turn chains", log_ratio(flat), np.linalg.norm(flat, axis=1) <= target.radius
        weight = np.full(
            len(s), chains.ess_energy / len(s) ** 2
        )  # weights sum to 1, so 1 / sum of squares is the effective size
    whole = float(1.0 / (weight**2).sum()) if by == "importance sampling" else chains.ess_energy
    size = whole * float(weight[inside].sum() / weight.sum())
    mass = share(round(size), max(round(whole), round(size)))[1] if not inside.all() else 1.0
    w = independent_draws(z, target, seeds[2:], plan)
    mine = log_ratio(w if wrong is None else wrong(w))
    gap = kolmogorov(mine, s[inside], weight[inside])
    width = half_width(count, ALPHA / 2) + half_width(size, ALPHA / 2)
    low, high = max(0.0, gap - width), min(1.0, gap + width)
    begin = kolmogorov(s0, s, weight) + half_width(len(s0), ALPHA / 2) + half_width(whole, ALPHA / 2)
    at = np.interp([level, 1.0 - level], *_cdf(s[inside], weight[inside]))
    epsilon = epsilon_of([*budget.ledger, event], budget.delta)
    row = {"task": "common", "dataset": cell.dataset, "method": cell.method, "setting": cell.setting}
    row |= {"n": len(z), "d": z.shape[1], "reference": by, "reference_size": size}
    counts = (mine < at[0]).sum(), (mine > at[1]).sum()
    tv = (low, min(1.0, begin / mass))
    row |= facts(target, epsilon, budget.delta, count, level, counts, (gap, low, high), tv)
    row |= {"tv_by": "draws and start"}
    row |= dict.fromkeys(("law_p", "delta_exact", "delta_drawn", "epsilon_exact", "epsilon_drawn"), "")
    return row | {"seconds": time.process_time() - start}


def _cdf(s: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(s)
    return np.cumsum(weight[order]) / weight.sum(), s[order]


def common(known: Sequence[Cell], data, dataset: str, laws: int | None = None) -> list[Callable[[], dict]]:
    """The row of :func:`common_row`. ``known``: cells of the experiment."""
    at = {(c.method, c.setting): c for c in known if c.dataset == dataset}
    wanted = [at[method, f"epsilon={epsilon}"] for method, epsilon in COMMON[dataset][:laws]]
    return [partial(common_row, cell, data, DRAWS[dataset], LEVEL[dataset]) for cell in wanted]


def table(request: Request) -> dict[str, str]:
    """The table of a data set as text. It has one posterior below full scale, and no row without data."""
    (name,), (dataset,) = request.extra.tables, request.extra.datasets
    data = request.data()
    if data.status != "ok":
        print(f"{name}: {data.reason}", file=sys.stderr)
        return {name: text_of(COLUMNS, [])}
    makers = common(request.cells("full"), data, dataset, None if request.scale == "full" else 1)
    head = {"code": code_hash(__name__), "data": data.data_hash}
    return {name: resumed(request, name, head, makers, COLUMNS)}
