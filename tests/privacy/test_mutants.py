"""The loader of mutants: it patches text, reaches engines, and leaves no trace."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from methods import contract
from privacy import mutants
from privacy.mutants import DoesNotApply, Mutant, loaded, patched

ADAPTER = contract.get("dp_sep")


def test_patch_replaces_as_often_as_asked_and_spares_excepted_lines():
    source = "a = s.clip\nb = s.clip  # sensitivity\nc = s.clip\n"
    once = Mutant("m", r"s\.clip", "9", unless="sensitivity")
    assert patched(source, once) == "a = 9\nb = s.clip  # sensitivity\nc = s.clip\n"
    always = Mutant("m", r"s\.clip", "9", count=0, unless="sensitivity")
    assert patched(source, always) == "a = 9\nb = s.clip  # sensitivity\nc = 9\n"


def test_patch_that_does_not_apply_or_parse_is_refused():
    with pytest.raises(DoesNotApply, match="never there"):
        patched("a = 1\n", Mutant("m", "never there", ""))
    with pytest.raises(SyntaxError):
        patched("a = 1\n", Mutant("m", "1", "("))


def test_unpatched_source_loads_under_another_name_and_leaves_nothing():
    import methods.ep.dp_sep as real

    before, path = set(sys.modules), list(sys.path)
    with loaded(ADAPTER, None) as method:
        assert type(method).__module__ != real.__name__
        assert (type(method).__name__, method.name) == ("DPSEP", "dp_sep")
        assert type(method) is not real.DPSEP
    assert not [m for m in set(sys.modules) - before if m.startswith("mutant_")]
    assert sys.path == path


def test_patch_of_an_engine_reaches_the_adapter_and_nobody_else():
    engine = "methods.ep._pbp.training"
    mutant = Mutant("m", r"def require\(", "MARK = 1\n\n\ndef require(", module=engine)
    with loaded(ADAPTER, mutant) as method:
        import methods.ep._pbp.training as real

        names = [m for m in sys.modules if m.startswith("mutant_")]
        text = Path(sys.modules[type(method).__module__].__file__).read_text(encoding="utf-8")
        assert f"from {engine.rpartition('.')[0]} import natural_training\n" in text
        assert "as training" in text
        assert names
        assert not hasattr(real, "MARK")


def test_two_patches_at_once():
    one = Mutant("a", r"epochs: int = 40", "epochs: int = 41")
    two = Mutant("b", r"gamma: float = 1\.0", "gamma: float = 2.0")
    with loaded(ADAPTER, [one, two]) as method:
        defaults = method.Settings()
    assert (defaults.epochs, defaults.gamma) == (41, 2.0)


def test_unknown_module_is_named():
    with pytest.raises(ModuleNotFoundError, match="nowhere"), loaded(ADAPTER, Mutant("m", "", "", "methods.nowhere")):
        pass


def test_of_several_classes_in_a_file_the_adapters_own_is_patched_first():
    source = "class A:\n    x = 1\n\n\nclass B:\n    x = 1\n\n\ndef f():\n    return 2\n"
    one = Mutant("m", "x = 1", "x = 9")
    assert patched(source, one, "A") == source.replace("x = 1", "x = 9", 1)
    assert patched(source, one, "B") == source[:18] + source[18:].replace("x = 1", "x = 9")
    assert "return 3" in patched(source, Mutant("m", "return 2", "return 3"), "B")
    first = contract.get("dp_em_corrected"), contract.get("dp_em_corrected", "bounded_mixture")
    for method in first:
        with loaded(method, Mutant("m", r"name = \"dp_em_corrected\"", 'name = "patched"')) as broken:
            assert (broken.name, method.name) == ("patched", "dp_em_corrected")


def test_kills_reports_only_what_was_found():
    assert mutants.kills(ADAPTER, None, lambda method: {"a": "", "b": method.name}) == {"b": "dp_sep"}
