"""Noise-aware methods compared with the exact posterior of their release, by n times epsilon.

    python -m workflow.extra common_tasks common_noise_aware.csv

Truths are drawn from the prior of small models, and rows from the truth. A method releases noisy statistics of the rows
once. Its posterior is compared with the exact posterior **of that release**, which is computed in these ways:

* beta_bernoulli and dirichlet_categorical: by summation over the hidden count.
* gamma_exponential: by the characteristic function of the hidden sum.
* linear regression: by :mod:`evaluation.release_posterior`.

NA-DPVI releases a trace, for which no exact posterior is computed. So it has only coverage and width. A naive posterior
is the conjugate update that takes the released statistics for those of the rows. Rows about DP-PF are made from the
committed runs and exact posteriors of its paper.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, gammaln, softmax
from scipy.stats import beta as beta_law

from evaluation import release_posterior
from methods import contract
from models.conjugate_simulators import ConjugateSimulator
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise
from models.task import PublicKnowledge, Task
from models.unconstrained import softplus
from privacy.audit import Listener
from privacy.budget import BudgetSpec, Mode
from workflow import papers, program
from workflow.extra import Request, kept, text_of
from workflow.imports import code_hash

NAME = "common_noise_aware.csv"
#: columns of the table.
#:
#: * ``ratio``: geometric mean over data sets of posterior sd over exact sd.
#: * ``z``: root mean square of the difference of the means in exact sd. ``z_error``: the part of it that is due to the
#:   Monte Carlo error of the exact chains.
#: * ``coverage``: share of the true values in the central 95 % interval.
#: * ``width``, ``exact_width``: mean sd over the prior's sd.
#: * ``_low``, ``_high``: 95 % interval.
#: * ``without``: number of data sets on which the method has no posterior.
COLUMNS = (
    *("model", "quantity", "method", "n", "epsilon", "n_epsilon", "sets", "without"),
    *("ratio", "ratio_low", "ratio_high", "z", "z_low", "z_high", "z_error"),
    *("coverage", "coverage_low", "coverage_high", "width", "exact_width", "word"),
)
#: tolerances of the same distribution: sd within this factor, means within this fraction of an exact sd.
SAME_RATIO, SAME_Z = 1.1, 0.2
FAMILIES = ("beta_bernoulli", "dirichlet_categorical", "gamma_exponential")
ONE, TEN = "linear_regression_1d", "linear_regression_10d"
INPUTS = {ONE: 1, TEN: 10}
NAIVE = "naive"
B_S_2018, B_S_2018_AUTHORS = "bernstein_sheldon_2018", "bernstein_sheldon_2018_authors"
B_S_2019, B_S_2019_AUTHORS = "bernstein_sheldon_2019_corrected", "bernstein_sheldon_2019_authors"
NA_DPVI = "na_dpvi"
BESIDE = (B_S_2018, B_S_2019)
SIZES, EPSILONS = (10, 100, 1000, 5000), (0.1, 1.0)
#: number of data sets by model, smaller if a fit takes long.
SETS = {**dict.fromkeys(FAMILIES, 100), ONE: 20, TEN: 12}
#: number of draws of a method's posterior, and of chains, burn-in and sweeps of the exact one.
DRAWS = 4000
CHAINS = {ONE: (2, 300, 900), TEN: (2, 300, 700)}
PUBLISHED_ROWS = 5000
RESAMPLED = 2000


class Moments(NamedTuple):
    """Mean and sd of each quantity, (k,). ``error``: standard error of the mean by two chains, (k,) or 0."""

    mean: np.ndarray
    sd: np.ndarray
    error: np.ndarray | float = 0.0


class Heard(Listener):
    """A listener that keeps the releases of an ordinary fit, except a trace that is released in one call."""

    released: np.ndarray | None = None

    def release(self, event, value, noise):
        self.released = super().release(event, value, noise)
        return self.released


def model_of(name: str):
    return LinearRegressionUnknownNoise() if name in INPUTS else ConjugateSimulator(name)


def quantities(name: str) -> tuple[str, ...]:
    """Names of the judged quantities. Each data set has its own true values, so data sets are independent."""
    if name in INPUTS:
        return "first slope", "noise variance"
    return {"gamma_exponential": ("rate",), "beta_bernoulli": ("probability",)}.get(name, ("first probability",))


def natural(name: str, theta: np.ndarray) -> np.ndarray:
    """Draws of the quantities (m, k), from draws of theta (m, D)."""
    if name in INPUTS:
        return np.column_stack([theta[:, 0], softplus(theta[:, -1])])
    if name == "gamma_exponential":
        return softplus(theta)
    if name == "beta_bernoulli":
        return expit(theta)
    return softmax(np.column_stack([theta, np.zeros(len(theta))]), axis=1)[:, :1]


def simulated(name: str, n: int, k: int) -> tuple[Task, np.ndarray]:
    """Task and true quantities (k,) of data set k: a truth from the prior, rows from the truth."""
    rng, model = program.stream("noise aware", name, str(n), str(k), "rows"), model_of(name)
    if name in INPUTS:
        theta = model.sample_prior(1, rng, INPUTS[name])[0]
        x, y = model.simulate(theta, n, rng)
    else:
        theta, y = model.sample_prior(1, rng)[0], None
        x = model.simulate(theta, n, rng)
    return Task(name, model, x, y, PublicKnowledge(n)), natural(name, theta[None])[0]


# ------------------------------------------------------------------------------------------- exact posteriors


def of_weights(log_weight: np.ndarray, mean: np.ndarray, second: np.ndarray) -> Moments:
    """Moments of a mixture, given the log weights, means and second moments of its parts."""
    w = np.exp(log_weight - log_weight.max())
    w /= w.sum()
    m = float((w * mean).sum())
    return Moments(np.array([m]), np.array([math.sqrt(max(float((w * second).sum()) - m * m, 0.0))]))


def counts(prior: np.ndarray, z: np.ndarray, b: float, n: int, reach: float = 20.0) -> tuple[np.ndarray, np.ndarray]:
    """Possible counts of the first category, and log weights of all possible counts of the grid, given noisy counts.

    ``z``: noisy counts of all but the last category, (1,) or (2,). The prior is Dirichlet. Counts farther than
    ``reach`` noise scales from the release are left out. For small n there are none.
    """
    sides = []
    for value in z:
        nearest = min(max(float(value), 0.0), float(n))
        sides.append(np.arange(max(0, math.floor(nearest - reach * b)), min(n, math.ceil(nearest + reach * b)) + 1))
    s = [g.astype(np.float64) for g in np.meshgrid(*sides, indexing="ij")]
    last = n - sum(s)
    possible = last >= 0
    log_weight = sum(-np.abs(v - g) / b for v, g in zip(z, s, strict=True))
    with np.errstate(invalid="ignore"):
        for a, g in zip(prior, [*s, np.maximum(last, 0.0)], strict=True):
            log_weight = log_weight + gammaln(a + g) - gammaln(g + 1.0)
    return s[0], np.where(possible, log_weight, -np.inf)


def exact_counts(prior: np.ndarray, z: np.ndarray, b: float, n: int) -> Moments:
    """Moments of the first probability, given the arguments of :func:`counts`."""
    found, log_weight = counts(prior, z, b, n)
    total, first = prior.sum() + n, prior[0] + found
    return of_weights(log_weight, first / total, first * (first + 1.0) / (total * (total + 1.0)))


@cache
def _sections(prior: tuple[float, ...], high: float, b: float, n: int) -> tuple[np.ndarray, ...]:
    """Rates, their log prior, frequencies, and the characteristic function of hidden sum plus noise at each rate."""
    rate = np.linspace(0.05, 14.0, 280 if n <= 100 else 1120)
    log_prior = (prior[0] - 1.0) * np.log(rate) - prior[1] * rate
    largest = high * n + 80.0 * b
    sd = math.sqrt(n) * 0.1
    t = np.arange(0.5, 10.0 / sd * largest / math.pi) * math.pi / largest  # midpoints
    at = rate[:, None] - 1j * t
    one = np.exp(-rate * high)[:, None] + rate[:, None] / at * -np.expm1(-at * high)
    return rate, log_prior, t, one**n / (1.0 + (b * t) ** 2)


def exact_section(prior: tuple[float, ...], z: float, b: float, n: int, high: float) -> Moments:
    """Moments of the rate, on a grid, given the noisy sum of the rows below ``high``, by Fourier inversion."""
    rate, log_prior, t, law = _sections(prior, high, b, n)
    density = np.maximum((law * np.exp(-1j * t * z)).real.sum(axis=1), 0.0)
    with np.errstate(divide="ignore"):
        return of_weights(log_prior + np.log(density), rate, rate**2)


def release_of(name: str, method: str, task: Task, z: np.ndarray, b: float) -> release_posterior.Release:
    """The release of a regression in the form of :mod:`evaluation.release_posterior`."""
    if method == B_S_2019_AUTHORS:
        d = INPUTS[name]
        z, bounds = _as_moments(z, d), np.full(d + 1, math.inf)
    else:
        settings = contract.get(B_S_2019, task.model.kind).Settings()
        bounds = np.append(np.full(task.x.shape[1], settings.input_bound), settings.target_bound)
    return release_posterior.Release(z, b, task.n, bounds, np.ones(len(bounds)))


def exact_linear(name: str, release: release_posterior.Release, rng) -> Moments:
    """The exact posterior by chains of :mod:`evaluation.release_posterior`, with inputs N(0, I)."""
    chains, burn_in, sweeps = CHAINS[name]
    draws, _ = release_posterior.sample(model_of(name), release, rng, chains=chains, burn_in=burn_in, sweeps=sweeps)
    draws = draws[..., [0, -1]]
    means = draws.mean(axis=1)
    flat = draws.reshape(-1, 2)
    return Moments(means.mean(axis=0), flat.std(axis=0, ddof=1), means.std(axis=0, ddof=1) / math.sqrt(chains))


def exact(name: str, method: str, task: Task, z: np.ndarray, b: float, rng) -> Moments:
    """The exact posterior given the release ``z`` of ``method``, with noise of scale ``b``."""
    model, n = task.model, task.n
    if method == B_S_2018_AUTHORS and len(model.prior) > 2:  # one draw of noise for all counts, which add up to n
        counts = (task.x == np.arange(len(model.prior) - 1)).sum(axis=0)
        return exact_counts(np.array(model.prior), counts.astype(float), 1e-3, n)
    if name == "gamma_exponential":
        from methods.sufficient_statistics._bernstein_sheldon import families

        return exact_section(model.prior, float(z[0]), b, n, families.section(model)[1])
    if name not in INPUTS:
        return exact_counts(np.array(model.prior), z, b, n)
    return exact_linear(name, release_of(name, method, task, z, b), rng)


def _as_moments(z: np.ndarray, d: int) -> np.ndarray:
    """The authors' statistics (X'X with bias, X'y, y'y) in the order of ``release_posterior.moments``."""
    full, upper = np.zeros((d + 2, d + 2)), np.triu_indices(d + 1)
    full[: d + 1, : d + 1][upper] = z[: len(upper[0])]
    full[: d + 1, d + 1], full[d + 1, d + 1] = z[len(upper[0]) : -1], z[-1]
    own = [*range(d), d + 1]
    pairs = [full[a, b] for i, a in enumerate(own) for b in own[i:]]
    return np.array([*pairs, *full[:d, d], full[d, d + 1]])


# -------------------------------------------------------------------------------------------------- one data set


def naive(name: str, task: Task, z: np.ndarray, rng) -> np.ndarray | None:
    """Draws (m, k) of the conjugate posterior with z as the statistics, or None if it takes no such statistics."""
    model, n = task.model, task.n
    if name in INPUTS:
        d = INPUTS[name]
        pairs = (d + 1) * (d + 2) // 2
        full = np.zeros((d + 1, d + 1))
        full[np.triu_indices(d + 1)] = z[:pairs]
        full = full + np.triu(full, 1).T
        gram = np.block([[full[:d, :d], z[pairs:-1, None]], [z[pairs:-1], np.full((1, 1), n)]])
        try:
            found = model.posterior_given_moments(gram, np.append(full[:d, d], z[-1]), full[d, d], n)
        except np.linalg.LinAlgError:
            return None
        return natural(name, found.sample(DRAWS, rng)) if found.scale > 0 else None
    counts = np.clip(z, 0.0, n)
    counts *= min(1.0, n / max(counts.sum(), 1e-300))
    return rng.dirichlet(np.array(model.prior) + np.append(counts, n - counts.sum()), DRAWS)[:, :1]


def fitted(name: str, method: str, n: int, epsilon: float, k: int):
    """Task and true quantities of data set k, the fit, its release, and the words of its random streams."""
    task, truth = simulated(name, n, k)
    key = ("noise aware", name, str(n), f"{epsilon:g}", str(k), method)
    adapter, settings, budget = _setting(name, method, epsilon)
    heard = Heard()
    fit = adapter.fit(task, settings, budget.open(program.stream(*key, "noise"), heard), program.stream(*key, "fit"))
    return task, truth, fit, heard.released, key


def one_set(
    name: str, method: str, n: int, epsilon: float, k: int
) -> tuple[dict[str, Any], Moments | None, np.ndarray]:
    """Draws (m, k) by method or None, the exact posterior of the release or None, and the true values (k,).

    The methods of ``BESIDE`` also have a naive posterior of the same release.
    """
    task, truth, fit, released, key = fitted(name, method, n, epsilon, k)
    found: dict[str, Any] = {method: natural(name, fit.posterior.sample(DRAWS, program.stream(*key, "draws")))}
    if method == NA_DPVI:
        return found, None, truth
    if method in BESIDE and name != "gamma_exponential":  # a sum of rows below a bound has no conjugate update
        found[NAIVE] = naive(name, task, released, program.stream(*key, NAIVE))
    b = fit.diagnostics["noise_scale"]
    return found, exact(name, method, task, released, b, program.stream(*key, "exact")), truth


@cache
def _setting(name: str, method: str, epsilon: float):
    """Adapter, settings and budget. NA-DPVI's are those of its paper for this model and 5,000 rows."""
    if method != NA_DPVI:
        adapter = contract.get(method, model_of(name).kind)
        asked = {"mode": Mode.ENFORCE, "delta": 1e-5} if adapter.privacy else {}
        return adapter, adapter.Settings(), BudgetSpec(epsilon=epsilon, **asked)
    from workflow.experiments import cells

    config = papers.experiments()["nadpvi_linear" if name in INPUTS else "nadpvi_exponential"]
    step = ";step=4 sqrt 2" if name in INPUTS else ""
    wanted = (NA_DPVI, name, f"epsilon={epsilon:g}{step}")
    cell = next(c for c in cells(config, "full") if (c.method, c.dataset, c.setting) == wanted)
    return cell.adapter(), cell.build_settings(), cell.build_budget()


# ------------------------------------------------------------------------------------------------------ a row


def bootstrap(values: np.ndarray, statistic: Callable, rng) -> tuple[float, float, float]:
    """A statistic of (n,) values along the last axis, with its 95 % percentile interval by the bootstrap."""
    again = statistic(values[rng.integers(len(values), size=(RESAMPLED, len(values)))])
    return float(statistic(values)), *(float(q) for q in np.quantile(again, [0.025, 0.975]))


def share(hits: int, sets: int) -> tuple[float, float, float]:
    """A share of ``sets`` with its 95 % Clopper-Pearson interval."""
    low = beta_law.ppf(0.025, hits, sets - hits + 1) if hits else 0.0
    high = beta_law.ppf(0.975, hits + 1, sets - hits) if hits < sets else 1.0
    return hits / sets, float(low), float(high)


def word(row: dict) -> str:
    """The result of a row: ``same``, ``different`` or ``open``.

    It is ``same`` if both intervals are inside the tolerances, ``different`` if one is outside, and else ``open``.

    A method without an exact posterior ``covers less`` or ``covers more`` if the interval of its coverage excludes
    95 %. Otherwise its coverage is ``not refuted``.
    """
    if "ratio" not in row:
        low, high = row["coverage_low"], row["coverage_high"]
        return "covers less" if high < 0.95 else "covers more" if low > 0.95 else "not refuted"
    inside = row["ratio_low"] >= 1 / SAME_RATIO and row["ratio_high"] <= SAME_RATIO and row["z_high"] <= SAME_Z
    outside = row["ratio_high"] < 1 / SAME_RATIO or row["ratio_low"] > SAME_RATIO or row["z_low"] > SAME_Z
    return "same" if inside else "different" if outside else "open"


def compared(ratio: np.ndarray, z: np.ndarray, rng) -> dict[str, float]:
    """Columns of the comparison with exact posteriors. ``ratio``, ``z``: (n,) of data sets or runs."""
    out: dict[str, float] = {}
    for key, values, statistic in (
        ("ratio", ratio, lambda v: np.exp(np.log(v).mean(axis=-1))),
        ("z", z, lambda v: np.sqrt((v**2).mean(axis=-1))),
    ):
        out[key], out[f"{key}_low"], out[f"{key}_high"] = bootstrap(values, statistic, rng)
    return out


def rows_of(name: str, method: str, n: int, epsilon: float, sets: int) -> dict[str, Any]:
    """``rows``: one per method and quantity, columns ``COLUMNS``. ``seconds``: CPU seconds."""
    start = time.process_time()
    with np.errstate(over="ignore"):
        found = [one_set(name, method, n, epsilon, k) for k in range(sets)]
    rows = []
    for one in found[0][0]:
        for j, quantity in enumerate(quantities(name)):
            about = {"model": name, "quantity": quantity, "method": one, "n": n, "epsilon": epsilon}
            row = _row(name, [(d[one], e, t) for d, e, t in found], j, about)
            rows.append(about | {"n_epsilon": n * epsilon} | row)
    return {"rows": rows, "seconds": time.process_time() - start}


def _row(name: str, found: list[tuple[np.ndarray | None, Moments | None, np.ndarray]], j: int, about: dict) -> dict:
    """The row of quantity j."""
    good = [(d[:, j], e, t[j]) for d, e, t in found if d is not None]
    row: dict[str, Any] = {"sets": len(good), "without": len(found) - len(good)}
    if not good:
        return row | {"word": "no posterior"}
    mean, sd = (np.array([f(d) for d, *_ in good]) for f in (np.mean, np.std))
    prior_sd = float(natural(name, _prior_draws(name))[:, j].std())
    exacts = [e for _, e, _ in good if e is not None]
    if exacts:
        at, wide = (np.array([getattr(e, f)[j] for e in exacts]) for f in ("mean", "sd"))
        error = np.array([np.broadcast_to(e.error, e.mean.shape)[j] for e in exacts]) / wide
        rng = program.stream("noise aware", *(str(v) for v in about.values()), "intervals")
        row |= compared(sd / wide, (mean - at) / wide, rng)
        row |= {"z_error": float(np.sqrt((error**2).mean())), "exact_width": float(wide.mean() / prior_sd)}
    ends = np.array([np.quantile(d, [0.025, 0.975]) for d, *_ in good])
    truths = np.array([t for *_, t in good])
    hits = int(((ends[:, 0] <= truths) & (truths <= ends[:, 1])).sum())
    row["coverage"], row["coverage_low"], row["coverage_high"] = share(hits, len(good))
    row["width"] = float(sd.mean() / prior_sd)
    return row | {"word": word(row)}


@cache
def _prior_draws(name: str) -> np.ndarray:
    rng, model = program.stream("noise aware", name, "prior"), model_of(name)
    return model.sample_prior(50_000, rng, *([INPUTS[name]] if name in INPUTS else []))


def plan() -> Iterator[tuple[str, str, int, float]]:
    """(model, method, n, epsilon) of every fit that is judged here."""
    for name in FAMILIES:
        for n, epsilon in itertools.product(SIZES, EPSILONS):
            yield name, B_S_2018, n, epsilon
            if name == "dirichlet_categorical":
                yield name, B_S_2018_AUTHORS, n, epsilon
            if n == PUBLISHED_ROWS:
                yield name, NA_DPVI, n, epsilon
    for name, sizes in ((ONE, SIZES[1:]), (TEN, (PUBLISHED_ROWS,))):
        for n, epsilon in itertools.product(sizes, EPSILONS):
            yield name, B_S_2019, n, epsilon
            if name == TEN:
                yield from ((name, method, n, epsilon) for method in (B_S_2019_AUTHORS, NA_DPVI))


def filters() -> pd.DataFrame:
    """Rows of the particle filter DP-PF from the committed runs of its paper, columns ``COLUMNS``.

    Empty without that paper. A setting has one release, so ``sets`` counts runs of the filter. The precision of the
    errors is judged. The other parameters have no posterior variance under either prior, or none that the runs record.
    """
    paper = next((p for p in papers.papers() if p.key == "chen2025dppf"), None)
    if paper is None:
        return pd.DataFrame(columns=COLUMNS)
    reference = paper.home / "reference"
    known = pd.read_csv(reference / "posteriors.csv")
    known = known[(known["dataset"] == "chen_lr") & (known["parameter"] == "tau")]
    known = known[known["seed"] == np.where(known["n"] == 400, 11029, 1)].set_index(["prior", "epsilon", "n"])
    scores = program.read_scores(reference / "scores")
    scores = scores[scores["metric"].isin(["tau_mean", "tau_var"]) & (scores["method"] == "dp_pf")]
    out = []
    for (setting, reading), of in scores.groupby(["setting", "reading"], sort=False):
        told = dict(part.split("=") for part in str(setting).split(";"))
        epsilon, n = float(told["epsilon"]), int(told["n"])
        if (told["prior"], epsilon, n) not in known.index:
            continue
        at = known.loc[(told["prior"], epsilon, n)]
        runs = {m: np.array(r.split(), dtype=float) for m, r in zip(of["metric"], of["runs"], strict=True)}
        rng = program.stream("noise aware", str(setting), str(reading), "intervals")
        row = {"model": f"dp_pf_{told['prior']}", "quantity": "precision of the errors", "method": f"dp_pf_{reading}"}
        row |= {"n": n, "epsilon": epsilon, "n_epsilon": n * epsilon, "sets": len(runs["tau_mean"]), "without": 0}
        row |= compared(np.sqrt(runs["tau_var"]) / at["sd"], (runs["tau_mean"] - at["mean"]) / at["sd"], rng)
        out.append(row | {"z_error": at["mean_error"] / at["sd"], "word": word(row)})
    return pd.DataFrame(out, columns=list(COLUMNS))


def tables(request: Request) -> dict[str, str]:
    """``common_noise_aware.csv`` as text. Below full scale, each row has two data sets."""
    full = request.scale == "full"
    makers = [partial(rows_of, *p, SETS[p[0]] if full else 2) for p in plan()]
    found = kept(request.out / NAME, {"code": code_hash(__name__), "scale": request.scale}, makers)
    (request.out / NAME).with_suffix(".partial").unlink()
    return {NAME: text_of(COLUMNS, [r for f in found for r in f["rows"]], 6)}
