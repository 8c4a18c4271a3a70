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
    assert list(frame["id"]) == [r["id"] for r in rows]
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
