"""The winner of a task: the model on simulated tables, and the committed table. About 17 CPU seconds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common_tasks import advice, best, comparisons, scores
from common_tasks.advice.sentences import listed
from common_tasks.page import NOTES, section_of
from datasets.files import ROOT
from evaluation.summary import COLUMNS
from tests.common_tasks import made_up
from workflow import committed, papers

SIMULATED, METHODS, TABLES = 100, 8, 10
SIGMA, TAU_A, TAU_B, ERROR = 0.5, 0.7, 0.8, 0.01


@pytest.fixture(scope="module")
def simulated():
    """True means (SIMULATED, METHODS) of the methods, their scores on one more table, and fits to ``TABLES`` tables."""
    rng = np.random.default_rng(0)
    b = rng.normal(-1.5, TAU_B, (SIMULATED, METHODS))
    a = rng.normal(0, TAU_A, (SIMULATED, 1, TABLES + 1))
    z = b[:, :, None] + a + SIGMA * rng.standard_t(best.NU, (SIMULATED, METHODS, TABLES + 1))
    score = 1 - np.exp(np.clip(z, np.log(best.TIE), 0.0))
    seen = score[..., :TABLES] + ERROR * rng.standard_normal((SIMULATED, METHODS, TABLES))
    y = np.clip(seen, 0.0, None)
    every = np.ones(y.shape, dtype=bool)
    return b, score[..., TABLES], best.sample(y, np.full(y.shape, ERROR), every, warm_up=300, kept=600)


def test_intervals_of_the_methods_cover_the_truth(simulated):
    """90 % intervals. Below .8 for 100 independent intervals with probability .002; the methods share tables."""
    b, _, found = simulated
    draws = found.b.reshape(SIMULATED, -1, METHODS)
    low, high = np.quantile(draws, [0.05, 0.95], axis=1)
    truth = b - b.mean(axis=1, keepdims=True)
    covered = ((low <= truth) & (truth <= high)).mean()
    assert 0.8 < covered < 0.97
    spread = found.spread.reshape(SIMULATED, -1, 3).mean(axis=(0, 1))
    np.testing.assert_allclose(spread, [SIGMA, TAU_A, TAU_B], rtol=0.25)


def test_probability_and_regret_are_those_of_a_new_table(simulated):
    """Means over 100 tables within 3.3 standard errors: each fails with probability .001."""
    _, new, found = simulated
    first = found.probability.argmax(axis=1)
    here = np.arange(SIMULATED)
    top = new.max(axis=1)
    won = (new[here, first] >= top - best.TIE) - found.probability[here, first]
    regret = top - new[here, first] - found.regret[here, first]
    for gap in (won, regret):
        assert abs(gap.mean()) < 3.3 * gap.std(ddof=1) / np.sqrt(SIMULATED)
    # and the rule is worth something: a method taken at random has a larger regret, in 100 tables for certain
    assert (top - new[here, first]).mean() < 0.7 * (top[:, None] - new).mean()


def test_chains_agree_and_a_seed_gives_the_same_draws():
    y = np.random.default_rng(1).uniform(0.2, 0.9, (5, 6))
    seen = np.ones((1, 5, 6), dtype=bool)
    found = best.sample(y, np.full(y.shape, 0.02), seen, warm_up=300, kept=600)
    again = best.sample(y, np.full(y.shape, 0.02), seen, warm_up=300, kept=600)
    assert (found.b == again.b).all()
    assert all(best.convergence(found.b[0, :, :, i])[0] < 1.05 for i in range(5))


def test_convergence_sees_a_chain_apart_and_correlated_draws():
    rng = np.random.default_rng(2)
    draws = rng.standard_normal((4, 2000))
    rhat, ess = best.convergence(draws)
    assert rhat < 1.01
    assert 6000 < ess <= 8000
    assert best.convergence(draws + np.array([[3.0], [0], [0], [0]]))[0] > 1.3
    walk = np.empty_like(draws)
    walk[:, 0] = draws[:, 0]
    for k in range(1, 2000):
        walk[:, k] = 0.9 * walk[:, k - 1] + draws[:, k]
    # (1 - .9) / (1 + .9) of the draws are 421; the estimate errs on the small side
    assert 200 < best.convergence(walk)[1] < 500


def test_leaving_out_a_table_is_a_fit_without_it():
    """Monte Carlo error of a probability is below .012 for each: a gap of .06 does not happen by chance."""
    y = np.random.default_rng(3).uniform(0.2, 0.95, (5, 6))
    s, every = np.full(y.shape, 0.02), np.ones((5, 6), dtype=bool)
    seen = every.copy()
    seen[:, 2] = False
    whole = {"warm_up": best.WARM_UP, "kept": best.KEPT}
    masked = best.sample(y, s, seen[None], **whole).probability[0]
    kept = [0, 1, 3, 4, 5]
    alone = best.sample(y[:, kept], s[:, kept], every[None][:, :, kept], seed=1, **whole).probability[0]
    np.testing.assert_allclose(masked, alone, atol=0.06)


def test_a_fit_without_a_score_is_refused():
    with pytest.raises(ValueError, match="has no score"):
        best.sample(np.ones((2, 3)), np.ones((2, 3)), np.zeros((1, 2, 3), dtype=bool))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_read_is_a_finite_number(wrong):
    y, s, seen = np.full((2, 3), 0.5), np.full((2, 3), 0.02), np.ones((1, 2, 3), dtype=bool)
    for scores_, errors in ((wrong, 0.02), (0.5, wrong), (0.5, -0.02)):
        y[0, 1], s[0, 1] = scores_, errors
        with pytest.raises(ValueError, match="not a finite number"):
            best.sample(y, s, seen, warm_up=2, kept=4)
    seen[0, 0, 1] = False  # a missing score
    assert np.isfinite(best.sample(y, s, seen, warm_up=2, kept=4).probability).all()


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 2.0])
def test_draws_that_are_not_finite_or_never_move_are_refused(wrong):
    draws = np.full((4, 100), 2.0)
    draws[1, 3] = wrong
    with pytest.raises(ValueError, match="not finite or never move"):
        best.convergence(draws)


SETS = ["wine", "power", "naval", "kin8nm", "protein"]


def family(levels: dict[str, dict[str, float]], sets: list[str] = SETS, tuned: dict[str, float] | None = None):
    """Log-likelihood at epsilon = 1 of each method ({"": level, data set: level}); the ends of the scale are -2, -1."""
    rows = []
    for d in sets:
        for method, level in {"predict_mean": -2.0, "exact_posterior": -1.0}.items():
            rows += made_up.rows(made_up.CONFIG, d, method, "", {"test_log_likelihood": level})
        for method, at in levels.items():
            values = {"test_log_likelihood": at.get(d, at[""])}
            rows += made_up.rows(made_up.CONFIG, d, method, "epsilon=1", values)
        for method, level in (tuned or {}).items():
            rows += made_up.rows(made_up.CONFIG, d, method, "tuned;epsilon=1", {"test_log_likelihood": level})
    return scores.read(made_up.CONFIG | {"datasets": sets}, pd.DataFrame(rows, columns=COLUMNS))


def test_the_scale_the_cut_and_the_winner():
    found = best.fit(family({"na_dpvi": {"": -1.2}, "dpvim": {"": -1.7}, "dpvi": {"": -9.0}}), "1")
    at = dict(zip(found.scores.methods, found.scores.y, strict=True))
    assert at["na_dpvi"] == pytest.approx([0.8] * 5, abs=0.02)
    assert (at["dpvi"] == 0).all()
    assert found.winner.methods == ("na_dpvi",)
    assert found.winner.stable
    assert found.winner.probability > 0.8


def test_a_winner_by_one_table_alone_does_not_survive_its_loss():
    """DPVIm is ahead on one table, and a little behind on four."""
    levels = {"na_dpvi": {"": -1.30, "wine": -1.99}, "dpvim": {"": -1.305, "wine": -1.02}}
    frame = pd.DataFrame(
        [("", "dpvim", 0.9, 0.1, 5), ("", "na_dpvi", 0.3, 0.2, 5), ("wine", "na_dpvi", 0.8, 0.1, 4),
         ("wine", "dpvim", 0.4, 0.1, 4), ("power", "dpvim", 0.7, 0.1, 4), ("power", "na_dpvi", 0.69, 0.1, 4)],
        columns=["without", "method", "probability", "regret", "tables"],
    )  # fmt: skip
    won = best.winner(frame)
    assert (won.methods, won.without, won.stable) == (("dpvim",), {"wine": ("na_dpvi",)}, False)
    assert won.every == ("dpvim", "na_dpvi")
    found = best.fit(family(levels), "1").frame.set_index(["without", "method"])["probability"]
    assert found["", "dpvim"] > found["", "na_dpvi"]
    assert found["wine", "dpvim"] - found["wine", "na_dpvi"] < found["", "dpvim"] - found["", "na_dpvi"]


def test_a_table_that_was_looked_at_does_not_count_for_the_method():
    levels = {"whitened_ssp": {"": -1.6, "naval": -1.02}, "na_dpvi": {"": -1.4}}
    found = best.fit(family(levels), "1")
    i, naval = found.scores.methods.index("whitened_ssp"), SETS.index("naval")
    assert found.scores.seen[i].tolist() == [d == "naval" for d in SETS]
    assert np.isnan(found.scores.counted[i, naval])
    assert found.scores.y[i, naval] == pytest.approx(0.98, abs=0.02)
    assert found.frame.set_index(["without", "method"]).loc[("", "whitened_ssp"), "scored"] == 4
    assert found.winner.methods == ("na_dpvi",)


def test_a_cut_table_was_looked_at_if_its_regression_table_was():
    """By the method for any kind of model. A leak that names no table is not about the table that is cut."""
    kind = "bounded_logistic_regression"
    seen = {m: {d for d in ("wine_cut", "power_cut", "protein_cut", "naval_cut", "wine") if best.looked_at(m, kind, d)}
            for m in ("dp_sep_corrected", "dp_vi_vinaroz_corrected", "dp_sgd", "dpvim")}  # fmt: skip
    assert seen == {
        "dp_sep_corrected": {"wine_cut", "power_cut", "protein_cut"},
        "dp_vi_vinaroz_corrected": {"wine_cut"},
        "dp_sgd": set(),
        "dpvim": set(),
    }
    assert best.looked_at("dp_sgd", kind, "adult")


def test_a_split_that_diverged_has_the_score_of_the_training_mean():
    frame = family({"na_dpvi": {"": -1.2}, "dpvim": {"": -1.7}}).scores
    bad = (frame["method"] == "na_dpvi") & (frame["split"].isin(["0", "1"])) & (frame["dataset"] == "wine")
    for status, share in (("diverged", 0.8), ("timeout", 1.0)):
        rows = frame.copy()
        rows.loc[bad, ["status", "metric", "value", "reason"]] = [status, "", "", "why"]
        found = best.scores_of(scores.read(made_up.CONFIG | {"datasets": SETS}, rows), "1", best.About())
        i, k = found.methods.index("na_dpvi"), found.sets.index("wine")
        assert found.y[i, k] == pytest.approx(share * 0.8, abs=0.02)
        assert found.n[i, k] == (10 if status == "diverged" else 8)


def test_few_tables_and_tables_without_a_scale_give_no_advice():
    few = best.fit(family({"na_dpvi": {"": -1.2}, "dpvim": {"": -1.7}}, SETS[:4]), "1")
    assert few.winner.why == "4 tables are too few, at least 5 are needed"
    assert few.frame.empty
    made = family({"na_dpvi": {"": -1.2}, "dpvim": {"": -1.7}})
    nothing = {k: v for k, v in made.values.items() if k[1].method != "predict_mean"}
    bare = scores.Family(**vars(made) | {"values": nothing})
    assert best.fit(bare, "1").winner.why.startswith("there is no common scale, because no trivial baseline")


@pytest.mark.parametrize(("level", "settings"), [(-1.5, "tuned"), (-1.9, "default")])
def test_a_tuned_setting_that_is_worse_than_the_default_is_not_the_number(level, settings):
    found = best.fit(family({"na_dpvi": {"": -1.7}, "dpvim": {"": -1.7}}, tuned={"na_dpvi": level}), "1")
    assert found.scores.settings["na_dpvi"] == settings
    i = found.scores.methods.index("na_dpvi")
    assert found.scores.y[i] == pytest.approx([max(level, -1.7) + 2] * 5, abs=0.02)


# --- the committed table and the pages


@pytest.fixture(scope="module")
def every():
    """Task -> its family, all experiments together."""
    return {f.task: f for f, _ in scores.tasks(advice.families(papers.REFERENCE))}


@pytest.fixture(scope="module")
def linear(every):
    return every["linear_regression"]


@pytest.fixture(scope="module")
def blocks(every):
    return {task: advice.block(f) for task, f in every.items()}


def test_scores_are_those_of_the_committed_rows(linear):
    """Plain pandas on the committed rows, at one splits' mean per table."""
    names = ("common_linear_regression", "common_linear_tables", "common_linear_levels")
    rows = pd.concat([committed.read(papers.REFERENCE, name) for name in names])
    rows = rows[(rows["metric"] == "test_log_likelihood") & (rows["status"] == "ok")]
    rows = rows.assign(value=rows["value"].astype(float))
    value = rows.set_index(["dataset", "method", "setting", "split"])["value"].sort_index()
    found = best.scores_of(linear, "1", best.About())
    for method in ("dp_vi_vinaroz_corrected", "dp_hmc"):
        i = found.methods.index(method)
        assert found.settings[method] == "default"
        for k, d in enumerate(found.sets):
            one, zero = value[d, "exact_posterior", ""], value[d, "predict_mean", ""]
            mine = value[d, method, "epsilon=1"]
            short = (one.reindex(mine.index) - mine) / (one - zero).mean()
            assert found.y[i, k] == pytest.approx((1 - short).clip(lower=0).mean(), rel=1e-9)
            assert found.n[i, k] == len(mine)


def test_every_page_names_the_committed_winner(every, blocks, tmp_path):
    """The committed table, the page of the task and its text on the front page; ``advise`` has a test of its own."""
    frame = best.committed()
    assert set(frame["task"]) == {
        task for task, made in blocks.items() if any(w.methods for w in made.winners.values())
    }
    for task, rows in frame.groupby("task"):
        found, made = every[task], blocks[task]
        for epsilon, answer in zip(found.epsilons, made.answers, strict=True):
            won = best.winner(rows[rows["epsilon"] == epsilon])
            assert won == made.winners[epsilon]
            names = [advice.answer.titled(m, found.kind) for m in won.methods]
            assert answer[:3] == [epsilon, listed(names, "or"), f"{won.probability:.2f}"]
            assert bool(answer[4]) == bool(won.without)
            assert f"At epsilon = {epsilon}, take {listed(names, 'or')}:" in made.sentences[0]
            assert (f"At epsilon = {epsilon}, without " in made.sentences[0]) == (not won.stable)
            for methods in won.without.values():
                assert advice.answer.titled(methods[0], found.kind) in made.sentences[0]
        assert section_of(made, [], [], tmp_path).text.replace("\\", "") == made.sentences[0]


def test_the_texts_name_the_tasks_with_general_advice():
    """README's source and the page on choosing; a third task changes the sentence."""
    assert set(best.committed()["task"]) == {"linear_regression", "logistic_regression"}
    for name in ("reports/templates/readme.md", "docs/how-to/choose-a-method.md"):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert "Only linear and logistic regression have enough tables for" in text


def test_the_committed_chains_have_converged():
    frame = best.committed()
    assert frame["rhat"].max() < 1.03
    assert frame["ess"].min() > 300


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
@pytest.mark.parametrize("column", ["probability", "regret", "score", "mean", "there", "rhat", "ess"])
def test_a_committed_posterior_that_is_not_finite_is_refused(column, wrong):
    frame = best.committed().astype({column: float})
    row = frame.index[frame["there"].notna()][0]
    frame.loc[row, column] = wrong
    if column == "there" and math.isnan(wrong):
        assert best.checked(frame, Path("x.csv")) is frame
        return
    with pytest.raises(ValueError, match=f"x.csv: {column} of .* is not finite; make it anew"):
        best.checked(frame, Path("x.csv"))


def test_pages_of_the_committed_scores_take_the_committed_posterior(linear, monkeypatch):
    """It is drawn again for other scores."""
    monkeypatch.setattr(best, "_posterior", lambda *given: pytest.fail("drawn again"))
    best.fit.cache_clear()
    fitted = best.fit(linear, "1")
    assert best._committed_of(linear, "1", fitted.scores) is not None
    y = fitted.scores.y.copy()
    y[np.isfinite(fitted.scores.counted)] += 0.01
    assert best._committed_of(linear, "1", replace(fitted.scores, y=y)) is None
    # a missing score is committed as missing, and nothing else is
    y = fitted.scores.y.copy()
    y[tuple(np.argwhere(np.isfinite(fitted.scores.counted))[0])] = math.nan
    assert best._committed_of(linear, "1", replace(fitted.scores, y=y)) is None
    assert best._committed_of(linear, "2", fitted.scores) is None
    best.fit.cache_clear()


def test_a_page_has_at_most_900_words(blocks, tmp_path):
    for made in blocks.values():
        section = section_of(made, [], [], tmp_path)
        words = " ".join([section.text, *section.sentences, section.table, made.caption]).replace("|", " ").split()
        assert len(words) < 900, made.task
    assert len(" ".join(NOTES).split()) < 300


def test_no_method_of_a_task_is_left_out(every, blocks):
    """Every private method of the committed scores has a row, with its reason if it has no score."""
    for task, found in every.items():
        names = {a.method for a in comparisons.competitors(found, ("1", False))}
        shown = blocks[task].table["method"]
        assert len(shown) >= len(names) > 0
        assert {advice.answer.titled(m, found.kind) for m in names} <= set(shown)
    assert (blocks["linear_regression"].table.set_index("method").loc["Posterior sample"] == "not supported").any()


@pytest.mark.parametrize("task", ["linear_regression", "logistic_regression", "density"])
def test_methods_have_equal_splits_on_a_table(every, task):
    for epsilon in every[task].epsilons:
        at = best.scores_of(every[task], epsilon, best.About())
        for k, d in enumerate(at.sets):
            assert len(set(at.n[at.n[:, k] > 0, k])) == 1, d


def test_more_tables_of_a_task_join_by_themselves():
    """An experiment of the same kind whose title begins alike: its tables are the model's, untuned ones by default."""
    first = family({"na_dpvi": {"": -1.7}, "dpvim": {"": -1.3}}, SETS[:3], tuned={"na_dpvi": -1.5})
    frame = family({"na_dpvi": {"": -1.6}, "dpvim": {"": -1.2}, "dpvi": {"": -1.9}}, SETS[3:]).scores
    config = made_up.CONFIG | {"experiment": "common_linear_tables", "title": "Bayesian linear regression: more tables"}
    more = scores.read(config | {"datasets": SETS[3:]}, frame.assign(experiment="common_linear_tables"))
    ((joined, parts),) = scores.tasks([more, first])
    assert joined.task == "linear_regression"
    assert parts == [more, first]
    found = best.fit(joined, "1")
    assert found.scores.sets == tuple(SETS)
    i = found.scores.methods.index("na_dpvi")
    assert found.scores.settings["na_dpvi"] == "tuned"
    assert found.scores.y[i] == pytest.approx([0.5, 0.5, 0.5, 0.4, 0.4], abs=0.02)
    assert found.winner.methods == ("dpvim",)
    assert best.table([more, first])["tables"].max() == 5
    lone = found.frame[(found.frame["without"] == "") & (found.frame["method"] == "dpvi")].iloc[0]
    assert lone["scored"] == 2
    assert scores.tasks([first]) == [(first, [first])]


def test_two_tables_from_one_file_count_once():
    assert best._one_per_file(["wine", "bike", "abalone_rings", "bike_hour"]) == ["wine", "bike", "abalone_rings"]
