"""One line per distinct published number, of all sources: what our runs say of it, counted for README and the site."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from reports import papers, published, reference
from reports.config import READINGS
from reports.published import KEY
from reports.verdict import REFUTED, VERDICTS

#: readings in which a number can be a reproduction, the one that counts first. ``corrected`` is another algorithm.
ORDER = ("authors", "printed")
COLUMNS = [*KEY, "reading", "verdict", "n_published"]
#: numbers whose word version 3 of the rule changed, with both words: a record, made once.
CHANGES = "verdict_changes.csv"
COUNTS = ["reproduced", "compatible", "inconclusive", "refuted", "no_score"]


def read(folder: Path = reference.FOLDER) -> pd.DataFrame:
    """The committed verdicts of all sources, one row per distinct number and reading, columns ``COLUMNS``."""
    own = distinct(pd.read_csv(folder / "verdicts.csv", dtype=str, keep_default_na=False))
    # a paper with a program of its own has no copies, and one answer per reading
    return pd.concat([own, *(p.verdicts for p in papers.load())], ignore_index=True)[COLUMNS]


def version_2(verdicts: pd.DataFrame, folder: Path = reference.FOLDER) -> pd.DataFrame:
    """``verdicts`` with the words that version 2 of the rule gave: ``verdict_changes.csv`` undone.

    Raises ValueError for a change whose word of version 3 is not the committed one.
    """
    key = [*KEY, "reading"]
    changes = pd.read_csv(folder / CHANGES, dtype=str, keep_default_na=False)
    both = verdicts.merge(changes, on=key, how="left", validate="one_to_one")
    wrong = both[both["version_3"].notna() & (both["version_3"] != both["verdict"])]
    if len(wrong):
        raise ValueError(f"{CHANGES}: {tuple(wrong[key].iloc[0])} has the word '{wrong['verdict'].iloc[0]}' by now")
    return both.assign(verdict=both["version_2"].fillna(both["verdict"]))[COLUMNS]


def distinct(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``verdicts.csv`` without copied numbers and without answers in another protocol."""
    return verdicts[~published.is_copy(verdicts) & (verdicts["headline"] == "yes").to_numpy()]


def first(verdicts: pd.DataFrame, order: Sequence[str] = ORDER) -> pd.DataFrame:
    """One row per published number: its verdict in the first reading of ``order`` in which it was run."""
    rows = verdicts[verdicts["reading"].isin(order)]
    place = rows["reading"].map(list(order).index)
    return rows.loc[place.sort_values(kind="stable").index].drop_duplicates(KEY).sort_index()


def counts(rows: pd.DataFrame, by: Sequence[str] = ("source",)) -> pd.DataFrame:
    """Columns ``by``, numbers, then ``COUNTS``: how many numbers have each verdict, in the order of the rows."""
    word = rows["verdict"].where(rows["verdict"].isin(VERDICTS), "no_score").replace(dict.fromkeys(REFUTED, "refuted"))
    each = pd.crosstab([rows[c] for c in by], word).reindex(columns=COUNTS, fill_value=0)
    out = each.assign(numbers=each.sum(axis=1)).reset_index()[[*by, "numbers", *COUNTS]]
    wanted = rows[list(by)].drop_duplicates()
    return wanted.merge(out, on=list(by), validate="one_to_one").reset_index(drop=True)


def by_reading(verdicts: pd.DataFrame) -> pd.DataFrame:
    """:func:`counts` per source and reading, in the order of the readings."""
    found = counts(verdicts, ("source", "reading"))
    return found.sort_values("reading", key=lambda c: c.map(READINGS.index), kind="stable", ignore_index=True)
