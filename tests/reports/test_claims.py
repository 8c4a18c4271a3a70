import re

import numpy as np
import pandas as pd
import pytest

from evaluation.paired import Difference
from reports import claims, reference, site
from reports.config import ReportError
from reports.verdicts import FINDING_COLUMNS

NO_FINDINGS = pd.DataFrame(columns=FINDING_COLUMNS)


def run(config, scores, test, source="vinaroz2023dpsep", findings=NO_FINDINGS, proof=""):
    row = {"id": "x", "source": source, "place": "p", "statement": "s", "test": test, "proof": proof}
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
    assert "1 significantly against (dp_sep vs dp_vi, wine, rmse)" in row["figure"]
    assert run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=most)")["verdict"] == "holds"


def test_another_reading_can_save_a_sentence(config, scores):
    for dataset in config["datasets"]:
        shift(scores, "dp_sep", dataset, 100.0)
    row = run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=all)")
    assert row["verdict"] == "holds in another reading"
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
    scores = lose(scores[scores["method"] != "dp_sep_released"], "dp_sep", "wine", "timeout")
    row = run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=all)")
    assert row["verdict"] == "not told apart"  # all are spoken of, one is not shown
    assert "1 without scores, not shown" in row["figure"]
    assert run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=most)")["verdict"] == "holds"


def test_a_number_of_one_run_in_the_paper_may_be_missing(config, scores):
    for method in ("dp_sep", "dp_sep_released"):
        scores = lose(scores, method, "year", "timeout")
    row = run(config, scores, "better(dp_sep, dp_vi; tables=3; quantifier=all)")
    assert row["verdict"] == "holds"
    assert "5 of 5 comparisons" in row["figure"]
    assert "1 without scores, of one run in the paper, not judged" in row["figure"]


def noise(scores, seed, mean=1.0):
    """All scores drawn from one law: no method differs from another."""
    rng = np.random.default_rng(seed)
    scores = scores.copy()
    scores["value"] = [repr(float(v)) for v in mean + rng.normal(size=len(scores))]
    return scores


NOISE_TESTS = [
    "better(dp_sep, sep; tables=3,4; quantifier=all)",
    "better(dp_sep, sep; tables=3; quantifier=most)",
    "not_worse(dp_sep, sep; tables=3,4)",
    "within(sep, ep; tables=4)",
    "worsens(dp_sep; along=clip; tables=8)",
    "spreads(dp_sep; along=clip; tables=8,9)",
    "fails_less(sep, ep; tables=3)",
]


@pytest.mark.parametrize("test", NOISE_TESTS)
def test_pure_noise_is_not_told_apart(config, scores, test):
    assert run(config, noise(scores, 0), test)["verdict"] == "not told apart"


def small_noise(scores, seed=0, sd=1e-3):
    rng = np.random.default_rng(seed)
    scores = scores.copy()
    scores["value"] = [repr(float(v)) for v in 1 + sd * rng.normal(size=len(scores))]
    return scores


def test_equal_methods_are_not_worse_within_the_margin(config, scores):
    row = run(config, small_noise(scores), "not_worse(dp_sep, sep; tables=3,4)")
    assert row["verdict"] == "holds"
    assert row["margin"] == "10 % of the error; ln 1.1 nats"
    assert run(config, small_noise(scores), "within(dp_sep, sep; tables=3,4)")["verdict"] == "holds"


@pytest.mark.parametrize(
    ("by", "metric", "verdict"),
    [
        (0.05, "rmse", "holds"),  # worse for certain, by half of the margin
        (0.2, "rmse", "does not hold"),
        (-0.05, "test_log_likelihood", "holds"),
        (-0.2, "test_log_likelihood", "does not hold"),
    ],
)
def test_worse_counts_from_the_margin_on(config, scores, by, metric, verdict):
    scores = small_noise(scores[scores["method"] != "dp_sep_released"])
    shift(scores, "dp_sep", "wine", by, metric)
    assert run(config, scores, "not_worse(dp_sep, sep; tables=3,4)")["verdict"] == verdict


def test_better_is_not_worse_but_it_is_not_close(config, scores):
    scores = small_noise(scores[scores["method"] != "dp_sep_released"])
    shift(scores, "dp_sep", "wine", -0.5)
    assert run(config, scores, "not_worse(dp_sep, sep; tables=3)")["verdict"] == "holds"
    assert run(config, scores, "within(dp_sep, sep; tables=3)")["verdict"] == "does not hold"


def test_a_single_run_shows_nothing(config, scores):
    few = scores[scores["split"] == scores["split"].iloc[0]]
    for test in ("better(dp_sep, dp_vi; tables=3)", "not_worse(dp_sep, sep; tables=3)"):
        row = run(config, few, test)
        assert row["verdict"] == "not told apart"
        assert "one run: no interval" in row["figure"]


def comparisons(*centres, half=1.0):
    """Comparisons whose interval is centre +- half at every level."""
    return [
        claims.Comparison(f"c{k}", lambda alpha, c=c: Difference(c, c - half, c + half, 9, True))
        for k, c in enumerate(centres)
    ]


@pytest.mark.parametrize(
    ("quantifier", "centres", "state"),
    [
        ("all", (2, 2, 2, 2), claims.HOLDS),
        ("all", (2, 2, 2, 0.5), claims.UNTOLD),  # in favour by mean, not shown
        ("all", (2, 2, 2, -2), claims.REFUTED),
        ("most", (2, 2, 2, -2), claims.HOLDS),
        ("most", (2, 2, -2, 0), claims.UNTOLD),
        ("most", (2, 2, -2, -2), claims.REFUTED),  # half is not most
        ("often", (2, 2, -2, -2), claims.HOLDS),
        ("often", (2, 0, -2, -2), claims.UNTOLD),
        ("often", (2, -2, -2, -2), claims.REFUTED),
    ],
)
def test_quantifiers(quantifier, centres, state):
    test = claims.Test("better", (), {"quantifier": quantifier})
    assert claims.judge(comparisons(*centres), claims.Absent(), test).state == state


def test_what_is_missing_is_not_shown():
    most = claims.Test("better", (), {"quantifier": "most"})
    assert claims.judge(comparisons(2, 2, 2), claims.Absent(other=2), most).state == claims.HOLDS
    assert claims.judge(comparisons(2, 2), claims.Absent(other=2), most).state == claims.UNTOLD
    assert claims.judge(comparisons(2, 2), claims.Absent(single=2), most).state == claims.HOLDS
    assert claims.judge(comparisons(-2, -2), claims.Absent(other=2), most).state == claims.REFUTED
    assert claims.judge(comparisons(-2), claims.Absent(other=2), most).state == claims.UNTOLD


def test_no_quantifier_means_all():
    assert claims.judge(comparisons(2, 2, -2), claims.Absent(), claims.Test("better", (), {})).state == claims.REFUTED


def test_levels_of_a_verdict():
    """All: each at 5 % in favour, 5 % / n against; most of 5 (3): 5 % / 3 both ways."""
    for quantifier, favour, against in (("all", 0.05, 0.01), ("most", 0.05 / 3, 0.05 / 3)):
        asked = []

        def at(alpha, asked=asked):
            asked.append(alpha)
            return Difference(0.0, -1.0, 1.0, 9, True)

        made = [claims.Comparison("c", at) for _ in range(5)]
        claims.judge(made, claims.Absent(), claims.Test("better", (), {"quantifier": quantifier}))
        assert {round(a, 12) for a in asked} == {0.05, round(favour, 12), round(against, 12)}


def test_false_verdicts_about_equal_methods(config, scores):
    """Two methods alike: either verdict on "better in most" comes by chance in 5 % of cases at most.

    30 trials; 10 or more have probability 1.2e-6 at a true rate of 5 % (binomial).
    """
    few = scores[scores["method"].isin(["sep", "ep"]) & (scores["protocol"] == "authors")]
    found = [
        run(config, noise(few, k, 0.0), "better(sep, ep; tables=3,4; quantifier=most)")["verdict"] for k in range(30)
    ]
    assert sum(v != "not told apart" for v in found) < 10


def test_figures_have_intervals(config, scores):
    row = run(config, scores, "better(dp_sep, dp_vi; tables=3,4; quantifier=all)")
    assert "95 % intervals, least and most favourable: dp_sep vs dp_vi, " in row["figure"]
    assert "[" in row["figure"]


def test_a_claim_with_a_proof_is_by_proof_as_long_as_its_check_agrees(config, scores):
    text = "better(dp_sep, dp_vi; tables=3; quantifier=all)"
    assert run(config, scores, text, proof="algebra")["verdict"] == "by proof"
    wrong = scores[scores["method"] != "dp_sep_released"].copy()
    shift(wrong, "dp_sep", "wine", 5.0)
    assert run(config, wrong, text, proof="algebra")["verdict"] == "does not hold"
    assert run(config, scores, "needs(other)", proof="algebra")["verdict"] == "not testable here"


def test_trend_in_the_clipping_norm(config, scores):
    assert run(config, scores, "worsens(dp_sep; along=clip; tables=8; quantifier=all)")["verdict"] == "holds"
    flat = scores[scores["method"] != "dp_sep_released"].copy()
    flat.loc[flat["method"] == "dp_sep", "value"] = "1.0"
    assert run(config, flat, "worsens(dp_sep; along=clip; tables=8; quantifier=all)")["verdict"] == "not told apart"


def test_growing_spread(config, scores):
    scores = scores[scores["method"] != "dp_sep_released"].copy()
    wide = (scores["method"] == "dp_sep") & (scores["setting"] == "clip=10")
    centre = scores.loc[wide, "value"].astype(float)
    scores.loc[wide, "value"] = [repr(float(v + 40 * abs(v) * np.sin(k))) for k, v in enumerate(centre)]
    row = run(config, scores, "spreads(dp_sep; along=clip; tables=8; quantifier=all)")
    assert row["verdict"] == "holds"
    assert "6 of 6 trends in favour by mean" in row["figure"]


def test_fails_less(config, scores):
    assert run(config, scores, "fails_less(sep, ep; tables=3)")["verdict"] == "not told apart"
    one = scores.reset_index(drop=True)
    worse = lose(scores, "ep", "wine", "failed")
    row = run(config, worse, "fails_less(sep, ep; tables=3)")
    assert row["verdict"] == "holds"
    assert "0 of 60 against 10 of 60" in row["figure"]
    assert run(config, worse, "fails_less(ep, sep; tables=3)")["verdict"] == "does not hold"
    hit = one[(one["method"] == "ep") & (one["dataset"] == "wine") & (one["protocol"] == "authors")]
    one.loc[hit.index[hit["split"] == hit["split"].iloc[0]], "status"] = "failed"
    row = run(config, one, "fails_less(ep, sep; tables=3)")
    assert "1 of 60 against 0 of 60" in row["figure"]
    assert row["verdict"] == "not told apart"


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


HEADER = "id,experiment,source,place,quote,statement,test,proof,same_as\n"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("a,e,s,p,q,t,needs(x),,\na,e,s,p,q,t,needs(x),,\n", "stands twice"),
        ("a,e,s,p,,t,needs(x),,\n", "has no quote"),
        ("a,e,s,p,q,,needs(x),,\n", "has no statement"),
        ("a,e,s,,q,t,needs(x),,\n", "has no place"),
        ("a,e,s,p,read off the table,t,needs(x),,\n", "write 'read off table k'"),
        ("a,e,s,p,q,t,needs(x),,b\n", "is no row above it"),
        ("a,e,s,p,q,t,needs(x),,\nb,e,s,p,q,t,needs(x),,a\nc,e,s,p,q,t,needs(x),,b\n", "is no row above it"),
    ],
)
def test_rows_that_do_not_fit_are_refused(tmp_path, rows, words):
    path = tmp_path / "claims.csv"
    path.write_text(HEADER + rows)
    with pytest.raises(ReportError, match=words):
        claims.read(path)


@pytest.mark.parametrize("words", ["read off table 2", "read off figure 2 a", "read off figure 3 and figure 6"])
def test_what_is_read_off_names_its_place(tmp_path, words):
    path = tmp_path / "claims.csv"
    path.write_text(HEADER + f"a,e,s,p,{words},t,needs(x),,\n")
    assert claims.read(path)[0]["quote"] == words


#: words of a sentence that narrow what it speaks of; without them a claim is tested on all.
NARROWER = {"most": r"\bin most\b", "often": r"\boften\b"}


def test_every_committed_quantifier_stands_in_the_source():
    for row in claims.read():
        quantifier = claims.parse(row["test"]).options.get("quantifier", "all")
        said = [q for q, words in NARROWER.items() if re.search(words, row["quote"])]
        assert [quantifier] == (said or ["all"]), row["id"]


def test_every_committed_claim_is_quoted_or_read_off():
    rows = claims.read()
    assert set(rows[0]) == set(claims.FIELDS)
    for row in rows:
        quote, quoted = row["quote"], not row["quote"].startswith("read off")
        assert not quoted or len(quote.split()) >= 5 or row["id"].endswith("dp_sep_comparable_to_sep"), row["id"]
        # no sentence of these sources speaks of what the suite compares: their tables and figures show it
        assert not (quoted and row["id"].startswith(("nadpvi_", "rdp_glm_"))), row["id"]
        if not quoted:
            assert all(k in row["place"] for k in re.findall(r"(?:table|figure) \w+", quote)), row["id"]


def test_claims_of_no_difference_have_a_margin():
    """A sentence that two methods are alike is tested by a test with a margin."""
    alike = re.compile(r"comparable|close to|not the case|differ by no more|nowhere")
    for row in claims.read():
        test = claims.parse(row["test"]).name
        says = alike.search(row["quote"]) or (row["quote"].startswith("read off") and alike.search(row["statement"]))
        assert bool(says) == (test in ("not_worse", "within", "never_worse")), row["id"]


def test_proofs_and_repetitions_of_the_committed_claims():
    rows = {r["id"]: r for r in claims.read()}
    proved = {i for i, r in rows.items() if r["proof"]}
    assert proved >= {
        *("rdp_asymptotes", "rdp_crossing", "rdp_diffused_to_prior", "v1_kl_uncertainty"),
        *("bbb_advanced_composition", "bbb_post_processing", "bbb_epochs_only"),
    }
    for row in rows.values():
        if row["same_as"]:
            first = rows[row["same_as"]]
            assert row["experiment"] == first["experiment"]
            assert claims.parse(row["test"]).name == claims.parse(first["test"]).name


def test_proofs_stand_apart_and_distinct_claims_are_counted():
    rows = [("a", "holds", ""), ("b", "holds", "a"), ("c", "not told apart", ""), ("d", "by proof", "")]
    measured, proved = site._claims(pd.DataFrame(rows, columns=["id", "verdict", "same_as"]))
    assert [r["id"] for r in measured["rows"]] == ["a", "b", "c"]
    assert measured["counts"] == {"holds": 1, "not told apart": 1}
    assert [r["id"] for r in proved["rows"]] == ["d"]
    assert proved["counts"] == {"by proof": 1}


def test_every_verdict_has_a_sign():
    assert set(claims.VERDICTS) <= set(site.SIGNS)


def test_the_committed_verdicts():
    """Of the committed table: its words, its counts, and that a repetition has the verdict of what it repeats."""
    frame = pd.read_csv(reference.FOLDER / "claims.csv", dtype=str, keep_default_na=False)
    assert list(frame["id"].sort_values()) == sorted(r["id"] for r in claims.read())
    assert set(frame["verdict"]) <= set(claims.VERDICTS)
    verdict = frame.set_index("id")["verdict"]
    copies = frame[frame["same_as"] != ""]
    assert len(claims.distinct(frame)) == len(frame) - len(copies)
    for row in copies.itertuples():
        assert row.verdict == verdict[row.same_as], row.id
    proofs = {r["id"] for r in claims.read() if r["proof"]}
    assert set(frame.loc[frame["verdict"] == "by proof", "id"]) == proofs
    assert verdict["nadpvi_beats_bs_regression"] == "not testable here"
    margins = frame.set_index("id")["margin"]
    assert margins["dp_sep_comparable_to_sep"] == "10 % of the error; ln 1.1 nats"
    assert margins["nadpvi_matches_bs_families"] == "one published spread"


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
    assert "1 significantly against (epsilon 1 to 5, median over 40 data sets)" in row["figure"]


def test_a_reading_may_have_its_own_data_set_and_metric():
    wrong = mixture_scores({**FALLING, "epsilon=5": 9.0})
    right = mixture_scores(FALLING, dataset="other", metric="squared")
    closer = "closer(dp_sep; tables=1; along=epsilon; metric=fnorm_average)"
    assert run(MIXTURE, pd.concat([wrong, right]), closer)["verdict"] == "holds in another reading"


def test_too_few_data_sets_tell_nothing():
    row = run(MIXTURE, mixture_scores(FALLING, n=3), "larger(dp_sep, sep; tables=1; metric=fnorm_average)")
    assert row["verdict"] == "not told apart"
    assert "no interval" in row["figure"]


def test_a_sentence_settled_by_a_table(tmp_path):
    test = "holds_in(; file=t.csv; claim=c)"
    row = {"id": "x", "source": "vinaroz2023dpsep", "place": "p", "statement": "s", "test": test}

    def verdict(text):
        (tmp_path / "t.csv").write_text("claim,reading,holds,figure\n" + text)
        found = claims.evaluate(MIXTURE, mixture_scores(FALLING), [row], findings=NO_FINDINGS, extra=tmp_path)
        return found.iloc[0]["verdict"]

    assert verdict("c,printed,yes,f\n") == "holds"
    assert verdict("c,printed,no,f\n") == "does not hold"
    assert verdict("c,printed,unclear,f\n") == "not told apart"
    assert verdict("c,corrected,yes,f\n") == "holds in another reading"
    assert verdict("c,printed,no,f\nc,released,no,g\n") == "does not hold"
    assert verdict("c,printed,no,f\nc,released,unclear,g\n") == "not told apart"  # the program leaves it open
    assert verdict("c,printed,unclear,f\nc,corrected,no,g\n") == "not told apart"
    assert verdict("c,corrected,no,f\n") == "does not hold"
    assert verdict("c,printed,no,f\nc,released,yes,g\n") == "holds in another reading"
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
    assert "2 of 2 comparisons in favour by mean, 2 significantly" in row["figure"]
    scores = draws(0.05)
    hit = (scores["method"] == "bad") & scores["setting"].str.endswith("order=10;epsilon=e^0")
    scores.loc[hit, "value"] = [repr(float(v) - 0.1) for v in scores.loc[hit, "value"]]
    row = at_budgets(scores, sentence)
    assert row["verdict"] == "does not hold"
    assert (
        "1 significantly against (good vs bad[as charged], abalone, test_error, order=10;epsilon=e^0)" in row["figure"]
    )


def test_the_corrected_reading_of_a_budget_sentence_takes_the_other_method():
    row = at_budgets(draws(0.05), "at_every_budget(good, bad[as charged]; metrics=test_error; corrected=bad[fair])")
    assert row["verdict"] == "holds"  # as printed
    assert "corrected: 0 of 2 comparisons in favour by mean, 0 significantly, 2 significantly against" in row["figure"]


@pytest.mark.parametrize(
    ("better_by", "verdict"),
    [(0.0005, "holds"), (-0.015, "holds"), (-0.0325, "not told apart"), (-0.06, "does not hold")],
)
def test_never_worse_has_a_margin_at_every_budget(better_by, verdict):
    row = at_budgets(draws(better_by), "never_worse(good, bad[as charged]; metrics=test_error)")
    assert row["verdict"] == verdict  # 10 % of an error of 0.3 is 0.03, of 0.27 it is 0.027
    assert row["margin"] == "10 % of the error"


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

    config = load("papers/alrawajfeh2024nadpvi_rebuttal/experiments/nadpvi_linear.yaml")
    step = ";step=4 sqrt 2"
    values = {("na_dpvi", f"epsilon={e}{step}"): (0.05, 0.01) for e in ("0.1", "0.3", "1")}
    naive = {("dpvi_last_iterate", f"epsilon={e}{step}"): (0.3, 0.01) for e in ("0.1", "0.3", "1")}
    text = "better(na_dpvi_nuts, dpvi_last_iterate; tables=2; same=epsilon)"
    row = run(config, batch_scores(values | naive), text, "alrawajfeh2024nadpvi_rebuttal")
    assert row["verdict"] == "holds"
    assert "printed: 3 of 3 comparisons in favour by mean, 3 significantly" in row["figure"]
    # 1.96 * 0.01 * sqrt 2 = 0.0277: a difference of 0.03 is significant, one of 0.025 is not
    close = naive | {("dpvi_last_iterate", f"epsilon=1{step}"): (0.075, 0.01)}
    row = run(config, batch_scores(values | close), text, "alrawajfeh2024nadpvi_rebuttal")
    assert "3 of 3 comparisons in favour by mean, 2 significantly" in row["figure"]
    assert row["verdict"] == "not told apart"
    lost = naive | {("dpvi_last_iterate", f"epsilon=1{step}"): (0.01, 0.01)}
    row = run(config, batch_scores(values | lost), text, "alrawajfeh2024nadpvi_rebuttal")
    where = "linear_regression_10d, tarp_coverage_rmse, epsilon = 1.0"
    assert f"1 significantly against (na_dpvi_nuts vs dpvi_last_iterate, {where})" in row["figure"]
