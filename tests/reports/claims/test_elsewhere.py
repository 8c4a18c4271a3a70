"""Claims that a table settles."""

import pytest

from reports.claims import HoldsIn, evaluate
from reports.config import ReportError
from tests.reports.claims.made_up import FALLING, MIXTURE, NO_FINDINGS, claim, mixture_scores


def test_a_sentence_settled_by_a_table(tmp_path):
    one = claim(HoldsIn(file="t.csv", claim="c"), "dpsep_mixture")

    def verdict(text):
        (tmp_path / "t.csv").write_text("claim,reading,holds,figure\n" + text)
        found = evaluate(MIXTURE, mixture_scores(FALLING), [one], findings=NO_FINDINGS, extra=tmp_path)
        return found.iloc[0]["verdict"]

    assert verdict("c,printed,yes,f\n") == "holds"
    assert verdict("c,printed,no,f\n") == "does not hold"
    assert verdict("c,printed,unclear,f\n") == "not told apart"
    assert verdict("c,corrected,yes,f\n") == "holds in another reading"
    assert verdict("c,printed,no,f\nc,authors,no,g\n") == "does not hold"
    assert verdict("c,printed,no,f\nc,authors,unclear,g\n") == "not told apart"  # the program leaves it open
    assert verdict("c,printed,unclear,f\nc,corrected,no,g\n") == "not told apart"
    assert verdict("c,corrected,no,f\n") == "does not hold"
    assert verdict("c,printed,no,f\nc,authors,yes,g\n") == "holds in another reading"
    with pytest.raises(ReportError, match="no row with claim"):
        verdict("d,printed,yes,f\n")
    with pytest.raises(ReportError, match="two rows"):
        verdict("c,printed,yes,f\nc,printed,no,f\n")
    nothing = evaluate(MIXTURE, mixture_scores(FALLING), [one], findings=NO_FINDINGS)
    assert nothing.iloc[0]["verdict"] == "not testable here"
