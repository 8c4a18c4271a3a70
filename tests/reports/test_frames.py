"""Numbers of texts, read from tables: by hand on synthetic scores."""

import io

import pandas as pd
import pytest

from reports.frames import FrameError, Frames, render

CSV = """method,dataset,setting,status,value,split
sep,wine,,ok,0.5,9
sep,wine,,ok,0.7,10
sep,naval,,ok,0.0025,0
sep,kin8nm,clipped and noised,ok,3.5,0
ep,naval,clip=1,diverged,,
"""
COMPARED = pd.DataFrame([("a", "-0.25", "-0.5", "0.125")], columns=["id", "difference", "low", "high"])


@pytest.fixture
def frames():
    told = pd.read_csv(io.StringIO(CSV), dtype=str, keep_default_na=False)
    return Frames(lambda name: {"x": told, "compared": COMPARED}[name])


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('rows("x", dataset="naval", method="sep") | one("value")', "0.0025"),
        ('rows("x", dataset="naval", method="sep") | one("value") | to(".3f")', "0.003"),
        ('rows("x", dataset="wine") | mean("value") | to(".2f")', "0.60"),
        ('rows("x", dataset="wine", setting="") | sd("value") | to(".4f")', "0.1414"),
        ('rows("x", dataset="wine") | most("value")', "0.7"),
        ('rows("x", dataset="wine") | least("value")', "0.5"),
        ('rows("x", dataset="wine") | total("value") | to(".1f")', "1.2"),
        ('rows("x", status="ok") | median("value")', "0.6"),
        ('rows("x", status="timeout") | length', "0"),
        ('rows("x") | where(setting="clip=1") | one("status")', "diverged"),
        ('rows("x", dataset=["wine", "naval", "power"]) | length', "4"),
        ('rows("x") | where(dataset=["wine", "power"]) | length', "2"),
        ('rows("x") | listed("dataset")', "wine, naval and kin8nm"),
        ('rows("x", dataset="wine") | listed("dataset")', "wine"),
        ('rows("x", dataset="power") | listed("dataset", empty="no data set")', "no data set"),
        ('rows("x", dataset="wine") | below("split", 10) | length', "1"),
        ('rows("x") | below("split", 100) | length', "4"),
        ('rows("compared") | interval', "-0.25 [-0.5, +0.125]"),
        ('(rows("x") | records)[1].value', "0.7"),
    ],
)
def test_expressions(frames, expression, text):
    assert render(f"{{{{ {expression} }}}}", frames) == text


def test_names_from_outside(frames):
    text = "{% for r in told %}\n* {{ r }} {{ f(r) }}\n{% endfor %}\n"
    assert render(text, frames, told=[1, 2], f=str) == "* 1 1\n* 2 2\n"


def test_a_table_is_read_once():
    read = []
    frames = Frames(lambda name: read.append(name) or pd.DataFrame({"a": ["1", "2"]}))
    assert (len(frames.rows("x", a="1")), len(frames.rows("x", a="2")), read) == (1, 1, ["x"])


def test_a_text_that_looks_like_a_number_is_text():
    frames = Frames(lambda name: pd.DataFrame({"delta": ["1e-5", "1.0e-05"], "digits": ["0.10", "0.1"]}))
    assert len(frames.rows("x", delta="1e-5", digits="0.10")) == 1


def missing(name):
    raise FileNotFoundError(f"{name} is not there")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ nothing }}", "'nothing' is undefined"),
        ("{{ a", "line 1 of the text"),
        ('{{ rows("x", data="wine") }}', "x: no column 'data'; columns are method, dataset"),
        ('{{ rows("x") | where(data="wine") }}', "x: no column 'data'"),
        ('{{ rows("x", dataset="wine") | one("value") }}', "x, dataset=wine: 2 rows have a value; one must"),
        ('{{ rows("x", dataset="power") | one("value") }}', "x, dataset=power: 0 rows have a value"),
        ('{{ rows("x") | where(dataset="power") | mean("value") }}', "x, dataset=power: no row has a value"),
        ('{{ rows("x") | mean("value") }}', "x: value: could not convert .* add a condition"),
        ('{{ rows("x", dataset="power") | listed("dataset") }}', "x, dataset=power: no row to list the dataset of"),
        ('{{ rows("x") | mean }}', "missing 1 required positional argument: 'column'"),
        ('{{ "a" | to(".2f") }}', "could not convert string to float"),
        ('{{ rows("x", dataset="wine") | mean("value") | to(".2q") }}', "Invalid format|Unknown format"),
    ],
)
def test_errors_name_what_is_wrong(frames, template, message):
    with pytest.raises(FrameError, match=message):
        render(template, frames)


def test_a_table_that_is_not_there():
    with pytest.raises(FrameError, match=r"no table 'x' \(x is not there\)"):
        render('{{ rows("x") }}', Frames(missing))


def test_a_missing_number():
    frames = Frames(lambda name: pd.DataFrame({"value": ["nan"]}))
    with pytest.raises(FrameError, match="x: a value is missing"):
        render('{{ rows("x") | mean("value") }}', frames)
