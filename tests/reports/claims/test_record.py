"""Claims and tests that are refused, and how a test is shown."""

import pytest

from reports.claims import AtEveryBudget, Better, FailsLess, HoldsIn, Method, Needs, Within, own
from reports.config import ReportError
from tests.reports.claims.made_up import claim


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
        (lambda: FailsLess(("a", "b"), "c", tables=("3",)), "is no method"),
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
        (lambda: Within("a", "b", tables=("3",), margin="wide"), "give 'spread', or nothing"),
        (lambda: claim(Needs("x"), quote=""), "claim 'x' has no quote"),
        (lambda: claim(Needs("x"), statement=""), "claim 'x' has no statement"),
        (lambda: claim(Needs("x"), place=""), "claim 'x' has no place"),
        (lambda: claim(Needs("x"), quote="read off the table"), "write 'read off table k'"),
    ],
)
def test_values_that_do_not_fit_are_refused(call, words):
    with pytest.raises(ReportError, match=words):
        call()


@pytest.mark.parametrize("words", ["read off table 2", "read off figure 2 a", "read off figure 3 and figure 6"])
def test_what_is_read_off_names_its_place(words):
    assert claim(Needs("x"), quote=words).quote == words


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (Better(("a", own("b")), "c", tables=("3", "4")), "better(a+own:b, c; tables=3,4)"),
        (Within("a", "b", tables=("1",), margin="spread"), "within(a, b; tables=1; margin=spread)"),
        (
            AtEveryBudget("a", Method("b", setting="k"), metrics=("e", "f"), corrected=Method("b", setting="l")),
            "at_every_budget(a, b[k]; metrics=e,f; corrected=b[l])",
        ),
        (HoldsIn(file="t.csv", claim="c"), "holds_in(; file=t.csv; claim=c)"),
        (Needs("x"), "needs(x)"),
    ],
)
def test_a_test_is_shown_as_one_line(test, text):
    assert str(test) == text
