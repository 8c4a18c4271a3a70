"""The winner of a task: the model on simulated tables, and the committed table. About 17 CPU seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from common_tasks import advice, best, comparisons, scores
from common_tasks.page import NOTES, section_of
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
    masked = best.sample(y, s, seen[None]).probability[0]
    kept = [0, 1, 3, 4, 5]
    alone = best.sample(y[:, kept], s[:, kept], every[None][:, :, kept], seed=1).probability[0]
    np.testing.assert_allclose(masked, alone, atol=0.06)


def test_a_fit_without_a_score_is_refused():
    with pytest.raises(ValueError, match="has no score"):
        best.sample(np.ones((2, 3)), np.ones((2, 3)), np.zeros((1, 2, 3), dtype=bool))


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


def test_few_tables_and_tables_without_a_scale_give_no_advice():
    few = best.fit(family({"na_dpvi": {"": -1.2}, "dpvim": {"": -1.7}}, SETS[:4]), "1")
    assert few.winner.why == "4 tables are too few, 5 are the least"
    assert few.frame.empty
    made = family({"na_dpvi": {"": -1.2}, "dpvim": {"": -1.7}})
    nothing = {k: v for k, v in made.values.items() if k[1].method != "predict_mean"}
    bare = scores.Family(**vars(made) | {"values": nothing})
    assert best.fit(bare, "1").winner.why.startswith("there is no common scale: no trivial baseline")


@pytest.mark.parametrize(("level", "settings"), [(-1.5, "tuned"), (-1.9, "default")])
def test_a_tuned_setting_that_is_worse_than_the_default_is_not_the_number(level, settings):
    found = best.fit(family({"na_dpvi": {"": -1.7}, "dpvim": {"": -1.7}}, tuned={"na_dpvi": level}), "1")
    assert found.scores.settings["na_dpvi"] == settings
    i = found.scores.methods.index("na_dpvi")
    assert found.scores.y[i] == pytest.approx([max(level, -1.7) + 2] * 5, abs=0.02)


# --- the committed table and the pages


@pytest.fixture(scope="module")
def linear():
    (found,) = advice.families(committed.read(papers.REFERENCE, "common_linear_regression"))
    return found


def test_scores_are_those_of_the_committed_rows(linear):
    """Plain pandas on the committed rows, at one splits' mean per table."""
    rows = committed.read(papers.REFERENCE, "common_linear_regression")
    rows = rows[(rows["metric"] == "test_log_likelihood") & (rows["status"] == "ok")]
    value = rows.assign(value=rows["value"].astype(float)).set_index(["dataset", "method", "setting", "split"])["value"]
    found = best.scores_of(linear, "1", best.About())
    for method in ("dp_vi_vinaroz_corrected", "dp_hmc"):
        i = found.methods.index(method)
        for k, d in enumerate(found.sets):
            one, zero = value[d, "exact_posterior", ""], value[d, "predict_mean", ""]
            mine = value[d, method, "epsilon=1"]
            assert found.settings[method] == "default"
            short = (one.reindex(mine.index) - mine) / (one - zero).mean()
            assert found.y[i, k] == pytest.approx((1 - short).clip(lower=0).mean(), rel=1e-9)
            assert found.n[i, k] == len(mine)


def test_every_page_names_the_committed_winner(linear, tmp_path):
    """The committed table, the page of the task, and its text on the front page."""
    frame = best.committed()
    made = advice.block(linear)
    section = section_of(made, [], [], tmp_path)
    assert set(frame["task"]) == {"linear_regression"}
    for epsilon in linear.epsilons:
        won = best.winner(frame[frame["epsilon"] == epsilon])
        assert won == made.winners[epsilon]
        names = " or ".join(advice.answer.titled(m, linear.kind) for m in won.methods)
        assert f"At epsilon = {epsilon}, take {names}:" in made.sentences[0]
        for d, methods in won.without.items():
            assert f"At epsilon = {epsilon}, without {linear.set_title(d)}" in made.sentences[0]
            assert advice.answer.titled(methods[0], linear.kind) in made.sentences[0]
    assert section.text.replace("\\", "") == made.sentences[0]
    assert frame["rhat"].max() < 1.05
    assert frame["ess"].min() > 100


def test_a_page_has_at_most_900_words(linear, tmp_path):
    made = advice.block(linear)
    section = section_of(made, [], [], tmp_path)
    words = " ".join([section.text, *section.sentences, section.table, made.caption]).replace("|", " ").split()
    assert len(words) < 900
    assert len(" ".join(NOTES).split()) < 300


def test_no_method_of_a_task_is_left_out(linear):
    """Every private method of the committed scores has a row, with its reason if it has no score."""
    made = advice.block(linear)
    private = {a.method for a in comparisons.competitors(linear, ("1", False))}
    assert set(made.table["method"]) == {advice.answer.titled(m, linear.kind) for m in private}
    assert (made.table.set_index("method").loc["Posterior sample"] == "not supported").any()


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
