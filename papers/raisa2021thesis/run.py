"""All box plots of one model and method.

There are twenty chains of the length that the largest epsilon allows. They use the source's data and starts, and our
own noise. The noise does not depend on epsilon. So the result at a smaller epsilon is the beginning of the same chains.
The box plots of one model and method share chains, and are not independent evidence.

Columns: table, dataset (the model), method, reading, setting, metric, scale, repeats, status, reason, mean, std,
median, iterations (k), delta, ledger_epsilon (of one chain of k iterations), ledger, runs (a number per chain). The
ledger of a share of clipped ratios has that share as a release without noise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numba import njit

from papers.raisa2021thesis import chains
from papers.raisa2021thesis.chains import Chains, Setting
from papers.raisa2021thesis.models import Model, Problem, problem
from privacy.accountants import epsilon_of, gdp_epsilon
from privacy.budget import Budget, BudgetSpec, GaussianMechanism, Mode
from privacy.ledger import Ledger, Relation
from workflow import program

HERE = Path(__file__).parent
#: the settings in ``program.yaml``.
config = partial(program.config, HERE)
#: the last of these is a number read from the rows without noise
METRICS = ("mmd", "acceptance", SHARE := "clipped_ratios")
#: number of random pairs whose median distance is the width of the kernel.
PAIRS = 500
COLUMNS = (
    *("table", "dataset", "method", "reading", "setting", "metric", "scale", "repeats", "status", "reason"),
    *("mean", "std", "median", "iterations", "delta", "ledger_epsilon", "ledger", "runs"),
)


def published() -> pd.DataFrame:
    """The published box plots as strings, with the keys of the suite."""
    return program.published(HERE)


def setting_of(model: str, method: str) -> Setting:
    return Setting(**config()["settings"][method][model])


def generator(*key: str) -> np.random.Generator:
    return program.stream("raisa2021thesis", *key)


def mu_of(setting: Setting, n: int, iterations: int) -> float:
    """mu of Gaussian DP of a chain: mu^2 = k (1 / (tau^2 n) + (L + 1) / (tau_g^2 n))."""
    of_gradients = setting.gradients / setting.tau_gradient**2 if setting.gradients else 0.0
    return math.sqrt(iterations * (1 / setting.tau**2 + of_gradients) / n)


def iterations(setting: Setting, model: Model, epsilon: float) -> int:
    """The largest number k of iterations within (epsilon, delta), by the exact curve of Gaussian DP."""
    low, high = 0, 1
    while gdp_epsilon(mu_of(setting, model.rows, high), model.delta) <= epsilon:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        inside = gdp_epsilon(mu_of(setting, model.rows, middle), model.delta) <= epsilon
        low, high = (middle, high) if inside else (low, middle)
    return low


def charged(setting: Setting, n: int, count: int, budget: Budget) -> list[GaussianMechanism]:
    """The mechanisms of a chain of ``count`` iterations, with all releases charged to ``budget``.

    * Ratios: each row's ratio is clipped to +-b d. So replacing one row changes the sum by at most 2 b d. The sum over
      c = 2 b d is released. c is a function of the two points, which are public by then.
    * Gradients: each row's vector is clipped to norm b_g. So replacing one row changes their sum by at most 2 b_g.
    """
    same = {"relation": Relation.REPLACE_ONE, "proof": "papers.raisa2021thesis.run.charged"}
    out = [
        budget.gaussian("sum of log-likelihood ratios over their bound", sensitivity=1.0,
                        noise_multiplier=setting.tau * math.sqrt(n), steps=count, **same)
    ]  # fmt: skip
    if setting.gradients:
        out.append(
            budget.gaussian("sum of clipped gradients", sensitivity=2 * setting.bound_gradient, steps=count
                            * setting.gradients, noise_multiplier=setting.tau_gradient * math.sqrt(n), **same)
        )  # fmt: skip
    return out


def with_share(setting: Setting, model: Model, count: int, rng: np.random.Generator) -> Ledger:
    """The ledger of a chain for which the share of clipped rows is shown too, as in the source.

    That share is a number of the rows without noise, in each iteration. So no finite epsilon holds.
    """
    budget = BudgetSpec(delta=model.delta).open(rng)
    charged(setting, model.rows, count, budget)
    budget.no_noise("share of rows whose log-likelihood ratio is cut", relation=Relation.REPLACE_ONE, steps=count)
    return budget.ledger


def opened(model: Model, epsilon: float, rng: np.random.Generator) -> Budget:
    return BudgetSpec(epsilon=epsilon, delta=model.delta, mode=Mode.ENFORCE).open(rng)


def run_chains(
    p: Problem, setting: Setting, epsilon: float, count: int, rng: np.random.Generator, start=None, share=1.0
):
    """``count`` chains of the length that ``epsilon`` allows, each with its own budget.

    * ``start``: starts (count, d), or a function of a budget that estimates a start privately. By default the source's.
    * ``share``: fraction of the iterations that are run.
    """
    n, k = p.model.rows, int(share * iterations(setting, p.model, epsilon))
    own, *each = rng.spawn(count + 1)
    budgets = [opened(p.model, epsilon, r) for r in each]
    starts = np.stack([start(b) for b in budgets]) if callable(start) else p.starts[:count] if start is None else start
    return walked(p, setting, starts, k, [charged(setting, n, k, b) for b in budgets], own)


def walked(p: Problem, setting: Setting, starts: np.ndarray, k: int, made: list[list[GaussianMechanism]],
           rng: np.random.Generator) -> Chains:  # fmt: skip
    """A chain of ``k`` iterations from each start (count, d), with its own mechanisms ``made`` (:func:`charged`).

    An audited chain, of which there is only one, makes its releases one by one. Other chains draw their noise as a
    block.
    """
    d = starts.shape[1]
    if made[0][0].audited:
        ((ratio, *gradient),) = made
        releases = chains.Releases(
            lambda t, value: ratio.release(value), lambda t, i, value: gradient[0].release(value[0])[None]
        )
    else:
        noise = np.stack([m[0].noise(k, 1)[:, 0] for m in made])
        blocks = [m[1].noise(k * setting.gradients, d).reshape(k, -1, d) for m in made if setting.gradients]
        releases = chains.noisy(noise, np.stack(blocks) if blocks else None)
    if not setting.gradients:
        return chains.penalty(p, setting, starts, k, releases, rng)
    with np.errstate(over="ignore", invalid="ignore"):  # a path that diverges is never accepted
        return chains.hmc(p, setting, starts, k, releases, rng)


def second_half(theta: np.ndarray, k: int) -> np.ndarray:
    """The points of a chain (K + 1, d) after ``k`` iterations that the source compares with the exact draws."""
    return theta[(k - 1) // 2 + 1 : k + 1]


@njit(cache=True, error_model="numpy", fastmath=True)
def _kernel_sum(x, a, y, b, width):  # pragma: no cover (compiled)
    """sum_ij a_i b_j exp(-|x_i - y_j|^2 / (2 width^2))"""
    total = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            square = 0.0
            for c in range(x.shape[1]):
                square += (x[i, c] - y[j, c]) ** 2
            total += a[i] * b[j] * np.exp(-square / (2 * width**2))
    return total


def mmd(draws: np.ndarray, exact: np.ndarray, rng: np.random.Generator, width: float = 0.0) -> float:
    """Square root of |unbiased MMD^2| of two samples with a Gaussian kernel (Gretton et al. 2012).

    NaN for a single draw.

    ``width``: of the kernel. By default it is the median distance of 500 random pairs. Successive equal draws of a
    chain are combined into one with a weight.
    """
    n, m = len(draws), len(exact)
    if n < 2:
        return math.nan
    if not width:
        pairs = draws[rng.integers(n, size=PAIRS)] - exact[rng.integers(m, size=PAIRS)]
        width = float(np.median(np.linalg.norm(pairs, axis=1)))
    new = np.concatenate([[True], (np.diff(draws, axis=0) != 0).any(axis=1)])
    x, weight = draws[new], np.diff(np.append(np.flatnonzero(new), n)).astype(float)
    one = np.ones(m)
    own = (_kernel_sum(x, weight, x, weight, width) - n) / (n * (n - 1))
    theirs = (_kernel_sum(exact, one, exact, one, width) - m) / (m * (m - 1))
    return math.sqrt(abs(own + theirs - 2 * _kernel_sum(x, weight, exact, one, width) / (n * m)))


def measured(p: Problem, found: Chains, k: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Metric -> its value for each chain after ``k`` iterations."""
    return {
        "mmd": np.array([mmd(second_half(theta, k), p.exact, rng) for theta in found.theta]),
        "acceptance": found.accepted[:, :k].mean(axis=1),
        "clipped_ratios": found.clipped[:, :k].mean(axis=1),
    }


def facts(ledger) -> str:
    """The facts of a ledger on each release, as JSON."""
    names = ("what", "mechanism", "relation", "sampling", "sampling_rate", "steps", "sensitivity", "proof")
    return json.dumps(
        [{n: str(getattr(e, n)) for n in names} | {"noise_multiplier": f"{e.noise_multiplier:.6g}"} for e in ledger]
    )


def rows(
    name: str,
    scale: str,
    mirror: str | None = None,
    raw: str | Path = "",
    wanted: Callable[[dict], bool] | None = None,
) -> Iterator[dict]:
    """Score rows of one model and method. All chains are made, even if only a few rows are ``wanted``."""
    model, method = name.split(".")
    told, setting, count = config(), setting_of(model, method), config()["repeats"][scale]
    boxes = published()
    boxes = boxes[(boxes["dataset"] == model) & (boxes["method"] == method)]
    largest, rng = config()["largest_epsilon"][scale], generator(model, method)
    p, (of_chains, of_widths) = problem(model), rng.spawn(2)
    found = run_chains(p, setting, largest, count, of_chains)
    for epsilon in (e for e in told["epsilons"] if e <= largest):
        k = iterations(setting, p.model, epsilon)
        budget = opened(p.model, epsilon, rng)
        charged(setting, p.model.rows, k, budget)
        values = measured(p, found, k, of_widths)
        mine: Mapping = {"dataset": model, "method": method, "reading": "authors", "scale": scale, "repeats": count,
                         "status": "ok", "iterations": k, "delta": f"{p.model.delta:g}"}  # fmt: skip
        ledgers = dict.fromkeys(METRICS, budget.ledger) | {SHARE: with_share(setting, p.model, k, rng)}
        at = boxes[boxes["setting"].str.startswith(f"epsilon={epsilon};")]
        for box in at.to_dict("records"):
            v = values[box["metric"]]
            row = dict.fromkeys(COLUMNS, "") | mine | {c: box[c] for c in ("table", "setting", "metric")}
            ledger = ledgers[box["metric"]]
            row |= {
                "ledger": facts(ledger),
                "ledger_epsilon": f"{epsilon_of(ledger, p.model.delta).epsilon:.6g}",
                "mean": repr(float(v.mean())),
                "std": repr(float(v.std(ddof=1))),
                "median": repr(float(np.median(v))),
            }
            if not np.isfinite(v).all():
                row |= {"status": "diverged", "reason": "a chain is too short for a score"}
            if wanted is None or wanted(row):
                yield row | {"runs": " ".join(f"{x:.9g}" for x in v)}
