"""Further small tables for the findings, one function per table.

``counterexample`` two neighbouring tables on which the authors' draw is not (epsilon, delta)-private
``counterexample_adaops`` the same for AdaOPS, by Monte Carlo (both in ``papers.wang2018.counterexamples``) ``cap`` how
often AdaOPS' limit on L is used, and how often it is not a bound ``targets`` noise-free errors with the target that a
table's name suggests ``scaling`` the effect of one row on the scaling of all others ``penalties`` the concentrated
rule's lambda with the logical "and" and as intended ``noise`` the factor by which the noise of SSP and AdaSSP would
have to change
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from datasets.base import DataError, Table
from datasets.fetch import fetch
from datasets.wang2018 import read
from papers.wang2018 import data, run
from papers.wang2018.counterexamples import counterexample, counterexample_adaops
from papers.wang2018.estimators import posterior_sampling as sampling
from papers.wang2018.estimators.moments import AUTHORS, PRINTED, Moments, log_over_delta
from privacy.calibration import gaussian_noise_multiplier
from privacy.repeats import NoiseSource


class _Told:
    """A noise source of many repetitions for inspecting AdaOPS' limit on L. It keeps no ledger."""

    def __init__(self, rng: np.random.Generator, count: int):
        self.count, self._rng = count, rng

    def gaussian(self, what, value, *, sensitivity, noise_multiplier, relation, proof, batched=False):
        value = np.asarray(value, dtype=np.float64)
        shape = value.shape[1:] if batched else value.shape
        return value + sensitivity * noise_multiplier * self._rng.standard_normal((self.count, *shape))

    def steps(self, mechanism):
        raise NotImplementedError("AdaOPS has no event of many steps")

    def draw(self, event, size, make):
        return make(np.zeros((self.count, size)))


def lengths(moments: Moments, epsilon: float, delta: float, noise: NoiseSource):
    """(1 + |w|, exp of its noisy logarithm, limit on L) of AdaOPS as the authors' code runs it, each (count,)."""
    tail, scale = log_over_delta(6, delta), math.sqrt(log_over_delta(6, delta)) * 4 / epsilon
    least = sampling._noisy_least(moments, sampling.IDENTITY, scale, scale * math.sqrt(tail), noise)
    penalty = sampling.chosen_penalty(moments.d, epsilon, tail, least)
    h = penalty + least
    norm = sampling._noisy_norm(moments, penalty, h, scale, scale * math.sqrt(tail), noise)
    true = 1 + np.linalg.norm(moments.ridge(sampling.IDENTITY + penalty), axis=1)
    return true, norm, sampling.cap(moments.n, h)


def cap(mirror: str | None) -> pd.DataFrame:
    """Shares of all fits in which AdaOPS' limit on L is below the released bound, and below 1 + |w|."""
    told, rows = run.config(), []
    for name in data.names():
        try:
            x, y, _ = data.load(name, mirror)
        except DataError:
            continue
        given = run.folds(name, x, y)
        for epsilon in told["epsilons"]:
            decides, low, count = 0, 0, 0
            for index, fold in enumerate(given):
                noise = _Told(run.generator(name, "cap", epsilon, index), int(told["repeats"]["quick"]))
                true, norm, bound = lengths(fold.train, float(epsilon), float(told["delta"]), noise)
                decides, low = decides + np.sum(bound < norm), low + np.sum((bound < norm) & (bound < true))
                count += noise.count
            rows.append(
                {"dataset": name, "epsilon": epsilon, "fits": count, "cap_decides": decides / count,
                 "cap_is_no_bound": low / count}
            )  # fmt: skip
    return pd.DataFrame(rows)


def noise_free_errors(name: str, table: Table) -> tuple[float, float]:
    """Mean squared errors over the ten folds of predicting the mean and of ridge regression."""
    x, y, _ = data.normalised(name, table)
    given = run.folds(name, x, y)
    return tuple(float(np.mean([f.error(run.noise_free(m, f))[0] for f in given])) for m in run.NOISE_FREE)


#: table -> (what its name suggests, transform of that target, columns left out, column of that target in the raw file).
SUGGESTED: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray], tuple[int, ...], int]] = {
    "wine": ("quality is the target, alcohol an input", lambda y: y, (), 11),
    "concreteslump": ("slump is the target, fine aggregate an input", lambda y: y, (9, 10), 8),
    "bike": ("counts of casual and registered riders are no inputs", np.log, (0, 16, 17), 18),
    "fertility": ("diagnosis is the target, hours sitting an input", lambda y: y, (), 9),
}


def targets(mirror: str | None) -> pd.DataFrame:
    rows = []
    for name, (what, transform, drop, target) in SUGGESTED.items():
        known = data.dataset(name)
        paths = fetch(known, mirror)
        raw = np.concatenate([read(p) for p in paths])
        other = Table(np.delete(raw, sorted({target, *drop}), axis=1), transform(raw[:, target]), ())
        for label, table in (("as in the program", data.parse(name, *paths)), (what, other)):
            trivial, least_squares = noise_free_errors(name, table)
            rows.append({"dataset": name, "variant": label, "trivial": trivial, "non_private": least_squares})
    return pd.DataFrame(rows)


def scaling(mirror: str | None) -> pd.DataFrame:
    """The effect of one row on the scaling of all others.

    The targets are divided by the largest absolute centred target. If its row is removed, all other targets are divided
    by the second largest instead. ``factor`` is the factor by which they are multiplied.
    """
    rows = []
    for name in data.names():
        try:
            _, y, _ = data.load(name, mirror)
        except DataError:
            continue
        largest = int(np.argmax(np.abs(y)))
        rest = np.delete(y, largest)
        rest = rest - rest.mean()
        tested = run.given_folds.folds(name, len(y))[largest]
        rows.append({"dataset": name, "n": len(y), "factor": 1 / float(np.abs(rest).max()), "test_fold": int(tested)})
    return pd.DataFrame(rows)


def noise(mirror: str | None) -> pd.DataFrame:
    """Noise multipliers of a release in the authors' code, and those at which all releases cost (epsilon, delta)."""
    told, rows = run.config(), []
    delta = float(told["delta"])
    for method, releases, k in (("ssp", 2, 4), ("adassp", 3, 6)):
        for epsilon in told["epsilons"]:
            share = float(epsilon) / (3 if method == "adassp" else 1)
            used = math.sqrt(log_over_delta(k, delta)) / share
            due = gaussian_noise_multiplier(float(epsilon), delta, releases)
            rows.append(
                {"method": method, "epsilon": epsilon, "as_run": used, "due": due, "due_over_as_run": due / used}
            )
    return pd.DataFrame(rows)


def penalties(mirror: str | None) -> pd.DataFrame:
    """lambda of the concentrated rule as run and as intended, on nine tenths of each table's rows."""
    told, rows = run.config(), []
    for name in data.names():
        n, d = int(data.sizes().loc[name]["n"]) * 9 // 10, int(data.sizes().loc[name]["d"])
        for epsilon in told["epsilons"]:
            as_run, meant = (
                float(sampling.tempered("concentrated", n, d, float(epsilon), float(told["delta"]), r).penalty)
                for r in (AUTHORS, PRINTED)
            )
            rows.append(
                {"dataset": name, "epsilon": epsilon, "as_run": as_run, "meant": meant, "ratio": as_run / meant,
                 "second_branch": int(as_run != meant)}
            )  # fmt: skip
    return pd.DataFrame(rows)


CHECKS = {f.__name__: f for f in (counterexample, counterexample_adaops, cap, targets, scaling, noise, penalties)}
