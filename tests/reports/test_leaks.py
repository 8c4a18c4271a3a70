"""The table of leaks is even: what follows from a relation, or from what is read, is said of every method."""

import pandas as pd

import datasets
from methods import contract
from methods.contract import LeakKind
from privacy.ledger import Relation
from reports import leaks
from reports.blocks import markdown
from reports.ledger import CONDITIONAL, guards, leaks_of


def test_every_leak_of_every_method_is_in_the_table():
    frame = leaks.frame()
    told = {(n, leak.sentence) for k, n in contract.pairs() for leak in contract.get(n, k).leaks}
    shown = frame[["method", "leak", "evidence"]].drop_duplicates()
    named = shown[shown["evidence"] == leaks.NAMED]
    assert told == set(named[["method", "leak"]].itertuples(index=False, name=None))


def test_every_question_is_asked_and_every_kind_has_one():
    assert set(leaks.QUESTIONS) == set(LeakKind)
    table, _ = leaks.table()
    assert [b.title for b in table.blocks] == list(leaks.QUESTIONS.values())
    assert "cannot come from the neighbour" in markdown(table)


def test_public_n_and_floating_point_are_said_of_all():
    frame = leaks.frame()
    private = {(n, k): contract.get(n, k) for k, n in contract.pairs() if contract.get(n, k).privacy}

    def asked(kind):
        rows = frame[frame["kind_of_leak"] == str(kind)]
        return set(rows[["method", "kind"]].itertuples(index=False, name=None))

    assert {p for p, m in private.items() if m.privacy is Relation.ADD_REMOVE} <= asked(LeakKind.PUBLIC_N)
    assert {p for p, m in private.items() if not m.releases_a_draw} <= asked(LeakKind.FLOATING_POINT)
    assert {p for p, m in private.items() if m.releases_a_draw} & asked(LeakKind.SAMPLER)
    free = set(frame[["method", "kind"]].itertuples(index=False, name=None)) - set(private)
    assert not free & asked(LeakKind.FLOATING_POINT)


def test_ranges_that_a_table_prints_of_itself_are_conditional_for_all_that_read_them():
    frame = leaks.frame()
    readers = {(n, k) for k, n in contract.pairs() if (m := contract.get(n, k)).privacy and m.reads_ranges}
    rows = frame.loc[frame["leak"].str.contains(CONDITIONAL), ["method", "kind"]]
    assert set(rows.itertuples(index=False, name=None)) == readers


def test_the_guard_of_the_range_release_is_said_wherever_it_is_used_and_once():
    wine, cut = guards(datasets.names())  # the table, and the same table with its target cut
    guard = min(wine, cut, key=len)
    assert guard.startswith("on wine only: the release of ranges")
    assert max(wine, cut, key=len).startswith("on wine_cut only: the release of ranges")
    assert guard in leaks_of("dp_sgd", "wine", "bounded_linear_regression")
    assert guard not in leaks_of("dp_sgd", "power", "bounded_linear_regression")
    for name in ("dp_vi_vinaroz_corrected", "dp_sep_corrected"):  # they name it themselves
        own = [
            k for k in contract.get(name, "bnn_regression").leaks if k.kind is LeakKind.TUNED and "wine" in k.datasets
        ]
        assert own
        assert guard not in leaks_of(name, "wine", "bnn_regression")
    assert guard not in leaks_of("vi", "wine", "bnn_regression")  # no guarantee


def test_an_answer_names_the_kinds_of_model_it_is_about_where_they_are_not_all():
    rows = pd.DataFrame({"title": ["A", "A", "B"], "kind": ["x_y", "z", "z"]})
    assert leaks._names(rows, {"A": {"x_y", "z", "u"}, "B": {"z"}}) == "A (x y; z); B"
