"""Tables of the common tasks from made-up scores: marks, reasons, matrix, privacy."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

from common_tasks import beside_default as common_beside_default
from common_tasks import comparisons as compare
from common_tasks import matrix as common_matrix
from common_tasks import privacy as common_privacy
from common_tasks import scores as common_scores
from common_tasks import tables as common_tables
from methods import contract
from reports import ledger
from reports.blocks import markdown
from tests.common_tasks import made_up


@pytest.fixture(scope="module")
def family():
    return common_scores.read(made_up.CONFIG, made_up.linear_regression())


def arm(family, method, epsilon="", tuned=False):
    return next(a for a in family.arms if (a.method, a.epsilon, a.tuned) == (method, epsilon, tuned))


def block(table, words):
    return next(b for b in table.blocks if words in b.title)


def row(table, words, name):
    return dict(block(table, words).rows)[name]


def test_arms_play_their_parts(family):
    roles = {a.method: a.role for a in family.arms}
    assert roles["sufficient_statistics_perturbation"] == common_scores.PRIVATE
    assert roles["adassp"] == common_scores.PRIVATE_YARDSTICK
    assert roles["exact_posterior"] == common_scores.REFERENCE
    assert roles["sep"] == common_scores.FREE
    assert roles["predict_mean"] == roles["ridge"] == common_scores.FREE_YARDSTICK
    assert family.metrics == ["rmse", "test_log_likelihood"]
    assert family.columns == [("0.1", False), ("1", False), ("8", False)]
    assert family.task == "linear_regression"


def test_the_ledger_says_what_is_private_not_the_label():
    """An experiment of one budget, whose arms are not named by it."""
    frame = made_up.linear_regression()
    frame = frame[~frame["setting"].str.contains("epsilon=") | (frame["setting"] == "epsilon=1")]
    unnamed = made_up.CONFIG | {"include_unlisted_methods": {"budget": {"epsilon": 1.0}}}
    family = common_scores.read(unnamed, frame.assign(setting=""))
    roles = {(a.method, a.epsilon): a.role for a in family.arms}
    assert roles["na_dpvi", "1"] == common_scores.PRIVATE
    assert roles["adassp", "1"] == common_scores.PRIVATE_YARDSTICK
    assert roles["sep", ""] == common_scores.FREE
    spent = common_scores.read(made_up.CONFIG, frame.assign(setting=""))  # no budget is stated: what was spent
    assert {a.epsilon for a in spent.arms if a.method == "na_dpvi"} == {"0.99"}


@pytest.mark.parametrize(
    ("setting", "epsilon", "tuned", "words"),
    [("", "", False, ""), ("tuned;epsilon=1", "1", True, ""), ("epsilon=8;tuned", "8", True, ""),
     ("tuned", "", True, ""), ("wide;epsilon=0.1", "0.1", False, "wide")],
)  # fmt: skip
def test_settings_are_read_part_by_part(setting, epsilon, tuned, words):
    found = common_scores.arm_of("dp_vi_vinaroz_corrected", setting, "bounded_linear_regression")
    assert (found.epsilon, found.tuned, common_scores.label(found)) == (epsilon, tuned, words)


def test_a_cell_without_a_score_says_why(family):
    table, _ = common_tables.score_table(family, "full")
    failed = row(table, "Wine: test RMSE", common_scores.title(made_up.FAILED, family.kind))
    refused = row(table, "Wine: test RMSE", common_scores.title(made_up.NOT_SUPPORTED, family.kind))
    assert failed[1].verdict == "diverged"
    assert refused[1].verdict == "not_supported"
    assert refused[1].after == ()
    assert table.footnotes[refused[1].marks[0] - 1] == "needs epsilon 321"


def test_a_missing_split_is_counted_and_said(family):
    table, _ = common_tables.score_table(family, "full")
    entries = row(table, "Wine: test RMSE", common_scores.title("na_dpvi", family.kind))
    assert entries[1].lines[0].endswith("(9)")
    assert "no answer within 600 s" in table.footnotes[entries[1].marks[0] - 1]
    first, other = arm(family, "sufficient_statistics_perturbation", "1"), arm(family, "na_dpvi", "1")
    law, rows = compare.both_gaps(family, "wine", "rmse", first, other)
    assert (law.n, rows.n) == (9, 9)
    assert law.low < rows.low < law.difference == rows.difference < rows.high < law.high


def test_one_method_on_one_split_has_a_table():
    family = common_scores.read(made_up.CONFIG, made_up.one_method())
    table, long = common_tables.score_table(family, "quick")
    assert not any(e.strong for b in table.blocks for _, entries in b.rows for e in entries)
    assert list(long["n"]) == [1, 1]
    assert common_tables.calibration_table(family, "quick")[0].blocks[0].columns == [
        "wall seconds per fit",
        "peak memory (MB)",
    ]


@pytest.fixture(scope="module")
def tuned_family(tmp_path_factory):
    """Wine at 1: tuned settings for NA-DPVI; the default won for the yardstick and DP-VI; those of DP-SEP not run."""
    path = tmp_path_factory.mktemp("tuned") / "common_linear_regression.json"
    won, other = {"1": {"settings": {}, "scores": []}}, {"1": {"settings": {"clip": 2.0}, "scores": []}}
    here = {
        "na_dpvi": other,
        "adassp": won,
        "dp_vi_vinaroz_corrected": won,
        "sufficient_statistics_perturbation": other,
    }
    path.write_text(json.dumps({"wine": here, "power": here | {"na_dpvi": won}}))
    frame = made_up.linear_regression()
    more = made_up.rows(made_up.CONFIG, "wine", "na_dpvi", "tuned;epsilon=1", {"rmse": 0.3, "test_log_likelihood": -1})
    config = made_up.CONFIG | {"tuned": str(path)}
    return common_scores.read(config, pd.concat([frame, pd.DataFrame(more)], ignore_index=True))


def test_tuned_settings_have_a_column_of_their_own(tuned_family):
    family = tuned_family
    assert family.columns == [("0.1", False), ("1", False), ("1", True), ("8", False)]
    table, _ = common_tables.score_table(family, "full")
    heads = list(table.blocks[0].columns)
    assert heads[1:3] == ["epsilon = 1", "epsilon = 1, tuned on synthetic surrogate data"]
    entries = row(table, "Wine: test RMSE", common_scores.title("na_dpvi", family.kind))
    assert entries[2].lines[0].startswith("0.3")
    assert "public synthetic data" in markdown(table)


def test_a_default_that_won_the_tuning_stands_in_the_tuned_column(tuned_family):
    """Taken over: defaults that won, that have no grid, or were not tried. Not: settings that were chosen, not run."""
    family, column = tuned_family, ("1", True)
    marks = {a.method: family.mark("wine", a) for a in compare.competitors(family, column)}
    assert marks == {
        "na_dpvi": "", "adassp": "default", "dp_vi_vinaroz_corrected": "default",
        made_up.NOT_SUPPORTED: "default, no grid",
        "bernstein_sheldon_2019_corrected": "default, not tuned", made_up.FAILED: "default, not tuned",
    }  # fmt: skip
    for metric in family.metrics:
        for method in ("adassp", "dp_vi_vinaroz_corrected"):
            taken, own = arm(family, method, "1", tuned=True), arm(family, method, "1")
            assert family.values["wine", taken, metric] == family.values["wine", own, metric]


def test_a_default_in_a_tuned_column_is_marked(tuned_family):
    family = tuned_family
    title = {m: common_scores.title(m, family.kind) for m in ("dp_vi_vinaroz_corrected", "na_dpvi", "adassp")}
    table, long = common_tables.score_table(family, "full")
    own, tuned = row(table, "Wine: test RMSE", title["dp_vi_vinaroz_corrected"])[1:3]
    assert tuned.lines == (f"{own.lines[0]}, default",)
    assert "default" not in row(table, "Wine: test RMSE", title["na_dpvi"])[2].lines[0]
    refused = row(table, "Wine: test RMSE", common_scores.title(made_up.NOT_SUPPORTED, family.kind))[2]
    assert (refused.verdict, refused.after) == ("not_supported", ("default, no grid",))
    here = long[long["tuned"] & (long["dataset"] == "wine") & (long["metric"] == "rmse")].set_index("method")
    assert (here.loc["dp_vi_vinaroz_corrected", "chosen"], here.loc["na_dpvi", "chosen"]) == ("default", "tuned")
    names = [n for n, _ in block(common_tables.calibration_table(family, "full")[0], "Wine").rows]
    assert {f"{title['dp_vi_vinaroz_corrected']}, default", f"{title['adassp']}, default"} <= set(names)
    # nothing that did not run is said to have
    assert set(common_beside_default.tuned_frame([family])["method"]) == {"na_dpvi"}
    shown = common_privacy.privacy_frame([family], pd.DataFrame(columns=ledger.COLUMNS))
    assert set(shown.loc[shown["tuned"], "method"]) == {"na_dpvi"}


def test_rows_have_anchors_of_their_own(family):
    for table, _ in common_tables.build(family, "full"):
        ids = [i for b in table.blocks for i in b.ids if i]
        assert len(ids) == len(set(ids))
        assert all(len(b.ids) == len(b.rows) for b in table.blocks)
        assert all(
            bool(i) == bool(entries) for b in table.blocks for i, (_, entries) in zip(b.ids, b.rows, strict=True)
        )


def test_calibration_and_cost(family):
    table, long = common_tables.calibration_table(family, "full")
    entries = block(table, "Wine").rows
    name = common_scores.title("sufficient_statistics_perturbation", family.kind)
    at = next(k for k, (n, _) in enumerate(entries) if n.endswith("epsilon = 1"))
    told = next(e for n, e in entries[at:] if n == name)
    assert len(told) == len(table.blocks[0].columns) == 5
    distance = family.values["wine", arm(family, "sufficient_statistics_perturbation", "1"), "posterior_mean_error"]
    assert told[1].lines == (f"{sum(distance.values()) / 10:.3g}",)
    assert told[3].lines == ("0.25",)
    first = long[(long["dataset"] == "wine") & (long["method"] == "exact_posterior")].iloc[0]
    assert first["coverage_90"] == pytest.approx(0.9, abs=0.01)
    assert math.isnan(first["posterior_mean_error"])


def test_every_method_has_an_entry_or_a_reason_in_the_matrix(family):
    table, long = common_matrix.matrix_table([family], "full")
    names = set(contract.names())
    assert names <= set(long["method"])
    assert all(e.all_lines for _, entries in table.blocks[0].rows for e in entries)
    silent = long[(long["entry"] == "does not run") & (long["reason"] == "")]
    assert silent.empty, list(silent["method"])
    at = long.set_index("method")
    assert at.loc["sufficient_statistics_perturbation", "entry"] == at.loc["ridge", "entry"] == "scored"
    assert at.loc[made_up.FAILED, "entry"].startswith("diverged")
    assert at.loc[made_up.NOT_SUPPORTED, "reason"] == "needs epsilon 321"
    assert at.loc["dp_bayes_by_backprop_corrected", "reason"] == "fits bnn_classification"


@pytest.mark.parametrize("kind", ["bounded_linear_regression", "bounded_logistic_regression", "bounded_mixture",
                                  "bnn_regression"])  # fmt: skip
def test_every_method_answers_for_every_kind(kind):
    assert isinstance(common_matrix.reason_of("ridge", kind), str)
    assert common_matrix.reason_of("nobody", kind)


def test_every_private_cell_carries_its_guarantee(family):
    scores = made_up.linear_regression()
    cells = scores.loc[scores["epsilon"] != "", ["cell", "epsilon"]].drop_duplicates()
    rows = [
        dict.fromkeys(ledger.COLUMNS, "") | {"cell": c, "event": ledger.TOTAL, "epsilon": float(e)}
        | {"accountant": "gdp", "reason": "taken as the answer"} for c, e in cells.to_numpy()
    ]  # fmt: skip
    table, frame = common_privacy.privacy_table([family], pd.DataFrame(rows), "full")
    private = {(a.method, a.setting) for a in family.arms if a.epsilon}
    assert set(zip(frame["method"], frame["setting"], strict=True)) == private
    ok = frame[frame["status"] == "ok"]
    assert len(ok) == 5 * 3 * 2
    assert set(ok["relation"]) == {"add_remove"}
    assert (ok["epsilon"] == ok["epsilon_ledger"]).all()
    assert ok["claim"].str.startswith("holds").all()
    assert set(frame.loc[frame["method"] == made_up.FAILED, "claim"]) == {"diverged"}
    assert "0.99" in markdown(table)


@pytest.mark.parametrize(
    ("claimed", "epsilon", "leaks", "status", "word"),
    [("1", 0.999, False, "ok", "holds"), ("1", 0.999, True, "ok", "holds except for named leaks"),
     ("1", 1.001, False, "ok", "not shown"), ("1", math.nan, False, "ok", "no ledger"),
     ("1", math.nan, False, "not_supported", "not supported"), ("", math.inf, False, "ok", "no claim")],
)  # fmt: skip
def test_claims(claimed, epsilon, leaks, status, word):
    assert common_privacy.claim(claimed, epsilon, leaks, status) == word


def test_the_cost_of_a_released_program_is_shown_without_a_claim():
    frame = pd.DataFrame(
        made_up.rows(
            made_up.CONFIG, "wine", "dp_em_authors", "", {"rmse": 0.5}, epsilon="inf", accountant="none: no bound"
        )
    )
    family = common_scores.read(made_up.CONFIG, frame)
    table, _ = common_tables.score_table(family, "full")
    assert any("its ledger epsilon is infinite" in t for t in table.footnotes)
    shown = common_privacy.privacy_frame([family], pd.DataFrame(columns=ledger.COLUMNS))
    assert list(shown["claim"]) == ["no claim"]


def test_a_private_family_without_private_cells_has_no_privacy_table():
    frame = pd.DataFrame(made_up.rows(made_up.CONFIG, "wine", "ridge", "", {"rmse": 0.5}))
    family = common_scores.read(made_up.CONFIG, frame)
    assert common_privacy.privacy_table([family], pd.DataFrame(columns=ledger.COLUMNS), "full") is None


def test_a_method_that_nobody_named_appears_by_itself():
    """A new adapter, private at epsilon 1, and another data set's worth of scores: no list here knows it."""
    frame = made_up.linear_regression()
    rows = made_up.rows(made_up.CONFIG, "wine", "toy", "epsilon=1", {"rmse": 0.1, "test_log_likelihood": 0.0})
    rows += made_up.rows(made_up.CONFIG, "power", "toy", "epsilon=1", {"rmse": 0.1, "test_log_likelihood": 0.0})
    family = common_scores.read(made_up.CONFIG, pd.concat([frame, pd.DataFrame(rows)], ignore_index=True))
    table, _ = common_tables.score_table(family, "full")
    assert row(table, "Wine: test RMSE", "toy")[1].lines[0].endswith("(10)")
    _, long = common_matrix.matrix_table([family], "full")
    assert long.set_index("method").loc["toy", "entry"] == "scored"


def test_a_program_without_a_guarantee_competes_with_nobody():
    """DP-EM as released, at epsilon 1: a row of its own, and in no comparison though it has the best score."""
    frame = made_up.linear_regression()
    facts = {"epsilon": "inf", "accountant": "none: no bound"}
    rows = [
        made_up.rows(made_up.CONFIG, d, "dp_em_authors", "epsilon=1", {"rmse": 0.1}, **facts) for d in made_up.DATASETS
    ]
    family = common_scores.read(made_up.CONFIG, pd.concat([frame, *map(pd.DataFrame, rows)], ignore_index=True))
    assert arm(family, "dp_em_authors", "1").role == common_scores.BARE
    table, _ = common_tables.score_table(family, "full")
    told = row(table, "Wine: test RMSE", common_scores.title("dp_em_authors", family.kind))[1]
    assert "its ledger epsilon is infinite" in table.footnotes[told.marks[0] - 1]
    assert "dp_em_authors" not in [a.method for a in compare.competitors(family, ("1", False))]
    _, long = common_matrix.matrix_table([family], "full")
    assert long.set_index("method").loc["dp_em_authors", "reason"].startswith("it claims an epsilon")
    shown = common_privacy.privacy_frame([family], pd.DataFrame(columns=ledger.COLUMNS))
    assert set(shown.loc[shown["method"] == "dp_em_authors", "claim"]) == {"not shown"}


def test_a_refusal_is_told_from_a_failure():
    frame = made_up.linear_regression()
    reason = "MethodError: needs epsilon = 19 at delta = 1e-05; the budget is 1"
    rows = made_up.bad(made_up.CONFIG, "wine", "posterior_sampling_diffused", "epsilon=1", "failed", reason)
    family = common_scores.read(made_up.CONFIG, pd.concat([frame, pd.DataFrame(rows)], ignore_index=True))
    refused = arm(family, "posterior_sampling_diffused", "1")
    assert family.status["wine", refused] == (common_scores.REFUSED, reason)


def test_the_controls_are_shown_where_they_were_made(tmp_path):
    assert common_tables.controls_table(tmp_path, "full") is None
    head = "width,level,share,low,high,inside,sets,posterior_mean_error,posterior_log_variance_ratio"
    (tmp_path / common_tables.CONTROLS).write_text(
        f"{head}\n0.5,0.9,0.612,0.875,0.924,0,1000,0,-1.38629\n1,0.9,0.903,0.875,0.924,1,1000,0,0\n"
    )
    table, long = common_tables.controls_table(tmp_path, "full")
    assert [row[1][0].verdict for row in table.blocks[0].rows] == ["outside", "inside"]
    assert len(long) == 2


def test_ranges_say_what_is_public_and_what_is_estimated(family):
    table, long = common_privacy.ranges_table([family], "full")
    at = long.set_index("dataset")
    assert (at.loc["power", "documented"], at.loc["power", "inputs"]) == (4, 4)
    assert (at.loc["wine", "documented"], at.loc["wine", "target"]) == (0, "documented")
    text = markdown(table)
    assert "winequality.names" in text
    assert "0 documented, 11 estimated privately" in text
    assert (at.loc["wine", "extremes"], len(at.loc["power", "extremes"].split("; "))) == ("", 5)


def test_conditional_data_sets_are_marked(family):
    assert family.conditional == ("power",)
    table, long = common_tables.score_table(family, "full")
    headings = [b.title for b in table.blocks]
    assert [ledger.CONDITIONAL in t for t in headings] == ["Power" in t for t in headings]
    assert set(long.loc[long["conditional"], "dataset"]) == {"power"}
    _, shown = common_privacy.privacy_table([family], pd.DataFrame(columns=ledger.COLUMNS), "full")
    told = shown[(shown["dataset"] == "power") & (shown["status"] == "ok")]
    assert told["leaks"].str.contains(ledger.CONDITIONAL).all()
    assert not shown.loc[shown["dataset"] == "wine", "leaks"].str.contains(ledger.CONDITIONAL).any()


def test_where_constants_come_from_is_a_column(tuned_family):
    family = tuned_family
    table, long = common_tables.score_table(family, "full")
    name = common_scores.title("na_dpvi", family.kind)
    assert row(table, "Wine: test RMSE", name)[-1].lines == ("formula of n, d, epsilon; developed here",)
    at = long[(long["dataset"] == "wine") & (long["method"] == "na_dpvi") & (long["metric"] == "rmse")]
    at = at[at["epsilon_claimed"] == "1"].set_index("tuned")["constants"]
    assert at[True] == "tuned on surrogate data (6 settings)"
    assert at[False] == "formula of n, d, epsilon; developed here"
    own = long[
        (long["dataset"] == "wine")
        & (long["method"] == "bernstein_sheldon_2019_corrected")
        & (long["metric"] == "rmse")
    ]
    assert set(own["constants"]) == {"guessed here"}  # in the tuned column it stands with its default
    _, frame = common_matrix.matrix_table([family], "full")
    assert frame.set_index("method").loc["bernstein_sheldon_2019_corrected", "constants"] == "guessed here"
