"""OUR methods at every budget."""

import numpy as np
import pandas as pd
import pytest

from papers.geumlek2017rdp.budget_claims import AtEveryBudget, NeverWorse
from reports.claims import Method
from tests.reports.claims.made_up import run


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
    sentence = AtEveryBudget("good", Method("bad", setting="as charged"), metrics=("test_error",))
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
    fair = Method("bad", setting="fair")
    test = AtEveryBudget("good", Method("bad", setting="as charged"), metrics=("test_error",), corrected=fair)
    row = at_budgets(draws(0.05), test)
    assert row["verdict"] == "holds"  # as printed
    assert "corrected: 0 of 2 comparisons in favour by mean, 0 significantly, 2 significantly against" in row["figure"]


@pytest.mark.parametrize(
    ("better_by", "verdict"),
    [(0.0005, "holds"), (-0.015, "holds"), (-0.0275, "undecided"), (-0.06, "does not hold")],
)
def test_never_worse_has_a_margin_at_every_budget(better_by, verdict):
    row = at_budgets(draws(better_by), NeverWorse("good", Method("bad", setting="as charged"), metrics=("test_error",)))
    assert row["verdict"] == verdict  # 10 % of an error of 0.3 is 0.03, of 0.27 it is 0.027
    assert row["margin"] == "10 % of the error"


def test_a_budget_sentence_without_its_methods_cannot_be_told():
    row = at_budgets(draws(0.05), AtEveryBudget("good", "absent", metrics=("test_error",)))
    assert row["verdict"] == "not testable here"


def test_a_budget_test_is_shown_as_one_line():
    test = AtEveryBudget("a", Method("b", setting="k"), metrics=("e", "f"), corrected=Method("b", setting="l"))
    assert str(test) == "at_every_budget(a, b[k]; metrics=e,f; corrected=b[l])"
