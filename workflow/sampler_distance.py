"""How far the released draws of logistic posteriors are from exact ones, and what that adds to (epsilon, delta).

    python -m workflow.extra geumlek2017rdp sampler_separable.csv
    python -m workflow.extra common_tasks sampler_common_abalone.csv

Every row is one posterior at one budget. Let t be the total variation between a draw and the exact posterior. Where t
is at most that much on both of two neighbours, an (epsilon, delta) of exact draws is one of (epsilon, delta + (1 +
e^epsilon) t) of the program's: P(draw in S) <= P(exact in S) + t <= e^epsilon P(exact' in S) + delta + t <= e^epsilon
(P(draw' in S) + t) + delta + t. The columns ``delta_added_*`` say (1 + e^epsilon) t, at most 1, with t of this one
data set: a bound for all data sets would need the largest t of all.

``separable``: n equal rows of one column and class, the worst case for a sampler that starts at a Gaussian: one side of
the posterior is a wall, the other the prior's tail. Exact law, quantiles, and the law of the draws by quadrature
(``..._logistic.one_weight``): ``tv_low`` and ``tv_high`` are that distance -+ its error; where quadrature
does not follow, the interval of the draws' Kolmogorov distance and the distance of the run's start take their place
(``tv_by``). ``law_p``: Kolmogorov-Smirnov p-value of the draws against the law computed for them. ``delta_*`` and
``epsilon_*``: what one flipped label can show at most, at the ledger's epsilon and at ``delta``, of exact draws and of
the program's (blank where quadrature does not follow).

``common``: posteriors of the common task's split 0. A draw is looked at along s, the log ratio of the Laplace
approximation, where a run starts, to the posterior: no other function tells the two better apart. Reference: draws of
the Laplace approximation weighted by exp(-s), or the No-U-Turn sampler where they are worth less than ``LEAST`` of
their number. The Kolmogorov distance along s is at most t, and t at most that of the start (a kernel that leaves the
posterior invariant brings no law away from it; over the posterior's mass in the ball where draws outside of it are
thrown away): ``tv_low`` and ``tv_high``, a wide interval.

below, above : share of the draws beyond the exact quantiles at ``level`` and 1 - ``level``. All intervals are 95 %:
Clopper & Pearson for shares, Dvoretzky, Kiefer & Wolfowitz for distances; references count by their effective size.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp
from scipy.stats import beta, kstest

from datasets.files import write_text
from methods import contract
from methods._shared.frames import make_frame
from methods._shared.logistic.reference import long_chains
from methods._shared.logistic.sampler import Plan, Target, laplace, sample
from methods.posterior_sampling._logistic import one_weight
from models.logistic_regression import LogisticRegression, potential
from privacy.ledger import Ledger
from workflow.experiments import Cell
from workflow.imports import code_hash
from workflow.worker import make_task

if TYPE_CHECKING:
    from workflow.extra import Request

CONCENTRATED, DIFFUSED = "posterior_sampling_glm_concentrated", "posterior_sampling_glm_diffused"
DIRECT, OPS = "posterior_sampling_glm_direct", "posterior_sampling_ops"
#: method, Renyi budget (order, epsilon) or none, rows n and beta0, whose product is the precision of the prior.
SEPARABLE = (
    *((CONCENTRATED, (10.0, math.exp(k)), 100, 1e-3) for k in (-1, 1, 3)),
    *((DIFFUSED, (10.0, math.exp(k)), 100, 1e-3) for k in (-1, 1, 3)),
    (OPS, (10.0, math.exp(3)), 100, 1e-3),
    *((DIRECT, None, n, beta0) for n, beta0 in ((100, 1e-3), (10, 1e-3), (100, 1e-4), (10, 1e-4), (100, 1e-5))),
)
#: of the common task, in full where the rows are few. Elsewhere those whose start is farthest from its posterior.
COMMON = {
    "abalone": tuple((m, e) for m in (CONCENTRATED, DIFFUSED, OPS) for e in ("0.1", "1", "8")),
    "adult": ((CONCENTRATED, "8"), (DIFFUSED, "0.1")),
}
#: draws, and the smallest level at which they say something of a tail.
DRAWS = {"separable": 5000, "abalone": 400, "adult": 100}
LEVEL = {"separable": 1e-3, "abalone": 0.02, "adult": 0.05}
#: weighted draws of the reference; their least worth a draw; chains, warm-up and samples of the other reference.
WEIGHTED, LEAST, CHAINS = 4000, 0.1, (4, 100, 150)
#: draws made in one batch.
BATCH = 2000
DELTA, ALPHA = 1e-5, 0.05
COLUMNS = (
    *("task", "dataset", "method", "setting", "n", "d", "power", "precision", "radius", "epsilon", "delta"),
    *("draws", "reference", "reference_size", "level", "below", "below_low", "below_high"),
    *("above", "above_low", "above_high", "kolmogorov", "kolmogorov_low", "kolmogorov_high"),
    *("tv_low", "tv_high", "tv_by", "delta_added_low", "delta_added_high", "law_p"),
    *("delta_exact", "delta_drawn", "epsilon_exact", "epsilon_drawn", "seconds"),
)


def share(count: int, of: int) -> tuple[float, float, float]:
    """count / of and its interval (Clopper & Pearson)."""
    low = float(beta.ppf(ALPHA / 2, count, of - count + 1)) if count else 0.0
    high = float(beta.isf(ALPHA / 2, count + 1, of - count)) if count < of else 1.0
    return count / of, low, high


def half_width(size: float, alpha: float = ALPHA) -> float:
    """With probability 1 - alpha no empirical distribution function of ``size`` draws is further off (Massart 1990)."""
    return math.sqrt(math.log(2.0 / alpha) / (2.0 * size))


def kolmogorov(a: np.ndarray, b: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Largest difference of the distribution functions of draws ``a`` and ``b``, (k,) and (m,); b may be weighted."""
    weight = np.full(len(b), 1.0 / len(b)) if weight is None else weight / weight.sum()
    order = np.argsort(b)
    both = np.concatenate([a, b])
    of_b = np.concatenate([[0.0], np.cumsum(weight[order])])[np.searchsorted(b[order], both, side="right")]
    of_a = np.searchsorted(np.sort(a), both, side="right") / len(a)
    return float(np.abs(of_a - of_b).max())


def added(epsilon: float, distance: float) -> float:
    """What a total variation adds to delta, at most 1."""
    return min(1.0, (1.0 + math.exp(min(epsilon, 700.0))) * distance)


def epsilon_of(events: Sequence, delta: float) -> float:
    from privacy.accountants import epsilon_of  # heavy

    return float(epsilon_of(Ledger([*events]), delta).epsilon)


def draw(z: np.ndarray, target: Target, seeds, plan: Plan) -> np.ndarray:
    """Independent draws, (k, d), one a seed, by the sampler of the methods."""
    parts = [seeds[k : k + BATCH] for k in range(0, len(seeds), BATCH)]
    rngs = [[np.random.default_rng(s) for s in part] for part in parts]
    return np.concatenate([sample(z, [target] * len(part), part, plan).weights for part in rngs])


def separable_row(number: int, count: int = DRAWS["separable"], wrong=None) -> dict:
    """One row: posterior ``SEPARABLE[number]``. ``wrong``: a function that spoils the draws, for tests."""
    from privacy.budget import BudgetSpec

    name, renyi, n, beta0 = SEPARABLE[number]
    start = time.process_time()
    method = contract.get(name, "logistic_regression")
    spec = BudgetSpec() if renyi is None else BudgetSpec(renyi=renyi)
    settings = method.Settings()
    release = method.release(LogisticRegression(beta0, 1.0, "none"), n, settings, spec.open(np.random.default_rng(0)))
    z, target = np.ones((n, 1)), release.target
    other = np.concatenate([-z[:1], z[1:]])
    here, there = one_weight.neighbours(z, other, target, settings.plan)
    w = draw(z, target, np.random.SeedSequence([18, number]).spawn(count), settings.plan)[:, 0]
    w = w if wrong is None else wrong(w)
    gap, width = float(kstest(w, here.exact_cdf).statistic), half_width(count)
    low, high = max(0.0, gap - width), min(1.0, gap + width)
    if here.known:
        tv = max(0.0, here.distance - here.error), min(1.0, here.distance + here.error)
    else:
        tv = low, here.start_distance
    level, epsilon = LEVEL["separable"], epsilon_of([release.event], DELTA)
    counts = (w < here.quantile(level)).sum(), (w > here.quantile(1.0 - level)).sum()
    row = {"task": "separable", "dataset": "", "method": name, "n": n, "d": 1}
    row["setting"] = f"beta0={beta0:g}" if renyi is None else f"order={renyi[0]:g};epsilon=e^{math.log(renyi[1]):.0f}"
    row |= _facts(target, epsilon, DELTA, count, level, counts, (gap, low, high), tv)
    row |= {"reference": "quadrature", "reference_size": "", "law_p": "", "seconds": 0.0}
    row["tv_by"] = "quadrature" if here.known else "draws and start"
    row |= dict.fromkeys(("delta_exact", "delta_drawn", "epsilon_exact", "epsilon_drawn"), "")
    row["delta_exact"] = one_weight.hidden(here, there, epsilon, drawn=False)
    row["epsilon_exact"] = one_weight.epsilon_at(here, there, DELTA, drawn=False)
    if here.known and there.known:
        row["law_p"] = float(kstest(w, here.drawn_cdf).pvalue)
        row["delta_drawn"] = one_weight.hidden(here, there, epsilon, drawn=True)
        row["epsilon_drawn"] = one_weight.epsilon_at(here, there, DELTA, drawn=True)
    return row | {"seconds": time.process_time() - start}


def common_row(cell: Cell, data, count: int, level: float, wrong=None) -> dict:
    """One row: the posterior from which ``cell`` releases a draw on its split 0. ``wrong``: as above."""
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
        """s of weights (k, d), up to a constant."""
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
        weight = np.full(len(s), chains.ess_energy / len(s) ** 2)  # so that 1 / sum of squares is the effective size
    whole = float(1.0 / (weight**2).sum()) if by == "importance sampling" else chains.ess_energy
    size = whole * float(weight[inside].sum() / weight.sum())
    mass = share(round(size), max(round(whole), round(size)))[1] if not inside.all() else 1.0
    w = draw(z, target, seeds[2:], plan)
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
    row |= _facts(target, epsilon, budget.delta, count, level, counts, (gap, low, high), tv)
    row |= {"tv_by": "draws and start"}
    row |= dict.fromkeys(("law_p", "delta_exact", "delta_drawn", "epsilon_exact", "epsilon_drawn"), "")
    return row | {"seconds": time.process_time() - start}


def _cdf(s: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(s)
    return np.cumsum(weight[order]) / weight.sum(), s[order]


def _facts(target: Target, epsilon, delta, draws, level, counts, gap, tv) -> dict:
    row = {"power": target.power, "precision": target.precision, "radius": target.radius}
    row |= {"epsilon": epsilon, "delta": delta, "draws": draws, "level": level}
    for name, count in zip(("below", "above"), counts, strict=True):
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), share(int(count), draws), strict=True))
    row |= dict(zip(("kolmogorov", "kolmogorov_low", "kolmogorov_high"), gap, strict=True))
    row |= {"tv_low": tv[0], "tv_high": tv[1]}
    return row | {"delta_added_low": added(epsilon, tv[0]), "delta_added_high": added(epsilon, tv[1])}


def separable(laws: int | None = None) -> list[Callable[[], dict]]:
    """What makes each row of the table."""
    return [partial(separable_row, k) for k in range(len(SEPARABLE))[:laws]]


def common(known: Sequence[Cell], data, dataset: str, laws: int | None = None) -> list[Callable[[], dict]]:
    """The same; ``known``: cells of the experiment."""
    at = {(c.method, c.setting): c for c in known if c.dataset == dataset}
    wanted = [at[method, f"epsilon={epsilon}"] for method, epsilon in COMMON[dataset][:laws]]
    return [partial(common_row, cell, data, DRAWS[dataset], LEVEL[dataset]) for cell in wanted]


def table(found: list[dict], columns: tuple[str, ...] = COLUMNS) -> str:
    """CSV of the rows, ten digits."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    for row in found:
        writer.writerow({k: f"{v:.10g}" if isinstance(v, float) else v for k, v in row.items()})
    return buffer.getvalue()


def kept(out: Path, head: dict, makers: Sequence[Callable[[], dict]]) -> list[dict]:
    """The row of each maker; those that an interrupted run has finished are read from beside ``out``."""
    partial = out.with_suffix(".partial")
    lines = [json.loads(line) for line in partial.read_text().splitlines()] if partial.exists() else []
    done = lines[1:] if lines[:1] == [head] else []
    if not done:
        write_text(partial, json.dumps(head) + "\n")
    for k, make in enumerate(makers):
        if k < len(done):
            continue
        done.append(make())
        with partial.open("a", encoding="utf-8") as f:
            f.write(json.dumps(done[-1]) + "\n")
        said = f"row {k + 1} of {len(makers)}, {done[-1]['seconds']:.1f} CPU seconds"
        print(f"{out.name}: {said}", file=sys.stderr, flush=True)
    return done


def separable_table(request: Request) -> dict[str, str]:
    """The table of ``separable``, as text; below full scale of one posterior, which runs every line."""
    (name,) = request.extra.tables
    return {name: _text(request, name, {"code": code_hash(__name__)}, separable(_laws(request)))}


def common_table(request: Request) -> dict[str, str]:
    """The table of ``common`` of the request's data set, likewise; no row without data."""
    (name,), (dataset,) = request.extra.tables, request.extra.datasets
    data = request.data()
    if data.status != "ok":
        print(f"{name}: {data.reason}", file=sys.stderr)
        return {name: table([], COLUMNS)}
    makers = common(request.cells("full"), data, dataset, _laws(request))
    return {name: _text(request, name, {"code": code_hash(__name__), "data": data.data_hash}, makers)}


def _laws(request: Request) -> int | None:
    return None if request.scale == "full" else 1


def _text(request: Request, name: str, head: dict, makers: Sequence[Callable[[], dict]]) -> str:
    out = request.out / name
    text = table(kept(out, head, makers), COLUMNS)
    out.with_suffix(".partial").unlink()
    return text
