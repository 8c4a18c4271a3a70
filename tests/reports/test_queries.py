"""One query against a table: by hand on made-up scores."""

import io

import pandas as pd
import pytest

from reports.queries import Query, QueryError, Tables

CSV = """method,dataset,setting,metric,status,value,split
sep,wine,,rmse,ok,0.5,9
sep,wine,,rmse,ok,0.7,10
sep,naval,,rmse,ok,0.0025,0
sep,kin8nm,clipped and noised,rmse,ok,3.5,0
ep,naval,clip=1,rmse,diverged,,
"""


@pytest.fixture
def tables():
    told = pd.read_csv(io.StringIO(CSV), dtype=str, keep_default_na=False)
    return Tables(lambda name: {"x": told}[name])


@pytest.mark.parametrize(
    ("where", "take", "form", "text"),
    [
        ({"dataset": "naval", "method": "sep"}, "value", ".4f", "0.0025"),
        ({"dataset": "naval", "method": "sep"}, "value", "", "0.0025"),
        ({"dataset": "wine"}, "mean(value)", ".2f", "0.60"),
        ({"dataset": "wine", "setting": ""}, "sd(value)", ".4f", "0.1414"),
        ({"dataset": "wine"}, "max(value)", ".1f", "0.7"),
        ({"dataset": "wine"}, "min(value)", ".1f", "0.5"),
        ({"dataset": "wine"}, "sum(value)", ".1f", "1.2"),
        ({"status": "ok"}, "median(value)", ".1f", "0.6"),
        ({"status": "diverged"}, "count(value)", "", "1"),
        ({"status": "timeout"}, "count(value)", "d", "0"),
        ({"setting": "clip=1"}, "status", "", "diverged"),
        ({"metric": "rmse"}, "list(dataset)", "", "wine, naval and kin8nm"),
        ({"dataset": "wine"}, "list(dataset)", "", "wine"),
        ({"dataset": "power"}, "list(dataset)", "", "none"),
        ({"setting": "clipped and noised", "split": "0"}, "value", ".1f", "3.5"),
    ],
)
def test_answers(tables, where, take, form, text):
    assert tables.answer(Query("x", take, where, format=form)) == text


def test_below_compares_numbers_and_text_is_below_none(tables):
    assert tables.answer(Query("x", "count(split)", {"dataset": "wine"}, {"split": "10"})) == "1"
    assert tables.answer(Query("x", "count(split)", below={"split": "100"})) == "4"


def test_a_column_is_turned_into_numbers_once(tables, monkeypatch):
    made = []
    monkeypatch.setattr(pd, "to_numeric", lambda *a, real=pd.to_numeric, **k: made.append(a[0].name) or real(*a, **k))
    assert [tables.answer(Query("x", "count(split)", below={"split": n})) for n in ("0", "100", "100")] == [
        "0",
        "4",
        "4",
    ]
    assert made == ["split"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (
            Query("x", "value", {"dataset": "wine"}, format=".1f"),
            r"^x where dataset=wine \| value \| .1f: 2 rows answer",
        ),
        (Query("x", "value", {"dataset": "power"}), "no row answers"),
        (Query("x", "mean(value)", {"dataset": "power"}, format=".1f"), "no row answers"),
        (Query("x", "mean(value)", {"dataset": "naval"}, format=".1f"), "'' is not a number"),
        (Query("x", "mean(value)", {"dataset": "wine"}), "needs a format"),
        (Query("x", "count(value)", {"data": "wine"}), "no column 'data'; columns are method, dataset"),
        (Query("x", "count(value)", below={"data": "3"}), "no column 'data'"),
        (Query("x", "count(value)", below={"split": "three"}), "'three' is not a number"),
        (Query("x", "price"), "no column 'price'"),
        (Query("x", "mode(value)"), "take a column, or one of mean"),
        (Query("x", "value)"), "take a column"),
        (Query("x", "mean(value)", {"dataset": "wine"}, format="%d"), "Invalid format"),
    ],
)
def test_missing_or_ambiguous_is_an_error(tables, query, words):
    with pytest.raises(QueryError, match=words):
        tables.answer(query)


def test_a_table_is_read_once():
    read = []
    tables = Tables(lambda name: read.append(name) or pd.DataFrame({"a": ["1", "2"]}))
    assert [tables.answer(Query("x", "count(a)", {"a": "1"})), tables.answer(Query("x", "a", {"a": "2"}))] == ["1", "2"]
    assert read == ["x"]


def test_a_table_that_is_not_there():
    def read(name):
        raise FileNotFoundError("no such file below reference/")

    with pytest.raises(QueryError, match=r"no table 'y' \(no such file below reference/\)"):
        Tables(read).answer(Query("y", "value"))


def test_what_a_text_that_loops_over_rows_may_ask(tables):
    """A column may have the name of a parameter."""
    assert [r["value"] for r in tables.rows("x", dataset="wine")] == ["0.5", "0.7"]
    assert tables.value("x", "value", ".1f", dataset="naval", method="sep") == "0.0"
    assert tables.value("x", "status", "s", method="ep") == "diverged"
    assert tables.of("x", "value", "max", ".1f", status="ok") == "3.5"
    for wrong in ({"dataset": "wine"}, {"dataset": "power"}, {"table": "x"}):
        with pytest.raises(QueryError):
            tables.value("x", "value", ".1f", **wrong)
