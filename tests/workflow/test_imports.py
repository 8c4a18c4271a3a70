"""Transitive imports by AST, and a hash that comments do not move."""

import pytest

from workflow import imports


def test_a_method_reaches_its_model_and_the_privacy_code():
    found = imports.reached("methods.baselines.ridge")
    wanted = {"methods.baselines.ridge", "methods.contract", "models.task", "privacy.budget", "privacy.ledger"}
    assert wanted <= set(found)
    assert not any(m.startswith(("reports", "workflow", "evaluation")) for m in found)


def test_library_modules_are_left_out():
    assert imports.path_of("numpy") is None
    assert all(m.split(".")[0] in imports.PACKAGES for m in imports.reached("methods.baselines.ridge"))


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("x = 1\n", "x = 1  # a comment\n", True),
        ("def f():\n    return 1\n", 'def f():\n    """Doc."""\n    return 1\n', True),
        ("x = 1\n", "x = 2\n", False),
        ("x = 'a'\n", "x = 'b'\n", False),
    ],
)
def test_only_what_the_code_does_moves_the_hash(tmp_path, before, after, same):
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text(before)
    b.write_text(after)
    assert (imports.normalised(a.read_text()) == imports.normalised(b.read_text())) is same


def test_imports_inside_functions_count():
    # budget.spend imports the accountants only when it enforces; a corrected accountant must still re-run the cell.
    assert "privacy.accountants" in imports.direct_imports("privacy.budget")


def test_a_method_depends_on_all_numerics_that_its_file_names():
    found = imports.reached("methods.ep.dp_sep")
    assert {"methods.ep._mixture.training", "methods.ep._pbp.state", "methods.contract"} <= set(found)
    found = imports.reached("methods.ep.dp_sep_honest")
    assert {"methods.ep._mixture.honest", "methods.ep._mixture.sites"} <= set(found)
