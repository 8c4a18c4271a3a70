"""Signs, sentences and titles that several pages share."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from itertools import groupby
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
    "differs": "≠",
    "inconclusive": "?",
    "no_data": "∅",
    "failed": "×",
    "timeout": "×",
    "diverged": "×",
    "no data": "∅",
    "no_score": "∅",
    "holds": "=",
    "holds as printed, not in the authors' code": "~",
    "holds in the authors' code, not as printed": "~",
    "holds only beyond the claimed epsilon": "~",
    "holds only without noise": "−",
    "does not hold; holds if repaired": "−",
    "holds except for named leaks": "~",
    "does not hold": "−",
    "refuted": "−",
    "no finite epsilon": "−",
    "not shown": "?",
    "undecided": "?",
    "not testable here": "∅",
    "by proof": "∎",
}
#: as in "after wang2018adaptive, algorithm 2".
SOURCE_KEY = re.compile(r"\b([a-z][a-z_]*?)([12]\d{3})\w*")
HERE = Path(__file__).parent
#: most significant digits of a number that a paper prints; a float in a file has more.
PRINTED_DIGITS = 8
_PS = {"t": "t", "rank": "ranks", "resampled": "resampled runs", "streams": "the distribution of its streams"}


def number(value: float, digits: int = 4) -> str:
    """A number with ``digits`` significant digits, and "" for NaN."""
    return "" if math.isnan(value) else f"{value:.{digits}g}"


def published_texts(mean: str, spread: str = "") -> tuple[str, str]:
    """A published number and its spread ("": none) as pages show them.

    The texts of a paper stay as they are. A file of the authors holds every digit of a float. There the spread gets
    four significant digits and the number as many decimals. A number without a spread gets six significant digits. A
    zero is 0.
    """
    if max(map(_significant, (mean, spread))) <= PRINTED_DIGITS:
        return tuple("0" if re.fullmatch(r"0\.0{9,}", t) else t for t in (mean, spread))
    if not spread or not Decimal(spread):
        return f"{float(mean):.6g}", spread
    place = Decimal(spread).adjusted() - 3
    step = Decimal(1).scaleb(min(place, 0))
    return tuple(f"{Decimal(t).quantize(step):f}" for t in (mean, spread))


def _significant(text: str) -> int:
    """Digits of a number's text from the first that is not 0."""
    return len(re.sub(r"[eE].*|[^0-9]", "", text).lstrip("0"))


def key_of(row: Mapping[str, Any]) -> str:
    """The address of a published cell on its paper's page of cells, made of its six keys."""
    return re.sub(r"[^A-Za-z0-9_.=~-]+", "-", ".".join(str(row[k]) for k in KEY))


def relation(word: str) -> str:
    """A neighbouring relation: "add/remove", "replace one"."""
    return "add/remove" if word == "add_remove" else word.replace("_", " ")


@cache
def citations() -> dict[str, str]:
    """Key of a source as methods name it -> the work in full."""
    return {key: row["citation"] for key, row in described("references").items()}


@cache
def described(name: str) -> dict[str, dict[str, str]]:
    """The rows of a table of this folder by its first column. ``name`` is references, kinds or datasets."""
    with open(HERE / f"{name}.csv", encoding="utf-8", newline="") as f:
        return {next(iter(row.values())): row for row in csv.DictReader(f)}


def kind_title(kind: str) -> str:
    """The title of a kind of model, or its name with spaces if ``kinds.csv`` lacks it."""
    return described("kinds")[kind]["title"] if kind in described("kinds") else kind.replace("_", " ")


def cited(text: str) -> str:
    """A method's source with works in place of keys, such as "Wang 2018" if ``references.csv`` lacks the key."""
    return SOURCE_KEY.sub(lambda key: citations().get(key[0]) or f"{_words(key[1])} {key[2]}", text)


def method_title(name: str, own: Mapping[str, str] | None = None) -> str:
    """The title of a published column. ``own`` has the titles that its paper gives."""
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


def setting_value(value: Any) -> str:
    """The text of a setting's value. Long floats have six digits, and a value that a list repeats is written once."""
    if isinstance(value, float) and _significant(repr(value)) > PRINTED_DIGITS:
        return f"{value:.6g}"
    if isinstance(value, list | tuple) and value:
        runs = [(text, len(list(of))) for text, of in groupby(map(setting_value, value))]
        listed = ", ".join(f"{text} ({n} times)" if n > 2 else ", ".join([text] * n) for text, n in runs)
        return f"[{listed}]" if isinstance(value, list) else f"({listed})"
    return str(value)


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
    sentences = {
        "reproduced": f"Nothing refutes the number ({chance}), and the two are equal within the margin.",
        "compatible": f"Nothing refutes the number ({chance}), and nothing shows that the two are equal within the "
        "margin.",
        "inconclusive": f"The number is doubtful, but not refuted at the bound for all numbers together ({chance}).",
        "better": f"Ours is better: {chance}, below the bound for all numbers together.",
        "worse": f"Ours is worse: {chance}, below the bound for all numbers together.",
        "differs": f"Ours differs: {chance}, below the bound for all numbers together.",
    }
    seen = row["detectable"]
    power = f" A shift of {number(seen, 3)} would have been refuted." if math.isfinite(seen) else ""
    if word == "compatible" and math.isinf(seen):
        power = " No shift of any size would have been refuted."
    extra = f" {row['reason'].rstrip('.')}." if row["reason"] else ""
    return f"{sentences[word]} {gap}.{power}{extra}"
