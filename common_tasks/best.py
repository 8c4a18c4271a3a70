"""Which private method is best on the next table: a hierarchical model of methods and tables, and its winner.

The score of a method on a table is ``(score - trivial) / (exact - trivial)``, by the log-likelihood of test rows.
Trivial is the training mean, exact the non-private reference. A split below 0 counts as 0, because nobody has to
publish a fit that is worse than the training mean. The shortfall of a score from 1 is compared on a log scale, between
``TIE`` and ``1 - TIE``:

    z[m, t] = b[m] + a[t] + sigma e[m, t],     e Student-t with ``NU`` degrees of freedom,
    log(1 - score[m, t]) ~ N(z[m, t], s[m, t]^2),   s the standard error over splits and privacy noise.

The priors are b ~ N(mu, tau_b^2), a ~ N(0, tau_a^2), mu ~ N(-1, 2^2), and half-Cauchy(1) for the three standard
deviations. These scores are treated specially:

* A shortfall below ``TIE`` or above ``1 - TIE`` only says that z lies beyond that end.
* A missing score says nothing.
* The score on a table that was looked at while the method was designed (``LeakKind.TUNED``) counts as missing, even if
  the target is cut into two classes.
* A fit that fails or diverges has score 0, because the training mean can be published in its place.

A method is best on a table if no other score is more than ``TIE`` higher, so several can be best. The winner is the
method with the highest probability of being best on the next table. That table has a new a[t], and a new e[m, t] for
every method. The expected regret of a method is its mean distance to the highest score on that table.

Four chains of a Gibbs sampler draw the posterior, with Metropolis steps for b and a that integrate z out. Every fit is
repeated with each table left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from common_tasks import comparisons as compare
from common_tasks.scores import REFUSALS, Arm, Family, adapter, higher, label, tasks, title
from datasets import cut, get
from evaluation.paired import RATIO_90_10, THESE_ROWS
from evaluation.summary import mean_std
from methods import contract
from methods.contract import LeakKind

HERE = Path(__file__).parent
#: the committed table of posteriors, its columns, and those of its columns with numbers that are not counts.
NAME = "common_best.csv"
COLUMNS = (
    *("task", "epsilon", "without", "tables", "method", "settings", "scored", "probability", "regret", "score"),
    *("mean", "there", "rhat", "ess"),
)
NUMBERS = ("probability", "regret", "score", "mean", "there", "rhat")
#: smallest number of tables for general advice.
FEWEST_TABLES = 5
CHAINS, WARM_UP, KEPT = 4, 1000, 3000
#: methods whose probability is within this of the highest share the first place. The sampler's error is a third of it.
NEAR = 0.02
#: degrees of freedom of the residuals.
NU = 4.0
#: scale of the half-Cauchy priors; mean and standard deviation of mu.
PRIOR_SCALE, PRIOR_MEAN, PRIOR_SD = 1.0, -1.0, 2.0
#: distance within which scores are equal to each other, to the training mean or to the reference.
TIE = 0.01
#: the normal quantile of a 95 % interval.
_NORMAL = 1.959964


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of private methods on tables at one epsilon.

    Parameters
    ----------
    methods : names, followed by a comma and a label if there is one.
    arms : method -> its arm, the tuned one unless its mean over the tables is below that of the default settings.
    settings : method -> "tuned" or "default".
    sets, splits : data set and split of each table. The split is "" if a table is a data set with all its splits.
    scaled : whether 0 is the training mean and 1 the reference.
    y, s, n : (methods, tables), score, its standard error and the number of splits, NaN if missing. Without ``scaled``,
        ``y`` is in the metric's own unit.
    seen : (methods, tables), whether the table was looked at while the method was designed.
    why : (method, data set) -> reason why a score is missing.
    """

    methods: tuple[str, ...]
    arms: dict[str, Arm]
    settings: dict[str, str]
    sets: tuple[str, ...]
    splits: tuple[str, ...]
    scaled: bool
    y: np.ndarray
    s: np.ndarray
    n: np.ndarray
    seen: np.ndarray
    why: dict[tuple[str, str], str]

    @property
    def counted(self) -> np.ndarray:
        """Scores (methods, tables) that the model reads, NaN for all others."""
        return np.where(self.seen, np.nan, self.y)

    @property
    def tables(self) -> list[tuple[str, str]]:
        return list(zip(self.sets, self.splits, strict=True))

    @property
    def named(self) -> list[str]:
        """The data sets, each one once."""
        return list(dict.fromkeys(self.sets))

    def on(self, method: str, dataset: str) -> tuple[float, float]:
        """Mean score over the tables of a data set and its standard error, NaN without a score."""
        i, here = self.methods.index(method), np.array([d == dataset for d in self.sets])
        y = self.y[i, here & np.isfinite(self.y[i])]
        if len(y) < 2:
            return (float(y[0]), float(self.s[i, here][0])) if len(y) else (math.nan, math.nan)
        mean, sd, n = mean_std(y.tolist())
        return mean, error_of(sd, n)


@dataclass(frozen=True)
class Posterior:
    """Draws of several fits.

    * ``b``: (fits, chains, draws, methods), mean log shortfall minus that of all methods.
    * ``spread``: (fits, chains, draws, 3), sigma, tau_a and tau_b.
    * ``probability``, ``regret``, ``score``: (fits, methods), probability of being best on the next table, expected
      regret and expected score there.
    """

    b: np.ndarray
    spread: np.ndarray
    probability: np.ndarray
    regret: np.ndarray
    score: np.ndarray


def sample(
    y: np.ndarray, s: np.ndarray, seen: np.ndarray, seed: int = 0, warm_up: int = WARM_UP, kept: int = KEPT
) -> Posterior:
    """Draw from the posterior of several fits at once.

    Parameters
    ----------
    y, s : (methods, tables) or (fits, methods, tables), scores and standard errors. Unseen ones are not read.
    seen : (fits, methods, tables), the scores that each fit reads.

    Raises ValueError if a fit sees no score, or one that is not finite or has an error below 0.
    """
    from scipy.special import log_ndtr, ndtri_exp

    if not seen.any(axis=(1, 2)).all():
        raise ValueError("best: a fit has no score; give each at least one")
    if not (np.isfinite(y) & np.isfinite(s) & (s >= 0) | ~seen).all():
        raise ValueError("best: a score or its standard error is not a finite number; a missing score is not seen")
    fits, count, tables = seen.shape
    many = fits * CHAINS
    rng = np.random.default_rng(seed)

    def each_chain(v: np.ndarray) -> np.ndarray:
        return np.repeat(np.broadcast_to(v, seen.shape), CHAINS, axis=0)

    def wide(v: np.ndarray) -> np.ndarray:
        return v[:, None, None]

    mask = each_chain(seen)
    short = np.where(mask, 1 - each_chain(y), 0.5)
    noise = np.where(mask, each_chain(s), 1.0) / short.clip(TIE)
    low, high = mask & (short <= TIE), mask & (short >= 1 - TIE)
    # a score on one split has no standard error, so sigma includes its noise
    as_it_is = mask & ~low & ~high & (noise <= 0)
    ends_at = np.flatnonzero(low | high)
    side = np.where(low.take(ends_at), 1.0, -1.0)
    x = np.log(short.clip(TIE, 1 - TIE))
    noise = np.where(noise <= 0, 1.0, noise) ** 2
    x_over, one_over = x / noise, 1 / noise
    seen_by = mask.sum(axis=(1, 2))

    w, z = np.ones(mask.shape), x.copy()
    b, a = rng.normal(-1.0, 1.0, (many, count)), rng.normal(0.0, 0.5, (many, tables))
    mu = rng.normal(-1.0, 0.5, many)
    s2, ta2, tb2 = np.exp(rng.normal(-1.0, 0.5, (3, many)))
    aux = np.ones((3, many))
    keep_b, keep = np.empty((kept, many, count)), np.empty((kept, many, 3))
    probability, regret, mean_score = np.zeros((3, many, count))

    def normal(mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """A draw from N(mean / precision, 1 / precision)."""
        return mean / precision + rng.standard_normal(precision.shape) / np.sqrt(precision)

    def variance(previous: np.ndarray, k: int, n: np.ndarray | int, squares: np.ndarray) -> np.ndarray:
        """A draw of a variance with half-Cauchy prior on its root, as a mixture (Makalic and Schmidt 2016)."""
        aux[k] = (1 / previous + 1 / PRIOR_SCALE**2) / rng.standard_gamma(1.0, many)
        shape = np.broadcast_to((n + 1) / 2, many)
        return (1 / aux[k] + squares / 2) / rng.standard_gamma(shape)

    between, spare = mask & ~low & ~high, np.where(as_it_is, 0.0, noise)

    def likelihood(b: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Log-likelihood (chains, methods, tables) of each score with z integrated out, up to terms without b and a.

        It reads ``twice`` and ``root`` of the step.
        """
        gap = x - (b[:, :, None] + a[:, None, :])
        out = np.where(between, -(gap**2) / twice, 0.0)
        out.put(ends_at, log_ndtr(side * gap.take(ends_at) / root))
        return out

    def moved(size: tuple[int, ...]) -> np.ndarray:
        """Steps of a random walk, some small and some large."""
        return np.exp(rng.uniform(-2.5, 1.0, size)) * rng.standard_normal(size)

    for step in range(warm_up + kept):
        v = wide(s2) / w
        twice, root = 2 * (v + spare), np.sqrt(v.take(ends_at))
        now = likelihood(b, a)
        # given z, b of a method and a of a table with scores at an end hardly move
        for which in (2, 1):
            old, prior, spread = (b, mu[:, None], tb2[:, None]) if which == 2 else (a, 0.0, ta2[:, None])
            new = old + moved(old.shape)
            then = likelihood(*((new, a) if which == 2 else (b, new)))
            gain = (then - now).sum(axis=which) + ((old - prior) ** 2 - (new - prior) ** 2) / (2 * spread)
            taken = np.log(rng.uniform(size=old.shape)) < gain
            b, a = (np.where(taken, new, b), a) if which == 2 else (b, np.where(taken, new, a))
            now = np.where(np.expand_dims(taken, which), then, now)
        centre = b[:, :, None] + a[:, None, :]
        z = normal(centre / v + x_over, 1 / v + one_over)
        z = np.where(as_it_is, x, z)
        # beyond an end, z is a truncated normal, drawn by its distribution function on the log scale
        inside = now.take(ends_at) - rng.standard_exponential(len(side))
        z.put(ends_at, centre.take(ends_at) + side * root * ndtri_exp(inside))
        w = rng.standard_gamma((NU + 1) / 2, mask.shape) / ((NU + (z - centre) ** 2 / wide(s2)) / 2)
        w = np.where(mask, w, 1.0)
        weight = np.where(mask, w, 0.0) / wide(s2)
        b = normal((weight * (z - a[:, None, :])).sum(axis=2) + (mu / tb2)[:, None],
                   weight.sum(axis=2) + 1 / tb2[:, None])  # fmt: skip
        a = normal((weight * (z - b[:, :, None])).sum(axis=1), weight.sum(axis=1) + 1 / ta2[:, None])
        mu = normal(b.sum(axis=1) / tb2 + PRIOR_MEAN / PRIOR_SD**2, count / tb2 + 1 / PRIOR_SD**2)
        # adding a number to all b and subtracting it from all a changes no score
        c = normal(a.sum(axis=1) / ta2 + (PRIOR_MEAN - mu) / PRIOR_SD**2, tables / ta2 + 1 / PRIOR_SD**2)
        a, b, mu = a - c[:, None], b + c[:, None], mu + c
        squares = (weight * (z - b[:, :, None] - a[:, None, :]) ** 2).sum(axis=(1, 2)) * s2
        s2 = variance(s2, 0, seen_by, squares)
        ta2 = variance(ta2, 1, tables, (a**2).sum(axis=1))
        tb2 = variance(tb2, 2, count, ((b - mu[:, None]) ** 2).sum(axis=1))
        if step < warm_up:
            continue
        k = step - warm_up
        keep_b[k], keep[k] = b - b.mean(axis=1, keepdims=True), np.sqrt(np.stack([s2, ta2, tb2], axis=1))
        t = rng.standard_t(NU, b.shape) * np.sqrt(s2)[:, None]
        new = b + t + (np.sqrt(ta2) * rng.standard_normal(many))[:, None]
        score = 1 - np.exp(new.clip(math.log(TIE), 0.0))
        top = score.max(axis=1, keepdims=True)
        probability += score >= top - TIE
        regret += top - score
        mean_score += score
    shape = (kept, fits, CHAINS)
    draws = (np.moveaxis(k.reshape(*shape, -1), 0, 2) for k in (keep_b, keep))
    means = (m.reshape(fits, CHAINS, count).mean(axis=1) / kept for m in (probability, regret, mean_score))
    return Posterior(*draws, *means)


@dataclass(frozen=True)
class About:
    """The origin of the tables, and words for the sentences.

    * ``fresh``: whether every split is a new table, drawn independently.
    * ``reference``: the method that is 1 on the scale, or "" for that of the kind of model.
    * ``tuning``: a sentence on the settings.
    * ``limits``: a sentence on what cannot be known.
    """

    fresh: bool = False
    reference: str = ""
    tuning: str = ""
    limits: str = ""


@dataclass(frozen=True)
class Winner:
    """The winner of one task at one epsilon.

    * ``methods``: first on the next table, all within ``NEAR`` of the highest probability.
    * ``without``: data set that is left out -> methods that are then first, only if none of ``methods`` is.
    * ``probability``, ``regret``: of the first method.
    * ``why``: reason why there is no general advice. All other fields are then empty.
    """

    methods: tuple[str, ...] = ()
    without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probability: float = math.nan
    regret: float = math.nan
    tables: int = 0
    why: str = ""

    @property
    def stable(self) -> bool:
        """Whether one of the methods is still first when any one data set is left out."""
        return bool(self.methods) and not self.without

    @property
    def every(self) -> tuple[str, ...]:
        """The set of methods that are first with all data sets, or without one of them."""
        return tuple(dict.fromkeys([*self.methods, *(m for found in self.without.values() for m in found)]))


@dataclass(frozen=True, eq=False)
class Fitted:
    """Scores of one task at one epsilon, and posteriors by method and data set left out (``COLUMNS``)."""

    scores: Scores
    frame: pd.DataFrame
    winner: Winner


def winner(frame: pd.DataFrame) -> Winner:
    """The winner, from the rows of one task and epsilon of the table of posteriors. Every page uses this function."""
    first: dict[str, tuple[str, ...]] = {}
    for without, rows in frame.groupby("without", sort=False):
        rows = rows.sort_values("probability", ascending=False, kind="stable")
        first[without] = tuple(rows.loc[rows["probability"] > rows["probability"].max() - NEAR, "method"])
    top = frame[frame["without"] == ""].sort_values("probability", ascending=False, kind="stable").iloc[0]
    changed = {w: found for w, found in first.items() if not set(found) & set(first[""])}
    return Winner(first[""], changed, float(top["probability"]), float(top["regret"]), int(top["tables"]))


@cache
def committed() -> pd.DataFrame:
    """The committed table of posteriors. Raises FileNotFoundError if there is none, ValueError as :func:`checked`."""
    path = HERE / "reference" / NAME
    frame = pd.read_csv(path, dtype={"epsilon": str, "without": str}, keep_default_na=False,
                        na_values={c: [""] for c in NUMBERS})  # fmt: skip
    return checked(frame, path)


def checked(frame: pd.DataFrame, where: Path) -> pd.DataFrame:
    """The table of posteriors. Raises ValueError, which names ``where``, for a number that is not finite.

    Two columns may be empty: ``mean`` if no score was read, and ``there`` if there is no score on the table left out.
    """
    numbers = frame[[*NUMBERS, "ess"]].astype(float)
    finite = np.isfinite(numbers)
    finite["mean"] |= numbers["mean"].isna() & (frame["scored"] == 0)
    finite["there"] |= numbers["there"].isna()
    for column in numbers.columns[~finite.all()]:
        row = frame[~finite[column]].iloc[0]
        at = ", ".join(str(row[c]) for c in ("task", "epsilon", "without", "method") if row[c])
        raise ValueError(
            f"{where}: {column} of {at} is not finite; make it anew with `python -m reports.build derived`"
        )
    return frame


def table(families: Sequence[Family]) -> pd.DataFrame:
    """Posteriors of all tasks with general advice, columns ``COLUMNS``. Experiments of one task are combined."""
    every = [(f, epsilon, scores_of(f, epsilon, About())) for f, _ in tasks(families) for epsilon in f.epsilons]
    found = [_posterior(*each) for each in every if not _no_advice(each[0], each[2], About())]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)


@cache
def fit(family: Family, epsilon: str, about: About | None = None) -> Fitted:
    """Scores, posterior and winner of one task at one epsilon. The frame is empty if there is no general advice.

    If the scores are the committed ones, the posterior is read from the committed table.
    """
    about = about or About()
    scores = scores_of(family, epsilon, about)
    why = _no_advice(family, scores, about)
    if why:
        return Fitted(scores, pd.DataFrame(columns=COLUMNS), Winner(tables=len(scores.tables), why=why))
    frame = None if about != About() else _committed_of(family, epsilon, scores)
    frame = _posterior(family, epsilon, scores) if frame is None else frame
    return Fitted(scores, frame, winner(frame))


def _committed_of(family: Family, epsilon: str, scores: Scores) -> pd.DataFrame | None:
    """The committed rows of one task and epsilon, if they belong to these scores to all digits.

    A score may be missing, on both sides.
    """
    if not (HERE / "reference" / NAME).is_file():
        return None
    frame = committed()
    frame = frame[(frame["task"] == family.task) & (frame["epsilon"] == epsilon)].reset_index(drop=True)
    there = frame[frame["without"] != ""].pivot(index="without", columns="method", values="there")
    whole = frame[frame["without"] == ""].set_index("method")
    rated = [m for m, y in zip(scores.methods, scores.counted, strict=True) if np.isfinite(y).any()]
    if set(there.index) != set(scores.sets) or set(whole.index) != set(rated):
        return None
    mine = pd.DataFrame(scores.counted, scores.methods, scores.sets).loc[rated]
    theirs = there.T.loc[rated, mine.columns]
    same = ((theirs - mine).abs() <= 2e-4) | (theirs.isna() & mine.isna())
    return (
        frame if same.to_numpy().all() and all(scores.settings[m] == whole.loc[m, "settings"] for m in rated) else None
    )


def _posterior(family: Family, epsilon: str, scores: Scores) -> pd.DataFrame:
    """Fits with all data sets and without each of them, columns ``COLUMNS``."""
    rated = [i for i in range(len(scores.methods)) if np.isfinite(scores.counted[i]).any()]
    y, s = scores.counted[rated], scores.s[rated]
    seen = ~np.isnan(y)
    sets = scores.named
    left = [np.array([d != out for d in scores.sets]) for out in ("", *sets)]
    # a fit without a data set sees a method only if another has its score
    found = sample(y, s, np.stack([seen & columns for columns in left]))
    rows = [_row(family, epsilon, scores, rated, found, k, out) for k, out in enumerate(["", *sets])]
    return pd.DataFrame([r for part in rows for r in part], columns=COLUMNS)


def _no_advice(family: Family, scores: Scores, about: About) -> str:
    if not scores.scaled:
        return "there is no common scale, because " + ends(family, family.datasets[0], about)[2]
    if len(scores.tables) < FEWEST_TABLES:
        n = len(scores.tables)
        return f"{n} table{'s are' if n > 1 else ' is'} too few, at least {FEWEST_TABLES} are needed"
    if np.isfinite(scores.counted).any(axis=1).sum() < 2:
        return "fewer than two methods have a score"
    return ""


def _row(
    family: Family, epsilon: str, scores: Scores, rated: Sequence[int], found: Posterior, k: int, without: str
) -> list[dict[str, Any]]:
    """Rows of one fit, the highest probability first."""
    out = []
    on = np.array([d == without for d in scores.sets])
    for i in np.argsort(-found.probability[k], kind="stable"):
        m = rated[i]
        counted = np.isfinite(scores.counted[m])
        y, there = scores.y[m][counted & ~on], scores.y[m][counted & on]
        rhat, ess = convergence(found.b[k, :, :, i])
        row = {"task": family.task, "epsilon": epsilon, "without": without, "tables": int((~on).sum())}
        row |= {"method": scores.methods[m], "settings": scores.settings[scores.methods[m]], "scored": len(y)}
        row |= {"probability": found.probability[k, i], "regret": found.regret[k, i], "score": found.score[k, i]}
        row |= {"mean": y.mean() if len(y) else math.nan, "there": there.mean() if len(there) else math.nan}
        row |= {"rhat": rhat, "ess": round(ess)}
        out.append(row)
    return [r | {c: round(float(r[c]), 4) for c in NUMBERS} for r in out]


def convergence(draws: np.ndarray) -> tuple[float, float]:
    """Split R-hat and effective sample size of draws (chains, draws), as in Stan.

    Raises ValueError for draws that are not finite or never move.
    """
    half = draws.shape[1] // 2
    x = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    chains, n = x.shape
    if not (np.isfinite(x).all() and (within := x.var(axis=1, ddof=1).mean()) > 0):
        raise ValueError("best: the draws of a method are not finite or never move; check its scores and their errors")
    total = (n - 1) / n * within + x.mean(axis=1).var(ddof=1)
    centred = x - x.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    autocovariance = np.fft.irfft(power, axis=1)[:, :n].mean(axis=0) / n
    rho = 1 - (within - autocovariance) / total
    pairs = rho[1 : 1 + 2 * ((n - 1) // 2)].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    pairs = np.minimum.accumulate(pairs)
    return math.sqrt(total / within), min(chains * n / max(1 + 2 * pairs[:stop].sum(), 1e-9), float(chains * n))


def scores_of(family: Family, epsilon: str, about: About) -> Scores:
    """Scores of all private methods of a task at one epsilon, in the metric's own unit if no data set has ends."""
    metric = metric_of(family)
    sign = 1.0 if higher(metric) else -1.0
    scale = {d: ends(family, d, about) for d in family.datasets}
    sets = [d for d in family.datasets if not scale[d][2]]
    scaled = bool(sets)
    sets = sets or list(family.datasets)
    if not about.fresh:
        sets = _one_per_file(sets)
    columns = {
        t: {a.method + "|" + label(a): a for a in compare.competitors(family, (epsilon, t))} for t in (False, True)
    }
    names = list(dict.fromkeys([*columns[True], *columns[False]]))
    tables = [(d, k) for d in sets for k in (_splits(family, d, scale[d]) if about.fresh else [""])]
    why: dict[tuple[str, str], str] = {}
    lost = _lost(family)

    def score(arm: Arm | None, dataset: str, split: str) -> tuple[float, float, int]:
        if arm is None:
            return math.nan, 0.0, 0
        values = family.values.get((dataset, arm, metric), {})
        status, reason = family.status.get((dataset, arm), ("not run", ""))
        if not values and status in ("failed", "diverged") and scaled:
            return 0.0, 0.0, 0
        if not values:
            why[arm.method, dataset] = f"{status.replace('_', ' ')}: {reason}" if reason else status.replace("_", " ")
            return math.nan, 0.0, 0
        if not scaled:
            found = [*values.values()]
        else:
            zero, one = (family.values[dataset, a, metric] for a in scale[dataset][:2])
            width = sign * mean_std(one[k] - zero[k] for k in one if k in zero)[0]
            on = [k for k in values if k in one and split in ("", k)]
            found = [max(0.0, 1 - sign * (one[k] - values[k]) / width) for k in on]
            source, _ = family.defaults.get((dataset, arm), (arm, ""))
            bad = lost.get((dataset, source.method, source.setting), set()) - set(values)
            found += [0.0 for k in bad if split in ("", k)]
        mean, sd, n = mean_std(found)
        return (mean, error_of(sd, n), n) if n else (math.nan, 0.0, 0)

    methods, arms, settings, cells, looks = [], {}, {}, [], []
    for name in names:
        plain, tuned = ([score(columns[t].get(name), d, k) for d, k in tables] for t in (False, True))
        method = (columns[True].get(name) or columns[False][name]).method
        looks.append([looked_at(method, family.kind, d) for d, _ in tables])
        both = [
            (a[0], b[0])
            for a, b, out in zip(plain, tuned, looks[-1], strict=True)
            if math.isfinite(a[0] + b[0]) and not out
        ]
        take = columns[True].get(name) is not None and (
            name not in columns[False] or not both or sum(b - a for a, b in both) * (1.0 if scaled else sign) >= 0
        )
        arm = columns[take][name]
        own = label(arm)
        key = arm.method + (f", {own}" if own else "")
        methods.append(key)
        arms[key] = arm
        settings[key] = "tuned" if take and any(not family.mark(d, arm) for d in sets) else "default"
        cells.append(tuned if take else plain)
    found = np.array(cells, dtype=float).reshape(len(methods), len(tables), 3)
    return Scores(
        tuple(methods), arms, settings, tuple(d for d, _ in tables), tuple(k for _, k in tables), scaled,
        found[..., 0], found[..., 1], found[..., 2].astype(int),
        np.array(looks, dtype=bool).reshape(found.shape[:2]), why,
    )  # fmt: skip


def _one_per_file(sets: Sequence[str]) -> list[str]:
    """The data sets without those that share raw files with an earlier one. Their rows would count twice."""
    first = {get(d).folder or d: d for d in reversed(sets)}
    return [d for d in sets if first[get(d).folder or d] == d]


def _lost(family: Family) -> dict[tuple[str, ...], set[str]]:
    """(data set, method, setting) -> splits on which the fit failed or diverged. A refusal does not count."""
    rows = family.scores
    rows = rows[rows["status"].isin(["failed", "diverged"]) & (rows["split"] != "")]
    rows = rows[~rows["reason"].str.startswith(REFUSALS)]
    return {key: set(of) for key, of in rows.groupby(["dataset", "method", "setting"])["split"]}


def _splits(family: Family, dataset: str, scale: tuple[Arm | None, Arm | None, str]) -> list[str]:
    """Splits on which both methods at the ends of the scale have a score."""
    metric = metric_of(family)
    one = [family.values.get((dataset, a, metric), {}) for a in scale[:2] if a is not None]
    return [k for k in one[0] if all(k in v for v in one)] if one else [""]


def looked_at(method: str, kind: str, dataset: str) -> bool:
    """Whether this data set was looked at while the method was designed.

    A table whose target is cut (``datasets.cut``) counts as looked at if a leak of the method, for any kind of model,
    names the whole table.
    """
    found = adapter(method, kind)
    if found is not None and any(e.kind is LeakKind.TUNED and e.applies(dataset, kind) for e in found.leaks):
        return True
    kinds = [k for k, name in contract.pairs() if name == method] if dataset.endswith(cut.SUFFIX) else []
    whole = dataset.removesuffix(cut.SUFFIX)
    leaks = [e for k in kinds for e in contract.get(method, k).leaks]
    return any(e.kind is LeakKind.TUNED and whole in e.datasets for e in leaks)


def metric_of(family: Family) -> str:
    """The log-likelihood, which every task has, or else the last metric that is compared."""
    return family.metrics[-1]


def ends(family: Family, dataset: str, about: About) -> tuple[Arm | None, Arm | None, str]:
    """(method at 0, method at 1, "") of the scale on a data set, or why it has none (``comparisons.ends``)."""
    metric = metric_of(family)
    if not about.fresh and not about.reference:
        return compare.ends(family, dataset, metric)
    start, end = compare.zero(family), compare.reference(family, dataset, metric)
    if about.reference:
        named = (a for a in family.arms if a.method == about.reference and not a.epsilon)
        end = next((a for a in named if (dataset, a, metric) in family.values), None)
    if start is None or end is None or (dataset, start, metric) not in family.values:
        return start, end, "the control or the reference without privacy has no score"
    d = compare.gap(family, dataset, metric, end, start, THESE_ROWS if about.fresh else RATIO_90_10)
    if d is None or not d.significant or d.difference < 0:
        kind = family.kind
        return start, end, f"{title(end.method, kind)} is not significantly better than {title(start.method, kind)}"
    return start, end, ""


def error_of(sd: float, n: int) -> float:
    """Standard error of a mean of n splits, 0 for one split.

    It is scaled for few splits, which estimate a spread badly. So 1.96 of it are half of the t interval.
    """
    return _student(n - 1) / _NORMAL * sd / math.sqrt(n) if n > 1 else 0.0


@cache
def _student(df: int) -> float:
    from scipy.stats import t

    return float(t.ppf(0.975, df))
