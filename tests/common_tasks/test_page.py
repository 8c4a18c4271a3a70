"""The page "Which method should I take?": every sentence by a template, every name a link to a row that is there."""

from __future__ import annotations

import re

import pandas as pd
import pytest
import yaml

from common_tasks import advice as common_advice
from common_tasks import page as common_page
from common_tasks import scores as common_scores
from common_tasks import sentences as common_sentences
from datasets.files import csv_text
from reports import build, ledger
from reports.contents import Added
from tests.common_tasks import made_up

NO_LEDGER = pd.DataFrame(columns=ledger.COLUMNS)
SIZES = pd.DataFrame({"dataset": ["wine", "power"], "n": [1588, 9527]})


@pytest.fixture(scope="module")
def family():
    return common_scores.read(made_up.CONFIG, made_up.linear_regression())


@pytest.fixture(scope="module")
def page(family, tmp_path_factory):
    out = tmp_path_factory.mktemp("page")
    return out, common_page.build(out, [family], NO_LEDGER, SIZES, "full", with_site=True)


def sentences(family):
    said = list(common_sentences.in_short(family))
    for column in family.columns:
        said += [s for _, items in common_sentences.about(family, column) for item in items for s in item]
    return said


def test_every_sentence_links_a_row_of_the_page(family, page):
    advice = page[1].advice
    tables = [*advice.tables, *(t for s in advice.sections for t in s.tables)]
    there = [i for t in tables for b in t.blocks for i in b.ids if i]
    assert len(there) == len(set(there))
    said = sentences(family)
    assert len(said) > 30
    for sentence in said:
        assert sentence.links, sentence.text
        assert {link.anchor for link in sentence.links} <= set(there), sentence.text
    figures = [*advice.figures, *(f for s in advice.sections for f in s.figures)]
    assert figures
    assert all((page[0] / "figures" / f"{f.name}.{end}").is_file() for f in figures for end in ("svg", "csv"))
    assert all((page[0] / "tables" / f"{t.name}.{end}").is_file() for t in tables for end in ("csv", "md", "tex"))


def test_a_task_begins_with_one_table_one_figure_and_three_sentences(family, page):
    (section,) = page[1].advice.sections
    found = common_advice.block(family)
    first, _, table = section.text.partition("\n\n")
    assert re.sub(r"\\(.)", r"\1", first) == found.sentences[0]
    assert [s.text for s in section.sentences] == list(found.sentences[1:])
    assert [f.name for f in section.figures] == ["common_linear_regression_advice"]
    drawn = (page[0] / "figures/common_linear_regression_advice.csv").read_text()
    assert drawn == csv_text(found.data)
    lines = table.splitlines()[3:]
    assert table.startswith("```{rst-class} compact\n```\n\n|")
    assert len(lines) == len(found.table) + 2
    assert re.sub(r"\\(.)", r"\1", lines[2]).split("|")[1].strip() == found.table["method"][0]
    # the sentences by average rank are kept, closed until they are asked for
    kept = [s for _, items in section.details[0][1] for item in items for s in item]
    assert kept == list(common_sentences.in_short(family))


def test_the_row_that_carries_a_sentence_holds_its_number(family, page):
    """The score of the winner on wine at epsilon 1 stands in the row that its link leads to."""
    said = dict(common_sentences.about(family, ("1", False)))["Test RMSE"]
    winner = next(s for item in said for s in item if s.kind == "winner" and "On Wine" in s.text)
    tables = [t for s in page[1].advice.sections for t in s.tables]
    rows = {i: row for t in tables for b in t.blocks if b.ids for i, row in zip(b.ids, b.rows, strict=True) if i}
    lines = [line for e in rows[winner.links[0].anchor][1] for line in e.lines]
    score = re.search(r"RMSE: ([0-9.]+) ", winner.text)[1]
    assert score in [f"{float(m[1]):.3g}" for m in (re.match(r"([0-9.]+) ±", line) for line in lines) if m]


def test_templates_hold_no_number():
    for kind, template in common_sentences.TEMPLATES.items():
        assert not re.search(r"\d", template), kind
    with pytest.raises(KeyError):
        common_sentences.say("no such template")
    with pytest.raises(KeyError):
        common_sentences.say("cost", first="x")


def test_who_wins_and_who_loses_is_said(family):
    said = [s.text for s in sentences(family)]
    sep = common_scores.title("sufficient_statistics_perturbation", family.kind)
    ada = common_scores.title("adassp", family.kind)
    bernstein = common_scores.title("bernstein_sheldon_2019_corrected", family.kind)
    none = "default settings, none is tuned: the best average rank by test log-likelihood has"
    apart = "not told apart from it: 0 of 5 others, on these rows 0."
    for epsilon, first in (("0.1", f"{ada} (yardstick)"), ("1", sep), ("8", sep)):
        assert f"Epsilon = {epsilon}, {none} {first}; {apart}" in said
    mean = common_scores.title("predict_mean", family.kind)
    trivial = [t for t in said if t.startswith(f"By test RMSE, significantly worse than {mean}")]
    assert len(trivial) == 3  # at 8 the failed method alone
    assert f"{bernstein} (Wine, Power*)" in trivial[0]
    assert f"{bernstein} (Wine, Power*)" in trivial[1]
    assert bernstein not in trivial[2]
    assert common_scores.title(made_up.FAILED, family.kind) in trivial[2]
    assert any(t.startswith("That is worse than") for t in said)
    assert any(t.startswith("Without a score:") and "diverged on Wine" in t for t in said)


def test_coverage_is_sorted_into_close_narrow_and_wide():
    rows = []
    for method, share in (("dp_vi_vinaroz_corrected", 0.9), ("na_dpvi", 0.6), ("dpvi", 0.99)):
        values = {"rmse": 1.0, "coverage_90": share}
        rows += made_up.rows(made_up.CONFIG, "wine", method, "epsilon=1", values)
    family = common_scores.read(made_up.CONFIG, pd.DataFrame(rows))
    told = {s.kind: s.text for s in sentences(family)}
    assert common_scores.title("dp_vi_vinaroz_corrected", family.kind) in told["close"]
    assert "60% on Wine" in told["narrow"]
    assert "99% on Wine" in told["wide"]


def test_nobody_wins_among_equals_and_one_method_stands_alone():
    one = common_scores.read(made_up.CONFIG, made_up.one_method())
    kinds = {s.kind for s in sentences(one)}
    assert "alone" in kinds
    assert not kinds & {"winner", "near", "rank"}
    same = made_up.one_method()
    both = pd.concat([same, same.assign(method="na_dpvi", cell="another")], ignore_index=True)
    kinds = {s.kind for s in sentences(common_scores.read(made_up.CONFIG, both))}
    assert "open" in kinds
    assert not kinds & {"winner", "near"}
    third = pd.DataFrame(made_up.rows(made_up.CONFIG, "wine", "dpvi", "epsilon=1", {"rmse": 9.0}))
    many = pd.DataFrame(made_up.rows(made_up.CONFIG, "wine", "dp_vi_vinaroz_corrected", "epsilon=1", {"rmse": 0.5}))
    twin = many.assign(method="na_dpvi", cell="another")
    said = sentences(common_scores.read(made_up.CONFIG, pd.concat([many, twin, third], ignore_index=True)))
    near = next(s for s in said if s.kind == "near")
    assert common_scores.title("dpvi", "bounded_linear_regression") not in [link.text for link in near.links]


def test_without_scores_there_is_no_page(tmp_path):
    empty = common_scores.read(made_up.CONFIG, made_up.linear_regression().iloc[:0])
    added = common_page.build(tmp_path, [empty], NO_LEDGER, SIZES, "quick", with_site=True)
    assert added == Added([], [], [])
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_the_report_of_the_rule_is_whole(tmp_path):
    """From scores on disk to the site and its tables."""
    for folder in ("config", "results/scores/common_linear_regression", "results/fits", "results/data"):
        (tmp_path / folder).mkdir(parents=True)
    path = tmp_path / "config" / "common_linear_regression.yaml"
    path.write_text(yaml.safe_dump(made_up.CONFIG))
    scores = tmp_path / "results/scores/common_linear_regression/all.csv"
    scores.write_text(csv_text(made_up.linear_regression()))
    arguments = ["all", "--config", str(path), "--results", str(tmp_path / "results"), "--scale", "full"]
    assert build.main(arguments) == 0
    page = (tmp_path / "results/report/which-method.html").read_text()
    privacy = (tmp_path / "results/report/privacy.html").read_text()
    for name in ("linear_regression", "linear_regression_calibration", "ranks", "matrix", "privacy"):
        assert f'id="common_{name}"' in page
        assert (f'id="common_{name}"' in privacy) == (name == "privacy")
        for suffix in ("csv", "md", "tex"):
            assert (tmp_path / f"results/tables/common_{name}.{suffix}").stat().st_size > 100
