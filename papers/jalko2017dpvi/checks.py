"""Further small tables for the findings, one function per table.

``delta`` what the source's delta allows on tables of this size ``epsilons`` epsilon of every published number: as the
authors' code prints it, and by bounds for its sampling ``rules`` the four accounting rules in the authors' code, on the
same runs ``direction`` accuracy, and what it does not depend on: length of the mean, standard deviations,
log-likelihood ``sgld`` DP-SGLD as in the authors' code, without its noise, and a private version at DPVI's true
epsilons ``coding`` Adult's accuracies with other codings of its nominal columns ``sequences`` the effect of sharing one
sequence of draws among all runs, as the authors' code does
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import f as fisher

from datasets.base import Table
from papers.jalko2017dpvi import accounting, data, dpvi, run, sgld, verdicts
from privacy.accountants import epsilon_of, gdp_mu
from privacy.accountants.lower import repeated
from privacy.budget import BudgetSpec
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling

SIZES = {"abalone_coded": 3_341, "adult_coded": 26_048}
#: constants of the comparison's accounting: share of delta, delta of the composition, orders.
HALF, DELTA_PRIME, ORDERS = 0.5, 4e-5, 159
LEAST_STEPS = 300
#: accountants of the corrected reading, independent of each other.
ACCOUNTANTS = ("dp_accounting_pld", "dp_accounting_rdp", "autodp_rdp")
#: clipping norms of the figure by which Adult's codings are compared.
CODED_CLIPS = "clip=(?:10|100);"
#: DPVI's noise levels at whose epsilon a private DP-SGLD runs: every other one of the ten.
EVERY = 2
#: a private DP-SGLD whose clipping norm makes h T = 1 (T steps of size h). So the chain moves equally far at every
#: budget.
BY_BUDGET = "sound, clip by budget"


def deltas() -> tuple[float, float]:
    return float(run.config()["delta"]), float(run.config()["small_delta"])


def delta(mirror: str | None) -> pd.DataFrame:
    """The chance that a mechanism publishes some row, if it publishes each row in full with probability delta.

    A mechanism that does only this is (0, delta)-private.
    """
    return pd.DataFrame(
        [
            {"dataset": name, "n_train": n, "delta": d, "one_over_n": 1 / n, "rows_published": d * n,
             "some_row_published": -math.expm1(n * math.log1p(-d))}
            for name, n in SIZES.items() for d in deltas()
        ]
    )  # fmt: skip


def budgets() -> list[tuple[str, dpvi.Setting]]:
    """(data set, setting) of all private fits: one clipping norm per noise level, sampling rate and number of steps."""
    cells = run.published()
    known: dict[tuple, tuple[str, dpvi.Setting]] = {}
    for cell in cells[cells["method"] == "dpvi"].to_dict("records"):
        s = run.setting_of(cell["setting"])
        known.setdefault((cell["dataset"], s.sigma, s.kappa, s.steps), (cell["dataset"], s))
    return list(known.values())


def _sampled(multiplier: float, rate: float, steps: int, relation: Relation, sampling: Sampling) -> Ledger:
    return Ledger([Event("sum", Mechanism.GAUSSIAN, relation, 1.0, multiplier, sampling, rate, steps)])


def bounds(name: str, s: dpvi.Setting, accountants: bool = True) -> list[dict]:
    """Epsilon of one setting by every rule, as rows with rule, delta and epsilon."""
    n, at, rows = SIZES[name], deltas(), []
    batch = dpvi.batch_size(n, s.kappa)
    curves = {
        "replace-one, with replacement: bound": accounting.exchangeable(accounting.with_replacement(s.sigma, batch, n)),
        "replace-one, without replacement: bound": accounting.exchangeable(
            accounting.without_replacement(s.sigma, batch, n)
        ),
    }
    found = {rule: accounting.epsilons(curve, s.steps, at) for rule, curve in curves.items()}
    times, _ = accounting.times(batch, n)
    found["replace-one, with replacement: realised"] = [repeated(s.sigma, times, s.steps, d) for d in at]
    found["program's moments accountant"] = [accounting.moments(s.sigma, d, s.kappa, s.steps) for d in at]
    if accountants:
        corrected = _sampled(2 * s.sigma, s.kappa, s.steps, Relation.ADD_REMOVE, Sampling.POISSON)
        told = [epsilon_of(corrected, d, ACCOUNTANTS).all for d in at]
        for accountant in ACCOUNTANTS:
            found[f"add/remove, Poisson: {accountant}"] = [t[accountant] for t in told]
    for rule, values in found.items():
        rows += [
            {"rule": rule, "delta": d, "epsilon": v} for d, v in zip(at, values, strict=True) if not isinstance(v, str)
        ]
    return rows


def epsilons_table(mirror: str | None) -> pd.DataFrame:
    rows = []
    for name, s in budgets():
        known = {"dataset": name, "sigma": f"{s.sigma:.6g}", "kappa": s.kappa, "T": s.steps}
        rows += [known | row for row in bounds(name, s)]
    return pd.DataFrame(rows)


def compared() -> list[dpvi.Setting]:
    """Settings of the ten published numbers in the fourth figure."""
    cells = run.published()
    return [run.setting_of(t) for t in cells.loc[cells["table"] == "sgld_vs_advi_abalone", "setting"]]


def rules(mirror: str | None) -> pd.DataFrame:
    """Epsilon of the fourth figure's ten runs by the four rules in the authors' code, for a total delta of 1e-3."""
    d, rows = deltas()[0], []
    for s in compared():
        own = (s.kappa, s.steps)
        rows.append(
            {
                "sigma": f"{s.sigma:.6g}",
                "DPVI of the comparison: advanced composition": 2
                * accounting.advanced_composition(2 * s.sigma, HALF * d, DELTA_PRIME, *own),
                "DPVI-MA of the comparison: moments at sigma": accounting.moments(s.sigma, HALF * d, *own, ORDERS),
                "mixture: twice the moments at 2 sigma": 2 * accounting.moments(2 * s.sigma, HALF * d, *own),
                "clip figures: moments at sigma, whole delta": accounting.moments(s.sigma, d, *own),
            }
        )
    return pd.DataFrame(rows)


def mode(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mode of the posterior (D,) and standard deviations of the Laplace approximation (D,), by Newton's method."""
    w = np.zeros(x.shape[1])
    for _ in range(50):
        p = expit(x @ w)
        h = (x.T * (p * (1 - p))) @ x + np.eye(len(w))
        w = w + np.linalg.solve(h, x.T @ (y - p) - w)
    return w, np.sqrt(np.diag(np.linalg.inv(h)))


def direction(mirror: str | None) -> pd.DataFrame:
    split, count, rows = data.load("abalone_coded", mirror), run.config()["check_repeats"]["direction"], []
    known: list[tuple[str, str, dpvi.Posterior]] = []
    w, sd = mode(split.x, split.y)
    known.append(("posterior mode and curvature", "", dpvi.Posterior(w[None], sd[None])))
    chosen = run.published()
    chosen = chosen[chosen["table"].isin(["sgld_vs_advi_abalone", "non_dp"]) & (chosen["dataset"] == "abalone_coded")]
    for cell in chosen.to_dict("records"):
        s, rng = run.setting_of(cell["setting"]), run.generator("direction", cell["setting"])
        budget = run.budget_of(cell, s, rng)
        label = "without privacy" if s.sigma is None else "dpvi"
        fitted = dpvi.repeated(split.x, split.y, s, dpvi.AUTHORS, budget, rng, count if s.sigma else 5)
        known.append((label, "" if s.sigma is None else f"{s.sigma:.6g}", fitted))
    test, n = (split.x_test, split.y_test), len(split.y_test)
    for what, sigma, found in known:
        other = dpvi.Posterior(10 * found.mean, np.full_like(found.sd, 1e-3))
        short = dpvi.Posterior(0.1 * found.mean, np.full_like(found.sd, 3.0))
        a = dpvi.right(found, *test)
        rows.append(
            {
                "what": what, "sigma": sigma, "repeats": len(a), "accuracy": (a / n).mean(),
                "rows_moved_longer": int(np.abs(a - dpvi.right(other, *test)).max()),
                "rows_moved_shorter": int(np.abs(a - dpvi.right(short, *test)).max()),
                "log_likelihood": dpvi.log_likelihood(found, *test).mean(),
                "log_likelihood_longer": dpvi.log_likelihood(other, *test).mean(),
                "log_likelihood_shorter": dpvi.log_likelihood(short, *test).mean(),
                "length": np.linalg.norm(found.mean, axis=1).mean(), "sd": found.sd.mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def comparison(mirror: str | None) -> pd.DataFrame:
    split, count = data.load("abalone_coded", mirror), run.config()["check_repeats"]["sgld"]
    n, (d, small) = len(split.y_test), deltas()
    batch = dpvi.batch_size(split.n, compared()[0].kappa)
    lengths = np.linalg.norm(split.x, axis=1)
    unclipped = {"rows_beyond": int((lengths > sgld.BOUND).sum()), "largest": float(lengths.max())}

    def row(variant, epsilon, at, relation, runs, steps, ledger, **more):
        share = runs / n
        known = {"variant": variant, "sigma": more.pop("sigma", ""), "epsilon": epsilon, "delta": at}
        known |= {"relation": relation, "repeats": len(runs), "steps": steps, "accuracy": share.mean()}
        return known | {"sd": share.std(ddof=1), "ledger_epsilon": epsilon_of(ledger, at).epsilon} | more

    def opened(*key):
        rng = run.generator("sgld", *key)
        return BudgetSpec(delta=d).open(rng), rng

    def as_run(variant, epsilon, noise, temperature, **more):
        budget, rng = opened(variant, str(epsilon))
        chain = sgld.program(split.x, split.y, batch, noise, temperature, budget, rng, count)
        runs = sgld.right(chain, split.x_test, split.y_test)
        return row(
            variant, epsilon, d, "", runs, int(sgld.PASSES * split.n / batch), budget.ledger, **unclipped, **more
        )

    rows = [as_run("program, without privacy noise", math.inf, 0.0, True)]
    rows.append(as_run("program, without any noise", math.inf, 0.0, False))
    for k, s in enumerate(compared()):
        sigma = f"{s.sigma:.6g}"
        claimed = 2 * accounting.advanced_composition(2 * s.sigma, HALF * d, DELTA_PRIME, s.kappa, s.steps)
        noise = sgld.program_noise(split.n, batch, claimed, d)
        rows.append(as_run("program", claimed, noise, True, sigma=sigma))
        if k % EVERY == 0:
            continue
        true = {(b["rule"], b["delta"]): b["epsilon"] for b in bounds("abalone_coded", s)}
        own = {
            Relation.REPLACE_ONE: "replace-one, with replacement: bound",
            Relation.ADD_REMOVE: "add/remove, Poisson: dp_accounting_pld",
        }
        for relation, rule in own.items():
            for variant, at in (("sound", d), (BY_BUDGET, d), (BY_BUDGET, small)):
                epsilon, width = true[rule, at], math.sqrt(split.x.shape[1])
                mu, times = gdp_mu(epsilon, at), 2 if relation is Relation.REPLACE_ONE else 1
                clip = width if variant == "sound" else min(width, 2 * mu / times)
                # steps that keep h n C sqrt(D) / 4, a curvature times the step, at most 1; only public numbers enter
                steps = max(LEAST_STEPS, math.ceil((2 * mu / times) ** 2 / clip * split.n * width / 4))
                budget, rng = opened(variant, sigma, str(relation), str(at))
                chain = sgld.sound(split.x, split.y, mu, clip, steps, relation, budget, rng, count)
                runs = sgld.right(chain[:: max(1, len(chain) // 100)], split.x_test, split.y_test)
                length = np.linalg.norm(chain[-1], axis=1).mean()
                more = {"sigma": sigma, "clip": clip, "length": length}
                rows.append(row(variant, epsilon, at, str(relation), runs, steps, budget.ledger, **more))
    return pd.DataFrame(rows)


def one_hot(mirror: str | None) -> Table:
    """Rows of adult.data in the suite's own coding: six numbers, and one column per level except one."""
    from datasets import adult

    x, y = adult._rows(data.raw_path("adult_coded", mirror))
    return Table(x[:, x.std(axis=0) > 0], y, ())


def coding(mirror: str | None) -> pd.DataFrame:
    """Test rows that the posterior's mode predicts right, and mean squared z of the accuracies, by coding of Adult.

    z is the difference of means over our standard deviation times sqrt(1/5 + 1/n), with n of our runs. For the right
    coding its mean square is near (n - 1) / (n - 3).
    """
    count, cells, rows = run.config()["check_repeats"]["coding"], verdicts.published(), []
    cells = cells[(cells["table"] == "adult_acc_vs_c") & cells["setting"].str.contains(CODED_CLIPS)]
    for name in (*data.CODINGS, "one column a level"):
        levels = name in data.CODINGS
        split = data.load("adult_coded", mirror, coding=name) if levels else data.split(one_hot(mirror))
        w, _ = mode(split.x, split.y)
        known = {"coding": name, "columns": split.x.shape[1], "n_test": len(split.y_test)}
        known["mode_right"] = int((((split.x_test @ w) >= 0) == (split.y_test == 1)).sum())
        for table, group in cells.groupby("table", sort=False) if levels else []:
            z = []
            for cell in group.to_dict("records"):
                s, rng = run.setting_of(cell["setting"]), run.generator("coding", name, table, cell["setting"])
                fitted = dpvi.repeated(split.x, split.y, s, dpvi.AUTHORS, run.budget_of(cell, s, rng), rng, count)
                share = dpvi.right(fitted, split.x_test, split.y_test) / len(split.y_test)
                z.append((share.mean() - float(cell["mean"])) / (share.std(ddof=1) * math.sqrt(1 / 5 + 1 / count)))
            z = np.array(z)
            rows.append(known | {"table": table, "cells": len(z), "mean_square_z": (z**2).mean(),
                                 "expected": (count - 1) / (count - 3), "largest_z": np.abs(z).max()})  # fmt: skip
        if not levels:
            rows.append(known)
    return pd.DataFrame(rows)


def sequences(mirror: str | None) -> pd.DataFrame:
    """Whether runs that share their draws e are alike: variance between groups, over that from runs within them."""
    split, count, rows = data.load("abalone_coded", mirror), run.config()["check_repeats"]["sequences"], []
    cells = run.published()
    cells = cells[(cells["table"] == "abalone_acc_vs_c") & cells["setting"].str.contains("clip=5;sigma=(?:2|10);")]
    for cell in cells.to_dict("records"):
        s, runs = run.setting_of(cell["setting"]), []
        for k in range(count):
            rng = run.generator("sequences", cell["setting"], str(k))
            shared = dpvi.Shared(rng.spawn(1)[0])
            budget = run.budget_of(cell, s, rng)
            fitted = dpvi.repeated(split.x, split.y, s, dpvi.AUTHORS, budget, rng, count, draws=shared)
            runs.append(dpvi.right(fitted, split.x_test, split.y_test) / len(split.y_test))
        runs = np.array(runs)
        within, between = runs.var(axis=1, ddof=1).mean(), count * runs.mean(axis=1).var(ddof=1)
        rows.append(
            {"setting": cell["setting"], "sequences": count, "runs_each": count, "accuracy": runs.mean(),
             "sd_within": math.sqrt(within), "sd_between": math.sqrt(max(0.0, (between - within) / count)),
             "F": between / within, "p": fisher.sf(between / within, count - 1, count * (count - 1))}
        )  # fmt: skip
    return pd.DataFrame(rows)


CHECKS = {
    "delta": delta,
    "epsilons": epsilons_table,
    "rules": rules,
    "direction": direction,
    "sgld": comparison,
    "coding": coding,
    "sequences": sequences,
}
