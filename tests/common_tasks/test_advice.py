"""The block of advice, on made-up scores whose answer is known. About 12 CPU seconds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from common_tasks import advice, scores
from common_tasks.advice import About, block, blocks, figure, mean_over
from evaluation.paired import THESE_ROWS, Difference
from evaluation.summary import COLUMNS
from reports import style
from tests.common_tasks import made_up

SSP, ADASSP = "Sufficient-statistics perturbation", "AdaSSP (yardstick)"


def family(frame: pd.DataFrame) -> scores.Family:
    return scores.read(made_up.CONFIG, frame)


def only(levels: dict[str, float], n: int = 10, sets: list[str] = made_up.DATASETS) -> pd.DataFrame:
    """Scores at epsilon = 1 of these private methods (their log-likelihood), with both ends of the scale: -2 and -1."""
    out = []
    for d in sets:
        for method, level in {"predict_mean": -2.0, "exact_posterior": -1.0}.items():
            out += made_up.rows(made_up.CONFIG, d, method, "", {"test_log_likelihood": level}, n)
        for method, level in levels.items():
            out += made_up.rows(made_up.CONFIG, d, method, "epsilon=1", {"test_log_likelihood": level}, n)
    return pd.DataFrame(out, columns=COLUMNS)


def equal(frame: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """The scores of b become those of a, split by split."""
    key = ["dataset", "split", "metric"]
    values = frame[frame["method"] == a].set_index(key)["value"]
    here = frame["method"] == b
    frame.loc[here, "value"] = [values[tuple(k)] for k in frame.loc[here, key].to_numpy()]
    return frame


def test_the_best_is_named_with_its_score_on_the_scale_and_the_next():
    found = block(family(only({"sufficient_statistics_perturbation": -1.2, "na_dpvi": -1.6, "adassp": -1.7})))
    first, _, _ = found.sentences
    # (-1.2 + 2) / (-1 + 2) = 0.8, and 0.4 from the next; the noise of the made-up scores is 0.005
    assert first.startswith(f"At epsilon = 1 (default settings) {SSP} is best, 0.8")
    assert "told apart from all others: the next, NA-DPVI, is behind by 0.4" in first or "by 0.39" in first
    assert list(found.table["method"]) == [SSP, "NA-DPVI", ADASSP]
    assert list(found.table["told apart from the best"]) == ["best", "yes", "yes"]


def test_a_score_and_its_interval_are_those_of_the_scale():
    found = block(family(only({"sufficient_statistics_perturbation": -1.2, "na_dpvi": -1.6})))
    row = found.data[(found.data["dataset"] == "(mean)") & (found.data["method"] == "na_dpvi")].iloc[0]
    assert row["score"] == pytest.approx(0.4, abs=0.02)
    assert row["low"] < row["score"] < row["high"]
    assert row["unit"] == "scaled"


def test_equal_scores_are_not_ranked():
    frame = equal(only({"na_dpvi": -1.3, "adassp": -1.5}), "na_dpvi", "adassp")
    found = block(family(frame))
    assert "no order can be given" in found.sentences[0]
    assert "the other is not told apart from it" in found.sentences[0]
    assert set(found.table["told apart from the best"]) == {"best", "no"}
    assert "is best" not in found.sentences[0]


def test_a_tie_at_the_top_is_told_and_what_is_worse_is_told_apart():
    frame = equal(only({"na_dpvi": -1.3, "adassp": -1.5, "dpvim": -1.8}), "na_dpvi", "adassp")
    first = block(family(frame)).sentences[0]
    assert "not told apart from it: " in first
    assert "DPVIm is worse by" in first
    assert "is best" not in first


def test_one_method_is_compared_with_nothing():
    found = block(family(only({"na_dpvi": -1.3})))
    assert "the only private method with a score" in found.sentences[0]
    assert "told apart from" not in found.sentences[0] + found.sentences[1]
    assert "told apart from the best" not in found.table
    assert set(found.data["told_apart_from_best"]) == {""}


def test_one_split_has_no_interval_and_no_order():
    found = block(family(only({"na_dpvi": -1.3, "adassp": -1.9}, n=1)))
    assert "no order can be given" in found.sentences[0]
    assert "nan" not in "".join(found.sentences) + found.table.to_string()


def test_without_a_private_score_there_is_no_block():
    assert block(family(only({}))) is None
    assert blocks([family(only({}))]) == []


def test_where_every_fit_failed_there_is_no_block():
    nothing = replace(family(only({"a": 1.0, "b": 2.0})), values={}, summary={})
    assert not nothing.metrics
    assert advice.block(nothing) is None


def test_methods_without_a_score_stand_in_the_table_with_the_reason_and_in_no_order():
    found = block(family(made_up.linear_regression()))
    last = found.table.set_index("method")["default"].to_dict()
    assert last["DPVIm"] == "diverged"
    assert last["Posterior sample"] == "not supported"
    assert found.table.iloc[-1]["told apart from the best"] == "-"


def partly(level: float) -> tuple[str, pd.DataFrame]:
    """First sentence and table where DPVIm has that log-likelihood on wine and no score on power."""
    frame = only({"na_dpvi": -1.3, "adassp": -1.5, "dpvim": level})
    gone = (frame["dataset"] == "power") & (frame["method"] == "dpvim")
    found = block(family(frame[~gone]))
    return found.sentences[0], found.table


@pytest.mark.parametrize(
    ("level", "how"),
    [
        (-1.1, "is ahead of NA-DPVI by "),
        (-1.3, "is not told apart from NA-DPVI"),
        (-1.8, "is worse than NA-DPVI"),
    ],
)
def test_a_method_with_a_score_on_some_data_sets_is_named_and_compared_on_them(level, how):
    said, table = partly(level)
    assert "NA-DPVI has the highest mean" in said
    assert "told apart from the one other with a score on every data set" in said
    assert "all others" not in said
    assert "is best" not in said
    assert "Left out of these means: DPVIm (no score on Power*)." in said
    assert f"On the data sets with a score, at epsilon = 1 DPVIm {how}" in said
    if level == -1.1:  # the scale is 1 nat wide, and the noise of the made-up scores 0.005
        by = float(said.partition(how)[2].split()[0])
        assert by == pytest.approx(0.2, abs=0.02)
    assert table.set_index("method")["told apart from the best"].to_dict()["DPVIm"] == "-"


def test_the_only_method_with_all_scores_is_compared_with_the_others_on_some():
    frame = only({"na_dpvi": -1.3, "dpvim": -1.8})
    said = block(family(frame[~((frame["dataset"] == "power") & (frame["method"] == "dpvim"))])).sentences[0]
    assert "NA-DPVI is the only private method with a score on every data set, 0." in said
    assert "nothing to compare it with" not in said
    assert said.endswith("at epsilon = 1 DPVIm is worse than NA-DPVI.")


def test_beyond_the_axis_is_said_in_words_and_the_axis_stays_sensible():
    found = family(made_up.linear_regression())
    made = block(found)
    standings = advice.Standings(found, About())
    low, high = figure._axis(standings, found.columns)
    assert figure.LOWEST - 0.06 <= low <= 0
    assert 1 <= high <= figure.HIGHEST + 0.06
    # log-likelihood -80 at epsilon = 0.1, on a scale from -2 to -0.8
    far = made.data[(made.data["method"] == "bernstein_sheldon_2019_corrected") & (made.data["epsilon"] == "0.1")]
    score = far.set_index("dataset")["score"]["(mean)"]
    assert score == pytest.approx(-78 / 1.2, rel=0.01)
    assert f"Bernstein & Sheldon (2019, corrected) ({score:.2f} at epsilon = 0.1" in made.caption


def captured(monkeypatch, found: scores.Family):
    """The figure, kept before it is closed, and the block."""
    kept = []

    def svg(drawn):
        renderer = drawn.canvas.get_renderer()
        drawn.draw(renderer)
        labels = [t for ax in drawn.axes for t in (*ax.get_yticklabels(), *ax.texts, ax.title) if t.get_text()]
        kept.append((drawn.bbox, [(t.get_text(), t.get_window_extent(renderer)) for t in labels]))
        return "<svg/>"

    monkeypatch.setattr(style, "svg", svg)
    made = block(found)
    return kept[0], made


def test_many_methods_are_rows_with_whole_names_inside_of_the_figure(monkeypatch):
    names = ["sufficient_statistics_perturbation", "na_dpvi", "dp_vi_vinaroz_corrected", "adassp", "dpvim", "dp_sgd"]
    names += ["bernstein_sheldon_2019_corrected", "dpvi", "na_dpvi_laplace", "posterior_sampling_concentrated"]
    levels = {m: -1.05 - 0.1 * k for k, m in enumerate(names)}
    (whole, texts), made = captured(monkeypatch, family(only(levels)))
    shown = [text for text, _ in texts]
    assert all(name in shown for name in made.table["method"])
    assert all(box.x0 >= -1 and box.x1 <= whole.x1 + 1 for _, box in texts)


def test_few_methods_at_several_budgets_are_lines(monkeypatch):
    drawn = []
    monkeypatch.setattr(figure, "_dots", lambda *a: drawn.append("dots") or ("", ""))
    monkeypatch.setattr(figure, "_curves", lambda *a: drawn.append("lines") or ("", ""))
    block(family(made_up.linear_regression()))
    block(family(only({"na_dpvi": -1.3, "adassp": -1.9})))
    assert drawn == ["lines", "dots"]


def test_without_a_scale_scores_are_nats_above_the_control():
    """The exact posterior is no better than the mean."""
    frame = only({"na_dpvi": -2.3, "adassp": -2.6})
    here = frame["method"] == "exact_posterior"
    frame.loc[here, "value"] = [repr(float(v) - 1.0) for v in frame.loc[here, "value"]]
    found = block(family(frame))
    assert "there is no scale" in found.sentences[2]
    assert "nats a row" in found.sentences[0]
    assert "no mean is above that of Training mean, which is 0" in found.sentences[0]
    row = found.data[(found.data["dataset"] == "(mean)") & (found.data["method"] == "adassp")].iloc[0]
    assert row["score"] == pytest.approx(-0.6, abs=0.02)


def test_mean_over_data_sets_is_welchs_interval():
    rng = np.random.default_rng(0)
    groups = [rng.normal(1, 1, 6), rng.normal(3, 4, 9)]
    parts = []
    for g in groups:
        half = student.ppf(0.995, len(g) - 1) * g.std(ddof=1) / math.sqrt(len(g))
        parts.append(Difference(g.mean(), g.mean() - half, g.mean() + half, len(g), True))
    found = mean_over(parts, 0.01)
    v = [g.var(ddof=1) / len(g) for g in groups]
    df = sum(v) ** 2 / (v[0] ** 2 / 5 + v[1] ** 2 / 8)
    assert found.difference == pytest.approx((groups[0].mean() + groups[1].mean()) / 2)
    assert found.high - found.difference == pytest.approx(student.ppf(0.995, df) * math.sqrt(sum(v)) / 2)


def test_intervals_of_independent_rows_are_narrower():
    found = family(only({"na_dpvi": -1.3, "adassp": -1.5}))
    widths = []
    for ratio in (About().ratio, THESE_ROWS):
        row = block(found, About(ratio=ratio)).data.iloc[0]
        widths.append(row["high"] - row["low"])
    assert widths[1] < widths[0]


def test_committed_density_has_a_block_whose_table_says_its_data():
    from workflow import committed, papers

    made = blocks(committed.read(papers.REFERENCE, "common_density"))
    assert [b.task for b in made] == ["density"]
    (found,) = made
    assert found.figure.lstrip().startswith("<?xml")
    assert all(s.endswith(".") and "nan" not in s for s in found.sentences)
    means = found.data[(found.data["dataset"] == "(mean)") & (found.data["epsilon"] == "1") & ~found.data["tuned"]]
    shown = found.table.set_index("method")["default"]
    for r in means.to_dict("records"):
        assert shown[r["title"]].startswith(f"{r['score']:.2f} ({r['low']:.2f} to {r['high']:.2f})")


def test_a_reference_without_scores_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="has no scores of"):
        blocks(tmp_path)
