"""The glossary ``reports/glossary.csv``: words of this suite that need an explanation, defined once for every page.

Columns: word, also (other forms, joined by ``|``), meaning. The page of the glossary shows them.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True)
class Word:
    word: str
    also: tuple[str, ...]
    meaning: str

    def used(self, text: str) -> bool:
        """Whether a text uses the word or another form of it."""
        forms = "|".join(re.escape(f) for f in (self.word, *self.also))
        return re.search(rf"(?<!\w)({forms})(?!\w)", re.sub(r"\s+", " ", text), re.IGNORECASE) is not None


def load(path: Path = FILE) -> list[Word]:
    """All words in the order of the file. Raises ValueError for wrong columns, a missing meaning or a repeated word."""
    with open(path, newline="", encoding="utf-8") as f:
        reader = csv.DictReader(f)
        if reader.fieldnames != ["word", "also", "meaning"]:
            raise ValueError(f"{path}: columns {reader.fieldnames}; they must be word, also, meaning")
        words = [Word(r["word"], tuple(filter(None, r["also"].split("|"))), r["meaning"].strip()) for r in reader]
    names = [w.word for w in words]
    if not all(w.word and w.meaning for w in words) or len(set(names)) < len(names):
        raise ValueError(f"{path}: each word stands once and has a meaning")
    return words
