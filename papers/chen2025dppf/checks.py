"""Further small tables for the findings, one function per table.

* ``posteriors``: the exact posterior of each regression release, with diagnostics.
* ``location_scale``: the exact posterior of each location-scale release, for both meanings of theta2.
* ``faults``: the filter of the authors' code without each of its two faults, and the published runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import levene, mannwhitneyu

from evaluation import convergence
from papers.chen2025dppf import chains, diagnostics, filters, published, releases
from papers.chen2025dppf import location_scale as ls
from papers.chen2025dppf.chains import NAMES, PRIORS
from papers.chen2025dppf.published import SOURCE, TRUTH
from workflow import program

EPSILONS, ROWS = (0.1, 0.5, 1.0, 2.0), (100, 200, 300, 400, 500)
LENGTH = chains.Length(4, 1500, 5000, 5)
QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
#: settings of ``faults``, all at epsilon 0.5, and filters of each.
FAULTS = (("conjugate", 100), ("conjugate", 300), ("conjugate", 500), ("heavy", 300))
FILTERS = 20


def each_release() -> Iterator[tuple[str, str, float, int, int, np.ndarray]]:
    """(data set, prior, epsilon, n, seed, release) of all regression posteriors. Seed 0: a release without data."""
    for prior in PRIORS:
        for epsilon in EPSILONS:
            for n in ROWS:
                seed = 11029 if n == 400 else 1
                yield "chen_lr", prior, epsilon, n, seed, published.release("chen_lr", epsilon, n)
            yield "chen_lr", prior, epsilon, 400, 1, published.release("chen_lr", epsilon, 400, history=True)
            yield "chen_lr_fixed", prior, epsilon, 500, 0, published.release("chen_lr_fixed", epsilon, 500)


def stream(dataset: str, prior: str, epsilon: float, n: int, seed: int) -> np.random.Generator:
    """The random generator for the exact posterior of one release."""
    return program.stream(SOURCE, "posterior", dataset, prior, f"{epsilon:g}", str(n), str(seed))


def posteriors(mirror: str | None) -> pd.DataFrame:
    """Exact posteriors: mean with its Monte Carlo error, standard deviation, quantiles, diagnostics.

    There is one row per release and parameter. beta has no posterior variance under either prior, and mu and Phi have
    none under the heavy one. So the Monte Carlo errors of these means are unreliable, and their medians should be used.
    """
    rows = []
    for dataset, prior, epsilon, n, seed, s in each_release():
        rng = stream(dataset, prior, epsilon, n, seed)
        draws = chains.posterior(s, n, releases.scale_of(dataset, epsilon), prior, rng, LENGTH)
        unbounded = np.arctan(draws)  # mu and beta, whose variance may be infinite
        unbounded[..., 1:3] = chains.coordinates(draws)[..., 1:3]
        told = convergence.diagnostics(unbounded)
        for k, name in enumerate(NAMES):
            x = draws[..., k]
            row = {"dataset": dataset, "prior": prior, "epsilon": epsilon, "n": n, "seed": seed, "parameter": name}
            row |= {"mean": x.mean(), "mean_error": diagnostics.mean_error(x), "sd": x.std(ddof=1)}
            row |= {f"q{100 * q:g}": v for q, v in zip(QUANTILES, np.quantile(x, QUANTILES), strict=True)}
            rows.append(row | {"r_hat": told["rhat"][k]} | {e: told[e][k] for e in ("ess_bulk", "ess_tail")})
    return pd.DataFrame(rows)


def location_scale(mirror: str | None) -> pd.DataFrame:
    """Exact posteriors of location-scale: mean of mu with its Monte Carlo error, medians, effective number of draws.

    There is one row per release and meaning of theta2. theta2 has no posterior mean. So at small epsilon and n, its
    mean describes only these draws. ``published_``: means over the runs of the method that reads theta2 in this way,
    with their standard errors.
    """
    rows = []
    for epsilon, n, reading in itertools.product(EPSILONS, (100, 200, 300, 500, 1000), ls.READINGS):
        rng = program.stream(SOURCE, "location_scale", reading, f"{epsilon:g}", str(n))
        b = releases.scale_of("chen_ls", epsilon)
        draws, w = ls.posterior(published.release("chen_ls", epsilon, n), n, b, reading, rng)
        mean = w @ draws
        errors = np.sqrt((w**2) @ (draws - mean) ** 2)
        filtered = reading == "standard deviation"
        table, prior = ("pf_ls", "ig_sd") if filtered else ("rejection_ls", "ig_variance")
        setting = f"epsilon={epsilon:g};n={n};N=100;prior={prior}"
        mu, theta2 = (published.runs_of(table, setting, f"{p}_mean") for p in ("mu", "theta2"))
        rows.append(
            {"epsilon": epsilon, "n": n, "theta2_is": reading, "ess": 1 / (w**2).sum(), "mu_mean": mean[0],
             "mu_mean_error": errors[0], "mu_median": float(ls.quantiles(draws[:, 0], w, 0.5)), "theta2_mean": mean[1],
             "theta2_mean_error": errors[1], "theta2_median": float(ls.quantiles(draws[:, 1], w, 0.5)),
             "method": "dp_pf" if filtered else "dp_reject_abc", "published_mu_mean": mu.mean(),
             "published_mu_mean_error": mu.std(ddof=1) / len(mu) ** 0.5, "published_theta2_mean": theta2.mean(),
             "published_theta2_mean_error": theta2.std(ddof=1) / len(theta2) ** 0.5}
        )  # fmt: skip
    return pd.DataFrame(rows)


def faults(mirror: str | None) -> pd.DataFrame:
    """Means of tau and beta1 over filters with and without a fault, compared with the published runs.

    There is one row per setting and variant. ``_p`` is of a rank test of the runs, ``_sd_p`` of the Brown-Forsythe test
    for equal spreads.

    * ``aligned``: the particles of the authors' code, each with its own weight.
    * ``jacobian``: the weights of the authors' code times the Jacobian, still assigned by R's recycling.
    """
    rows, epsilon = [], 0.5
    for prior, n in FAULTS:
        setting = f"epsilon={epsilon:g};n={n};N=100;prior={prior}"
        table, s = "pf_conj" if prior == "conjugate" else "pf_nonconj", published.release("chen_lr", epsilon, n)
        found: dict[str, list[dict[str, float]]] = {"authors' code": [], "aligned": [], "jacobian": []}
        for k in range(FILTERS):
            for jacobian in (False, True):
                rng = program.stream(SOURCE, "faults", setting, str(jacobian), str(k))
                made = filters.filter_regression(s, n, epsilon, PRIORS[prior], 100, jacobian, 0.0, False, rng)[:2]
                if jacobian:
                    found["jacobian"].append(filters.summary(*made, TRUTH, False))
                else:
                    found["authors' code"].append(filters.summary(*made, TRUTH, False))
                    found["aligned"].append(filters.summary(*made, TRUTH, True))
        for variant, of in found.items():
            row = {"prior": prior, "epsilon": epsilon, "n": n, "variant": variant, "runs": FILTERS}
            for metric in ("tau_mean", "beta1_mean"):
                ours, theirs = np.array([r[metric] for r in of]), published.runs_of(table, setting, metric)
                row |= {
                    metric: ours.mean(),
                    f"{metric}_sd": ours.std(ddof=1),
                    f"{metric}_published": theirs.mean(),
                    f"{metric}_published_sd": theirs.std(ddof=1),
                    f"{metric}_p": mannwhitneyu(ours, theirs).pvalue,
                    f"{metric}_sd_p": levene(ours, theirs).pvalue,
                }
            rows.append(row)
    return pd.DataFrame(rows)


CHECKS = {f.__name__: f for f in (posteriors, location_scale, faults)}
