"""The mutants: what is eligible, that each is another program, and that the table belongs to the code."""

import pandas as pd

from benchmarks import mutation

SOURCE = '''"""A docstring with 1 + 1."""
LIMIT: int = 3


@cache(maxsize=7)
def f(x: Array[5], n):
    """Another, 2 < 3."""
    if n < 1:
        raise ValueError(f"{n + 1}")
    x[0] += n
    warnings.warn("n", n * 2)
    return min(g(x, n), -n)
'''


def test_messages_docstrings_annotations_and_decorators_stay():
    found = mutation.mutations(SOURCE)
    assert sorted(found) == [2, 8, 10, 11, 12]
    assert found[11] == [("dropped statement", 'warnings.warn("n", n * 2)', "pass")]
    assert [m for _, _, m in found[2]] == ["LIMIT: int = 4"]
    assert {m for _, _, m in found[8]} == {"if n <= 1:", "if n < 2:"}
    assert {m for _, _, m in found[10]} == {"x[1] += n", "x[0] -= n", "pass"}
    assert {o for o, *_ in found[12]} == {"min to max", "- to +", "swapped arguments"}


def test_a_mutant_is_another_program():
    for number, made in mutation.mutations(SOURCE).items():
        for _, original, text in made:
            assert mutation.another(SOURCE, number, original, text)
    assert not mutation.another("f(*x)\n", 1, "f(*x)", "f(/x)")
    assert not mutation.another("f(x)\n", 1, "f(x)", "(f(x))")


def test_a_line_is_found_where_it_has_moved():
    source = "x = 1\nif x:\n    y = x + 1\n"
    assert mutation.mutated(source, 1, "y = x + 1", "y = x - 1") == source.replace("x + 1", "x - 1")
    assert mutation.mutated(source, 3, "y = x + 2", "y = x - 2") is None


def test_the_nearest_tests_and_methods_come_first():
    tests, methods = mutation.nearest(mutation.ROOT, "methods.vi.dp_vi_vinaroz")
    assert (tests[0], methods[0]) == ("tests/methods/vi/test_dp_vi_vinaroz.py", "dp_vi_vinaroz")


def test_every_survivor_of_the_table_is_judged():
    table = pd.read_csv(mutation.TABLE, dtype=str, keep_default_na=False)
    assert list(table.columns) == mutation.COLUMNS
    planted = table["operator"].str.startswith("planted")
    assert ((~planted).sum() >= 60, planted.sum()) == (True, 14)
    assert (table.loc[planted, "result"].isin(["killed", "gate"])).all()
    assert (table.loc[table["result"].isin(["survived", "limit", "gate"]), "judgement"] != "").all()
