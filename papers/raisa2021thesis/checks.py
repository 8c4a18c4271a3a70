"""Further small tables for the findings, one function per table."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from papers.raisa2021thesis import PAPER, models, run, streams, verdicts
from papers.raisa2021thesis.chains import Setting
from papers.raisa2021thesis.models import MODELS, Problem
from privacy.budget import Budget
from privacy.ledger import Relation
from reports.evidence import AGREE, box_plot, calibrated, p_box
from reports.verdict import ANY_FALSE


def exact(mirror: str | None = None) -> pd.DataFrame:
    """MMD between exact posterior draws, the value that a perfect chain would have in every box plot.

    Columns: ``published`` (median of 10 samples), ``ours`` (of the same ten samples), and quantiles of 40 others.
    ``stored``: with the kernel width of the repository's stored code, the norm of all differences of 50 pairs.
    """
    boxes, rows = run.published(), []
    for name, model in MODELS.items():
        p, rng = models.problem(name), run.generator("exact", name)
        keys = streams.split(streams.key_of(models.CONTROL), 10)
        samples = [models.draws(model, p.mean, k) for k in keys]
        values = [run.mmd(s, p.exact, rng) for s in samples]
        wide = [run.mmd(s, p.exact, rng, width=_stored_width(s, p.exact, rng)) for s in samples]
        others = [run.mmd(models.draws(model, p.mean, streams.key_of(i)), p.exact, rng) for i in range(40)]
        told = boxes.loc[(boxes["dataset"] == name) & (boxes["metric"] == "mmd"), "exact_sample_median"].iloc[0]
        rows.append({"dataset": name, "published": float(told), "ours": np.median(values), "stored": np.median(wide),
                     "others_low": np.quantile(others, 0.025), "others_median": np.median(others),
                     "others_high": np.quantile(others, 0.975)})  # fmt: skip
    return pd.DataFrame(rows)


def _stored_width(a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.linalg.norm(a[rng.integers(len(a), size=50)] - b[rng.integers(len(b), size=50)]))


#: share of mu^2 charged for the privately estimated start, and radius of the public ball to which it clips the rows.
SHARE, RADIUS = 0.1, 30.0


def paid_start(p: Problem, mu: float, budget: Budget) -> np.ndarray:
    """A privately estimated start (d,): the noisy mean of the rows, clipped to norm ``RADIUS``, taken as phi.

    It costs ``SHARE`` of mu^2. Replacing one row moves the mean by at most 2 RADIUS / n.
    """
    x = np.linalg.solve(p.precision, p.g).T + p.mean
    x *= np.minimum(1, RADIUS / np.linalg.norm(x, axis=1))[:, None]
    mechanism = budget.gaussian(
        "mean of the rows cut to a public ball", sensitivity=2 * RADIUS / len(x),
        noise_multiplier=1 / (math.sqrt(SHARE) * mu), relation=Relation.REPLACE_ONE,
        proof="papers.raisa2021thesis.checks.paid_start",
    )  # fmt: skip
    return models.phi(mechanism.release(x.mean(axis=0)), -p.model.curve)


def starts(mirror: str | None = None) -> pd.DataFrame:
    """MMD of chains on one model, by their start.

    The starts are the published ones (truth + posterior deviation), ten posterior deviations off in each coordinate,
    the mean of the prior, and a start estimated privately from the same budget.
    """
    told = run.config()["starts"]
    name = told["model"]
    p, rows = models.problem(name), []
    sd, count = p.exact.std(axis=0), run.config()["repeats"]["full"]
    places = {"published": p.starts, "ten deviations off": np.tile(models.truth(p.model.d) + 10 * sd, (count, 1)),
              "mean of the prior": np.zeros_like(p.starts), "paid for": None}  # fmt: skip
    for method in told["methods"]:
        setting, largest = run.setting_of(name, method), max(told["epsilons"])
        for place, at in places.items():
            rng = run.generator("starts", method, place)
            whole = at is not None and run.run_chains(p, setting, largest, count, rng, at)
            for epsilon in told["epsilons"]:
                k = run.iterations(setting, p.model, epsilon)
                found = whole
                if at is None:
                    k = int((1 - SHARE) * k)
                    found = _paid(p, setting, epsilon, count, rng)
                v = run.measured(p, found, k, rng)
                rows.append({"dataset": name, "method": method, "start": place, "epsilon": epsilon, "iterations": k,
                             **dict(zip(("q1", "median", "q3"), np.quantile(v["mmd"], [0.25, 0.5, 0.75]), strict=True)),
                             "acceptance": np.median(v["acceptance"])})  # fmt: skip
    return pd.DataFrame(rows)


def _paid(p: Problem, setting: Setting, epsilon: float, count: int, rng: np.random.Generator):
    """Chains from privately estimated starts. Each chain and its start share one budget."""
    mu = run.mu_of(setting, p.model.rows, run.iterations(setting, p.model, epsilon))

    def start(budget: Budget) -> np.ndarray:
        return paid_start(p, mu, budget)

    return run.run_chains(p, setting, epsilon, count, rng, start, share=1 - SHARE)


#: distributions of both sides, as (rng, shape of the runs (..., 20), starts (..., 20)) -> runs.
LAWS = {
    "normal": lambda rng, shape, at: 0.3 + 0.05 * rng.standard_normal(shape),
    "normal, starts shared": lambda rng, shape, at: 0.3 + 0.04 * at + 0.03 * rng.standard_normal(shape),
    "lognormal": lambda rng, shape, at: 0.1 * np.exp(rng.standard_normal(shape)),
    "Cauchy": lambda rng, shape, at: rng.standard_cauchy(shape),
    "share of 56": lambda rng, shape, at: rng.binomial(56, 0.36, size=shape) / 56,
    "share of 15": lambda rng, shape, at: rng.binomial(15, 0.7, size=shape) / 15,
}
#: shifts of a normal distribution in standard deviations, at which the power is measured.
SHIFTS = (1.0, 2.0, 3.0)
#: p values for which the calibration is made.
CALIBRATED = (*(k / 1000 for k in range(1, 10)), *(k / 100 for k in range(1, 31)))


def bounds_of(rng: np.random.Generator, law: str, shift: float, repeats: int) -> np.ndarray:
    """Bounds (repeats,) on p for pairs of a box plot and reruns from one distribution, ours shifted by ``shift``."""
    at = rng.standard_normal((repeats, verdicts.N))
    theirs, ours = (LAWS[law](rng, at.shape, at) for _ in range(2))
    above, below = p_box(ours + shift, box_plot(theirs, verdicts.UNIT))
    return np.minimum(1.0, 2 * np.minimum(above, below))


def calibration(mirror: str | None = None) -> pd.DataFrame:
    """The calibration of a box plot's bound: each p with its largest bound.

    For box plots and reruns from the same distribution, a share of at most p has a bound that is no larger. This holds
    for every distribution in ``LAWS``. ``law`` is the distribution that decides. ``rate_bound`` is the share of its box
    plots whose bound is at most p, which is the rate without calibration.
    """
    repeats, rows = run.config()["check_repeats"]["calibration"], []
    found = {law: np.sort(bounds_of(run.generator("calibration", law), law, 0.0, repeats)) for law in LAWS}
    for p in CALIBRATED:
        most = {law: _between(b, b[int(p * repeats)]) for law, b in found.items()}
        law = min(most, key=lambda name: most[name])
        rate = float(np.mean(found[law] <= p))
        rows.append({"p": p, "bound": most[law], "law": law, "rate_bound": rate, "repeats": repeats})
    return pd.DataFrame(rows)


def _between(bounds: np.ndarray, first: float) -> float:
    """The midpoint of ``first`` and the next smaller value in ``bounds``, or 0 if there is none."""
    at = int(np.searchsorted(bounds, first))
    return float(0.5 * (bounds[at - 1] + first)) if at else 0.0


def rates(mirror: str | None = None) -> pd.DataFrame:
    """Rates of rejection of a box plot's rank test: false alarms, and power for shifted normal distributions.

    The calibration is made again as in ``calibration``. These box plots are drawn independently of it.
    """
    repeats, family = run.config()["check_repeats"]["rates"], PAPER.family
    pairs = list(calibration(mirror)[["p", "bound"]].itertuples(index=False))
    laws = {name: (name, 0.0) for name in LAWS}
    laws |= {f"normal, {s:g} deviations off": ("normal", 0.05 * s) for s in SHIFTS}
    rows = []
    for name, (law, shift) in laws.items():
        bounds = bounds_of(run.generator("rates", name), law, shift, repeats)
        p = np.array([calibrated(bound, pairs) for bound in bounds])
        rows.append({"law": name, "shift": shift, "repeats": repeats, "inconclusive_or_more": np.mean(p <= AGREE),
                     "at_1_percent": np.mean(p <= 0.01), "better_or_worse": np.mean(p <= ANY_FALSE / family),
                     "least_p": p.min()})  # fmt: skip
    return pd.DataFrame(rows)


CHECKS = {"exact": exact, "starts": starts, "calibration": calibration, "rates": rates}
