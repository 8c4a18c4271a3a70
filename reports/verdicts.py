"""The verdicts of experiments: every published cell compared with the cells of ours that were run for it."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluation.metrics import METRICS
from evaluation.summary import summarise, values_by
from methods import contract
from reports import findings as finding_texts
from reports import published as published_numbers
from reports.config import READINGS, ReportError
from reports.evidence import Printed, Runs, batch, printed
from reports.published import KEY, SOURCE_TITLES
from reports.verdict import FAMILY, Case, Verdict, equivalent, judge
from workflow.papers import REFERENCE, papers
from workflow.published import answers as answers_in
from workflow.published import in_scope

COLUMNS = [
    *KEY,
    *[
        "reading",
        "protocol",
        "our_method",
        "our_setting",
        "cell",
        "published_mean",
        "published_std",
        "n_published",
        "mean",
        "std",
        "n",
        "lost",
    ],
    *["difference", "low", "high", "p", "p_kind", "detectable", "also_fits", "verdict", "verdict_v1", "finding"],
    *["headline", "reason", "median"],
]
#: columns that identify a row.
_ROW = (*KEY, "reading", "protocol", "our_method", "our_setting")
#: metric of a whole batch of data sets -> its standard deviation over data sets, and a metric with a row per data set.
BATCH = {m.name: m.batch for m in METRICS.values() if m.batch}
#: of every folder of findings: which cells they speak of.
FINDINGS = "index.csv"
FINDING_COLUMNS = ["finding", "title", "source", "method", "reading", "dataset"]


def build(
    config: dict[str, Any],
    scores: pd.DataFrame,
    scale: str,
    published: pd.DataFrame | None = None,
    findings: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The verdicts of one experiment, in the order of the published numbers, columns ``COLUMNS``.

    There is one row per published cell and answer, a cell of ours that was run for it. The readings of the config come
    first (``headline`` = "yes"), then its ``also`` cells (``headline`` = "no"), which have another protocol for the
    same reading. A copied cell (``same_as``) takes the answers of its original unless it has its own. If a cell of ours
    has no score, its status and reason are shown.

    Raises :class:`ReportError` at scale full for a published cell without an answer and for an answer without scores.
    At smaller scales both are rows with verdict ``not_run`` and the reason.
    """
    numbers = published_numbers.load() if published is None else published
    index = read_findings() if findings is None else findings
    mine = scores[scores["experiment"] == config["experiment"]]
    summary = summarise(mine) if len(mine) else pd.DataFrame(columns=[*KEY, "protocol", "status"])
    lookup = _Lookup(summary, mine)
    families = {source: family_of(source, numbers) for source in numbers["source"].unique()}
    without_setting = [k for k in KEY if k != "setting"]
    several = set(map(tuple, numbers.loc[numbers.duplicated(without_setting), without_setting].to_numpy()))
    rows = []
    for (source, table), group in numbers.groupby(["source", "table"], sort=False):
        if not in_scope(config, source, table, set(group["dataset"])):
            continue
        for cell in group.to_dict("records"):
            answers = answers_of(config, cell, numbers)
            if not answers:
                if scale == "full":
                    raise ReportError(
                        f"{config['experiment']}: no answer for the published cell {_name(cell)}; "
                        "add it to `answers` of the experiment's config"
                    )
                rows.append(_no_score(cell, "printed", {}, "not_run", "no cell of ours answers it", True))
            rows += [_judged(config, cell, a, lookup, scale, several, families[source]) for a in answers]
    out = pd.DataFrame(rows, columns=COLUMNS)
    known = index.to_dict("records")
    made = out.to_dict("records")
    out["finding"] = [finding_of(row, known) for row in made]
    out["verdict_v1"] = [_first_words().get(tuple(row[k] for k in _ROW), "") for row in made]
    return out


def cases(config: dict[str, Any], scores: pd.DataFrame, numbers: pd.DataFrame) -> Iterator[Case]:
    """The distinct numbers of one experiment that have a verdict as printed or by the authors' code."""
    mine = scores[scores["experiment"] == config["experiment"]]
    lookup = _Lookup(summarise(mine), mine)
    for (source, table), group in numbers.groupby(["source", "table"], sort=False):
        if not in_scope(config, source, table, set(group["dataset"])):
            continue
        family = family_of(source, numbers)
        for cell in group[group["same_as"] == ""].to_dict("records"):
            for answer in answers_of(config, cell, numbers):
                dataset, metric = ours_of(cell, answer)
                ours = lookup.get(dataset, answer, metric) if answer["headline"] else None
                if answer["reading"] != "corrected" and ours is not None and ours["status"] == "ok":
                    runs, lost = lookup.judged(ours, paper_of(cell), metric)
                    yield Case((*(cell[k] for k in KEY), answer["reading"]), runs, family, lost)


@cache
def _first_words() -> dict[tuple, str]:
    """Key of a row -> the committed word of the first version of the rule."""
    with open(REFERENCE / "verdicts.csv", newline="", encoding="utf-8") as f:
        return {tuple(row[k] for k in _ROW): row["verdict_v1"] for row in csv.DictReader(f)}


def family_of(source: str, numbers: pd.DataFrame) -> int:
    """The number of published cells per reading that share the 1 % of any false ``better`` or ``worse``.

    It is stated in the paper's record. Otherwise it is the number of all cells of the source.
    """
    stated = next((p.family for p in papers() if source in p.sources), 0)
    return stated or int((numbers["source"] == source).sum())


def judged_together(numbers: pd.DataFrame) -> str:
    """The published cells that ``FAMILY`` counts, in words. ``numbers``: from ``reports.published.load``."""
    counts = numbers["source"].value_counts(sort=False)
    *most, last = (f"{n} of {SOURCE_TITLES[s]}" for s, n in counts.items() if family_of(s, numbers) == FAMILY)
    return f"{', '.join(most)} and {last}" if most else last


def answers_of(config: dict[str, Any], cell, numbers: pd.DataFrame) -> list[dict[str, Any]]:
    """The cells of ours for one published cell: dicts with reading, method, label, protocol, headline."""
    own = _direct(config, cell)
    if own or not cell["same_as"]:
        return own
    return _direct(config, published_numbers.original_of(cell, numbers))


def _direct(config: dict[str, Any], cell) -> list[dict[str, Any]]:
    found = answers_in(config, cell)
    if len(found) > 1:
        raise ReportError(f"{config['experiment']}: two answers for the published cell {_name(cell)}; keep one")
    out = []
    for answer in found:
        for reading in READINGS:
            if reading in answer["readings"]:
                out.append({"label": "", **answer["readings"][reading], "reading": reading, "headline": True})
        out += [{"label": "", **extra, "headline": False} for extra in answer.get("also", [])]
    return out


class _Lookup:
    """Cells of ours by (dataset, protocol, method, setting)."""

    def __init__(self, summary: pd.DataFrame, scores: pd.DataFrame):
        self.summary = summary
        self._runs = values_by(scores, "cell", "metric")
        self.cells: dict[tuple, dict[str, Any]] = {}
        for row in summary.to_dict("records"):
            key = (row["dataset"], row["protocol"], row["method"], row["setting"])
            self.cells.setdefault(key, {})[row["metric"]] = row

    def get(self, dataset: str, answer: dict, metric: str) -> dict[str, Any] | None:
        cell = self.cells.get((dataset, answer["protocol"], answer["method"], answer["label"]))
        if cell is None:
            return None
        if metric in BATCH and metric in cell:
            return self.batch(cell, metric)
        return cell.get(metric) or cell.get("") or {**next(iter(cell.values())), "status": "no_metric"}

    def runs(self, cell: str, metric: str) -> list[float]:
        """The scores of all runs of one cell."""
        return list(self._runs[cell, metric].values())

    def verdict(self, ours: dict[str, Any], paper: Printed, metric: str, family: int) -> Verdict:
        """The verdict on one cell of ours (a row of :meth:`get` or :meth:`rivals`)."""
        runs, lost = self.judged(ours, paper, metric)
        return judge(runs, lost, family)

    def judged(self, ours: dict[str, Any], paper: Printed, metric: str) -> tuple[Runs, int]:
        """The input of the rule for one cell of ours, and the number of its splits without a score."""
        if metric in BATCH:
            return Runs(paper, [ours["mean"]], metric, partial(batch, sd=ours["std"])), 0
        return Runs(paper, self.runs(ours["cell"], metric), metric), lost_of(ours)

    def rivals(self, dataset: str, protocol: str, metric: str) -> list[dict[str, Any]]:
        return [
            self.batch(cell, metric) if metric in BATCH else cell[metric]
            for (d, p, _, _), cell in self.cells.items()
            if d == dataset and p == protocol and metric in cell and (metric in BATCH or cell[metric]["n"] >= 2)
        ]

    @staticmethod
    def batch(cell: dict[str, dict[str, Any]], metric: str) -> dict[str, Any]:
        """The summary of a number of a whole batch: std over resampled data sets, n data sets."""
        spread, each = BATCH[metric]
        return {**cell[metric], "std": cell[spread]["mean"], "n": cell[each]["n"]}


def lost_of(ours: dict[str, Any]) -> int:
    """The number of splits of a cell without a score."""
    return int(ours["planned"]) - int(ours["n"])


def paper_of(cell) -> Printed:
    """The published number of a row of ``reports.published.load``."""
    return printed(cell["mean"], cell["n_published"], cell["std"], cell["std_kind"], cell["digits"])


def _judged(
    config, cell, answer, lookup: _Lookup, scale: str, several_settings: set[tuple], family: int
) -> dict[str, Any]:
    reading, headline = answer["reading"], answer["headline"]
    dataset, metric = ours_of(cell, answer)
    ours = lookup.get(dataset, answer, metric)
    label = f" [{answer['label']}]" if answer["label"] else ""
    wanted = f"{answer['method']}{label} on {dataset} ({answer['protocol']})"
    if ours is None:
        if why := contract.left_out(answer["method"], config["model"]["kind"]):
            return _no_score(cell, reading, answer, "not_run", why, headline)
        if scale == "full":
            raise ReportError(
                f"{config['experiment']}: {_name(cell)} is answered by {wanted}, which has no row in the scores; "
                "add the arm to the config, or run the missing cell"
            )
        return _no_score(cell, reading, answer, "not_run", f"{wanted} is not run at scale {scale}", headline)
    if ours["status"] == "no_metric":
        raise ReportError(f"{wanted} has scores but no {metric}; add that metric to its scores")
    if ours["status"] != "ok":
        return _no_score(cell, reading, answer, ours["status"], ours["reason"], headline) | {"cell": ours["cell"]}
    paper = paper_of(cell)
    runs = [] if metric in BATCH else lookup.runs(ours["cell"], metric)
    v = lookup.verdict(ours, paper, metric, family)
    return _base(cell, reading, answer, headline) | {
        "cell": ours["cell"],
        "mean": ours["mean"],
        "std": ours["std"],
        "n": ours["n"],
        "lost": lost_of(ours),
        "difference": v.difference,
        "low": v.low,
        "high": v.high,
        "p": v.p,
        "p_kind": v.p_kind,
        "detectable": v.detectable,
        "also_fits": also_fits(cell, answer, lookup, several_settings, family),
        "verdict": v.verdict,
        "reason": "; ".join(r for r in (v.reason, ours["reason"]) if r),
        "median": float(np.median(runs)) if v.p_kind in ("rank", "resampled") else math.nan,
    }


def ours_of(cell, answer: dict[str, Any]) -> tuple[str, str]:
    """Our data set and metric that correspond to those of a published cell, in one answer."""
    return answer.get("dataset", cell["dataset"]), answer.get("metrics", {}).get(cell["metric"], cell["metric"])


def also_fits(cell, answer: dict[str, Any], lookup: _Lookup, several_settings: set[tuple], family: int = FAMILY) -> str:
    """Other methods of ours that would be ``reproduced`` too, on the same data set, protocol and metric.

    They are "method" or "method[setting]", sorted and joined by spaces. Another setting of the same method only counts
    in a table that compares settings of that method (tables 8 and 9: the clipping norm).
    """
    settings_compared = (*(cell[k] for k in KEY if k != "setting"),) in several_settings
    paper = paper_of(cell)
    dataset, metric = ours_of(cell, answer)
    rivals = [
        r
        for r in lookup.rivals(dataset, answer["protocol"], metric)
        if r["method"] != answer["method"] or (settings_compared and r["setting"] != answer["label"])
    ]
    # Equivalence is the cheap half of ``reproduced``: only who passes it is judged.
    near = [
        r
        for r in rivals
        if (metric in BATCH or equivalent(r["mean"], r["std"], r["n"], paper, metric)) and not lost_of(r)
    ]
    fits = [r for r in near if lookup.verdict(r, paper, metric, family).verdict == "reproduced"]
    return " ".join(sorted(f"{r['method']}[{r['setting']}]" if r["setting"] else r["method"] for r in fits))


def _base(cell, reading: str, answer: dict[str, Any], headline: bool) -> dict[str, Any]:
    return {k: cell[k] for k in KEY} | {
        "reading": reading,
        "protocol": answer.get("protocol", ""),
        "our_method": answer.get("method", ""),
        "our_setting": answer.get("label", ""),
        "cell": "",
        "published_mean": cell["mean"],
        "published_std": cell["std"],
        "n_published": cell["n_published"],
        "lost": 0,
        "p_kind": "",
        "also_fits": "",
        "finding": "",
        "headline": "yes" if headline else "no",
    }


def _no_score(cell, reading, answer, verdict, reason, headline) -> dict[str, Any]:
    numbers = dict.fromkeys(("mean", "std", "difference", "low", "high", "p", "detectable", "median"), math.nan)
    words = {"n": 0, "verdict": verdict, "reason": reason}
    return _base(cell, reading, answer, headline) | numbers | words


def _name(cell) -> str:
    setting = f" [{cell['setting']}]" if cell["setting"] else ""
    return f"{cell['source']} table {cell['table']}, {cell['dataset']}, {cell['method']}{setting}, {cell['metric']}"


def read_findings(*paths: Path) -> pd.DataFrame:
    """The index of findings, by default of all papers.

    The index of a paper says which findings are about its cells. Such a finding may belong to another paper. If that
    paper's folder does not exist, the row is left out. Raises ValueError for wrong columns, a bad pattern, or a row for
    any source and any data set.
    """
    if paths:
        rows = [row for path in paths for row in _index(path)]
    else:
        there = {path.stem for path in finding_texts.sources()}
        found = [path for home in finding_texts.folders() if (path := home / FINDINGS).is_file()]
        rows = [row for path in found for row in _index(path) if row["finding"] in there]
    return pd.DataFrame(rows, columns=FINDING_COLUMNS, dtype=str)


def _index(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as f:
        reader = csv.DictReader(f)
        if reader.fieldnames != FINDING_COLUMNS:
            raise ValueError(f"{path}: columns {reader.fieldnames}; they must be {', '.join(FINDING_COLUMNS)}")
        rows = list(reader)
    for row in rows:
        if row["source"] == row["dataset"] == "*":  # a report shows the findings of its sources and data sets
            raise ValueError(
                f"{path}: finding {row['finding']}: a row for any source and any data set belongs to no report; name "
                "the source, or give a pattern of data sets"
            )
        if row["dataset"] != "*":
            try:
                re.compile(row["dataset"])
            except re.error as e:
                raise ValueError(f"{path}: finding {row['finding']}: dataset pattern '{row['dataset']}': {e}") from None
    return rows


def finding_of(row: dict[str, Any], index: list[dict[str, str]]) -> str:
    """The ids of the findings about this cell and reading, joined by spaces."""
    ids = [
        f["finding"]
        for f in index
        if f["source"] in ("*", row["source"])
        and f["method"] in ("*", row["method"])
        and f["reading"] in ("*", row["reading"])
        and (f["dataset"] == "*" or re.fullmatch(f["dataset"], row["dataset"]))
    ]
    return " ".join(dict.fromkeys(ids))
