"""The distance of released draws of logistic posteriors from exact ones, if one side of the posterior falls abruptly.

    python -m workflow.extra geumlek2017rdp sampler_separable.csv

The posteriors are those of n equal rows of one column and class. This is the worst case for a sampler that starts at a
Gaussian: one side falls abruptly, the other is the prior's tail. Exact distribution, quantiles, and the distribution of
the draws are computed by quadrature (``one_weight``).

* ``tv_low``, ``tv_high``: the total variation distance of the draws -+ its error. If quadrature fails, they are the
  interval of the draws' Kolmogorov distance and the distance of the run's start (``tv_by``).
* ``law_p``: Kolmogorov-Smirnov p value of the draws against the distribution computed for them.
* ``delta_*``, ``epsilon_*``: the largest effect of one flipped label, at the ledger's epsilon and at ``delta``, for
  exact draws and for the sampler's. They are blank if quadrature fails.

``evaluation.sampler_distance`` describes the other columns.
"""

from __future__ import annotations

import math
import time
from functools import partial

import numpy as np
from scipy.stats import kstest

from evaluation.sampler_distance import COLUMNS, epsilon_of, facts, half_width
from methods import contract
from methods._shared.logistic.reference import independent_draws
from models.logistic_regression import LogisticRegression
from papers.geumlek2017rdp import one_weight
from workflow.extra import Request, resumed
from workflow.imports import code_hash

CONCENTRATED, DIFFUSED = "posterior_sampling_glm_concentrated", "posterior_sampling_glm_diffused"
DIRECT, OPS = "posterior_sampling_glm_direct", "posterior_sampling_ops"
#: method, Renyi budget (order, epsilon) or None, rows n, and beta0. n beta0 is the precision of the prior.
SEPARABLE = (
    *((CONCENTRATED, (10.0, math.exp(k)), 100, 1e-3) for k in (-1, 1, 3)),
    *((DIFFUSED, (10.0, math.exp(k)), 100, 1e-3) for k in (-1, 1, 3)),
    (OPS, (10.0, math.exp(3)), 100, 1e-3),
    *((DIRECT, None, n, beta0) for n, beta0 in ((100, 1e-3), (10, 1e-3), (100, 1e-4), (10, 1e-4), (100, 1e-5))),
)
#: number of draws, and the smallest tail probability that they can show.
DRAWS, LEVEL, DELTA = 5000, 1e-3, 1e-5


def separable_row(number: int, count: int = DRAWS, wrong=None) -> dict:
    """The row of posterior ``SEPARABLE[number]``. ``wrong``: a function that corrupts the draws, for tests."""
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
    w = independent_draws(z, target, np.random.SeedSequence([18, number]).spawn(count), settings.plan)[:, 0]
    w = w if wrong is None else wrong(w)
    gap, width = float(kstest(w, here.exact_cdf).statistic), half_width(count)
    low, high = max(0.0, gap - width), min(1.0, gap + width)
    if here.known:
        tv = max(0.0, here.distance - here.error), min(1.0, here.distance + here.error)
    else:
        tv = low, here.start_distance
    level, epsilon = LEVEL, epsilon_of([release.event], DELTA)
    counts = (w < here.quantile(level)).sum(), (w > here.quantile(1.0 - level)).sum()
    row = {"task": "separable", "dataset": "", "method": name, "n": n, "d": 1}
    row["setting"] = f"beta0={beta0:g}" if renyi is None else f"order={renyi[0]:g};epsilon=e^{math.log(renyi[1]):.0f}"
    row |= facts(target, epsilon, DELTA, count, level, counts, (gap, low, high), tv)
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


def table(request: Request) -> dict[str, str]:
    """The table as text. Below full scale, it has one posterior, which runs every line."""
    (name,) = request.extra.tables
    makers = [partial(separable_row, k) for k in range(len(SEPARABLE) if request.scale == "full" else 1)]
    return {name: resumed(request, name, {"code": code_hash(__name__)}, makers, COLUMNS)}
