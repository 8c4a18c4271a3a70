"""The sentences of "Which method should I take?", each derived anew from the committed scores by other code.

Plain pandas on ``workflow.committed.read``, the configs and the tuned settings; what is expected uses nothing of
``common_tasks/``. The page has to say the same, word by word: who is best in a column, by how much, what is not
separated, how many data sets an average rests on and over how many splits; under the law of the data (the interval of
Nadeau and Bengio) and on these rows (the plain paired t interval); with and without the data sets whose printed ranges
are their own extremes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml
from scipy.stats import t as student

import datasets
from common_tasks import advice as common_advice
from common_tasks import page as common_page
from common_tasks import scores as common_scores
from common_tasks.advice import sentences as advice_sentences
from methods import contract
from methods.contract import Role
from models.kind import kind as kind_of
from reports.config import load
from reports.tables import dataset_title
from workflow import committed

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "reports" / "reference"
TASKS = ("linear_regression", "logistic_regression", "density", "network")
WORDS = {"rmse": "test RMSE", "test_error": "test error", "test_log_likelihood": "test log-likelihood"}
#: n_test / n_train in the interval about the law of the data, and what stands in its place for these rows.
LAW, ROWS = 1 / 9, 0.0
#: data sets of each task whose printed ranges are the extremes of the table: inputs, and the target of a regression.
CONDITIONAL = {
    "linear_regression": ["power", "protein"], "logistic_regression": ["abalone"], "density": ["power"],
    "network": ["power", "protein"],
}  # fmt: skip
LARGE_IS_GOOD = {"rmse": False, "test_error": False, "test_log_likelihood": True}
#: (heading of a column, heading below it) -> the items there, each a text.
Said = dict[tuple[str, str], list[str]]


def experiment(task: str) -> Path:
    return ROOT / "common_tasks" / "experiments" / f"common_{task}.yaml"


class Task:
    """The committed scores of one task, by cell."""

    def __init__(self, task: str) -> None:
        self.name = task
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
        once = ok[ok["split"] != ""].drop_duplicates([*cells, "split"])
        self.seconds = {
            clock: once[once[c] != ""].astype({c: float}).groupby(cells)[c].mean().to_dict()
            for clock, c in (("CPU", "cpu_seconds"), ("Wall", "seconds"))
        }
        refused = (scores["status"] == "failed") & scores["reason"].str.match("MethodError: |BudgetExceeded: ")
        said = scores["status"].mask(refused, "refused").groupby([scores[c] for c in cells])
        self.status = said.agg(lambda s: "ok" if "ok" in set(s) else s.iloc[0]).to_dict()
        assert set(self.status.values()) <= {"ok", "refused", "not_supported"}  # a method that failed would rank last
        self.metrics = [m for m in WORDS if any(key[3] == m for key in self.scores)]
        tuned = self.config.get("tuned")
        self.tuned = json.loads((ROOT / tuned).read_text(encoding="utf-8")) if tuned else {}
        found = {re.fullmatch(r"(tuned;)?epsilon=(.+)", setting) for _, _, setting in self.status}
        self.columns = sorted({(m[2], bool(m[1])) for m in found if m}, key=lambda c: (float(c[0]), c[1]))

        self.conditional = [d for d in self.sets if d in CONDITIONAL[task]]

    def on(self, dataset: str) -> str:
        return dataset_title(dataset) + ("*" if dataset in self.conditional else "")

    @property
    def stars(self) -> str:
        return ", ".join(self.on(d) for d in self.conditional)

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
        """Whom the fewest others beat over the splits that both have; the first of them by title."""
        found = self.compared(dataset, metric)
        gaps = {m: [ahead(s, o, metric, 0.05, LAW)[0] for k, o in found.items() if k != m] for m, s in found.items()}
        beaten = {m: sum(g < 0 for g in gap) + sum(g == 0 for g in gap) / 2 for m, gap in gaps.items()}
        return min(beaten, key=beaten.__getitem__) if beaten else None

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

    def first_rank(self, metric: str, sets: list[str]) -> tuple[str, str, str]:
        """(name of the first, its rank with both sets in words, who shares it) over these data sets."""
        law, rows = (average_ranks(self, metric, sets, ratio) for ratio in (LAW, ROWS))
        (first, r), *others = law.items()
        sets = [d for d in sets if self.compared(d, metric)]
        q = rows[first]
        same = [self.name(m) for m, o in others if abs(o[0] - r[0]) < 1e-9]
        on_rows = f"{q[1]:.3g} to {q[2]:.3g}"
        told = f"{r[0]:.3g} of {len(law)} (confidence set {r[1]:.3g} to {r[2]:.3g}; on these rows {on_rows})"
        return self.name(first, sets), told, f"; the same average rank: {', '.join(same)}" if same else ""

    def not_ranked(self, metric: str, sets: list[str]) -> str:
        """Methods with a score on some of these data sets only: an average rank needs all of them."""
        fields = [f for d in sets if (f := self.compared(d, metric))]
        names = [self.name(m) for m in self.methods if 0 < sum(m in f for f in fields) < len(fields)]
        return f"; not ranked, without a score on every data set: {', '.join(names)}" if names else ""

    def rank(self, metric: str) -> list[str]:
        found = average_ranks(self, metric, self.task.sets, LAW)
        if len(found) < 2:
            return []
        sets = [d for d in self.task.sets if self.compared(d, metric)]
        (_, r), *others = found.items()
        reach = [self.name(m) for m, o in others if o[1] <= r[2]]
        tail = "; sets that reach into it: " + ", ".join(reach) if reach else "; no other set reaches into it"
        tail = "; every other set reaches into it" if len(reach) == len(others) else tail
        count = f"{len(sets)} data set" + ("s" if len(sets) > 1 else "")
        counts = [shared(self.compared(d, metric), list(found)) for d in sets]
        pairs = splits(min(map(min, counts)), max(map(max, counts)))
        name, told, tie = self.first_rank(metric, self.task.sets)
        out = f"By {WORDS[metric]} over {count} ({pairs}), {name} has the best average rank, {told}{tie}{tail}"
        out += f"{self.not_ranked(metric, self.task.sets)}."
        rest = [d for d in self.task.sets if d not in self.task.conditional]
        if self.task.conditional and len(average_ranks(self, metric, rest, LAW)) > 1:
            name, told, tie = self.first_rank(metric, rest)
            out += f" Without {self.task.stars}: {name} has the best average rank, {told}{tie}"
            out += f"{self.not_ranked(metric, rest)}."
        return [out]

    def winner(self, dataset: str, metric: str) -> list[str]:
        first = self.best(dataset, metric)
        if first is None:
            return []
        rivals = self.compared(dataset, metric)
        mine = rivals.pop(first)
        start, score = f"On {self.task.on(dataset)}, {self.name(first, [dataset])}", of(metric, mine.mean())
        if not rivals:
            said = f"{start} is the only private method with a {WORDS[metric]}: {score}."
            return [" ".join([said, *self.against_reference(dataset, metric, mine)])]
        near, close = (
            [m for m, s in rivals.items() if not ahead(mine, s, metric, 0.05 / len(rivals), ratio)[1] > 0]
            for ratio in (LAW, ROWS)
        )
        counts = [len(mine.index.intersection(s.index)) for s in rivals.values()]
        pairs, rows = splits(min(counts), max(counts)), f"{len(close) or 'none'} of {len(rivals)} others"
        said = f"{start} has the best {WORDS[metric]}: {score}"
        if len(near) == len(rivals):
            said += "; no other private method with a score there is separated from it "
            said += f"({pairs}; on these rows {rows} are not)."
        elif near:
            names = ", ".join(self.name(m, [dataset]) for m in near)
            said += f"; not separated from it ({pairs}; on these rows {rows}): {names}."
        else:
            second = min(rivals, key=lambda m: ahead(mine, rivals[m], metric, 0.05, LAW)[0])
            said += f", better than {self.name(second, [dataset])}, the next, by "
            said += f"{between(metric, mine, rivals[second], pairs)}, and separated from every other private method "
            said += "with a score there."
        sign = 1 if LARGE_IS_GOOD[metric] else -1
        better = [m for m, s in rivals.items() if sign * s.mean() > sign * mine.mean()]
        if better:
            said += f" That is its mean over {len(mine)} splits. Better means of the table are over other splits; "
            said += f"over the shared ones: {', '.join(self.over_shared(dataset, m, mine, metric) for m in better)}."
        return [" ".join([said, *self.against_reference(dataset, metric, mine)])]

    def over_shared(self, dataset: str, method: str, mine: pd.Series, metric: str) -> str:
        theirs = self.scores(dataset, method, metric)
        shared = theirs[theirs.index.isin(mine.index)].mean()
        words = f"{of(metric, shared)} (in the table {of(metric, theirs.mean())}, {len(theirs)} splits)"
        return f"{self.name(method, [dataset])} {words}"

    def against_reference(self, dataset: str, metric: str, mine: pd.Series) -> list[str]:
        names = sorted(kind_of(self.task.kind).references, key=lambda m: self.task.title(m).lower())
        scored = [m for m in names if (dataset, m, "", metric) in self.task.scores]
        if not scored:
            return []
        theirs = self.task.scores[dataset, scored[0], "", metric]
        _, low, high = ahead(theirs, mine, metric, 0.05, LAW)
        name = f"{self.task.title(scored[0])}, which has no privacy"
        if low > 0:
            return [f"That is worse than {name}, by {between(metric, theirs, mine)}."]
        if high < 0:
            return [f"That is better than {name}, by {between(metric, mine, theirs)}."]
        return [f"It is not separated from {name} and is ahead by {between(metric, theirs, mine)}."]

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
                    if ahead(marks[y], mine, metric, 0.05 / len(marks), LAW)[1] > 0:
                        lost[y].setdefault(m, []).append(task.on(d))
        out = []
        for y, found in lost.items():
            items = ", ".join(f"{task.title(m)} ({', '.join(sets)})" for m, sets in found.items())
            what = (
                f"{task.title(y)}, which looks at no input" if y in trivial else f"{self.name(y)} at the same epsilon"
            )
            out += [f"By {WORDS[metric]}, significantly worse than {what}: {items}."] if found else []
        scored = [m for m in methods if any(self.scores(d, m, metric) is not None for d in task.sets)]
        if not out and (trivial or private) and scored:
            names = ", ".join(self.name(m) for m in scored)
            out = [f"By {WORDS[metric]}, no method is significantly worse than a yardstick; compared: {names}."]
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
                narrow.append(f"{self.name(m, [low])} {share[low]:.0%} on {task.on(low)}")
            if share[high] > 0.90 + 0.05:
                wide.append(f"{self.name(m, [high])} {share[high]:.0%} on {task.on(high)}")
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
        of = self.task.seconds
        cpu, wall = (self.whole(self.means(lambda *cell, c=c: of[c].get(cell))) for c in ("CPU", "Wall"))
        clock, spent = ("CPU", cpu) if len(cpu) == len(wall) else ("Wall", wall)
        out = []
        if len(spent) > 1:
            (first, low), (last, high) = self.ends(spent)
            out.append(f"{clock} seconds a fit, mean over the data sets: from {low} ({first}) to {high} ({last}).")
        items = []
        for m in self.methods:
            bad = {d: self.task.status[d, m, self.found[d, m][0]] for d in self.task.sets if (d, m) in self.found}
            bad = {self.task.on(d): s.replace("_", " ") for d, s in bad.items() if s != "ok"}
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


#: ids of two series -> both (so that no other gets their ids), the mean of their differences, its sd, their number.
PAIRS: dict[tuple[int, int], tuple[pd.Series, pd.Series, float, float, int]] = {}


def differences(a: pd.Series, b: pd.Series) -> tuple[float, float, int]:
    """Mean, standard deviation and number of a - b over the splits of both."""
    if (id(a), id(b)) not in PAIRS:
        both = a.index if a.index.equals(b.index) else a.index.intersection(b.index)
        d = a[both].to_numpy() - b[both].to_numpy()
        PAIRS[id(a), id(b)] = a, b, float(d.mean()), float(d.std(ddof=1)) if len(d) > 1 else math.inf, len(d)
    return PAIRS[id(a), id(b)][2:]


def ahead(a: pd.Series, b: pd.Series, metric: str, alpha: float, ratio: float) -> tuple[float, float, float]:
    """By how much a is better than b over the splits of both, with a paired interval: variance s^2 (1/n + ratio)."""
    mean, sd, n = differences(a, b)
    mean *= 1 if LARGE_IS_GOOD[metric] else -1
    half = quantile(1 - alpha / 2, n - 1) * sd * math.sqrt(1 / n + ratio) if n > 1 else math.inf
    return mean, mean - half, mean + half


def shared(found: dict[str, pd.Series], methods: list[str]) -> list[int]:
    """How many splits every two of these methods share."""
    every = [set(found[m].index) for m in methods if m in found]
    return [len(a & b) for k, a in enumerate(every) for b in every[k + 1 :]]


def splits(least: int, most: int) -> str:
    return (f"{least}" if least == most else f"{least} to {most}") + " splits a pair"


def average_ranks(column: Column, metric: str, sets: list[str], ratio: float) -> dict[str, tuple[float, float, float]]:
    """method -> (average rank, bounds of its confidence set), best first, of those with a score on all these sets."""
    fields = [f for f in (column.compared(d, metric) for d in sets) if f]
    names = [m for m in column.methods if fields and all(m in f for f in fields)]
    alpha, rows = 0.05 / max(1, len(fields)) / max(1, len(names) - 1), []
    for f in fields:
        for m in names:
            gaps = [ahead(f[m], f[o], metric, alpha, ratio) for o in names if o != m]
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


def between(metric: str, a: pd.Series, b: pd.Series, pairs: str = "") -> str:
    """By how much a is better than b, in words: both intervals of level 95 %."""
    (gap, low, high), (_, on, to) = (ahead(a, b, metric, 0.05, ratio) for ratio in (LAW, ROWS))
    share = metric == "test_error"
    by = f"{100 * gap:.3g} percentage points" if share else of(metric, gap)
    ends = [f"{100 * v if share else v:.3g}" for v in (low, high, on, to)]
    tail = f"; {pairs}" if pairs else ""
    return f"{by} ({ends[0]} to {ends[1]}; on these rows {ends[2]} to {ends[3]}{tail})"


def told(column: Column, metric: str, sets: list[str]) -> tuple[str, str] | None:
    """(name of the first, who is not told apart from it) over these data sets."""
    law, rows = (average_ranks(column, metric, sets, ratio) for ratio in (LAW, ROWS))
    if not law:
        return None
    (first, r), *others = law.items()
    near, close = (sum(o[1] <= found[first][2] for m, o in found.items() if m != first) for found in (law, rows))
    same = [column.name(m) for m, o in others if abs(o[0] - r[0]) < 1e-9]
    words = f"not told apart from it: {near} of {len(others)} others, on these rows {close}"
    scored = [d for d in sets if column.compared(d, metric)]
    tail = column.not_ranked(metric, sets)
    return column.name(first, scored), (f"the same rank: {', '.join(same)}; " if same else "") + words + tail


def in_short(task: Task) -> list[str]:
    """By log-likelihood: the tuned column, where effort is equal, and the default beside it; then without the
    conditional data sets."""
    metric, out, rest = "test_log_likelihood", [], []
    for epsilon in dict.fromkeys(e for e, _ in task.columns):
        tuned = (epsilon, True) in task.columns
        column = Column(task, epsilon, tuned)
        name, words = told(column, metric, task.sets)
        effort = "tuned with equal effort" if tuned else "default settings, none is tuned"
        text = f"Epsilon = {epsilon}, {effort}: the best average rank by {WORDS[metric]} has {name}; {words}."
        if tuned:
            text += " Default settings: {}; {}.".format(*told(Column(task, epsilon, False), metric, task.sets))
        out.append(text)
        free = [d for d in task.sets if d not in task.conditional]
        if task.conditional and (found := told(column, metric, free)):
            rest.append(f"{found[0]} at epsilon = {epsilon} ({found[1]})")
    why = "conditional on the ranges printed with the table, which are its extremes"
    return out + (
        [f"Without {task.stars} ({why}), in the same columns: the best average rank has {', '.join(rest)}."]
        if rest
        else []
    )


def expected(task: Task) -> Said:
    out = {("", ""): in_short(task)}
    for epsilon, tuned in sorted(task.columns, key=lambda c: (float(c[0]), not c[1])):  # where effort is equal, first
        out |= Column(task, epsilon, tuned).said()
    return out


@cache
def family(task: str) -> common_scores.Family:
    return common_scores.read(load(experiment(task)), committed.read(REFERENCE, f"common_{task}"))


@cache
def page(task: str) -> Said:
    """What the page says of one task."""
    (section,) = common_page.sections([family(task)])
    out = {("", ""): [s.text for s in section.sentences]}
    for heading, parts in section.details:
        out |= {(heading, title): [" ".join(s.text for s in item) for item in items] for title, items in parts}
    return out


@cache
def headline(task: str) -> str:
    """What the front page says of one task."""
    return advice_sentences.best(common_advice.Standings(family(task), common_advice.About()))


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
            best = {scores.on(d): m for d in scores.sets if (m := here.best(d, metric))}
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


def test_the_headline_is_the_tuned_column_with_the_default_beside_it(task):
    _, scores = task
    lines = in_short(scores)
    tuned = {e for e, t in scores.columns if t}
    assert sum("tuned with equal effort" in t and " Default settings: " in t for t in lines) == len(tuned)
    assert sum("none is tuned" in t for t in lines) == len({e for e, _ in scores.columns} - tuned)
    assert (scores.name == "network") == (not tuned)


def test_conditional_data_sets_are_those_of_the_ranges(task):
    """What the page marks: read from the printed ranges of the data sets and what the kind of model uses."""
    name, scores = task
    regression = kind_of(scores.kind).target == "regression"
    found = [d for d in scores.sets if datasets.get(d).conditional(regression)]
    assert found == [d for d in scores.sets if d in CONDITIONAL[name]]
    text = " ".join(t for texts in page(name).values() for t in texts)
    for d in scores.sets:
        assert (f"{dataset_title(d)}*" in text) == (d in found)


def test_fewer_splits_are_compared_over_those_that_both_have():
    """Half of the splits of one method are taken away: pairs with it rest on the other half, and the page says so."""
    frame = committed.read(REFERENCE, "common_density")
    mine = (frame["dataset"] == "power") & (frame["method"] == "dp_em_corrected")
    every = sorted(frame.loc[mine, "split"].unique(), key=int)
    kept = frame[~(mine & frame["split"].isin(every[: len(every) // 2]))]
    changed = common_scores.read(load(experiment("density")), kept)
    (section,) = common_page.sections([changed])
    said = {h: [" ".join(s.text for s in i) for _, items in parts for i in items] for h, parts in section.details}
    (power,) = (t for t in said["Epsilon = 8"] if t.startswith("On Power*"))
    assert f"; {splits(*[len(every) - len(every) // 2] * 2)}" in power


def test_adult_at_one_names_dp_sgd():
    """Its default won the tuning; the tuned column once named output perturbation, which is worse."""
    texts = page("logistic_regression")["Epsilon = 1, tuned on a public stand-in", "Test log-likelihood"]
    adult = next(t for t in texts if t.startswith("On Adult"))
    assert adult.startswith("On Adult, DP-SGD (yardstick, default) has the best test log-likelihood: -0.322 nats a row")


def unnamed(text: str, names: Iterable[str]) -> list[str]:
    """Methods that a sentence about all others does not name as left out."""
    told = " ".join(re.findall(r"(?:Left out of these means|not ranked, without a score[^:]*): ([^.]*)", text))
    return [n for n in names if n not in told] if re.search(r"\b(?:all|every|no) other|others", text) else []


def test_nothing_is_said_of_all_others_while_a_method_is_left_out_unnamed(task):
    """By the scores alone: whoever has one on some data sets only is in no mean and in no average rank."""
    name, scores = task
    left = {}
    for epsilon, tuned in scores.columns:
        here = Column(scores, epsilon, tuned)
        sets = [here.compared(d, "test_log_likelihood") for d in scores.sets]
        left[here.heading] = [scores.title(m) for m in here.methods if 0 < sum(m in s for s in sets) < len(sets)]
    said = page(name)
    for heading, names in left.items():
        (rank,) = (t for t in said[heading, "Test log-likelihood"] if t.startswith("By test log-likelihood over"))
        assert not unnamed(rank, names), (heading, rank)
    every = sorted({n for names in left.values() for n in names})
    best = headline(name)
    assert not unnamed(best, every), best
    assert bool(every) == ("Left out of these means" in best) == (name in ("logistic_regression", "network"))
    # the sentence as it was: DP-SGNHT, which is better on four data sets, has no score on the fifth
    was = "at epsilon = 8 DP-VI (corrected) (-0.65, told apart from all 2 others)."
    assert unnamed(was, every) == every


def test_on_the_network_at_eight_the_method_that_is_left_out_is_ahead():
    scores = Task("network")
    of = {m: [scores.scores[d, m, "epsilon=8", "test_log_likelihood"] for d in scores.sets if d != "protein"]
          for m in ("dp_sgnht", "dp_vi_vinaroz_corrected")}  # fmt: skip
    gap = sum(differences(a, b)[0] for a, b in zip(*of.values(), strict=True)) / 4
    assert f"DP-SGNHT is ahead of DP-VI (corrected) by {gap:.2f} (" in headline("network")
    assert gap > 0.3


def of_other_splits(text: str, mine: str, table: dict[str, pd.Series], metric: str) -> list[str]:
    """Methods with a better mean in the table than the one that is called best, of which the text does not say so."""
    sign = 1 if LARGE_IS_GOOD[metric] else -1
    better = [m for m, s in table.items() if sign * s.mean() > sign * table[mine].mean()]
    return [m for m in better if f"(in the table {of(metric, table[m].mean())}" not in text]


def test_a_better_score_in_the_table_than_that_of_the_best_is_explained(task):
    """Methods are compared over the splits that both have; the table shows the mean over all splits of each."""
    name, scores = task
    said, explained = page(name), 0
    for column in scores.columns:
        here = Column(scores, *column)
        for metric, words in WORDS.items():
            for d in scores.sets:
                if (best := here.best(d, metric)) is None:
                    continue
                texts = said[here.heading, words.replace("test", "Test", 1)]
                (text,) = (t for t in texts if t.startswith(f"On {scores.on(d)}, "))
                table = here.compared(d, metric)
                assert not of_other_splits(text, best, table, metric), text
                explained += bool(of_other_splits(text.partition(" That is its mean over")[0], best, table, metric))
    assert (explained > 0) == (name == "logistic_regression")


def test_a_column_without_the_defaults_is_caught():
    config = {k: v for k, v in load(experiment("density")).items() if k != "tuned"}
    changed = common_scores.read(config, committed.read(REFERENCE, "common_density"))
    (section,) = common_page.sections([changed])
    said = {h: [" ".join(s.text for s in i) for _, items in parts for i in items] for h, parts in section.details}
    scores = Task("density")
    for column in scores.columns:
        here = Column(scores, *column)
        texts = [t for part in here.said().values() for t in part]
        assert (said[here.heading] == texts) == (not column[1])
