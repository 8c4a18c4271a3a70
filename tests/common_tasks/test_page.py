"""The pages "Which method should I use?": what stands on the page of a task, and what on that of its details."""

from __future__ import annotations

import re

import pandas as pd
import pytest
import yaml

from common_tasks import advice as common_advice
from common_tasks import page as common_page
from common_tasks import scores as common_scores
from common_tasks.scores import CONDITIONAL_NOTE
from datasets.files import csv_text
from reports import build, ledger
from reports.contents import Added, AdviceSection
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


def test_figures_and_tables_of_the_page_are_written(page):
    out, added = page
    (section,) = added.advice.sections
    tables = [*added.advice.tables, *section.tables]
    ids = [i for t in tables for b in t.blocks for i in b.ids if i]
    assert len(ids) == len(set(ids))
    assert all((out / "figures" / f"{f.name}.{end}").is_file() for f in section.figures for end in ("svg", "csv"))
    assert all((out / "tables" / f"{t.name}.{end}").is_file() for t in tables for end in ("csv", "md", "tex"))


def test_a_task_has_one_table_one_figure_and_three_paragraphs(family, page):
    """The figures of its scores come after that of the advice, for the page of details."""
    (section,) = page[1].advice.sections
    found = common_advice.block(family)
    said = [re.sub(r"\\(.)", r"\1", s) for s in (section.text, *section.sentences)]
    assert said == list(found.sentences)
    assert section.figures[0].name == "common_linear_regression_advice"
    assert len(section.figures) > 1
    assert all(f.name.startswith("common_linear_regression_") for f in section.figures)
    assert (page[0] / "figures/common_linear_regression_advice.csv").read_text() == csv_text(found.data)
    lines = section.table.splitlines()[3:]
    assert section.table.startswith("```{rst-class} compact\n```\n\n|")
    assert len(lines) == len(found.table) + 2
    assert re.sub(r"\\(.)", r"\1", lines[2]).split("|")[1].strip() == found.table["method"][0]


def test_the_table_of_posteriors_has_every_epsilon_and_every_table_left_out():
    sets = ["wine", "power", "naval", "kin8nm", "protein"]
    rows = [
        r
        for d in sets
        for method, setting, level in (
            ("predict_mean", "", -2.0),
            ("exact_posterior", "", -1.0),
            ("na_dpvi", "epsilon=1", -1.3),
            ("dpvim", "epsilon=1", -1.6),
        )
        for r in made_up.rows(made_up.CONFIG, d, method, setting, {"test_log_likelihood": level})
    ]
    made = common_scores.read(made_up.CONFIG | {"datasets": sets}, pd.DataFrame(rows))
    table, long = common_page.best_table(made, "full")
    assert [b.title for b in table.blocks] == ["epsilon = 1"]
    assert [name for name, _ in table.blocks[0].rows] == ["NA-DPVI", "DPVIm"]
    assert len(long) == 2 * 6
    left = long[(long["without"] != "") & (long["method"] == "dpvim")].set_index("without")["probability"]
    (shown,) = (dict(zip(table.blocks[0].columns, (e.lines[0] for e in row), strict=True))
                for name, row in table.blocks[0].rows if name == "DPVIm")  # fmt: skip
    assert shown["best, without any one table"] == f"{left.min():.2f} to {left.max():.2f}"
    assert shown["tables with a score"] == "5"
    assert common_page.best_table(common_scores.read(made_up.CONFIG, made_up.linear_regression()), "full") is None


def test_without_scores_there_is_no_page(tmp_path):
    empty = common_scores.read(made_up.CONFIG, made_up.linear_regression().iloc[:0])
    added = common_page.build(tmp_path, [empty], NO_LEDGER, SIZES, "quick", with_site=True)
    assert added == Added([], [], [])
    assert not list(tmp_path.iterdir())


def test_the_mark_of_conditional_tables_is_explained_if_an_answer_has_it(family, page, monkeypatch, tmp_path):
    assert CONDITIONAL_NOTE not in page[1].advice.notes
    made = AdviceSection("task", "Task", answers=[["1", "DPVIm", "0.9", "0.1", "NA-DPVI without Power*"]])
    monkeypatch.setattr(common_page, "section_of", lambda *_: made)
    assert common_page.advice([family], {}, (), (), tmp_path).notes[-1] == CONDITIONAL_NOTE


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
    pages = tmp_path / "results/report/which-method"
    page, details, every = (
        (pages / f"{name}.html").read_text() for name in ("linear_regression", "linear_regression-details", "all-tasks")
    )
    privacy = (tmp_path / "results/report/privacy.html").read_text()
    assert "No general advice" in page
    assert "No general advice" in (tmp_path / "results/report/which-method.html").read_text()
    for name in ("linear_regression", "linear_regression_calibration"):
        assert f'id="common_{name}"' in details
    for name in ("matrix", "privacy"):
        assert f'id="common_{name}"' in every
        assert (f'id="common_{name}"' in privacy) == (name == "privacy")
    for name in ("linear_regression", "linear_regression_calibration", "matrix", "privacy"):
        for suffix in ("csv", "md", "tex"):
            assert (tmp_path / f"results/tables/common_{name}.{suffix}").stat().st_size > 100


def test_a_task_without_a_score_has_tables_and_no_advice(tmp_path):
    """As in a run whose data are out of reach: every row says no_data."""
    rows = made_up.linear_regression()
    lost = rows.assign(status="no_data", reason="no file", value="")
    family = common_scores.read(made_up.CONFIG, lost)
    assert family.arms
    assert not family.metrics
    added = common_page.build(tmp_path, [family], NO_LEDGER, SIZES, "full", with_site=True)
    assert added.advice is None
