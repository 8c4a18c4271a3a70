"""The sentences of "Which method should I take?", each derived anew from the committed scores by other code.

Plain pandas on ``reports.committed.read``, the configs and the tuned settings; what is expected uses nothing of
``reports/common_*``. The page has to say the same, word by word: who is best in a column, by how much, what is not
separated, how many data sets an average rests on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import t as student

from methods import contract
from methods.contract import Role
from models.kind import kind as kind_of
from reports import committed, common_page, common_scores
from reports.config import load
from reports.tables import dataset_title

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "reports" / "reference"
TASKS = ("linear_regression", "logistic_regression", "density", "network")
WORDS = {"rmse": "test RMSE", "test_error": "test error", "test_log_likelihood": "test log-likelihood"}
LARGE_IS_GOOD = {"rmse": False, "test_error": False, "test_log_likelihood": True}
#: (heading of a column, heading below it) -> the items there, each a text.
Said = dict[tuple[str, str], list[str]]


def experiment(task: str) -> Path:
    return ROOT / "config" / "experiments" / f"common_{task}.yaml"


class Task:
    """The committed scores of one task, by cell."""

    def __init__(self, task: str) -> None:
        self.config = yaml.safe_load(experiment(task).read_text(encoding="utf-8"))
        self.kind = self.config["model"]["kind"]
        scores = committed.read(REFERENCE, f"common_{task}")
        scores = scores[~scores["setting"].str.startswith("ablation")]
        self.sets = [d for d in self.config["datasets"] if d in set(scores["dataset"])]
        ok = scores[scores["status"] == "ok"]
        ok = ok.assign(value=ok["value"].astype(float))
        cells = ["dataset", "method", "setting"]
        self.scores = {
            key: pd.Series(rows["value"].to_numpy(), index=rows["split"])
            for key, rows in ok.groupby([*cells, "metric"], sort=False)
        }
        once = ok[(ok["split"] != "") & (ok["seconds"] != "")].drop_duplicates([*cells, "split"])
        self.seconds = once.assign(s=once["seconds"].astype(float)).groupby(cells)["s"].mean().to_dict()
        refused = (scores["status"] == "failed") & scores["reason"].str.match("MethodError: |BudgetExceeded: ")
        said = scores["status"].mask(refused, "refused").groupby([scores[c] for c in cells])
        self.status = said.agg(lambda s: "ok" if "ok" in set(s) else s.iloc[0]).to_dict()
        assert set(self.status.values()) <= {"ok", "refused", "not_supported"}  # a method that failed would rank last
        self.metrics = [m for m in WORDS if any(key[3] == m for key in self.scores)]
        tuned = self.config.get("tuned")
        self.tuned = json.loads((ROOT / tuned).read_text(encoding="utf-8")) if tuned else {}
        found = {re.fullmatch(r"(tuned;)?epsilon=(.+)", setting) for _, _, setting in self.status}
        self.columns = sorted({(m[2], bool(m[1])) for m in found if m}, key=lambda c: (float(c[0]), c[1]))

    def title(self, method: str) -> str:
        return contract.get(method, self.kind).title

    def is_yardstick(self, method: str) -> bool:
        return contract.get(method, self.kind).role is not Role.METHOD

    def cells(self, epsilon: str, tuned: bool) -> dict[tuple[str, str], tuple[str, str]]:
        """(data set, method) of one column -> (setting of its cell, mark): methods first, then yardsticks, by title.

        In a tuned column: the tuned cell; the default where the tuning chose it or had nothing to choose from.
        """
        out = {}
        for dataset, method, setting in self.status:
            if setting != f"epsilon={epsilon}" or contract.get(method, self.kind).privacy is None:
                continue
            if not tuned:
                out[dataset, method] = setting, ""
                continue
            tried = self.tuned.get(dataset, {}).get(method, {}).get(epsilon)
            if (dataset, method, f"tuned;{setting}") in self.status:
                out[dataset, method] = f"tuned;{setting}", ""
            elif tried is None:
                grid = contract.get(method, self.kind).grid
                out[dataset, method] = setting, "default, not tuned" if grid else "default, no grid"
            elif not tried["settings"]:
                out[dataset, method] = setting, "default"
        order = {key: (self.is_yardstick(key[1]), self.title(key[1]).lower()) for key in out}
        return {key: out[key] for key in sorted(out, key=lambda k: (self.sets.index(k[0]), order[k]))}


class Column:
    """What the page should say of one task at one epsilon."""

    def __init__(self, task: Task, epsilon: str, tuned: bool) -> None:
        self.task = task
        self.found = task.cells(epsilon, tuned)
        order = {m: (task.is_yardstick(m), task.title(m).lower()) for _, m in self.found}
        self.methods = sorted(order, key=order.__getitem__)
        self.heading = f"Epsilon = {epsilon}" + (", tuned on a public stand-in" if tuned else "")

    # --- numbers

    def scores(self, dataset: str, method: str, metric: str) -> pd.Series | None:
        setting = self.found.get((dataset, method), ("", ""))[0]
        return self.task.scores.get((dataset, method, setting, metric))

    def compared(self, dataset: str, metric: str) -> dict[str, pd.Series]:
        """Scores of all private methods and yardsticks that have one."""
        every = {m: self.scores(dataset, m, metric) for m in self.methods}
        return {m: s for m, s in every.items() if s is not None}

    def best(self, dataset: str, metric: str) -> str | None:
        """The argmax of the mean score, the argmin where small is good."""
        means = pd.Series({m: s.mean() for m, s in self.compared(dataset, metric).items()}, dtype=float)
        if means.empty:
            return None
        return means.idxmax() if LARGE_IS_GOOD[metric] else means.idxmin()

    # --- words

    def name(self, method: str, datasets: Iterable[str] = (), marked: bool = True) -> str:
        marks = [self.found.get((d, method), ("", ""))[1] for d in datasets] if marked else []
        given = [m for m in marks if m]
        mark = ""
        if given:
            mark = given[0] if len(set(given)) == 1 else "default"
            mark = mark if len(given) == len(marks) else f"default on {len(given)} of {len(marks)}"
        words = ", ".join(filter(None, ("yardstick" if self.task.is_yardstick(method) else "", mark)))
        return self.task.title(method) + (f" ({words})" if words else "")

    def rank(self, metric: str) -> list[str]:
        found = average_ranks(self, metric)
        if len(found) < 2:
            return []
        sets = [d for d in self.task.sets if self.compared(d, metric)]
        (first, r), *others = found.items()
        same = [self.name(m) for m, o in others if abs(o[0] - r[0]) < 1e-9]
        tie = f"; the same average rank: {', '.join(same)}" if same else ""
        reach = [self.name(m) for m, o in others if o[1] <= r[2]]
        tail = "; sets that reach into it: " + ", ".join(reach) if reach else "; no other set reaches into it"
        tail = "; the sets of all others reach into it" if len(reach) == len(others) else tail
        count = f"{len(sets)} data set" + ("s" if len(sets) > 1 else "")
        return [
            f"By {WORDS[metric]} over {count}, {self.name(first, sets)} has the best average rank, {r[0]:.3g} of "
            f"{len(found)} (confidence set {r[1]:.3g} to {r[2]:.3g}){tie}{tail}."
        ]

    def winner(self, dataset: str, metric: str) -> list[str]:
        first = self.best(dataset, metric)
        if first is None:
            return []
        rivals = self.compared(dataset, metric)
        mine = rivals.pop(first)
        start, score = f"On {dataset_title(dataset)}, {self.name(first, [dataset])}", of(metric, mine.mean())
        if not rivals:
            said = f"{start} is the only private method with a {WORDS[metric]}: {score}."
        else:
            gaps = {m: ahead(mine, s, metric, 0.05 / len(rivals)) for m, s in rivals.items()}
            near = [self.name(m, [dataset]) for m, (_, low, _) in gaps.items() if not low > 0]
            said = f"{start} has the best {WORDS[metric]}: {score}"
            if len(near) == len(rivals):
                said += "; no other private method is separated from it."
            elif near:
                said += f"; not separated from it: {', '.join(near)}."
            else:
                second = min(gaps, key=lambda m: gaps[m][0])
                gap, low, high = between(metric, ahead(mine, rivals[second], metric, 0.05))
                said += f", better than {self.name(second, [dataset])}, the next, by {gap} ({low} to {high}), and "
                said += "separated from every other private method."
        return [" ".join([said, *self.against_reference(dataset, metric, mine)])]

    def against_reference(self, dataset: str, metric: str, mine: pd.Series) -> list[str]:
        names = sorted(kind_of(self.task.kind).references, key=lambda m: self.task.title(m).lower())
        scored = [m for m in names if (dataset, m, "", metric) in self.task.scores]
        if not scored:
            return []
        d = ahead(self.task.scores[dataset, scored[0], "", metric], mine, metric, 0.05)
        name = f"{self.task.title(scored[0])}, which has no privacy"
        if d[1] > 0:
            gap, low, high = between(metric, d)
            return [f"That is worse than {name}, by {gap} ({low} to {high})."]
        if d[2] < 0:
            gap, low, high = between(metric, (-d[0], -d[2], -d[1]))
            return [f"That is better than {name}, by {gap} ({low} to {high})."]
        return [f"It is not separated from {name}."]

    def losers(self, metric: str) -> list[str]:
        task = self.task
        free = {m for _, m, setting in task.status if setting == ""} - set(kind_of(task.kind).references)
        trivial = sorted(m for m in free if contract.get(m, task.kind).role is Role.CONTROL)
        private = sorted(m for m in self.methods if task.is_yardstick(m))
        methods = [m for m in self.methods if not task.is_yardstick(m)]
        lost: dict[str, dict[str, list[str]]] = {y: {} for y in (*trivial, *private)}
        for d in task.sets:
            marks = {y: task.scores.get((d, y, "", metric)) for y in trivial}
            marks |= {y: self.scores(d, y, metric) for y in private}
            marks = {y: s for y, s in marks.items() if s is not None}
            for m in methods:
                mine = self.scores(d, m, metric)
                for y in marks if mine is not None else ():
                    if ahead(marks[y], mine, metric, 0.05 / len(marks))[1] > 0:
                        lost[y].setdefault(m, []).append(dataset_title(d))
        out = []
        for y, found in lost.items():
            items = ", ".join(f"{task.title(m)} ({', '.join(sets)})" for m, sets in found.items())
            what = (
                f"{task.title(y)}, which looks at no input" if y in trivial else f"{self.name(y)} at the same epsilon"
            )
            out += [f"By {WORDS[metric]}, worse for certain than {what}: {items}."] if found else []
        scored = [m for m in methods if any(self.scores(d, m, metric) is not None for d in task.sets)]
        if not out and (trivial or private) and scored:
            names = ", ".join(self.name(m) for m in scored)
            out = [f"By {WORDS[metric]}, no method is worse for certain than a yardstick; compared: {names}."]
        return out

    def means(self, what: Callable[[str, str, str], float | None]) -> dict[str, pd.Series]:
        """method -> data set -> ``what(data set, method, setting)`` where there is any."""
        out = {}
        for m in self.methods:
            here = {d: what(d, m, self.found[d, m][0]) for d in self.task.sets if (d, m) in self.found}
            here = pd.Series({d: v for d, v in here.items() if v is not None}, dtype=float)
            out |= {} if here.empty else {m: here}
        return out

    def intervals(self) -> list[str]:
        task, close, narrow, wide = self.task, [], [], []

        def mean_of(metric):
            return lambda d, m, s: task.scores[d, m, s, metric].mean() if (d, m, s, metric) in task.scores else None

        for m, share in self.means(mean_of("coverage_90")).items():
            low, high = share.idxmin(), share.idxmax()
            if share[low] < 0.90 - 0.05:
                narrow.append(f"{self.name(m, [low])} {share[low]:.0%} on {dataset_title(low)}")
            if share[high] > 0.90 + 0.05:
                wide.append(f"{self.name(m, [high])} {share[high]:.0%} on {dataset_title(high)}")
            if len(share) == len(task.sets) and ((share >= 0.90 - 0.05) & (share <= 0.90 + 0.05)).all():
                close.append(self.name(m, task.sets))
        out = [f"90% intervals within 5 percentage points of their level on every data set: {', '.join(close)}."]
        out = out if close else []
        for words, items in (("narrow", narrow), ("wide", wide)):
            told = f"90% intervals too {words} by more than 5 percentage points on some data set, at worst covering: "
            out += [f"{told}{', '.join(items)}."] if items else []
        errors = self.whole(self.means(mean_of("expected_calibration_error")))
        if len(errors) > 1:
            (first, low), (last, high) = self.ends(errors)
            out.append(
                f"Smallest expected calibration error, mean over the data sets: {first}, {low}; "
                f"largest: {last}, {high}."
            )
        return out

    def whole(self, found: dict[str, pd.Series]) -> pd.Series:
        """Mean over the data sets of the methods that have all of them."""
        return pd.Series({m: s.mean() for m, s in found.items() if len(s) == len(self.task.sets)}, dtype=float)

    def ends(self, found: pd.Series) -> list[tuple[str, str]]:
        return [(self.name(m, self.task.sets), f"{found[m]:.3g}") for m in (found.idxmin(), found.idxmax())]

    def cost(self) -> list[str]:
        spent, out = self.whole(self.means(lambda *cell: self.task.seconds.get(cell))), []
        if len(spent) > 1:
            (first, low), (last, high) = self.ends(spent)
            out.append(f"Seconds a fit, mean over the data sets: from {low} ({first}) to {high} ({last}).")
        items = []
        for m in self.methods:
            bad = {d: self.task.status[d, m, self.found[d, m][0]] for d in self.task.sets if (d, m) in self.found}
            bad = {dataset_title(d): s.replace("_", " ") for d, s in bad.items() if s != "ok"}
            items += (
                [f"{self.task.title(m)} ({', '.join(dict.fromkeys(bad.values()))} on {', '.join(bad)})"] if bad else []
            )
        return [*out, *([f"Without a score: {', '.join(items)}."] if items else [])]

    def said(self) -> Said:
        out = {}
        for metric in self.task.metrics:
            texts = [*self.rank(metric), *(s for d in self.task.sets for s in self.winner(d, metric))]
            out[self.heading, WORDS[metric].replace("test", "Test", 1)] = [*texts, *self.losers(metric)]
        out[self.heading, "Intervals and calibration"] = self.intervals()
        out[self.heading, "Cost"] = self.cost()
        return {key: texts for key, texts in out.items() if texts}


@cache
def quantile(p: float, df: int) -> float:
    return float(student.ppf(p, df))


def ahead(a: pd.Series, b: pd.Series, metric: str, alpha: float) -> tuple[float, float, float]:
    """By how much a is better than b, with the corrected paired interval for splits of nine tenths and one tenth."""
    both = a.index.intersection(b.index)
    d = (a[both].to_numpy() - b[both].to_numpy()) * (1 if LARGE_IS_GOOD[metric] else -1)
    half = quantile(1 - alpha / 2, len(d) - 1) * d.std(ddof=1) * math.sqrt(1 / len(d) + 1 / 9) if len(d) > 1 else np.inf
    return float(d.mean()), float(d.mean() - half), float(d.mean() + half)


def average_ranks(column: Column, metric: str) -> dict[str, tuple[float, float, float]]:
    """method -> (average rank, bounds of its confidence set), best first, of those with a score on every data set."""
    fields = [f for f in (column.compared(d, metric) for d in column.task.sets) if f]
    names = [m for m in column.methods if fields and all(m in f for f in fields)]
    rows = []
    for f in fields:
        for m in names:
            gaps = [ahead(f[m], f[o], metric, 0.05 / len(fields) / max(1, len(names) - 1)) for o in names if o != m]
            rank = 1 + sum(g < 0 for g, _, _ in gaps) + sum(g == 0 for g, _, _ in gaps) / 2
            low = 1 + sum(high < 0 for _, _, high in gaps)
            rows.append((m, rank, low, len(names) - sum(low > 0 for _, low, _ in gaps)))
    if not rows:
        return {}
    means = pd.DataFrame(rows, columns=["m", "rank", "low", "high"]).groupby("m", sort=False).mean()
    means = means.loc[names].sort_values("rank", kind="stable")
    return {m: tuple(map(float, r)) for m, r in zip(means.index, means.to_numpy(), strict=True)}


def of(metric: str, value: float) -> str:
    units = {"rmse": "units of the target", "test_log_likelihood": "nats a row"}
    return f"{100 * value:.3g} %" if metric == "test_error" else f"{value:.3g} {units[metric]}"


def between(metric: str, d: tuple[float, float, float]) -> tuple[str, str, str]:
    if metric != "test_error":
        return of(metric, d[0]), f"{d[1]:.3g}", f"{d[2]:.3g}"
    return f"{100 * d[0]:.3g} percentage points", f"{100 * d[1]:.3g}", f"{100 * d[2]:.3g}"


def in_short(task: Task) -> list[str]:
    out = []
    for metric in task.metrics:
        firsts = []
        for epsilon in dict.fromkeys(e for e, _ in task.columns):
            column = Column(task, epsilon, False)
            found = average_ranks(column, metric)
            if found:
                (first, r), *others = found.items()
                near = sum(o[1] <= r[2] for _, o in others)
                told = f"not told apart from {near} of {len(others)} others" if near else "told apart from all others"
                same = [column.name(m) for m, o in others if abs(o[0] - r[0]) < 1e-9]
                told = (f"the same rank: {', '.join(same)}; " if same else "") + told
                firsts.append(f"{column.name(first)} at epsilon = {epsilon} ({told})")
        if firsts:
            out.append(f"By {WORDS[metric]}, the best average rank has {', '.join(firsts)}.")
    return out


def expected(task: Task) -> Said:
    out = {("", ""): in_short(task)}
    for column in task.columns:
        out |= Column(task, *column).said()
    return out


def page(task: str, **changes) -> Said:
    """What the page says of one task; ``changes`` of its config."""
    family = common_scores.read(load(experiment(task)) | changes, committed.read(REFERENCE, f"common_{task}"))
    (section,) = common_page.sections([family])
    out = {("", ""): [s.text for s in section.short]}
    for heading, parts in section.columns:
        out |= {(heading, title): [" ".join(s.text for s in item) for item in items] for title, items in parts}
    return out


@pytest.fixture(scope="module", params=TASKS)
def task(request):
    return request.param, Task(request.param)


def test_every_sentence_follows_from_the_committed_scores(task):
    name, scores = task
    said, derived = page(name), expected(scores)
    assert list(said) == list(derived)
    for key, texts in derived.items():
        assert said[key] == texts, key
    # in so many words: whoever is said to be the best is, among all that the column has, and data sets are counted
    for column in scores.columns:
        here = Column(scores, *column)
        for metric, words in WORDS.items():
            texts = said.get((here.heading, words.replace("test", "Test", 1)), [])
            best = {dataset_title(d): m for d in scores.sets if (m := here.best(d, metric))}
            firsts = dict(
                re.match(r"On (.+?), (.+?) (?:has the best|is the only)", t).groups() for t in texts if t[:3] == "On "
            )
            assert list(firsts) == list(best)
            assert all(firsts[d].startswith(scores.title(m)) for d, m in best.items())
            counts = [int(n) for t in texts for n in re.findall(r" over (\d+) data set", t)]
            assert all(n == len(best) for n in counts)


def test_a_tuned_column_holds_every_method_of_its_default_column(task):
    """A method is missing on a data set only where the tuning chose settings that were not run: nowhere."""
    _, scores = task
    for epsilon, tuned in scores.columns:
        assert not tuned or set(scores.cells(epsilon, True)) == set(scores.cells(epsilon, False))


def test_adult_at_one_names_dp_sgd():
    """Its default won the tuning; the tuned column once named output perturbation, which is worse."""
    texts = page("logistic_regression")["Epsilon = 1, tuned on a public stand-in", "Test log-likelihood"]
    adult = next(t for t in texts if t.startswith("On Adult"))
    assert adult.startswith("On Adult, DP-SGD (yardstick, default) has the best test log-likelihood: -0.323 nats a row")


def test_a_column_without_the_defaults_is_caught():
    config = {k: v for k, v in load(experiment("density")).items() if k != "tuned"}
    family = common_scores.read(config, committed.read(REFERENCE, "common_density"))
    (section,) = common_page.sections([family])
    said = {h: [" ".join(s.text for s in i) for _, items in parts for i in items] for h, parts in section.columns}
    scores = Task("density")
    for column in scores.columns:
        here = Column(scores, *column)
        texts = [t for part in here.said().values() for t in part]
        assert (said[here.heading] == texts) == (not column[1])
