"""Bike Sharing, hourly (UCI 275): the number of bicycles rented in an hour, from the calendar and the weather.

Five columns of the file are left out. Columns 17 and 18 add up to the target, column 1 numbers the rows, and columns 2
and 3 repeat the year and month of columns 6 and 7. Season, month, hour, weekday and weather are levels, with a column
of 0 and 1 for each level except the first. The levels are those of the documentation of the data, not of the rows.
"""

from __future__ import annotations

from pathlib import Path

from datasets import wang2018
from datasets.base import DataSet, Table
from datasets.draft import table
from datasets.schema import EMPTY, LEFT_OUT, LEVELS, NUMBER, Column, Schema

TARGET = "count"


def _levels(name: str, first: int, last: int) -> Column:
    return Column(name, LEVELS, levels=tuple(map(str, range(first, last + 1))), default=EMPTY, source="documented")


def _number(name: str) -> Column:
    return Column(name, NUMBER, default=EMPTY)


SCHEMA = Schema(
    n=17379,
    target=TARGET,
    task="regression",
    columns=(
        Column("row", LEFT_OUT),
        Column("calendar year", LEFT_OUT),
        Column("calendar month", LEFT_OUT),
        _number("day"),
        _levels("season", 1, 4),
        _number("year"),
        _levels("month", 1, 12),
        _levels("hour", 0, 23),
        _number("holiday"),
        _levels("weekday", 0, 6),
        _number("working day"),
        _levels("weather", 1, 4),
        _number("temperature"),
        _number("felt temperature"),
        _number("humidity"),
        _number("wind speed"),
        Column("casual", LEFT_OUT),
        Column("registered", LEFT_OUT),
        Column(TARGET, NUMBER),
    ),
    header=False,
)
COLUMNS = SCHEMA.coded
#: documented facts: a calendar, codings, and humidity as a share of 100 %.
RANGES = {"day": (1.0, 31.0), "year": (0.0, 1.0), "holiday": (0.0, 1.0), "working day": (0.0, 1.0)}
RANGES |= {"humidity": (0.0, 1.0)}


def parse(path: Path) -> Table:
    """Rows of hour.csv, 19 fields without a header. Raises DataError for a value that is not a level or a number."""
    return table(Path(path), SCHEMA)


# Temperatures and wind speed are scaled by extremes of the rows, so their range [0, 1] is not public knowledge.
DATASET = DataSet(
    name="bike_hour",
    title="Bike Sharing, hourly",
    n_rows=SCHEMA.n,
    n_inputs=len(COLUMNS),
    columns=COLUMNS,
    target=TARGET,
    unit="rentals per hour",
    licence=wang2018.UCI_LICENCE,
    doi="10.24432/C5W894",
    raw=next(d for d in wang2018.DATASETS if d.name == "bike").raw,
    folder="bike",
    parse=parse,
    x_bounds=tuple(RANGES.get(name, fixed) for name, fixed in zip(COLUMNS, SCHEMA.bounds, strict=True)),
    extremes=(),  # a calendar, codings and a scale
    bounds_citation=(
        "the documentation of the data lists the codes of season, month, hour, weekday and weather; the days of a "
        "month, a year since 2011, yes and no as 1 and 0; humidity is a share of 100 %"
    ),
    n_splits=20,
    table_sha256="16d30a69f0319f2935f7893938551ac49371de0593d03a6fbaeb920b47f8bea8",
)
