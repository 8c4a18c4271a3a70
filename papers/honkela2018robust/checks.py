"""Further small tables for the findings, one function per table.

``updates`` scores of the optimiser's mean after more and after fewer updates ``posteriors`` number of folds that have a
posterior, and its score in them ``answers`` scores of other estimates from the same noisy moments ``costs`` privacy
cost of a release if its bounds were public ``charged`` scores of the corrected fit when the scale of the targets is
charged to the budget ``outlier`` what the density of the noise reveals about one row, when the bounds are those of the
private rows
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from papers.honkela2018robust import advi, data, posterior, published, release, run, streams
from papers.honkela2018robust.data import Fold, Moments
from privacy.budget import BudgetSpec
from workflow import program

#: settings whose optimiser is run for more updates, all with 500 private rows.
LONGER = ("epsilon=0.5;n=500", "epsilon=1;n=500", "epsilon=2;n=500", "epsilon=10;n=500")
PLAIN = "epsilon=2;n=500"
#: rows that replace the first private row: name -> inputs and target. None: like the others.
ROWS = {
    "typical": (None, None),
    "all inputs 4, target 15": (np.full(10, 4.0), 15.0),
    "one input 1000, target 15": (np.r_[1000.0, np.zeros(9)], 15.0),
    "target 1000": (None, 1000.0),
}
#: share of epsilon that the scale of the targets costs.
SCALE_SHARE = 0.1
#: probability with which a lower bound on delta holds.
CONFIDENCE = 0.99


@cache
def _folds(mirror: str | None) -> tuple[Fold, ...]:
    return tuple(data.folds(data.load(mirror)))


def _moments(folds: Sequence[Fold], method: str, setting: str) -> list[Moments]:
    return [run.moments_of(f, method, setting, f.generator())[0] for f in folds]


def _scores(folds: Sequence[Fold], coefficients) -> np.ndarray:
    return np.array([data.spearman(b @ f.test.T, f.y_test) for b, f in zip(coefficients, folds, strict=True)])


def _cells() -> list[dict[str, str]]:
    return [c for c in published.numbers().to_dict("records") if c["table"] in run.TABLES]


def updates(mirror: str | None) -> pd.DataFrame:
    """Mean score of u over the folds, largest |u| of a fold and mean posterior sd of b, by number of updates.

    The optimiser's normals are continued beyond those that the authors' code drew.
    """
    folds, marks = _folds(mirror), [int(n) for n in run.config()["updates"]]
    fits = [("lr", PLAIN), *(("rplr", s) for s in LONGER)]
    batch = advi.Batch.of([m for method, setting in fits for m in _moments(folds, method, setting)])
    sources = [streams.Normals(_optimisers(folds, noise), data.INPUTS + 2) for noise in (False, True)]
    rows = []
    for step, (u, w) in enumerate(advi.updates(batch, _blocks(sources, len(fits), marks[-1])), 1):
        if step not in marks:
            continue
        for k, (method, setting) in enumerate(fits):
            part = slice(k * len(folds), (k + 1) * len(folds))
            b, sd = u[part, : data.INPUTS], np.exp(w[part, : data.INPUTS])
            rows.append({"method": method, "setting": setting, "updates": step, "score": _scores(folds, b).mean(),
                         "largest": np.abs(u[part]).max(axis=1).mean(), "sd": sd.mean()})  # fmt: skip
    order = {fit: k for k, fit in enumerate(fits)}
    return pd.DataFrame(sorted(rows, key=lambda r: order[r["method"], r["setting"]]))


def _optimisers(folds: Sequence[Fold], noise: bool) -> list[list[int]]:
    out = []
    for fold in folds:
        rng = fold.generator()
        if noise:
            rng.laplace(size=release.size(data.INPUTS))
        out.append(streams.seeds(rng)[0])
    return out


def _blocks(sources: Sequence[streams.Normals], fits: int, steps: int, part: int = 500):
    """One block (fits x folds, d + 2) per update: the first fit has the first source, all others the second."""
    for start in range(0, steps, part):
        plain, private = (s.draw(min(part, steps - start)).transpose(0, 2, 1) for s in sources)
        for own, other in zip(plain, private, strict=True):
            yield np.concatenate([own, *[other] * (fits - 1)])


def posteriors(mirror: str | None) -> pd.DataFrame:
    """Folds with a posterior and its mean score, and folds without one by reason, per published number."""
    folds, rows = _folds(mirror), []
    for cell in _cells():
        moments = _moments(folds, cell["method"], cell["setting"])
        why = [posterior.obstacle(m) for m in moments]
        there = [(f, posterior.exact(m).b) for f, m, w in zip(folds, moments, why, strict=True) if not w]
        score = _scores(*zip(*there, strict=True)).mean() if there else math.nan
        rows.append({k: cell[k] for k in ("table", "method", "setting")}
                    | {"folds": len(folds), "exist": len(there),
                       "negative_eigenvalue": why.count("negative eigenvalue"),
                       "negative_residual": why.count("negative residual"), "score": score})  # fmt: skip
    return pd.DataFrame(rows)


def answers(mirror: str | None) -> pd.DataFrame:
    """Mean scores over the folds of other estimates from the same noisy moments, and the published number.

    The estimates are the released X'y as coefficients, and ridge regression with kappa = 1.
    """
    folds, rows = _folds(mirror), []
    for cell in _cells():
        if cell["method"] == "lr" and cell["setting"] != PLAIN:
            continue
        moments = _moments(folds, cell["method"], cell["setting"])
        cross, ridge = ([f(m) for m in moments] for f in (lambda m: m.cross, posterior.ridge))
        rows.append({k: cell[k] for k in ("table", "method", "setting")}
                    | {"published": float(cell["mean"]), "noisy_cross": _scores(folds, cross).mean(),
                       "ridge": _scores(folds, ridge).mean()})  # fmt: skip
    return pd.DataFrame(rows)


def costs(mirror: str | None) -> pd.DataFrame:
    """Cost over epsilon of the authors' and the corrected scales, if bounds were public and one row is replaced.

    ``gram_alone`` and the like: cost of each of the three releases by itself.
    """
    d, axis, rows = data.INPUTS, np.linspace(0, 1, 2001), []
    changes = release.changes(d, axis[:, None], axis[None, :])
    of = {
        "authors' code": release.scales(d, (1.0, 1.0)),
        "README of the authors": release.scales(d, (1.0, 1.0), (0.30, 0.65, 0.05)),
        "corrected": release.corrected_scales(d, (1.0, 1.0)),
    }
    for name, scales in of.items():
        parts = [np.broadcast_to(c / s, (len(axis), len(axis))) for c, s in zip(changes, scales, strict=True)]
        alone = {f"{w}_alone": float(p.max()) for w, p in zip(("gram", "cross", "square"), parts, strict=True)}
        rows.append({"scales": name, **alone, "together": float(sum(parts).max())})
    return pd.DataFrame(rows)


def charged(mirror: str | None) -> pd.DataFrame:
    """Scores of the corrected fit without public rows, with a tenth of epsilon charged for the scale of the targets.

    There is one row per private setting: mean and standard deviation of the runs, each a mean over the folds, and the
    epsilon of the ledger of one fit.
    """
    folds, count, rows = _folds(mirror), int(run.config()["check_runs"]), []
    for cell in _cells():
        if "corrected" not in run.readings_of(cell):
            continue
        told = published.fields(cell["setting"])
        epsilon, n = told["epsilon"], int(told["n"])
        omega, total = published.multiples_of()[epsilon, n], np.zeros(count)
        for fold, k in itertools.product(folds, range(count)):
            rng = program.stream("charged", cell["setting"], str(fold.index), str(k))
            budget = BudgetSpec(epsilon=epsilon, claimed_epsilon=epsilon).open(rng)
            found = release.charged(fold, n, omega, SCALE_SHARE * epsilon, budget)
            left = (1 - SCALE_SHARE) * epsilon
            released = release.corrected_release(found, left, budget)
            b = release.linear_bayes(released, found.bounds, omega[0], left)
            total[k] += data.spearman(b @ release.unit(fold.x_test).T, fold.y_test)
        runs = total / len(folds)
        rows.append({k: cell[k] for k in ("table", "setting")}
                    | {"mean": runs.mean(), "std": runs.std(ddof=1), "n": count,
                       "ledger_epsilon": run.spent(budget.ledger, float(run.config()["delta"]))})  # fmt: skip
    return pd.DataFrame(rows)


def outlier(mirror: str | None) -> pd.DataFrame:
    """Lower bounds on delta if the first private row of the first fold is replaced.

    They are for epsilon, twice and five times epsilon.

    ``delta`` is E max(0, 1 - e^epsilon q / p) by Monte Carlo, in the worse direction. ``delta_at_least`` is smaller by
    Hoeffding's half width.
    """
    fold, n, count = _folds(mirror)[0], 500, int(run.config()["audit_draws"])
    half, rows = math.sqrt(math.log(1 / (1 - CONFIDENCE)) / (2 * count)), []
    for (name, (x, y)), epsilon in itertools.product(ROWS.items(), (0.1, 1.0, 2.0, 10.0)):
        omega = published.multiples_of()[epsilon, n]
        pair = [_laws(f, n, omega, epsilon) for f in (fold, _replaced(fold, x, y))]
        for factor in (1, 2, 5):
            rng = program.stream("outlier", name, str(epsilon), str(factor))
            found = max(_delta(p, q, factor * epsilon, count, rng) for p, q in (pair, pair[::-1]))
            rows.append({"row": name, "epsilon": epsilon, "at": factor * epsilon, "delta": found,
                         "delta_at_least": max(0.0, found - half)})  # fmt: skip
    return pd.DataFrame(rows)


def _replaced(fold: Fold, x: np.ndarray | None, y: float | None) -> Fold:
    """The fold with another first private row. None: values of the last row of the pool, which no fit uses."""
    xs, ys = fold.x_pool.copy(), fold.y_pool.copy()
    xs[0] = fold.x_pool[-1] if x is None else x
    ys[0] = fold.y_pool[-1] if y is None else y
    return Fold(fold.index, fold.x_test, fold.y_test, xs, ys, fold.x_public, fold.y_public)


def _laws(fold: Fold, n: int, omega: tuple[float, float], epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Centres and scales of the 66 Laplace numbers that a fit releases, public rows included."""
    found = release.as_published(fold, n, omega)
    both = found.private + found.public
    d = both.d
    scales = [s / epsilon for s in release.scales(d, found.bounds)]
    centre = np.concatenate([release.triangle(both.gram), both.cross, [both.square]])
    return centre, np.repeat(scales, [d * (d + 1) // 2, d, 1])


def _delta(p, q, epsilon: float, count: int, rng: np.random.Generator, part: int = 20_000) -> float:
    (centre, scale), (other, width) = p, q
    total = 0.0
    for _ in range(count // part):
        at = centre + scale * rng.laplace(size=(part, len(centre)))
        log_p = -np.log(scale).sum() - np.abs((at - centre) / scale).sum(axis=1)
        log_q = -np.log(width).sum() - np.abs((at - other) / width).sum(axis=1)
        total += float(-np.expm1(np.minimum(0.0, epsilon + log_q - log_p)).sum())
    return total / (count // part * part)


CHECKS = {f.__name__: f for f in (updates, posteriors, answers, costs, charged, outlier)}
