"""Claims and tests that are refused, and how a test is shown."""

import pytest

from reports.claims import Better, HoldsIn, Method, NotTestable, Within, evaluate, own
from reports.config import ReportError
from tests.reports.claims.made_up import FALLING, MIXTURE, NO_FINDINGS, claim, mixture_scores


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Better("a", "b", table=("3",)), "unexpected keyword argument 'table'"),
        (lambda: Better("a", tables=("3",)), "missing 1 required positional argument: 'second'"),
        (lambda: Better("a", "b"), "missing 1 required keyword-only argument: 'tables'"),
        (lambda: Better("a", "b", tables="3"), "give a tuple of strings"),
        (lambda: Better("a", "b", tables=(3,)), "give a tuple of strings"),
        (lambda: Better("a", 3, tables=("3",)), "3 is no method"),
        (lambda: Better("a", "b", tables=("3",), margin="spread"), "unexpected keyword argument 'margin'"),
        (lambda: Better(("a", 3), "c", tables=("3",)), "3 is no method"),
        (lambda: claim("better(a, b)"), "is no test of reports.claims"),
    ],
)
def test_what_a_test_does_not_know_is_a_type_error(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Better("a", "b", tables=("3",), quantifier="some"), "quantifier is one of all, most, often"),
        (lambda: claim(NotTestable(why="x"), quote=""), "claim 'x' has no quote"),
        (lambda: claim(NotTestable(why="x"), statement=""), "claim 'x' has no statement"),
        (lambda: claim(NotTestable(why="x"), place=""), "claim 'x' has no place"),
        (lambda: claim(NotTestable(why="x"), quote="read off the table"), "write 'read off table k'"),
    ],
)
def test_values_that_do_not_fit_are_refused(call, words):
    with pytest.raises(ReportError, match=words):
        call()


@pytest.mark.parametrize("words", ["read off table 2", "read off figure 2 a", "read off figure 3 and figure 6"])
def test_what_is_read_off_names_its_place(words):
    assert claim(NotTestable(why="x"), quote=words).quote == words


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (Better(("a", own("b")), "c", tables=("3", "4")), "better(a+own:b, c; tables=3,4)"),
        (Within("a", "b", tables=("1",), same=("k",)), "within(a, b; tables=1; same=k)"),
        (Better("a", Method("b", setting="k"), tables=("1",)), "better(a, b[k]; tables=1)"),
        (HoldsIn(file="t.csv", claim="c"), "holds_in(; file=t.csv; claim=c)"),
        (NotTestable(why="x"), "not_testable(; why=x)"),
    ],
)
def test_a_test_is_shown_as_one_line(test, text):
    assert str(test) == text


def test_a_sentence_settled_by_a_table(tmp_path):
    one = claim(HoldsIn(file="t.csv", claim="c"), "dpsep_mixture")

    def verdict(text):
        (tmp_path / "t.csv").write_text("claim,reading,holds,figure\n" + text)
        found = evaluate(MIXTURE, mixture_scores(FALLING), [one], findings=NO_FINDINGS, extra=tmp_path)
        return found.iloc[0]["verdict"]

    assert verdict("c,printed,yes,f\n") == "holds"
    assert verdict("c,printed,no,f\n") == "does not hold"
    assert verdict("c,printed,unclear,f\n") == "undecided"
    assert verdict("c,corrected,yes,f\n") == "not testable here"  # the paper's own statement was not tested
    assert verdict("c,printed,no,f\nc,authors,no,g\n") == "does not hold"
    assert verdict("c,printed,no,f\nc,authors,unclear,g\n") == "undecided"  # the program leaves it open
    assert verdict("c,printed,unclear,f\nc,corrected,no,g\n") == "undecided"
    assert verdict("c,corrected,no,f\n") == "not testable here"
    assert verdict("c,printed,no,f\nc,authors,yes,g\n") == "holds in the authors' code, not as printed"
    assert verdict("c,printed,yes,f\nc,authors,no,g\n") == "holds as printed, not in the authors' code"
    assert verdict("c,printed,no,f\nc,corrected,yes,g\n") == "does not hold; holds if repaired"
    with pytest.raises(ReportError, match="no row with claim"):
        verdict("d,printed,yes,f\n")
    with pytest.raises(ReportError, match="two rows"):
        verdict("c,printed,yes,f\nc,printed,no,f\n")
    nothing = evaluate(MIXTURE, mixture_scores(FALLING), [one], findings=NO_FINDINGS)
    assert nothing.iloc[0]["verdict"] == "not testable here"
