"""Transitive imports by AST, and a hash that comments do not move."""

import pytest

from workflow import imports


def test_a_method_reaches_its_model_and_the_privacy_code():
    found = imports.reached("methods.ridge")
    assert {"methods.ridge", "methods.contract", "models.task", "privacy.budget", "privacy.ledger"} <= set(found)
    assert not any(m.startswith(("reports", "workflow", "evaluation")) for m in found)


def test_library_modules_are_left_out():
    assert imports.path_of("numpy") is None
    assert all(m.split(".")[0] in imports.PACKAGES for m in imports.reached("methods.ridge"))


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
    assert (imports._normalised(a) == imports._normalised(b)) is same


def test_imports_inside_functions_count():
    # budget.spend imports the accountants only when it enforces; a corrected accountant must still re-run the cell.
    assert "privacy.accountants" in imports.direct_imports("privacy.budget")


def test_a_cell_does_not_depend_on_engines_of_another_kind_of_model():
    both = imports.reached("methods.dp_sep")
    network = imports.reached("methods.dp_sep", kind="bnn_regression")
    mixture = imports.reached("methods.dp_sep", kind="mixture_of_gaussians")
    assert any(m.startswith("methods.engines.mixture.") for m in both)
    assert not any(m.startswith("methods.engines.mixture") for m in network)
    assert any(m.startswith("methods.engines.pbp.") for m in network)
    assert not any(m.startswith("methods.engines.pbp") for m in mixture)
    assert "methods.engines.mixture.training" in mixture
    assert "methods.contract" in mixture


def test_hash_of_one_kind_is_not_that_of_another():
    hashes = {imports.code_hash("methods.sep", kind=k) for k in ("bnn_regression", "mixture_of_gaussians", None)}
    assert len(hashes) == 3


def test_a_kind_that_methods_are_taught_depends_on_the_engines_inside_it():
    """The engine's package names the inner model; an edit of it must still re-run the cell."""
    found = imports.reached("methods.kinds.bounded_mixture.dp_sep_honest", kind="bounded_mixture")
    assert "methods.engines.mixture.honest" in found
    assert "methods.engines.mixture.sites" in found
