"""The verdicts on all distinct published numbers of all sources, counted for README and the site.

``python -m reports.scoreboard`` prints the counts by source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from reports import ceiling, papers, published, reference
from reports.config import READINGS
from reports.published import KEY
from reports.verdict import REFUTED, VERDICTS

#: readings in which a number can be a reproduction, in order of precedence. ``corrected`` is another algorithm.
ORDER = ("authors", "printed")
COLUMNS = [*KEY, "reading", "verdict", "n_published"]
#: the numbers whose verdict changed in version 3 of the rule, with both verdicts. This record was made once.
CHANGES = "verdict_changes.csv"
COUNTS = ["reproduced", "compatible", "inconclusive", "refuted", "no_score"]


def rows(folder: Path = reference.FOLDER) -> pd.DataFrame:
    """The committed verdicts of all sources, one row per distinct number and reading, as texts ("" if missing)."""
    own = distinct(pd.read_csv(folder / "verdicts.csv", dtype=str, keep_default_na=False))
    # a paper with its own code has no copies, and one answer per reading
    return pd.concat([own, *(p.verdicts for p in papers.load())], ignore_index=True).fillna("")


def read(folder: Path = reference.FOLDER) -> pd.DataFrame:
    """:func:`rows` with the columns ``COLUMNS``."""
    return rows(folder)[COLUMNS]


def version_2(verdicts: pd.DataFrame, folder: Path = reference.FOLDER) -> pd.DataFrame:
    """``verdicts`` as version 2 of the rule gave them, by undoing ``verdict_changes.csv``.

    Raises ValueError for a change whose verdict of version 3 is not the committed one.
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
    """The counts of verdicts in the order of the rows: columns ``by``, numbers, and ``COUNTS``."""
    word = rows["verdict"].where(rows["verdict"].isin(VERDICTS), "no_score").replace(dict.fromkeys(REFUTED, "refuted"))
    each = pd.crosstab([rows[c] for c in by], word).reindex(columns=COUNTS, fill_value=0)
    out = each.assign(numbers=each.sum(axis=1)).reset_index()[[*by, "numbers", *COUNTS]]
    wanted = rows[list(by)].drop_duplicates()
    return wanted.merge(out, on=list(by), validate="one_to_one").reset_index(drop=True)


def by_reading(verdicts: pd.DataFrame) -> pd.DataFrame:
    """:func:`counts` per source and reading, in the order of the readings."""
    table = counts(verdicts, ("source", "reading"))
    return table.sort_values("reading", key=lambda c: c.map(READINGS.index), kind="stable", ignore_index=True)


def with_ceiling(rows: pd.DataFrame, by: Sequence[str] = ("source",), ceilings: pd.DataFrame | None = None):
    """:func:`counts` with the expected counts of a perfect copy for the same numbers: ``copy_<word>``, sums of shares.

    ``no_ceiling`` counts numbers with a verdict but no ceiling. ``ceilings``: from :func:`reports.ceiling.read`.
    """
    known = ceiling.read() if ceilings is None else ceilings
    shares = {w: f"copy_{w}" for w in ceiling.SHARES}
    both = rows.merge(
        known[[*KEY, "reading", *ceiling.SHARES]].rename(columns=shares), on=[*KEY, "reading"], how="left",
        validate="one_to_one",
    )  # fmt: skip
    both["no_ceiling"] = both["verdict"].isin(VERDICTS) & both["copy_reproduced"].isna()
    sums = both.groupby(list(by), sort=False)[[*shares.values(), "no_ceiling"]].sum().reset_index()
    return counts(rows, by).merge(sums, on=list(by), validate="one_to_one")


def missing(rows: pd.DataFrame) -> pd.DataFrame:
    """The groups of numbers without a score: source, verdict, why, remedy, numbers and methods.

    ``rows`` has the columns source, method, verdict and reason. The text after "remedy:" in a reason says what would be
    needed.
    """
    without = rows[~rows["verdict"].isin(VERDICTS)]
    parts = [re.split(r"[;.]?\s*remedy:\s*", r, maxsplit=1, flags=re.IGNORECASE) for r in without["reason"]]
    out = without.assign(
        why=[t[0].split(" Tried:")[0].rstrip(".") for t in parts], remedy=[t[1] if len(t) > 1 else "" for t in parts]
    )
    keys = ["source", "verdict", "why", "remedy"]
    return out.groupby(keys, sort=False).agg(numbers=("method", "size"), methods=("method", "nunique")).reset_index()


def text() -> str:
    """The counts of :func:`first` by source, and of all sources, as a table in plain text."""
    table = counts(first(read()))
    table["source"] = table["source"].map(lambda key: published.SOURCE_TITLES.get(key, key))
    whole = table.drop(columns="source").sum().to_dict()
    table = pd.concat([table, pd.DataFrame([{"source": "all", **whole}])], ignore_index=True)
    return table.rename(columns=lambda name: name.replace("_", " ")).to_string(index=False)


if __name__ == "__main__":
    print("Committed verdicts on published numbers, judged by the authors' code where it was run separately:\n")
    print(text())
