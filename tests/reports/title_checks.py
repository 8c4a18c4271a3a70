"""A check that the title of a finding holds on the committed numbers.

The front matter of a finding names the numbers that its title is about, and a function of them:

    title_holds:
      predicate: none_worse          # a function of predicates.py, in the folder above the text's own
      numbers:
        compared:                    # argument of the function: a data frame
          table: comparisons.csv     # of the reference
          where: {id: "a / b|c / d", metric: rmse}    # column: the words that are kept
          columns: difference low high                # read as numbers, a list or words; all others are text

If no number shows a title, the front matter names its test: ``title_holds: {shown_by: "tests/x/test_y.py::test_z"}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from reports.findings import FindingError, module, read_below, read_committed, split
from reports.frames import Read
from workflow import papers

SECTION = "title_holds"
#: of one entry of ``numbers``.
NUMBERS = ("table", "where", "columns")


@dataclass(frozen=True)
class Holds:
    """The check of a title: ``predicate`` of ``frames``. ``columns``: which columns of each frame are numbers."""

    predicate: Callable[..., bool]
    frames: Mapping[str, pd.DataFrame]
    columns: Mapping[str, tuple[str, ...]]

    def __call__(self, frames: Mapping[str, pd.DataFrame] | None = None) -> bool:
        return bool(self.predicate(**(self.frames if frames is None else frames)))


def told(path: Path) -> dict:
    """The entry of a finding's front matter on its title. Raises :class:`FindingError` if there is none."""
    said = split(path)[0].get(SECTION)
    if not isinstance(said, dict) or set(said) not in ({"shown_by"}, {"predicate", "numbers"}):
        raise FindingError(f"{path.name}: {SECTION}: give predicate and numbers, or shown_by")
    return said


def reader(path: Path) -> Read:
    """The reader of a finding's tables, which is the same as for its text."""
    home = path.parents[2]
    own = {p.home for p in papers.papers() if p.program}
    return read_below(home / "reference") if home in own else read_committed()


def load(path: Path, read: Read | None = None) -> Holds:
    """The predicate of a finding and its numbers. Raises :class:`FindingError`."""
    said = told(path)
    functions = module(path.parent.parent / "predicates.py")
    predicate = getattr(functions, said["predicate"], None)
    if predicate is None:
        raise FindingError(f"{path.name}: {SECTION}: no function '{said['predicate']}' in predicates.py")
    read = read or reader(path)
    frames, columns = {}, {}
    for name, asked in said["numbers"].items():
        if set(asked) - set(NUMBERS) or not {"table", "columns"} <= set(asked):
            raise FindingError(f"{path.name}: {SECTION}, {name}: numbers have {', '.join(NUMBERS)}")
        said_columns = asked["columns"]
        columns[name] = tuple(said_columns.split() if isinstance(said_columns, str) else said_columns)
        frames[name] = _frame(read(asked["table"]), asked.get("where", {}), columns[name], f"{path.name}, {name}")
    return Holds(predicate, frames, columns)


def _frame(whole: pd.DataFrame, where: Mapping[str, str], columns: tuple[str, ...], asks: str) -> pd.DataFrame:
    if missing := [c for c in (*where, *columns) if c not in whole.columns]:
        raise FindingError(f"{asks}: no column {', '.join(missing)}; columns are {', '.join(whole.columns)}")
    mask = pd.Series(True, index=whole.index)
    for column, words in where.items():
        mask &= whole[column].isin(words.split("|"))
    frame = whole[mask].reset_index(drop=True)
    if frame.empty:
        raise FindingError(f"{asks}: no row answers {dict(where)}")
    return frame.assign(**{c: pd.to_numeric(frame[c], errors="coerce") for c in columns})
