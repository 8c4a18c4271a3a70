"""All runs of one score file: one table at one epsilon.

Readings:

* ``authors``: the filter or the chain of the authors' code, on the authors' release. Each run of DP-DA-MCMC has its own
  release. So its posterior means are compared run by run with the exact posterior of that release, without a chain.
* ``corrected``: the filter with the Jacobian, aligned weights and a tenth of its proposals from the prior. The chain of
  DP-DA-MCMC runs on the release itself, without a second noise.

Columns: table, dataset, method, reading, setting, metric, scale, repeats, status, reason, mean, std, kind, delta,
ledger_epsilon, ledger, runs, errors.

* ``std``: over runs.
* ``kind``: "runs" or "run by run".
* ``ledger_epsilon``, ``ledger``: of the release.
* ``errors``: standard errors, if compared run by run.

A run without a value has a quantile outside the weighted sample. It is left out, as in the published numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from papers.chen2025dppf import FILES, chains, diagnostics, filters, location_scale, published, releases
from papers.chen2025dppf.chains import NAMES, PRIORS
from papers.chen2025dppf.published import CHAINS, FIXED, POOLED, SOURCE, TRUTH, fields
from privacy.accountants import epsilon_of
from workflow import program

#: the settings in ``program.yaml``.
config = partial(program.config, Path(__file__).parent)
#: delta at which the accountants compute the epsilon of a pure guarantee.
DELTA = 1e-9
COLUMNS = (
    *("table", "dataset", "method", "reading", "setting", "metric", "scale", "repeats", "status", "reason"),
    *("mean", "std", "kind", "delta", "ledger_epsilon", "ledger", "runs", "errors"),
)
#: draws per run of rejection sampling.
DRAWS = 100
#: rows times epsilon from which a filter's attempts are screened, on random releases and on the synthetic one. Below
#: it, screening saves less time, and committed runs on random releases were made without it.
SCREENED = 400, 200
#: numbers of particles over which a mean is pooled.
POOLED_PARTICLES = (100, 200, 400)
#: metrics that are a mean over one run of a chain.
EXACT = tuple(f"{name}_mean" for name in NAMES)


def is_run(cell: dict, reading: str = "run") -> bool:
    """Whether this number is run, or has the reading ``corrected``."""
    told = fields(cell["setting"])
    sizes = config()[reading].get(cell["table"], {}).get(float(told["epsilon"]), ())
    return int(told["N" if cell["table"] in FIXED else "n"]) in sizes


def readings_of(cell: dict) -> list[str]:
    """Readings of a published number."""
    return ["authors", "corrected"] if is_run(cell, "corrected") else ["authors"]


def filter_runs(table: str, setting: str, reading: str, count: int) -> dict[str, np.ndarray]:
    """Metric -> values (count,), one per filter. NaN if a run has no value."""
    told = fields(setting)
    epsilon, n, particles = float(told["epsilon"]), int(told["n"]), int(told["N"])
    dataset = "chen_ls" if table == "pf_ls" else "chen_lr_fixed" if table in FIXED else "chen_lr"
    s, out = published.release(dataset, epsilon, n), []
    for k in range(count):
        rng = program.stream(SOURCE, table, setting, reading, str(k))
        if table == "pf_ls":
            found = filters.filter_location_scale(s, n, epsilon, filters.LS_STEPS, particles, rng)[:2]
            out.append(filters.summary_ls(*found, TRUTH))
        else:
            right = reading == "corrected"
            share = filters.FROM_PRIOR if right else 0.0
            screened = n * epsilon >= SCREENED[table in FIXED]
            prior = PRIORS[told["prior"]]
            found = filters.filter_regression(s, n, epsilon, prior, particles, right, share, screened, rng)
            out.append(filters.summary(*found[:2], TRUTH, right))
    return {m: np.array([r[m] for r in out]) for m in out[0]}


def pooled_runs(setting: str, count: int) -> dict[str, np.ndarray]:
    """Metric -> values (3 count,) of the filters of ``pf_nonconj`` with 100, 200 and 400 particles."""
    of = [filter_runs("pf_nonconj", setting.replace("N=100", f"N={k}"), "authors", count) for k in POOLED_PARTICLES]
    return {m: np.concatenate([found[m] for found in of]) for m in of[0]}


def rejection_runs(table: str, setting: str, count: int) -> dict[str, np.ndarray]:
    """Metric -> values (count,), one per run of rejection sampling with 100 draws.

    Rejection gives independent draws of the exact posterior. Ours are resampled from the weighted draws of
    :mod:`papers.chen2025dppf.location_scale`, or drawn with replacement from those of
    :mod:`papers.chen2025dppf.chains`. They have the same distribution up to the Monte Carlo error of these draws.
    """
    told = fields(setting)
    epsilon, n = float(told["epsilon"]), int(told["n"])
    dataset = "chen_ls" if table == "rejection_ls" else "chen_lr_unscaled"
    rng, weights = program.stream(SOURCE, "rejection", setting), None
    s, b = published.release(dataset, epsilon, n), releases.scale_of(dataset, epsilon)
    if dataset == "chen_ls":
        names, (draws, weights) = ("mu", "theta2"), location_scale.posterior(s, n, b, "variance", rng)
    else:
        names, draws = NAMES, chains.posterior(s, n, b, "heavy", rng, unit=1.0).reshape(-1, len(NAMES))
    out: dict[str, np.ndarray] = {"ess": np.full(count, float(DRAWS))}
    chosen = draws[rng.choice(len(draws), size=(count, DRAWS), p=weights)]
    for k, name in enumerate(names):
        x = chosen[..., k]
        low, high = np.quantile(x, (0.025, 0.975), axis=1)
        out |= {f"{name}_mean": x.mean(axis=1), f"{name}_mc_var": x.var(axis=1, ddof=1), f"{name}_width": high - low,
                f"{name}_cover": ((low <= TRUTH[name]) & (TRUTH[name] <= high)).astype(float)}  # fmt: skip
        out[f"{name}_var"] = out[f"{name}_mc_var"]
    return out


def prior_of_chain(setting: str) -> str:
    """The prior of DP-DA-MCMC. Its heavy prior has independent coefficients."""
    return "independent" if fields(setting)["prior"] == "heavy" else "conjugate"


def release_of_run(setting: str, k: int, reading: str) -> tuple[np.ndarray, int, float]:
    """Sums, number of rows and noise scale of run k = 0, 1, .. of DP-DA-MCMC. ``authors``: noised a second time."""
    told = fields(setting)
    epsilon, n = float(told["epsilon"]), int(told["n"])
    b = releases.scale_of("chen_lr", epsilon)
    again = b * published.second_noise()[k] if reading == "authors" else 0.0
    return published.release("chen_lr", epsilon, n) + again, n, b


def exact_runs(setting: str, count: int) -> dict[str, np.ndarray]:
    """Parameter -> (count, 3): mean and sd of the exact posterior of run k, and Monte Carlo error of the mean."""
    length = chains.Length(1, config()["paired_burn_in"], config()["paired_sweeps"], 1)
    out = np.empty((5, count, 3))
    for k in range(count):
        s, n, b = release_of_run(setting, k, "authors")
        rng = program.stream(SOURCE, "exact", setting, str(k))
        draws = chains.posterior(s, n, b, prior_of_chain(setting), rng, length)
        for p in range(5):
            x = draws[..., p]
            out[p, k] = x.mean(), x.std(ddof=1), diagnostics.mean_error(x)
    return dict(zip(NAMES, out, strict=True))


def chain_runs(setting: str, reading: str, count: int, sweeps: int) -> dict[str, np.ndarray]:
    """Metric -> values (count,), one per chain of the authors' code.

    The reading ``authors`` has the second noise of runs 1, 2, .. and, for the heavy prior, one more row in some.
    """
    prior, out = prior_of_chain(setting), []
    for k in range(count):
        s, n, b = release_of_run(setting, k, reading)
        rng = program.stream(SOURCE, "chain", setting, str(k))
        rows = n + int(reading == "authors" and prior == "independent" and published.extra_row()[k])
        draws = chains.plain(s, rows, b, PRIORS[prior], sweeps, 9 if prior == "independent" else 0, rng)
        kept = draws[sweeps // 2 :]
        one = {f"{name}_mean": kept[:, p].mean() for p, name in enumerate(NAMES)}
        for p, name in ((3, "beta0"), (4, "beta1")):
            low, high = np.quantile(kept[:, p], (0.025, 0.975))
            one |= {f"{name}_ess": diagnostics.coda_ess(kept[:, p]), f"{name}_width": high - low}
        out.append(one)
    return {m: np.array([r[m] for r in out]) for m in out[0]}


def text(values: np.ndarray) -> str:
    return " ".join(f"{v:.9g}" for v in values)


def numbers(values: np.ndarray) -> dict[str, object]:
    """The columns of runs (n,) that have a value."""
    values = values[~np.isnan(values)]
    return {
        "mean": f"{values.mean():.9g}" if len(values) else "",
        "std": f"{values.std(ddof=1):.9g}" if len(values) > 1 else "",
        "kind": "runs",
        "runs": text(values),
    }


def told(dataset: str, setting: str) -> dict[str, str]:
    """The columns on the ledger of a release. They are empty for the synthetic release, which belongs to no data."""
    if dataset not in releases.SENSITIVITY:
        return {}
    ledger = releases.ledger_of(dataset, float(fields(setting)["epsilon"]))
    return {
        "delta": f"{DELTA:g}", "ledger_epsilon": f"{epsilon_of(ledger, DELTA).epsilon:.6g}",
        "ledger": json.dumps(ledger.to_json()),
    }  # fmt: skip


def errors_of(setting: str, table: str, parameter: str, found: np.ndarray) -> np.ndarray:
    """Standard errors (count,) of the published runs' means and of ours together.

    The published effective sample size exists for the coefficients. Other parameters use the smaller of the two.
    """
    own = (parameter,) if parameter.startswith("beta") else ("beta0", "beta1")
    ess = np.min([published.runs_of(table, setting, f"{name}_ess")[: len(found)] for name in own], axis=0)
    return np.sqrt(found[:, 2] ** 2 + found[:, 1] ** 2 / np.maximum(ess, 1.0))


def rows(
    name: str, scale: str, mirror: str | None, raw: str | Path, wanted: Callable[[dict], bool] | None = None
) -> Iterator[dict]:
    """Rows of one score file, or those that are ``wanted``."""
    table, epsilon = FILES[name]
    cells = [
        c for c in published.numbers().to_dict("records")
        if c["table"] == table and float(fields(c["setting"])["epsilon"]) == epsilon and is_run(c)
    ]  # fmt: skip
    groups: dict[tuple[str, str], list[dict]] = {}
    for cell in cells:
        for reading in readings_of(cell):
            row = dict.fromkeys(COLUMNS, "") | {k: cell[k] for k in ("table", "dataset", "method", "setting", "metric")}
            row |= {"reading": reading, "scale": scale, "status": "ok"}
            row["repeats"] = config()["paired" if is_exact(row) else "repeats"][scale]
            if wanted is None or wanted(row):
                groups.setdefault((cell["setting"], reading), []).append(row)
    for (setting, reading), of in groups.items():
        yield from _setting(table, setting, reading, of, scale)


def is_exact(row: dict) -> bool:
    """Whether this number is compared run by run with the exact posterior of the run's own release."""
    return row["table"] in CHAINS and row["metric"] in EXACT and row["reading"] == "authors"


def _setting(table: str, setting: str, reading: str, of: list[dict], scale: str) -> Iterator[dict]:
    ledger = told(of[0]["dataset"], setting)
    if table not in CHAINS:
        count = int(of[0]["repeats"])
        if table.startswith("rejection"):
            found = rejection_runs(table, setting, count)
        elif table == POOLED:
            found = pooled_runs(setting, count)
        else:
            found = filter_runs(table, setting, reading, count)
        yield from (row | ledger | numbers(found[row["metric"]]) for row in of)
        return
    means = [r for r in of if is_exact(r)]
    if means:
        exact = exact_runs(setting, int(means[0]["repeats"]))
        for row in means:
            parameter = row["metric"].removesuffix("_mean")
            values = exact[parameter][:, 0]
            errors = errors_of(setting, table, parameter, exact[parameter])
            yield row | ledger | numbers(values) | {"kind": "run by run", "errors": text(errors)}
    if others := [r for r in of if not is_exact(r)]:
        found = chain_runs(setting, reading, int(others[0]["repeats"]), int(config()["sweeps"][scale]))
        yield from (row | ledger | numbers(found[row["metric"]]) for row in others)
