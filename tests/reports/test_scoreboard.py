"""The counts of verdicts: every distinct published number once, in the reading that is named."""

import csv
import gzip
import html
import io
import re
from collections import Counter
from types import SimpleNamespace

import pandas as pd
import pytest

from reports import papers, published, scoreboard
from reports.readme import ROOT
from reports.site import pages
from reports.site.content import Part, verdicts_of
from reports.site.document import Document


@pytest.fixture(scope="module")
def verdicts():
    return scoreboard.read()


def lines(path):
    """A CSV file as dicts, read without pandas."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(io.StringIO(text.decode("utf-8"))))


KEY = ("source", "table", "dataset", "method", "setting", "metric")
#: sources that version 2 of the rule never judged.
LATER = {"chen2025dppf", "honkela2018robust"}


def key(row):
    return tuple(row[k] for k in KEY)


def test_the_counts_are_those_of_other_code(verdicts):
    """Straight from the files: numbers that are no copies, the authors' code before the algorithm as printed."""
    said = [r for r in lines(ROOT / "reports/reference/verdicts.csv") if r["headline"] == "yes"]
    for path in sorted(ROOT.glob("papers/*/reference/verdicts.csv.gz")):
        said += lines(path)
    copied = {key(r) for p in ROOT.glob("papers/*/annotations.csv") for r in lines(p) if r.get("same_as")}
    words = {}
    for reading in ("printed", "authors"):
        words |= {key(r): r["verdict"] for r in said if r["reading"] == reading and key(r) not in copied}
    expected = Counter(words.values())
    board = scoreboard.counts(scoreboard.first(verdicts))
    assert board["numbers"].sum() == len(words)
    for word in ("reproduced", "compatible", "inconclusive"):
        assert board[word].sum() == expected[word]
    assert board["refuted"].sum() == expected["better"] + expected["worse"] + expected["differs"]
    assert (
        board["no_score"].sum()
        == len(words) - board[["reproduced", "compatible", "inconclusive", "refuted"]].sum().sum()
    )


@pytest.fixture(scope="module")
def derived():
    """Source -> counts and ceilings of its distinct numbers, from the files by other code."""
    said = [r for r in lines(ROOT / "reports/reference/verdicts.csv") if r["headline"] == "yes"]
    for path in sorted(ROOT.glob("papers/*/reference/verdicts.csv.gz")):
        said += lines(path)
    copied = {key(r) for p in ROOT.glob("papers/*/annotations.csv") for r in lines(p) if r.get("same_as")}
    words = {}
    for reading in ("printed", "authors"):
        words |= {key(r): (reading, r["verdict"]) for r in said if r["reading"] == reading and key(r) not in copied}
    shares = {(key(r), r["reading"]): r for p in ROOT.glob("papers/*/reference/ceiling.csv.gz") for r in lines(p)}
    out = {}
    for k, (reading, word) in words.items():
        word = "refuted" if word in ("better", "worse", "differs") else word
        word = word if word in scoreboard.COUNTS else "no_score"
        mine = out.setdefault(k[0], Counter())
        mine["numbers"] += 1
        mine[word] += 1
        for w in scoreboard.COUNTS[:-1]:
            mine[f"copy_{w}"] += float(shares[k, reading][w] or 0.0) if word != "no_score" else 0.0
    return out


def cells_of(row):
    """Numbers of one row of the scoreboard as README and the front page write it."""
    out = []
    for text in row:
        out += [float(n.replace(",", "")) for n in re.findall(r"[\d,]+(?:\.\d+)?", text)]
    return out


def expected_cells(found):
    counts = [n for w in scoreboard.COUNTS[:-1] for n in (found[w], round(found[f"copy_{w}"]))]
    return [found["numbers"], *counts, found["no_score"]]


def test_the_counts_of_the_page_on_the_ceiling_by_other_code(derived):
    text = (ROOT / "docs/explanation/ceiling.md").read_text(encoding="utf-8")
    start = text.index("| source | numbers | reproduced")
    table = [line.strip("|").split("|") for line in text[start : text.index("\n\n", start)].splitlines()[2:]]
    total = sum(derived.values(), Counter())
    shown = sorted(cells_of(row[1:]) for row in table)
    assert shown == sorted(expected_cells(f) for f in [*derived.values(), total])


def test_the_counts_of_the_front_page_by_other_code(derived):
    """The rows of its scoreboard, from the committed verdicts as the site shows them."""
    housed = [Part(p.key, p.title, {p.key: p.title}, "", verdicts_of(p.verdicts), p.claims) for p in papers.load()]
    own = pd.read_csv(ROOT / "reports/reference/verdicts.csv", dtype=str, keep_default_na=False)
    sources = {s: s for s in derived}
    first = Part("own", "Own", sources, "", verdicts_of(own, published.is_copy(own)), housed[0].claims)
    page = Document("index", "A page", {})
    pages._scores(page, SimpleNamespace(papers=[first, *housed]))
    board = page.text().partition("Verdicts by source")[2]
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) for line in re.findall(r"<tr>.*?</tr>", board, re.DOTALL)]
    shown = sorted(cells_of(row[1:]) for row in rows if len(row) == 7 and row[1] != "Numbers")
    total = sum(derived.values(), Counter())
    assert shown == sorted(expected_cells(f) for f in [*derived.values(), total])


def test_the_methods_of_the_readme_by_other_code():
    """Each count names its reading and has its ceiling in brackets: VI as the authors' code has it, from the files."""
    said = [r for r in lines(ROOT / "reports/reference/verdicts.csv") if r["headline"] == "yes"]
    copied = {key(r) for p in ROOT.glob("papers/*/annotations.csv") for r in lines(p) if r.get("same_as")}
    shares = {(key(r), r["reading"]): r for p in ROOT.glob("papers/*/reference/ceiling.csv.gz") for r in lines(p)}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for reading, title in (("authors", "authors' code"), ("printed", "as printed")):
        mine = [r for r in said if r["method"] == "vi" and r["reading"] == reading and key(r) not in copied]
        mine = [r for r in mine if r["verdict"] in (*scoreboard.COUNTS[:3], "better", "worse", "differs")]
        good = sum(r["verdict"] == "reproduced" for r in mine)
        copy = sum(float(shares[key(r), reading]["reproduced"]) for r in mine)
        (row,) = (line for line in text.splitlines() if line.startswith("| VI |"))
        assert f"{title}: {good} ({copy:.1f}) of {len(mine)} reproduced" in row


def test_the_readme_has_a_row_for_every_source(derived):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    start = text.index("| source | measure")
    table = text[start : text.index("\n\n", start)].splitlines()[2:]
    assert len(table) == len(derived)
    assert all(re.fullmatch(r"\|[^|]+\|[^|]+\| .*\d.* \| \d+ %; [\d.,]+ \|", line) for line in table)


def test_the_counts_of_the_readme_by_other_code(derived):
    """Its two sentences, and the words and titles of its figure."""
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    said = [r for r in lines(ROOT / "reports/reference/verdicts.csv") if r["headline"] == "yes"]
    for path in sorted(ROOT.glob("papers/*/reference/verdicts.csv.gz")):
        said += lines(path)
    copied = {key(r) for p in ROOT.glob("papers/*/annotations.csv") for r in lines(p) if r.get("same_as")}
    printed = [r["verdict"] for r in said if r["reading"] == "printed" and key(r) not in copied]
    scored = [w for w in printed if w in (*scoreboard.COUNTS[:3], "better", "worse", "differs")]
    refuted = [w for w in scored if w in ("better", "worse", "differs")]
    assert f"compares {sum(f['numbers'] for f in derived.values()):,} published numbers" in text
    assert f"{len(refuted):,} of {len(scored):,} numbers are refuted" in text
    (told,) = re.findall(r"<desc>(.*?)</desc>", (ROOT / "docs/verdicts.svg").read_text(encoding="utf-8"))
    shown = [{w.replace(" ", "_"): int(n) for n, w in re.findall(r"(\d+) ([a-z][a-z ]*[a-z])", of.rpartition(": ")[2])}
             for of in html.unescape(told).split(";")]  # fmt: skip
    expected = [{w: f[w] for w in scoreboard.COUNTS if f[w]} for f in derived.values()]
    assert sorted(map(sorted, map(dict.items, shown))) == sorted(map(sorted, map(dict.items, expected)))


def test_groups_of_numbers_without_a_score():
    """All of them, and each with a remedy."""
    found = scoreboard.missing(scoreboard.first(scoreboard.rows()))
    board = scoreboard.counts(scoreboard.first(scoreboard.read()))
    assert found["numbers"].sum() == board["no_score"].sum()
    assert (found["why"] != "").all()
    assert (found["remedy"] != "").all()
    made = pd.DataFrame({"source": "s", "method": ["a", "b", "c"], "verdict": ["no_data", "no_data", "worse"],
                         "reason": ["x: y could not be had. Tried: z. Remedy: go online"] * 3})  # fmt: skip
    assert scoreboard.missing(made).to_dict("records") == [
        {"source": "s", "verdict": "no_data", "why": "x: y could not be had", "remedy": "go online", "numbers": 2,
         "methods": 2}
    ]  # fmt: skip


def test_a_number_without_ceiling_is_counted_as_such():
    rows = pd.DataFrame([row("a", "authors", "worse"), row("b", "authors", "no_data")])
    (found,) = scoreboard.with_ceiling(rows).to_dict("records")
    assert (found["no_ceiling"], found["copy_reproduced"]) == (1, 0)


def test_every_published_number_is_counted(verdicts):
    """The published files' rows without copies and timings, of every source with numbers."""
    numbers = [r for p in ROOT.glob("papers/*/published.csv") for r in lines(p)]
    numbers = [r for r in numbers if not r["metric"].startswith("seconds")]
    copied = {key(r) for p in ROOT.glob("papers/*/annotations.csv") for r in lines(p) if r.get("same_as")}
    counted = set(map(tuple, scoreboard.first(verdicts)[list(KEY)].to_numpy()))
    others = {k for k in counted if k[:3:2] == ("honkela2018robust", "honkela_search")}
    assert {key(r) for r in numbers} - copied == counted - others
    # two more files of this source: pairs of multiples that were searched for simulated rows, and the plotted grid
    home = ROOT / "papers/honkela2018robust"
    pairs = [r for r in lines(home / "thresholds.csv") if r["table"].startswith("synth") and r["n"] != "0"]
    splits = [r for r in lines(home / "budget_grid.csv") if r["grid"] == "plotted"]
    assert len(others) == 2 * len(pairs) + len(splits) == 2 * 15 + 171


def test_a_count_per_source_and_reading(verdicts):
    board = scoreboard.by_reading(verdicts)
    assert (board[scoreboard.COUNTS].sum(axis=1) == board["numbers"]).all()
    assert list(board["reading"].unique()) == ["printed", "authors", "corrected"]
    assert not board.duplicated(["source", "reading"]).any()


def test_version_2_is_what_was_committed_under_it(verdicts):
    """The counts of that time, and no word of it is today's. Sources that came later had none.

    One box of Räisä (2021) is counted as it is since its whole run of 2026-11-28: compatible, and reproduced before.
    """
    changes = lines(ROOT / "reports/reference/verdict_changes.csv")
    assert all(r["version_2"] != r["version_3"] for r in changes)
    then = verdicts[~verdicts["source"].isin(LATER)]
    old = scoreboard.counts(scoreboard.first(scoreboard.version_2(then)))[scoreboard.COUNTS].sum()
    assert old.to_dict() == {
        "reproduced": 1316, "compatible": 1752, "inconclusive": 155, "refuted": 17, "no_score": 331,
    }  # fmt: skip


def test_a_change_that_is_no_longer_true_is_named(verdicts):
    first = lines(ROOT / "reports/reference/verdict_changes.csv")[0]
    at = (verdicts[[*KEY, "reading"]] == pd.Series({k: first[k] for k in (*KEY, "reading")})).all(axis=1)
    with pytest.raises(ValueError, match="by now"):
        scoreboard.version_2(verdicts.assign(verdict=verdicts["verdict"].mask(at, "worse")))


def row(method, reading, verdict):
    return dict.fromkeys(scoreboard.COLUMNS, "") | {
        "source": "s",
        "method": method,
        "reading": reading,
        "verdict": verdict,
    }


def test_the_first_reading_that_was_run_counts():
    made = pd.DataFrame(
        [
            row("a", "printed", "worse"),
            row("a", "authors", "reproduced"),
            row("a", "corrected", "better"),
            row("b", "printed", "better"),
            row("c", "printed", "no_data"),
        ]
    )
    assert scoreboard.first(made)["verdict"].tolist() == ["reproduced", "better", "no_data"]
    (counts,) = scoreboard.counts(scoreboard.first(made)).to_dict("records")
    assert counts == {
        "source": "s", "numbers": 3, "reproduced": 1, "compatible": 0, "inconclusive": 0, "refuted": 1, "no_score": 1,
    }  # fmt: skip


def test_no_rows_give_no_counts():
    assert scoreboard.counts(pd.DataFrame(columns=scoreboard.COLUMNS)).empty
