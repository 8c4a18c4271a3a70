import numpy as np
import pandas as pd
import pytest

from reports import claims
from reports.config import ReportError
from reports.verdicts import FINDING_COLUMNS

NO_FINDINGS = pd.DataFrame(columns=FINDING_COLUMNS)


def run(config, scores, test, source="vinaroz2023dpsep", findings=NO_FINDINGS):
    row = {"id": "x", "source": source, "place": "p", "statement": "s", "test": test}
    return claims.evaluate(config, scores, [row], findings=findings).iloc[0]


def shift(scores, method, dataset, by, metric="rmse"):
    hit = (scores["method"] == method) & (scores["dataset"] == dataset) & (scores["metric"] == metric)
    assert hit.any()
    scores.loc[hit, "value"] = [repr(float(v) + by) for v in scores.loc[hit, "value"]]


def lose(scores, method, dataset, status="diverged"):
    hit = (scores["method"] == method) & (scores["dataset"] == dataset)
    scores.loc[hit, ["metric", "value", "unit"]] = ""
    scores.loc[hit, "status"] = status
    return scores.drop_duplicates()


def test_every_committed_claim_is_readable_and_judged(config, scores):
    rows = claims.read()
    assert len(rows) > 30
    frame = claims.evaluate(config, scores, findings=NO_FINDINGS)
    assert list(frame["id"]) == [r["id"] for r in rows if r["experiment"] == config["experiment"]]
    assert set(frame["verdict"]) <= set(claims.VERDICTS)
    assert (frame["figure"] != "").all()
    assert {"vinaroz2023dpsep", "vinaroz2021dpsep"} == set(frame["source"])


def test_a_clear_superiority_holds(config, scores):
    row = run(config, scores, "better(dp_sep, dp_vi; tables=3,4; quantifier=all)")
    assert row["verdict"] == "holds"
    assert "12 of 12 comparisons in favour by mean" in row["figure"]
    assert "the paper's own numbers: 12 of 12" in row["figure"]


def test_one_sure_loss_ends_all(config, scores):
    scores = scores[scores["method"] != "dp_sep_released"]
    shift(scores, "dp_sep", "wine", 5.0)
    row = run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=all)")
    assert row["verdict"] == "does not hold"
    assert "1 surely against (dp_sep vs dp_vi, wine, rmse)" in row["figure"]
    assert run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=most)")["verdict"] == "holds"


def test_another_reading_can_save_a_sentence(config, scores):
    for dataset in config["datasets"]:
        shift(scores, "dp_sep", dataset, 100.0)
    row = run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=all)")
    assert row["verdict"] == "holds under another reading"
    assert "released: 6 of 6" in row["figure"]


def test_the_first_version_is_judged_through_its_copies(config, scores):
    row = run(config, scores, "better(dp_sep, sep; tables=2,3; datasets=kin8nm; quantifier=all)", "vinaroz2021dpsep")
    assert row["verdict"] == "holds"
    assert "2 of 2 comparisons" in row["figure"]


def test_a_diverged_cell_has_lost(config, scores):
    scores = lose(scores[scores["method"] != "dp_sep_released"], "dp_sep", "wine")
    row = run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=all)")
    assert row["verdict"] == "does not hold"
    row = run(config, scores, "not_worse(dp_sep, sep; tables=3)")
    assert row["verdict"] == "does not hold"


def test_a_cell_that_did_not_run_has_not_lost(config, scores):
    scores = lose(scores, "dp_sep", "wine", "timeout")
    row = run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=all)")
    assert row["verdict"] == "holds"
    assert "1 without scores" in row["figure"]


def test_means_alone_tell_nothing(config, scores):
    rng = np.random.default_rng(0)
    scores["value"] = [repr(float(v)) for v in 1 + rng.normal(size=len(scores))]
    row = run(config, scores, "better(dp_sep, sep; tables=3; datasets=kin8nm; quantifier=all)")
    assert row["verdict"] in ("not testable here", "does not hold")
    assert run(config, scores, "not_worse(dp_sep, sep; tables=3)")["verdict"] == "holds"


def test_false_alarms_of_a_sentence_about_equal_methods(config, scores):
    """Two methods alike: "better in most" may hold by chance at most at the 5 % of its family of comparisons.

    30 trials; 10 or more false alarms have probability 1.2e-6 at a true rate of 5 % (binomial).
    """
    few = scores[scores["method"].isin(["sep", "ep"]) & (scores["protocol"] == "authors")].copy()
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(30):
        few["value"] = [repr(v) for v in rng.normal(size=len(few)).tolist()]
        alarms += run(config, few, "better(sep, ep; tables=3,4; quantifier=most)")["verdict"] == "holds"
    assert alarms < 10


def test_trend_in_the_clipping_norm(config, scores):
    assert run(config, scores, "worsens(dp_sep; along=clip; tables=8; quantifier=all)")["verdict"] == "holds"
    flat = scores[scores["method"] != "dp_sep_released"].copy()
    flat.loc[flat["method"] == "dp_sep", "value"] = "1.0"
    assert run(config, flat, "worsens(dp_sep; along=clip; tables=8; quantifier=all)")["verdict"] == "does not hold"


def test_growing_spread(config, scores):
    scores = scores[scores["method"] != "dp_sep_released"].copy()
    wide = (scores["method"] == "dp_sep") & (scores["setting"] == "clip=10")
    centre = scores.loc[wide, "value"].astype(float)
    scores.loc[wide, "value"] = [repr(float(v + 40 * abs(v) * np.sin(k))) for k, v in enumerate(centre)]
    row = run(config, scores, "spreads(dp_sep; along=clip; tables=8; quantifier=all)")
    assert row["verdict"] == "holds"
    assert "6 of 6 trends in favour by mean" in row["figure"]


def test_fails_less(config, scores):
    assert run(config, scores, "fails_less(sep, ep; tables=3)")["verdict"] == "not testable here"
    worse = lose(scores, "ep", "wine", "failed")
    row = run(config, worse, "fails_less(sep, ep; tables=3)")
    assert row["verdict"] == "holds"
    assert "0 of 60 against 10 of 60" in row["figure"]
    assert run(config, worse, "fails_less(ep, sep; tables=3)")["verdict"] == "does not hold"


def test_own_methods_can_be_named(config, scores):
    mine = scores[(scores["method"] == "ep") & (scores["protocol"] == "authors")].copy()
    mine["method"] = "adf"
    better = mine["metric"] == "rmse"
    mine.loc[better, "value"] = [repr(2 * float(v)) for v in mine.loc[better, "value"]]
    row = run(config, pd.concat([scores, mine]), "better(ep, own:adf; tables=3; quantifier=all)")
    assert row["verdict"] == "holds"
    assert run(config, scores, "better(ep, own:adf; tables=3)")["verdict"] == "not testable here"


def test_findings_attach_by_claim(config, scores):
    index = pd.DataFrame([["f", "t", "*", "claim:x", "*", "*"], ["g", "t", "*", "dp_sep", "*", "*"]])
    index.columns = FINDING_COLUMNS
    assert run(config, scores, "needs(other)", findings=index)["finding"] == "f"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("better", "write name"),
        ("bettr(a, b; tables=3)", "no test 'bettr'"),
        ("better(a; tables=3)", "compares 2 group"),
        ("better(a, b)", "option 'tables' is missing"),
        ("better(a, b; tables)", "write key=value"),
        ("better(a, b; tables=3; quantifier=some)", "quantifier is one of"),
    ],
)
def test_unreadable_tests_are_refused(text, words):
    with pytest.raises(ReportError, match=words):
        claims.parse(text)


def test_repeated_ids_are_refused(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("id,source,place,statement,test\na,s,p,t,needs(x)\na,s,p,t,needs(x)\n")
    with pytest.raises(ReportError, match="stands twice"):
        claims.read(path)


MIXTURE = {
    "experiment": "dpsep_mixture",
    "title": "mixture",
    "sources": ["vinaroz2023dpsep"],
    "datasets": ["mixture_of_gaussians"],
    "protocols": {"replicates": {"splits": 40}},
    "arms": [],
    "answers": [
        {"source": "vinaroz2023dpsep", "tables": ["1"], "method": m, "setting": s,
         "readings": {"printed": {"method": m, "label": label, "protocol": "replicates"},
                      "released": {"method": m, "label": label, "protocol": "replicates", "dataset": "other",
                                   "metrics": {"fnorm_average": "squared"}}}}
        for m, s, label in [("sep", "", "")] + [
            ("dp_sep", f"epsilon={e};delta=1e-5;clip=1", f"epsilon={e}") for e in (1, 5, 50)]
    ],
}  # fmt: skip


def mixture_scores(levels, dataset="mixture_of_gaussians", metric="fnorm_average", n=40):
    """Heavy-tailed scores, one median a label; the same data sets for all."""
    rng = np.random.default_rng(0)
    base = np.exp(rng.standard_cauchy(n).clip(-8, 8))
    rows = []
    for label, level in levels.items():
        method = "dp_sep" if label else "sep"
        rows += [
            {"experiment": "dpsep_mixture", "cell": f"{dataset}{method}{label}", "dataset": dataset,
             "protocol": "replicates", "method": method, "setting": label, "split": str(k), "metric": metric,
             "value": repr(float(level * v)), "status": "ok", "scale": "full"}
            for k, v in enumerate(base)
        ]  # fmt: skip
    return pd.DataFrame(rows)


FALLING = {"": 1.0, "epsilon=1": 8.0, "epsilon=5": 4.0, "epsilon=50": 2.0}


def test_medians_decide_on_heavy_tails():
    scores = mixture_scores(FALLING)
    closer = "closer(dp_sep; tables=1; along=epsilon; metric=fnorm_average)"
    assert run(MIXTURE, scores, closer)["verdict"] == "holds"
    assert run(MIXTURE, scores, "larger(dp_sep, sep; tables=1; metric=fnorm_average)")["verdict"] == "holds"
    upside_down = mixture_scores({**FALLING, "epsilon=5": 9.0})
    row = run(MIXTURE, upside_down, closer)
    assert row["verdict"] == "does not hold"
    assert "epsilon 1 to 5: median difference" in row["figure"]


def test_a_reading_may_have_its_own_data_set_and_metric():
    wrong = mixture_scores({**FALLING, "epsilon=5": 9.0})
    right = mixture_scores(FALLING, dataset="other", metric="squared")
    closer = "closer(dp_sep; tables=1; along=epsilon; metric=fnorm_average)"
    assert run(MIXTURE, pd.concat([wrong, right]), closer)["verdict"] == "holds under another reading"


def test_too_few_data_sets_tell_nothing():
    row = run(MIXTURE, mixture_scores(FALLING, n=3), "larger(dp_sep, sep; tables=1; metric=fnorm_average)")
    assert row["verdict"] == "not testable here"
    assert "too few data sets" in row["figure"]


def test_a_sentence_settled_by_a_table(tmp_path):
    test = "holds_in(; file=t.csv; claim=c)"
    row = {"id": "x", "source": "vinaroz2023dpsep", "place": "p", "statement": "s", "test": test}

    def verdict(text):
        (tmp_path / "t.csv").write_text("claim,reading,holds,figure\n" + text)
        found = claims.evaluate(MIXTURE, mixture_scores(FALLING), [row], findings=NO_FINDINGS, extra=tmp_path)
        return found.iloc[0]["verdict"]

    assert verdict("c,printed,yes,f\n") == "holds"
    assert verdict("c,printed,no,f\n") == "does not hold"
    assert verdict("c,printed,no,f\nc,released,yes,g\n") == "holds under another reading"
    with pytest.raises(ReportError, match="no row with claim"):
        verdict("d,printed,yes,f\n")
    with pytest.raises(ReportError, match="two rows"):
        verdict("c,printed,yes,f\nc,printed,no,f\n")
    nothing = claims.evaluate(MIXTURE, mixture_scores(FALLING), [row], findings=NO_FINDINGS)
    assert nothing.iloc[0]["verdict"] == "not testable here"


def draws(better_by: float, splits: int = 30) -> pd.DataFrame:
    """Scores of two methods of ours at two budgets of one data set: "good" errs less than "bad" by ``better_by``."""
    rng = np.random.default_rng(3)
    rows = []
    for budget in ("order=1;epsilon=e^0", "order=10;epsilon=e^0"):
        for split in range(splits):
            common, own = rng.normal(0.3, 0.02), rng.normal(0.0, 0.005, 3)
            found = {
                ("good", budget): common + own[0],
                ("bad", f"as charged;{budget}"): common + better_by + own[1],
                ("bad", f"fair;{budget}"): common + own[2] - 0.05,
            }
            for (method, setting), value in found.items():
                where = {"experiment": "grid", "dataset": "abalone", "protocol": "thirds", "split": str(split)}
                score = {"metric": "test_error", "value": repr(float(value)), "status": "ok"}
                rows.append({**where, "method": method, "setting": setting, **score})
    return pd.DataFrame(rows)


GRID = {"experiment": "grid", "sources": ["geumlek2017rdp"], "answers": [], "protocols": {"thirds": {}}}


def at_budgets(scores, test):
    return run(GRID, scores, test, "geumlek2017rdp")


def test_a_sentence_about_every_budget_is_judged_budget_by_budget():
    sentence = "at_every_budget(good, bad[as charged]; metrics=test_error)"
    row = at_budgets(draws(0.05), sentence)
    assert row["verdict"] == "holds"
    assert "2 of 2 comparisons in favour by mean, 2 of them surely" in row["figure"]
    scores = draws(0.05)
    hit = (scores["method"] == "bad") & scores["setting"].str.endswith("order=10;epsilon=e^0")
    scores.loc[hit, "value"] = [repr(float(v) - 0.1) for v in scores.loc[hit, "value"]]
    row = at_budgets(scores, sentence)
    assert row["verdict"] == "does not hold"
    assert "1 surely against (good vs bad[as charged], abalone, test_error, order=10;epsilon=e^0)" in row["figure"]


def test_the_corrected_reading_of_a_budget_sentence_takes_the_other_method():
    row = at_budgets(draws(0.05), "at_every_budget(good, bad[as charged]; metrics=test_error; corrected=bad[fair])")
    assert row["verdict"] == "holds"  # as printed
    assert "corrected: 0 of 2 comparisons in favour by mean, 0 of them surely, 2 surely against" in row["figure"]


def test_never_worse_is_refuted_by_one_sure_loss_only():
    assert at_budgets(draws(0.0005), "never_worse(good, bad[as charged]; metrics=test_error)")["verdict"] == "holds"
    worse = at_budgets(draws(-0.05), "never_worse(good, bad[as charged]; metrics=test_error)")
    assert worse["verdict"] == "does not hold"


def test_a_budget_sentence_without_its_methods_cannot_be_told():
    row = at_budgets(draws(0.05), "at_every_budget(good, absent; metrics=test_error)")
    assert row["verdict"] == "not testable here"


def batch_scores(values: dict[tuple[str, str], tuple[float, float]]) -> pd.DataFrame:
    """Scores of Table 2's cells: (method, setting) -> coverage error and its deviation over data sets."""
    rows = []
    for (method, setting), (value, sd) in values.items():
        cell = {"dataset": "linear_regression_10d", "protocol": "simulated_truth", "method": method, "setting": setting}
        rows += [cell | {"split": "", "metric": "tarp_coverage_rmse", "value": value}]
        rows += [cell | {"split": "", "metric": "tarp_coverage_rmse_sd", "value": sd}]
        rows += [cell | {"split": str(k), "metric": "tarp_fraction", "value": 0.5} for k in range(3)]
    frame = pd.DataFrame(rows).assign(experiment="nadpvi_linear", status="ok")
    return frame.astype({"value": str})


def test_batches_are_compared_by_their_deviations_at_the_same_epsilon():
    from reports.config import load

    config = load("config/experiments/nadpvi_linear.yaml")
    step = ";step=4 sqrt 2"
    values = {("na_dpvi", f"epsilon={e}{step}"): (0.05, 0.01) for e in ("0.1", "0.3", "1")}
    naive = {("dpvi_last_iterate", f"epsilon={e}{step}"): (0.3, 0.01) for e in ("0.1", "0.3", "1")}
    text = "better(na_dpvi_nuts, dpvi_last_iterate; tables=2; same=epsilon)"
    row = run(config, batch_scores(values | naive), text, "alrawajfeh2024nadpvi_rebuttal")
    assert row["verdict"] == "holds"
    assert "printed: 3 of 3 comparisons in favour by mean, 3 of them surely" in row["figure"]
    # three comparisons: 2.39 * 0.01 * sqrt 2 = 0.034 is sure, 0.03 is not
    close = naive | {("dpvi_last_iterate", f"epsilon=1{step}"): (0.08, 0.01)}
    row = run(config, batch_scores(values | close), text, "alrawajfeh2024nadpvi_rebuttal")
    assert "3 of 3 comparisons in favour by mean, 2 of them surely" in row["figure"]
    lost = naive | {("dpvi_last_iterate", f"epsilon=1{step}"): (0.01, 0.01)}
    row = run(config, batch_scores(values | lost), text, "alrawajfeh2024nadpvi_rebuttal")
    assert (
        "1 surely against (na_dpvi_nuts vs dpvi_last_iterate, linear_regression_10d, tarp_coverage_rmse, epsilon = 1.0)"
        in (row["figure"])
    )
