"""Signs, sentences and titles that several pages share."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from evaluation.metrics import heading
from reports.published import KEY, METHOD_TITLES
from reports.verdict import VERDICTS

#: a sign beside each word, so that no verdict hangs on colour alone.
SIGNS = {
    "reproduced": "=",
    "compatible": "≈",
    "better": "+",
    "worse": "−",
    "inconclusive": "?",
    "no_data": "∅",
    "failed": "×",
    "timeout": "×",
    "diverged": "×",
    "no data": "∅",
    "no_score": "∅",
    "holds": "=",
    "holds in another reading": "~",
    "holds but for the leaks": "~",
    "does not hold": "−",
    "not told apart": "?",
    "not testable here": "∅",
    "by proof": "∎",
}
READING_TITLES = {"printed": "as printed", "authors": "authors' program", "corrected": "corrected"}
#: as in "after wang2018adaptive, algorithm 2".
SOURCE_KEY = re.compile(r"\b[a-z][a-z_]*[12]\d{3}\w*")
HERE = Path(__file__).parent
_PS = {"t": "t", "rank": "ranks", "resampled": "resampled runs", "bootstrap": "a bootstrap"}


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits; "" for NaN."""
    return "" if math.isnan(value) else f"{value:.{digits}g}"


def key_of(row: Mapping[str, Any]) -> str:
    """The address of a published cell on its paper's page of cells: its six keys."""
    return re.sub(r"[^A-Za-z0-9_.=~-]+", "-", ".".join(str(row[k]) for k in KEY))


def relation(word: str) -> str:
    """A neighbouring relation: "add/remove", "replace one"."""
    return "add/remove" if word == "add_remove" else word.replace("_", " ")


@cache
def citations() -> dict[str, str]:
    """Key of a source as methods name it -> the work."""
    with open(HERE / "references.csv", encoding="utf-8", newline="") as f:
        return {row["key"]: row["citation"] for row in csv.DictReader(f)}


def cited(text: str) -> str:
    """A method's source with the works in the place of their keys."""
    return SOURCE_KEY.sub(lambda found: citations().get(found[0], found[0]), text)


def method_title(name: str, own: Mapping[str, str] | None = None) -> str:
    """Title of a published column; ``own``: titles that its paper gives."""
    return (own or {}).get(name) or METHOD_TITLES.get(name, _words(name))


def metric_title(name: str) -> str:
    return heading(name).replace("_", " ")


def _words(name: str) -> str:
    """A name as words, its first letter large."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def setting_title(setting: str) -> str:
    """``epsilon=1;clip=2`` as ``epsilon = 1, clip = 2``."""
    return ", ".join(re.sub(r"([=~])", r" \1 ", p, count=1) for p in setting.split(";") if p)


def verdict_sentence(row: Mapping[str, Any]) -> str:
    """Why a row of the verdicts has its word."""
    word, p = row["verdict"], row["p"]
    if word not in VERDICTS:
        return row["reason"] or "It has no score."
    by = f" by {_PS.get(row['p_kind'], row['p_kind'])}" if row["p_kind"] else ""
    chance = f"p = {number(p, 2)}{by}" if not math.isnan(p) else "no test"
    gap = f"Ours minus theirs is {number(row['difference'], 3)}"
    if not (math.isnan(row["low"]) or math.isnan(row["high"])):
        ends = f"{number(row['low'], 3)} to {number(row['high'], 3)}"
        # of all runs against theirs (reports.verdict.Verdict); under heavy tails it may leave out the means' difference
        shift = row["p_kind"] == "rank" and row["published_std"]
        gap += f" in the mean; by ranks, our runs are shifted by {ends} (95 %)" if shift else f" (95 %: {ends})"
    told = {
        "reproduced": f"Nothing refutes the number ({chance}), and the two are equal within the margin.",
        "compatible": f"Nothing refutes the number ({chance}), and nothing shows that the two are equal within the "
        "margin.",
        "inconclusive": f"The number is doubtful, but not refuted at the bound for all numbers together ({chance}).",
        "better": f"Ours is better: {chance}, below the bound for all numbers together.",
        "worse": f"Ours is worse: {chance}, below the bound for all numbers together.",
    }
    seen = row["detectable"]
    power = f" A shift of {number(seen, 3)} would have been seen." if math.isfinite(seen) else ""
    extra = f" {row['reason'].rstrip('.')}." if row["reason"] else ""
    return f"{told[word]} {gap}.{power}{extra}"
