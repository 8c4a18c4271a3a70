"""One record says what a metric is: whatever judges, compares, heads or lists it reads it there."""

import ast
import csv
import gzip
import io
from pathlib import Path

import pytest

from common_tasks import scores, tables
from dpbayes_bench import tables as committed
from evaluation import metrics
from evaluation.metrics import DIAGNOSTICS, METRICS, NONE, UP, Margin, Metric, Unit
from reports import comparisons
from reports.claims.judging import margin_of
from reports.evidence import Runs, printed
from reports.site.words import metric_title
from reports.tables import all_methods_table
from reports.verdict import judge, margin
from tests.common_tasks import made_up
from workflow import try_method

ROOT = Path(__file__).parents[2]
TOY = Metric("toy", "toy score", Unit("toys", "toys a row"), UP, Margin("3 toys", least=3.0), "real", main=True)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(METRICS, TOY.name, TOY)
    return TOY.name


def test_a_verdict_takes_direction_margin_and_scale_from_it(toy):
    assert float(margin(toy, -50.0)) == 3.0
    paper = printed("10.0", 10, "0.1", "sd")
    runs = [-5.0 + 0.01 * k for k in range(20)]  # below 0: no fault of a metric on the real line
    assert judge(Runs(paper, runs, toy)).verdict == "worse"
    assert judge(Runs(paper, [-x + 20 for x in runs], toy)).verdict == "better"
    near = Runs(printed("13", 10, "0.1", "sd"), [12.0 + 0.01 * k for k in range(20)], toy)
    assert judge(near).verdict == "reproduced"


def test_comparisons_and_claims_take_its_direction_and_margin(toy, tmp_path):
    plan = tmp_path / "plan.csv"
    text = comparisons.FILE.read_text(encoding="utf-8").splitlines()
    row = dict.fromkeys(comparisons.PLAN, "") | {"id": "a", "kind": "mean", "experiment": "e", "protocol": "p"}
    row |= {"metric": toy, "method": "m", "setting": "", "other_method": "n"}
    plan.write_text("\n".join([text[0], ",".join(row.values())]) + "\n", encoding="utf-8")
    (asked,) = comparisons.read_plan(plan)
    values = {("wine", "p", m, "", toy): {str(k): x + 0.1 * k for k in range(10)} for m, x in (("m", 20.0), ("n", 1.0))}
    (found,) = comparisons._rows(asked, {"e": values})
    assert (found["compared"], found["margin"], found["not_worse"]) == ("better", 3.0, "yes")
    assert margin_of(toy, 50.0) == (5.0, "10 % of the error")
    assert margin_of("test_log_likelihood", 50.0)[1] == "ln 1.1 nats"


def test_pages_and_tables_take_its_title_and_unit(toy):
    assert metric_title(toy) == "toy score (toys a row)"
    frame = made_up.linear_regression().replace({"metric": {"rmse": toy}})
    headings = [b.title for b in all_methods_table(frame, "x", "full")[0].blocks]
    assert "Protocol literature: toy score (toys a row)" in headings


def test_the_common_tasks_compare_methods_by_it(toy):
    family = scores.read(made_up.CONFIG, made_up.linear_regression().replace({"metric": {"rmse": toy}}))
    assert family.metrics == ["test_log_likelihood", toy]
    table, _ = tables.score_table(family, "full")
    wine, power = (b.title for b in table.blocks if "toy" in b.title)
    assert wine == "Wine: toy score (toys a row)"
    assert power.endswith(": toy score (toys a row)")
    assert scores.higher(toy)


def test_try_shows_it_first(toy, monkeypatch):
    row = {"status": "ok", "reason": "", "epsilon": "", "value": "1.0"}
    found = [row | {"metric": m} for m in ("a", "b", "c", toy)]
    cell = try_method.cheapest("adassp")
    monkeypatch.setattr(try_method, "others", lambda _: {})
    head = try_method.comparison(cell, found).splitlines()[0].split()
    assert head[3:] == ["toy", "a", "b"]


def test_scorers_and_readers_of_the_results_take_its_unit(toy):
    assert metrics.scored(toy=1.0) == {"toy": (1.0, "toys")}
    stream = io.StringIO()
    metrics.write_units(stream)
    assert {r["metric"]: r["unit"] for r in csv.DictReader(io.StringIO(stream.getvalue()))}["toy"] == "toys"


def test_units_for_readers_of_the_results_are_those_of_the_records():
    told = "write it anew: python -m evaluation.metrics > dpbayes_bench/metrics.csv"
    assert committed.units() == {m.name: m.unit.name for m in METRICS.values()}, told


def test_committed_scores_have_the_units_of_the_records():
    units = {**{m.name: m.unit.name for m in METRICS.values()}, **DIAGNOSTICS}
    pairs = set()
    for path in committed.score_files(ROOT):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
            pairs |= {(r["metric"], r["unit"]) for r in csv.DictReader(stream) if r["metric"] in units and "unit" in r}
    assert pairs == {(m, units[m]) for m, _ in pairs}
    assert len(pairs) >= 20


def test_a_metric_without_a_direction_is_not_judged():
    assert METRICS["posterior_log_variance_ratio"].direction is NONE
    for name in ("posterior_log_variance_ratio", "unheard_of"):
        with pytest.raises(ValueError, match=f"metric '{name}' has no direction"):
            metrics.judged(name)


def test_no_other_file_of_the_engine_names_a_main_metric():
    """In code; a paper may choose which metrics its tables and figures show."""
    found = []
    for folder in ("audit", "common_tasks", "evaluation", "methods", "models", "privacy", "reports", "workflow"):
        # a finding may choose the metric of its title
        for path in sorted(p for p in (ROOT / folder).rglob("*.py") if "findings" not in p.parts):
            names = {
                n.value for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Constant)
            }
            found += [str(path.relative_to(ROOT))] if names & set(metrics.main_metrics()) else []
    # the ceiling is simulated for errors, and the worked example of the docs is one number of one table
    assert found == ["evaluation/metrics.py", "reports/ceiling_bias.py", "reports/readme.py"]
