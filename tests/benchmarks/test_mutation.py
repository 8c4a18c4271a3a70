"""The mutants: what is eligible, that each is another program, and that the table belongs to the code."""

import ast

import pandas as pd
import pytest

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
    assert {m for o, _, m in found[8] if o == "comparison"} == {"if (n <= 1):", "if (n >= 1):"}
    assert {m for o, _, m in found[10] if o in ("arithmetic", "dropped statement")} == {"x[0] -= n", "pass"}
    assert {o for o, *_ in found[12]} == {"min/max", "sign", "swapped argument"}


def test_each_mutant_is_another_program():
    lines = SOURCE.splitlines()
    for number, made in mutation.mutations(SOURCE).items():
        for _, original, mutated in made:
            text = lines[number - 1].replace(original, mutated)
            changed = ast.parse("\n".join([*lines[: number - 1], text, *lines[number:]]))
            assert ast.dump(changed) != ast.dump(ast.parse(SOURCE))


def test_an_error_is_raised_where_the_statement_begins():
    with pytest.raises(RuntimeError, match="reached"):
        exec(mutation.raised("def f(x):\n    y = g(\n        x\n    )\n    return y\nf(1)\n", 3), {})


def test_nearest_tests_and_methods():
    tests, methods = mutation.nearest(mutation.ROOT, "methods.vi.vi_authors")
    assert tests[0] == "tests/methods/vi/test_dp_vi_vinaroz.py"
    assert methods == ["vi_authors"]


def test_every_survivor_of_the_table_is_judged():
    table = pd.read_csv(mutation.TABLE, dtype=str, keep_default_na=False)
    assert list(table.columns) == mutation.COLUMNS
    planted = table["operator"].str.startswith("planted")
    assert ((~planted).sum() >= 60, planted.sum()) == (True, 14)
    assert (table.loc[planted, "result"].isin(["killed", "gate"])).all()
    assert (table.loc[table["result"].isin(["survived", "limit", "gate"]), "judgement"] != "").all()
