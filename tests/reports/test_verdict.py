"""The rule: words, margin and level, and that nothing else assigns a word."""

import ast
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import t as student

from datasets.files import ROOT
from evaluation.metrics import METRICS, NONE
from reports import published, verdict
from reports.evidence import AGREE, Printed, Runs, printed, unit_of
from reports.reference import FOLDER
from reports.verdict import ANY_FALSE, FAMILY, VERDICTS, equivalent, margin, word
from reports.verdicts import BATCH
from tests.reports.committed_cells import committed_cells

DIFFER = ANY_FALSE / FAMILY


def judge(values, paper, metric, **more):
    """The verdict on a published mean."""
    return verdict.judge(Runs(paper, values, metric), **more)


def normal_runs(mean, sd, n):
    """n numbers with exactly this mean and standard deviation, tails of a normal law."""
    z = student(10**6).ppf((np.arange(n) + 0.5) / n)
    return mean + sd * z / z.std(ddof=1)


def test_words_by_hand():
    paper = printed("2.000", 10, "0.1000", "sd", 3)
    error = 0.1001 * math.sqrt(1 / 20 + 1 / 10)  # the published spread with its unit is the larger
    agree, differ = (float(student.isf(a / 2, 19)) * error for a in (AGREE, DIFFER))
    for gap, said in ((agree * 0.99, "reproduced"), (agree * 1.01, "inconclusive"), (differ * 1.01, "worse")):
        v = judge(normal_runs(2.0 + 0.001 + gap, 0.09, 20), paper, "rmse")
        assert v.verdict == said
        assert v.p_kind == "t"
        assert v.high - v.low == pytest.approx(2 * agree, rel=1e-9)
        assert v.detectable == pytest.approx(differ + 0.001, rel=1e-9)
        assert (v.p > AGREE) == (v.low - 0.001 <= 0 <= v.high + 0.001)


def test_compatible_is_what_nothing_refutes_and_nothing_shows():
    paper = printed("2.000", 5, "0.4000", "sd", 3)
    wide, narrow = normal_runs(2.0, 0.4, 20), normal_runs(2.0, 0.05, 20)
    assert judge(wide, paper, "rmse").verdict == "compatible"
    assert judge(narrow, paper, "rmse").verdict == "compatible"  # their mean is no better known than their spread
    assert judge(narrow, printed("2.000", 5, "0.0500", "sd", 3), "rmse").verdict == "reproduced"


@pytest.mark.parametrize(
    ("metric", "published_mean", "delta"),
    [("rmse", 4.0, 0.4), ("test_log_likelihood", -3.0, math.log(1.1)), ("calibration_rmse", 0.02, 0.005),
     ("tarp_coverage_rmse", 0.4, 0.1), ("fnorm", 3.0, math.log(2)), ("kl_proxy", 3.0, math.log(2))],
)  # fmt: skip
def test_margins(metric, published_mean, delta):
    assert float(margin(metric, published_mean)) == pytest.approx(delta)


def test_equivalence_is_shown_by_the_one_sided_bound():
    bound = float(student.isf(0.05, 19)) * 0.1 * math.sqrt(1 / 20 + 1 / 10)
    paper = Printed(2.0, 0.0, math.nan, 10)
    for mean, said in ((2.2 - bound * 1.001, True), (2.2 - bound * 0.999, False), (1.8 + bound * 1.001, True)):
        # .2 is 10 % of 2; the bound has to fit into what is left of it.
        assert bool(equivalent(mean if said else 2.2 - bound * 0.999, 0.1, 20, paper, "rmse")) == said
    assert not equivalent(2.0, math.nan, 1, paper, "rmse")
    norm = Printed(1.0, 0.0, math.nan, 1000)
    assert equivalent(1.99, 1e-6, 1000, norm, "fnorm")
    assert not equivalent(2.01, 1e-6, 1000, norm, "fnorm")
    assert equivalent(0.51, 1e-6, 1000, norm, "fnorm")
    assert not equivalent(0.49, 1e-6, 1000, norm, "fnorm")
    assert not equivalent(-0.9, 1e-6, 1000, norm, "kl_proxy")


def test_lost_splits_are_at_best_inconclusive():
    paper = printed("2.000", 10, "0.1000", "sd", 3)
    same, lower, higher = (normal_runs(m, 0.05, 20) for m in (2.0, 1.0, 3.0))
    assert [judge(x, paper, "rmse").verdict for x in (same, lower, higher)] == ["reproduced", "better", "worse"]
    assert [judge(x, paper, "rmse", lost=3).verdict for x in (same, lower, higher)] == [
        *("inconclusive", "inconclusive", "worse")
    ]


def test_the_family_decides_what_is_refuted():
    assert pytest.approx(0.01) == DIFFER * 290
    for family, said in ((290, "worse"), (2668, "inconclusive")):
        assert word(1e-5, True, False, "rmse", family=family) == said


def test_a_number_without_a_direction_differs(monkeypatch):
    """A posterior mean with a margin of 10 %: refuted either way it ``differs``; a metric without margin is refused."""
    mean = replace(METRICS["rmse"], name="posterior_mean", direction=NONE)
    monkeypatch.setitem(METRICS, "posterior_mean", mean)
    for m, said in ((1.0, "differs"), (3.0, "differs"), (2.0, "reproduced")):
        assert judge(normal_runs(m, 0.01, 20), printed("2.000", 10), "posterior_mean").verdict == said
    assert judge(normal_runs(1.0, 0.01, 20), printed("2.000", 10), "posterior_mean", lost=1).verdict == "inconclusive"
    with pytest.raises(ValueError, match="no margin"):
        judge([1.0, 2.0], printed("1.0", 5), "posterior_log_variance_ratio")


def test_direction_follows_the_metric():
    runs = normal_runs(1.0, 0.01, 20)
    assert judge(runs, printed("2.000", 10), "rmse").verdict == "better"
    assert judge(runs, printed("2.000", 10), "test_log_likelihood").verdict == "worse"
    assert judge(-runs, printed("-2.000", 10), "test_log_likelihood").verdict == "better"


def test_digits_are_data():
    runs = normal_runs(0.00251, 1e-5, 20)
    # 0.0025 printed as 0.002 (truncated) is not refuted; printed as 0.0020 it is.
    assert judge(runs, printed("0.002", 10), "rmse").p == 1
    assert judge(runs, printed("0.0020", 10), "rmse").verdict == "worse"
    # A table of three digits that dropped a trailing zero keeps its three digits.
    runs = normal_runs(0.067, 1e-5, 20)
    assert judge(runs, printed("0.06", 10), "rmse").p == 1
    assert judge(runs, printed("0.06", 10, digits=3), "rmse").verdict == "worse"


def test_one_run_of_ours_says_nothing():
    v = judge([2.0], printed("2.000", 10), "rmse")
    assert v.verdict == "inconclusive"
    assert math.isnan(v.low)
    assert "one run" in v.reason


def test_runs_that_never_vary():
    assert judge([2.001] * 5, printed("2.000", 2), "rmse").verdict == "reproduced"  # one unit, in binary arithmetic too
    assert judge([0.3] * 5, printed("0.2", 2), "rmse").p == 1
    v = judge([2.0011] * 5, printed("2.000", 2), "rmse")
    assert (v.verdict, v.low, v.high) == ("worse", v.difference, v.difference)
    assert "do not vary" in v.reason


@given(
    st.lists(st.floats(-10, 10), min_size=2, max_size=12),
    st.integers(-10_000, 10_000),
    st.sampled_from([1, 5, 10]),
    st.sampled_from(["", "0.100", "3.000"]),
)
@example([0.0] * 9 + [1.0], 2, 5, "")  # judged by resampled means
def test_mirror_symmetry_and_closed_vocabulary(runs, thousandths, n_published, std):
    def judged(sign):
        text = f"{sign * thousandths / 1000:.3f}"
        return judge([sign * x for x in runs], printed(text, n_published, std, "sd"), "test_log_likelihood")

    a, b = judged(1), judged(-1)
    assert a.p == pytest.approx(b.p, rel=1e-9)
    assert a.verdict == {"better": "worse", "worse": "better"}.get(b.verdict, b.verdict)
    assert a.verdict in VERDICTS
    assert a.low <= a.high
    if a.p_kind == "rank" and (n_published == 1 or std):
        assert (a.p > AGREE) == (a.low <= 0 <= a.high) or min(abs(a.low), abs(a.high)) < 1e-6


def test_bad_input_is_refused():
    paper = printed("1.0", 5)
    with pytest.raises(ValueError, match="no margin"):
        judge([1.0, 2.0], paper, "surprise")
    with pytest.raises(ValueError, match="plain decimal digits"):
        printed("1e-3", 5)
    with pytest.raises(ValueError, match="finite"):
        judge([1.0, math.nan], paper, "rmse")
    with pytest.raises(ValueError, match="at least one"):
        judge([], paper, "rmse")


def test_no_number_beyond_all_our_runs_is_reproduced():
    """A published number beyond 20 or more runs by more than a unit and the margin: never ``reproduced``."""
    frame = verdicts_of_the_reference()
    beyond = 0
    for reading, runs, cell, metric in committed_cells():
        if metric in BATCH or len(runs) < 20:
            continue
        unit, delta, m = unit_of(cell["mean"], cell["digits"]), float(margin(metric, float(cell["mean"]))), cell["mean"]
        low, high = runs.min() - unit, runs.max() + unit
        if metric in ("rmse", "test_log_likelihood", "calibration_rmse"):
            low, high = low - delta, high + delta
        else:
            low, high = (low / math.exp(delta), high * math.exp(delta)) if low > 0 else (low, high * math.exp(delta))
        if low <= float(m) <= high:
            continue
        beyond += 1
        key = tuple(cell[k] for k in published.KEY)
        assert frame[(*key, reading)] != "reproduced", key
    assert beyond > 30


def verdicts_of_the_reference():
    import pandas as pd

    frame = pd.read_csv(FOLDER / "verdicts.csv", dtype=str, keep_default_na=False)
    frame = frame[frame["headline"] == "yes"]
    return {(*r[:-1],): r[-1] for r in frame[[*published.KEY, "reading", "verdict"]].itertuples(index=False)}


# ----- words are assigned in one place

#: functions that may give one of these words, with the reason.
ASSIGN = {
    "reports/verdict.py:word": "the rule",
    "reports/comparisons.py:_row": "two settings of ours, not a published number",
}
#: functions that ask for the rows of a table that have a word (``reports.frames``).
QUERIES = ("rows", "where")


def assigned(source: str) -> set[str]:
    """Functions ("" outside of one) of a source text in which a verdict word is a value that somebody gets.

    That is a word, or an element of ``VERDICTS``, that is returned, yielded, bound to a name, key, argument or default,
    alone or as a branch of a condition. A word that is compared, looked up, counted, or that is a key or one of several
    of a collection is read, not assigned.
    """
    tree = ast.parse(source)
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def is_word(node: ast.AST) -> bool:
        element = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "VERDICTS"
        if element:
            return not isinstance(node.slice, ast.Slice)
        return isinstance(node, ast.Constant) and node.value in VERDICTS

    def gets_it(node: ast.AST) -> bool:
        parent = above[node]
        if isinstance(parent, ast.IfExp):
            return node is not parent.test and gets_it(parent)
        if isinstance(parent, (ast.BoolOp, ast.NamedExpr)):
            return gets_it(parent) or isinstance(parent, ast.NamedExpr)
        if isinstance(parent, ast.Dict):
            return node in parent.values
        if isinstance(parent, ast.Tuple):  # a, b = "worse", 1 and return "worse", 1; a constant of words is a list
            return not all(isinstance(e, ast.Constant) for e in parent.elts) and gets_it(parent)
        if isinstance(parent, ast.Call):
            return node in parent.args and isinstance(parent.func, ast.Name) and parent.func.id in ("Verdict", "str")
        if isinstance(parent, ast.keyword):
            function = getattr(above[parent], "func", None)
            return getattr(function, "attr", getattr(function, "id", "")) not in QUERIES
        given = (ast.Return, ast.Yield, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.arguments, ast.Lambda)
        return isinstance(parent, given)

    def home(node: ast.AST) -> str:
        while node in above:
            node = above[node]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return node.name
        return ""

    return {home(node) for node in ast.walk(tree) if is_word(node) and gets_it(node)}


def test_verdict_words_are_assigned_by_the_rule_alone():
    folders = ("datasets", "privacy", "models", "methods", "evaluation", "workflow", "reports", "papers")
    found = set()
    for folder in (*folders, "common_tasks", "dpbayes_bench"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            # parsing every file takes seconds
            if any(mark in text for w in VERDICTS for mark in (f'"{w}"', f"'{w}'", "VERDICTS[")):
                found |= {f"{path.relative_to(ROOT).as_posix()}:{name}" for name in assigned(text)}
    assert found == set(ASSIGN)


@pytest.mark.parametrize(
    "text",
    [
        "return 'worse'",
        "return 'better' if ours < theirs else 'worse'",
        "return p, 'worse'",
        "row['verdict'] = 'reproduced'",
        "row |= {'verdict': 'reproduced'}",
        "row |= dict(verdict='compatible')",
        "frame = frame.assign(verdict='compatible')",
        "said = found or 'inconclusive'",
        "said: str = 'worse'",
        "said = VERDICTS[3]",
        "return Verdict('worse', 1.0)",
        "yield 'worse'",
        "key = lambda p: 'worse'",
    ],
)
def test_an_assigned_word_is_found(text):
    assert assigned(f"def f():\n    {text}\n") == {"f"}


@pytest.mark.parametrize(
    "text",
    [
        "return row['verdict'] == 'worse'",
        "return frame[frame['verdict'].isin(['reproduced', 'compatible'])]",
        "colours = {'worse': RED}",
        "return counts['worse']",
        "return counts.get('worse', 0)",
        "words = ('better', 'worse', 'not separated')",
        "return VERDICTS[1:]",
        "return tables.rows('verdicts', verdict='reproduced')",
    ],
)
def test_a_word_that_is_read_is_not_assigned(text):
    assert assigned(f"def f():\n    {text}\n") == set()


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_published_number_that_is_not_finite_is_refused(wrong):
    paper = printed("2.000", 10, "0.1000", "sd", 3)
    for changes in ({"mean": wrong}, {"unit": wrong}, {"runs": (2.0, wrong)}):
        with pytest.raises(ValueError, match="the number, its unit and its runs must be finite"):
            judge(normal_runs(2.0, 0.1, 20), replace(paper, **changes), "rmse")
    for text in ("nan", "inf"):
        with pytest.raises(ValueError, match="give plain decimal digits"):
            printed(text, 10)
        with pytest.raises(ValueError, match="give plain decimal digits"):
            printed("2.0", 10, text, "sd")
