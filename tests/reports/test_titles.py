"""Every title of a finding holds on the committed numbers, and on no others: differences turned, rows exchanged."""

import re

import numpy as np
import pandas as pd
import pytest

from datasets.files import ROOT
from reports import findings
from reports.findings import FindingError
from tests.reports import title_checks as titles
from workflow import papers

SOURCES = {
    path.stem: path
    for path in (
        *findings.sources(),
        *(path for p in papers.papers() if p.program for path in sorted((p.home / "findings/source").glob("*.md"))),
    )
}
CHECKED = [name for name, path in SOURCES.items() if "predicate" in titles.told(path)]
#: shuffles of each title; none of them may let it hold. With fixed seeds: the answer is the same at every run.
SEEDS = range(5)


def turned(holds):
    """The frames with the sign of every difference turned: of values by negation, of an interval end for end."""
    out = {}
    for name, frame in holds.frames.items():
        columns = list(holds.columns[name])
        made = frame.assign(**{c: -frame[c] for c in columns})
        if {"low", "high"} <= set(columns):
            made = made.assign(low=-frame["high"], high=-frame["low"])
        out[name] = made
    return out


def shuffled(holds, seed):
    """The frames with numbers exchanged between rows; half of the differences change sides, as methods would."""
    rng = np.random.default_rng(seed)
    out = {}
    for name, frame in holds.frames.items():
        columns = list(holds.columns[name])
        values = frame[columns].to_numpy(dtype=float)
        if {"low", "high"} <= set(columns):
            moved = pd.DataFrame(values[rng.permutation(len(values))], columns=columns)
            sides = np.where(rng.permutation(len(moved)) % 2, 1.0, -1.0)
            low, high = moved["low"].copy(), moved["high"].copy()
            for c in set(columns) - {"low", "high"}:
                moved[c] = moved[c] * sides
            moved["low"], moved["high"] = np.where(sides > 0, low, -high), np.where(sides > 0, high, -low)
        else:
            moved = pd.DataFrame(rng.permutation(values.ravel()).reshape(values.shape), columns=columns)
        out[name] = frame.assign(**{c: moved[c].to_numpy() for c in columns})
    return out


@pytest.mark.parametrize("name", CHECKED)
def test_a_title_holds_on_its_numbers_and_not_on_turned_or_exchanged_ones(name):
    holds = titles.load(SOURCES[name])
    assert holds(), f"{name}: the title does not hold on the committed numbers; mend the title, or the text's numbers"
    assert not holds(turned(holds)), f"{name}: the title holds with all differences turned"
    still = [seed for seed in SEEDS if holds(shuffled(holds, seed))]
    assert not still, f"{name}: the title holds with rows exchanged (seeds {still})"


def test_every_finding_says_what_its_title_rests_on():
    assert len(SOURCES) >= 47
    for path in SOURCES.values():
        said = titles.told(path)
        if "shown_by" in said:
            file, _, test = said["shown_by"].partition("::")
            assert re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), path.name


def test_every_predicate_is_used():
    for home in {path.parents[1] for path in SOURCES.values()}:
        named = {titles.told(p).get("predicate") for p in SOURCES.values() if p.parents[1] == home} - {None}
        if (home / "predicates.py").is_file() or named:
            written = re.findall(r"^def ([a-z]\w*)\(", (home / "predicates.py").read_text(encoding="utf-8"), re.M)
            assert set(written) == named, home


@pytest.fixture
def finding(tmp_path):
    (tmp_path / "findings/source").mkdir(parents=True)
    (tmp_path / "findings/predicates.py").write_text("def above(scores):\n    return (scores['value'] > 1).all()\n")

    def make(numbers, predicate="above"):
        path = tmp_path / "findings/source/a.md"
        path.write_text(
            f"---\ntitle: A\nsummary: B.\ntitle_holds:\n  predicate: {predicate}\n  numbers: {numbers}\n---\nText.\n"
        )
        return path

    return make


def read(name):
    return pd.DataFrame({"method": ["a", "a", "b"], "value": ["2", "3", "0.5"]})


def test_the_numbers_are_the_rows_that_are_asked_for(finding):
    all_rows = titles.load(finding("{scores: {table: x.csv, columns: value}}"), read)
    some = titles.load(finding("{scores: {table: x.csv, where: {method: a|c}, columns: value}}"), read)
    assert (all_rows(), some(), len(some.frames["scores"])) == (False, True, 2)
    assert turned(some)["scores"]["value"].tolist() == [-2.0, -3.0]


@pytest.mark.parametrize(
    ("numbers", "predicate", "message"),
    [
        ("{scores: {table: x.csv, columns: value}}", "below", "no function 'below'"),
        ("{scores: {table: x.csv}}", "above", "numbers have table, where, columns"),
        ("{scores: {table: x.csv, columns: mean}}", "above", "no column mean"),
        ("{scores: {table: x.csv, where: {method: c}, columns: value}}", "above", "no row answers"),
    ],
)
def test_a_finding_that_asks_for_what_is_not_there(finding, numbers, predicate, message):
    with pytest.raises(FindingError, match=rf"^a\.md.*{message}"):
        titles.load(finding(numbers, predicate), read)


def test_a_finding_that_says_nothing_of_its_title(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("---\ntitle: A\nsummary: B.\n---\nText.\n")
    with pytest.raises(FindingError, match="give predicate and numbers, or shown_by"):
        titles.told(path)
