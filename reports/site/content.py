"""The content of a site, as data from ``reports.build``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports import scoreboard
from reports.blocks import Figure, Table
from reports.config import READING_TITLES, READINGS
from reports.contents import Advice
from reports.findings import Finding
from reports.published import KEY
from reports.verdict import VERDICTS
from workflow.committed import Entry

#: columns of the verdicts that the pages read; a paper with its own code may have fewer.
_TEXT = [*KEY, "reading", "protocol", "our_method", "our_setting", "cell", "published_mean", "published_std"]
_WORDS = ["p_kind", "verdict", "finding", "headline", "reason"]
_NUMBERS = ["mean", "std", "n", "difference", "low", "high", "p", "detectable"]


@dataclass
class Part:
    """The content of the pages of one paper, or of an experiment without a paper. ``reports.build`` fills it.

    ``verdicts``: from :func:`verdicts_of`.
    ``scores``: tidy rows of its runs, for the strips, or None.
    ``configs``: its experiments.
    ``judged``: a sentence on how the numbers of a paper with its own code are judged.
    ``rerun``: the command that computes everything.
    ``runs``: (six keys of a published cell, reading) -> runs, if they are not in the scores.
    ``titles``: titles of its methods, if they are not known.
    ``answer``: the answer of its authors in Markdown, or "".
    """

    key: str
    title: str
    sources: Mapping[str, str]
    rerun: str
    verdicts: pd.DataFrame = field(default_factory=pd.DataFrame)
    claims: pd.DataFrame = field(default_factory=pd.DataFrame)
    tables: list[Table] = field(default_factory=list)
    methods: list[Table] = field(default_factory=list)
    privacy: list[Table] = field(default_factory=list)
    datasets: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    configs: list[Mapping[str, Any]] = field(default_factory=list)
    scores: pd.DataFrame | None = None
    judged: str = ""
    runs: Mapping[tuple[str, ...], Sequence[float]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""

    @property
    def answered(self) -> bool:
        """Whether it has published numbers that are compared."""
        return len(self.verdicts) > 0


@dataclass(frozen=True)
class Content:
    """Everything that a site shows. ``origin``: where its numbers come from, a sentence.

    ``files``: the folder with ``tables/`` and ``figures/``, copied into the site. ``epsilons``: tidy scores of all
    experiments that the pages of methods summarise.
    """

    title: str
    scale: str
    banner: str
    origin: str
    files: Path
    parts: Sequence[Part]
    privacy: Sequence[Table]
    findings: Sequence[Finding]
    advice: Advice | None
    ledger: pd.DataFrame
    scores: pd.DataFrame
    manifest: Mapping[str, Any]
    audit: Sequence[pd.DataFrame] = ()
    #: the whole run of each method in an experiment (``workflow.committed.runs``)
    runs: Mapping[Entry, Mapping[str, str]] = field(default_factory=dict)
    #: files of methods that cannot be imported, and why
    broken: Sequence[str] = ()

    @property
    def papers(self) -> list[Part]:
        """The parts with content on a paper."""
        return [p for p in self.parts if p.answered or len(p.claims) or p.figures or p.methods]


def verdicts_of(frame: pd.DataFrame, copy: Sequence[bool] | np.ndarray | None = None) -> pd.DataFrame:
    """The verdicts with every column that pages read: texts unchanged, numbers as float64 (NaN: none).

    ``copy``: whether each row's published cell repeats another (``reports.published.is_copy``); by default none does.
    """
    out = pd.DataFrame(index=range(len(frame)))
    for column in [*_TEXT, *_WORDS]:
        out[column] = frame[column].fillna("").astype(str).to_numpy() if column in frame else ""
    for column in _NUMBERS:
        out[column] = pd.to_numeric(frame[column], errors="coerce").to_numpy() if column in frame else float("nan")
    out["copy"] = np.zeros(len(frame), dtype=bool) if copy is None else np.asarray(copy, dtype=bool)
    # A printed accuracy is compared as an error.
    out["published_error"] = frame["published_error"].astype(str).to_numpy() if "published_error" in frame else ""
    # The published median of a box plot is compared with the median of ours.
    out["statistic"] = frame["statistic"].astype(str).to_numpy() if "statistic" in frame else ""
    out["median"] = pd.to_numeric(frame["median"], errors="coerce").to_numpy() if "statistic" in frame else float("nan")
    return out


def counts(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """Verdicts of :func:`first_readings` by method of the paper: method, verdict -> number, cells."""
    rows = []
    for method, group in first_readings(verdicts).groupby("method", sort=False):
        words = group["verdict"].value_counts()
        judged = {v: int(words.get(v, 0)) for v in VERDICTS}
        rows.append({"method": method, "cells": len(group), **judged, "no_score": len(group) - sum(judged.values())})
    return rows


def first_readings(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row per distinct published number: the reading of the authors' code, or as printed if there is none.

    Corrected methods are other algorithms and never count as a reproduction.
    """
    return scoreboard.first(verdicts[(verdicts["headline"] == "yes") & ~verdicts["copy"]])


def shown_reading(first: pd.DataFrame) -> str:
    """The readings of rows of :func:`first_readings`, in words."""
    there = set(first["reading"])
    if there == {"authors", "printed"}:
        return f"{READING_TITLES['authors']}, {READING_TITLES['printed']} if there is none"
    return ", ".join(READING_TITLES[r] for r in READINGS if r in there)


def distinct(part: Part) -> pd.DataFrame:
    """The verdicts of a paper, one row per distinct number and reading, without copies and other protocols."""
    v = part.verdicts
    main = (v["headline"] == "yes") | bool(part.judged)  # such a paper has one protocol, and marks one reading
    return v[main & ~v["copy"]]


def as_printed(part: Part) -> pd.DataFrame:
    """The verdicts of the distinct numbers of a paper that were scored as printed, one row per number."""
    v = distinct(part)
    return v[(v["reading"] == "printed") & v["verdict"].isin(VERDICTS)].drop_duplicates(KEY)
