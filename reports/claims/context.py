"""What a test of a claim sees: the scores of one experiment, as one reading of one source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from reports import published as published_numbers
from reports.claims.methods import Method
from reports.verdicts import answers_of, ours_of


class Data:
    """Scores by cell, looked up once. ``extra``: folder of the tables that are no scores; None: there are none."""

    def __init__(self, config: dict[str, Any], scores: pd.DataFrame, numbers: pd.DataFrame, extra: Path | None = None):
        self.extra = extra
        self.config, self.numbers, self.records = config, numbers, numbers.to_dict("records")
        self._answers: dict[tuple, list[dict[str, Any]]] = {}
        self.values: dict[tuple, dict[str, float]] = {}
        self.status: dict[tuple, dict[str, str]] = {}
        fields = ("dataset", "protocol", "method", "setting", "split", "metric", "value", "status")
        for d, p, m, s, split, metric, value, status in zip(*(scores[f] for f in fields), strict=True):
            self.status.setdefault((d, p, m, s), {})[split] = status
            if status == "ok":
                self.values.setdefault((d, p, m, s, metric), {})[split] = float(value)

    def answers(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        key = tuple(row[k] for k in published_numbers.KEY)
        if key not in self._answers:
            self._answers[key] = answers_of(self.config, row, self.numbers)
        return self._answers[key]

    def diverged(self, key: tuple) -> bool:
        """No split of that cell (with or without a metric) has a score and at least one diverged."""
        states = set(self.status.get(key[:4], {}).values())
        return "ok" not in states and "diverged" in states


@dataclass
class Context:
    """What a test sees: one reading of one source."""

    data: Data
    source: str
    reading: str
    #: readings that some cell of the claim really has (a claim on non-private methods has the printed one only).
    used: set[str] = field(default_factory=set)

    def budgets(self, method: Method, dataset: str, metric: str) -> dict[str, tuple]:
        """Keys of OUR cells of ``method`` by the budget that ends their setting (``order=1;epsilon=e^0``)."""
        start = f"{method.setting};" if method.setting else ""
        return {
            s.removeprefix(start): (d, p, m, s, metric)
            for d, p, m, s in self.data.status
            if (d, m) == (dataset, method.name) and s.startswith(f"{start}order=")
        }

    def rows(self, method: Method, tables: Sequence[str], datasets: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Published rows of one method of the paper in these tables (and data sets)."""
        found = [
            r
            for r in self.data.records
            if r["source"] == self.source
            and r["table"] in tables
            and r["method"] == method.name
            and (not datasets or r["dataset"] in datasets)
        ]
        return [r for r in found if not method.setting or method.setting in r["setting"].split(";")]

    def cells(self, row: dict[str, Any]) -> list[tuple]:
        """Keys (dataset, protocol, method, setting, metric) of ours for a published row, the headline one first."""
        answers = self.data.answers(row)
        here = [a for a in answers if a["reading"] == self.reading]
        if here:
            self.used.add(self.reading)
        chosen = here or [a for a in answers if a["reading"] == "printed"]
        return [(d, a["protocol"], a["method"], a["label"], m) for a in chosen for d, m in [ours_of(row, a)]]

    def own(self, method: Method, beside: list[tuple]) -> list[tuple]:
        """Keys of a method of this suite on the data sets and metrics of the cells it is compared with."""
        pairs = dict.fromkeys((d, m) for d, *_, m in beside)
        return [(d, p, method.name, "", m) for d, m in pairs for p in self.data.config["protocols"]]


def parts_of(setting: str) -> dict[str, str]:
    """``key=value`` parts of a published setting."""
    return dict(p.split("=", 1) for p in setting.split(";") if "=" in p)
