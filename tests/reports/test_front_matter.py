"""Front matter of queries and the prose that names them: by hand on one small table."""

import pandas as pd
import pytest

from reports.front_matter import render, split
from reports.queries import QueryError, Tables

ROWS = [("sep", "wine", "clip=1", "0.5"), ("sep", "wine", "clip=1", "0.7"), ("ep", "wine", "", "0.25")]
ROWS += [("sep", "power", "clip=1", "3.5"), ("ep", "power", "", "4.5")]
FRAME = pd.DataFrame(ROWS, columns=["method", "dataset", "setting", "value"])
TABLES = Tables(lambda name: {"scores": FRAME}[name])
RMSE = 'rmse: {table: scores, where: {method: "{method}", dataset: "{data}"}, take: mean(value), format: .2f}'
GRID = """
  errors:
    head: Method
    columns: [{title: Wine, data: wine}, {title: Power, data: power}]
    rows: [{title: SEP, method: sep}, {title: EP, method: ep}]
    cell: "{{ rmse }}"
"""


def source(body, queries="", numbers="", tables=""):
    sections = {"queries": queries, "numbers": numbers, "tables": tables}
    told = "\n".join(f"{k}:\n  {v.strip()}" for k, v in sections.items() if v)
    return f"---\n{told}\n---\n{body}"


def test_a_number_by_name():
    text = source("a {{ ep }} b\n", numbers="ep: {table: scores, where: {method: ep, dataset: wine}, take: value}")
    assert render(text, TABLES) == "a 0.25 b\n"
    assert split(text)[1] == "a {{ ep }} b\n"


def test_a_text_without_front_matter_is_itself():
    assert render("# A\n\n---\n", TABLES) == "# A\n\n---\n"
    assert split("# A\n") == ({}, "# A\n")


def test_from_gives_what_is_not_said_and_merges_conditions():
    shared = "scores_of: {table: scores, where: {method: sep}, take: mean(value), format: .1f}\n"
    shared += "  wine: {from: scores_of, where: {dataset: wine}}"
    numbers = "mean: {from: wine}\n  sd: {from: wine, take: sd(value), format: .3f}\n"
    numbers += "  other: {from: wine, where: {method: ep}, below: {value: 1}}\n"
    numbers += "  few: {from: wine, below: {value: 0.1}, take: count(value), format: ''}"
    assert render(source("{{ mean }} {{ sd }} {{ other }} {{ few }}", shared, numbers), TABLES) == "0.6 0.141 0.2 0"


def test_everything_is_text():
    """``1e-5``, ``yes`` and ``0.10`` are values as the tables have them."""
    frame = pd.DataFrame({"delta": ["1e-5", "1.0e-05"], "headline": ["yes", "True"], "digits": ["0.10", "0.1"]})
    number = "a: {table: x, where: {delta: 1e-5, headline: yes, digits: 0.10}, take: count(digits)}"
    assert render(source("{{ a }}", numbers=number), Tables(lambda name: frame)) == "1"


def test_a_table_is_a_loop_over_rows_and_columns():
    assert render(source("x\n\n{{ errors }}\n\ny\n", RMSE, tables=GRID), TABLES) == (
        "x\n\n| Method | Wine | Power |\n|---|---|---|\n| SEP | 0.60 | 3.50 |\n| EP | 0.25 | 4.50 |\n\ny\n"
    )


def test_cells_of_a_row_of_a_column_and_of_all():
    """A row's cells go before its cell, that before the column's, that before the table's; values stand in cells."""
    grid = """
  errors:
    values: {data: wine}
    head: " | note"
    columns: [{title: a, method: sep}, {title: b, method: ep, cell: "{{ method }} {{ rmse }}"}]
    rows:
      - {title: "1 | x"}
      - {title: "2 | ", cell: "<{{ rmse }}>"}
      - {title: "3 | z", cells: ["", "{{ count }}"]}
    cell: "{{ rmse }}"
"""
    shared = RMSE + "\n  count: {from: rmse, take: count(value), format: ''}"
    assert render(source("{{ errors }}", shared, tables=grid), TABLES).splitlines() == [
        "| | note | a | b |",
        "|---|---|---|---|",
        "| 1 | x | 0.60 | ep 0.25 |",
        "| 2 | | <0.60> | <0.25> |",
        "| 3 | z | | 1 |",
    ]


def test_holes_stand_anywhere_in_a_query():
    grid = GRID.replace("data: wine", 'data: wine, f: ".1f", of: mean').replace(
        "data: power", "data: power, f: .3f, of: max"
    )
    shared = RMSE.replace("scores,", '"{name}",').replace("mean(value)", '"{of}(value)"').replace(".2f", '"{f}"')
    text = source("{{ errors }}", shared, tables=grid.replace("head: Method", "values: {name: scores}"))
    assert "| SEP | 0.6 | 3.500 |" in render(text, TABLES)


def test_names_from_outside_and_loops_of_jinja():
    assert (
        render("{% for r in rows %}\n* {{ r }} {{ f(r) }}\n{% endfor %}\n", TABLES, rows=[1, 2], f=str)
        == "* 1 1\n* 2 2\n"
    )


OK = "a: {table: scores, where: {method: ep, dataset: wine}, take: value}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (source("{{ b }}", numbers=OK), "the text: unknown name 'b'; known are a"),
        (source("prose", numbers=OK), "'a' is not used in the text"),
        (source("{{ a }}", RMSE, OK), "'rmse' is not used by a number or a table"),
        (source("{{ a }}", OK, OK), "'a' stands twice"),
        (source("{{ a }}", numbers=f"{OK}\n  {OK}"), "'a' stands twice"),
        (source("{{ a }}", numbers="a: {from: b}"), "number 'a': from: unknown name 'b'; known are none"),
        (source("{{ a }}", "b: {from: b}", "a: {from: b}"), "query 'b': from: 'b' leads back to itself"),
        (source("{{ a }}", numbers="a: {table: scores}"), "number 'a': a query needs a table and what to take"),
        (source("{{ a }}", numbers="a: {table: scores, take: value, wher: {}}"), "number 'a': a query has from, table"),
        (source("{{ a }}", numbers="a: {table: scores, take: value, where: wine}"), "where and below are"),
        (source("{{ a }}", numbers="a: scores"), "'a' of numbers: write name"),
        (
            source("{{ a }}", numbers=OK.replace("ep,", "sep,")),
            r"number 'a': scores where method=sep and .*: 2 rows answer",
        ),
        (source("{{ a }}", numbers=OK.replace("wine", "naval")), "number 'a': scores where .*: no row answers"),
        (
            source("{{ a }}", numbers=OK.replace("dataset", "data")),
            "number 'a': .*no column 'data'; columns are method",
        ),
        (source("{{ a }}", numbers=OK.replace("wine", '"{data}"')), "number 'a': hole: unknown name 'data'"),
        ("---\nnumber: {}\n---\n", "sections are queries, numbers, tables"),
        ("---\nnumbers: [\n---\n", "front matter: "),
        ("---\nnumbers: {}\n", "has no end"),
        ("{{ a", "line 1 of the text"),
        (
            source("{{ errors }}", RMSE, tables=GRID.replace("head", "heads")),
            "table 'errors': a table has head, values",
        ),
        (
            source("{{ errors }}", RMSE, tables=GRID.replace("title: EP", "name: EP")),
            "table 'errors': a row or column is",
        ),
        (
            source("{{ errors }}", RMSE, tables=GRID.replace("method: ep", "method: vi")),
            "table 'errors', row 'EP', column 'Wine', rmse: scores where method=vi and dataset=wine .*no row answers",
        ),
        (
            source("{{ errors }}", RMSE, tables=GRID.replace("rmse", "mse")),
            "row 'SEP', column 'Wine': unknown name 'mse'",
        ),
        (
            source("{{ errors }}", RMSE, tables=GRID.replace("method: ep", "m: ep")),
            "row 'EP'.*hole: unknown name 'method'",
        ),
        (
            source("{{ errors }}", RMSE, tables=GRID.replace("method: ep", "method: ep, q: 1")),
            "'q' is not used in table",
        ),
        (source("{{ errors }}", RMSE, tables=GRID.replace("method: ep", "method: ep, rmse: 1")), "a value and a query"),
        (
            source("{{ errors }}", RMSE, tables=GRID.replace("method: ep", "method: ep, cells: [a]")),
            "one for each column",
        ),
        (source("{{ errors }}", RMSE, tables=GRID.replace("    cell:", "    head2:")), "a table has head"),
        (source("{{ errors }}", RMSE, tables=GRID[: GRID.index("    cell:")]), "column 'Wine': no cell"),
    ],
)
def test_errors_name_what_is_wrong(text, words):
    with pytest.raises(QueryError, match=words):
        render(text, TABLES)
