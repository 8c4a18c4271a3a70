"""``dpbayes_bench.methods`` is one package, in a checkout and in a wheel, and never a second copy of ``methods``."""

import importlib

import pytest

import dpbayes_bench
from dpbayes_bench import _build, _checkout
from methods import contract


def test_a_module_has_one_object_and_keeps_its_own_spec():
    same = importlib.import_module("dpbayes_bench.methods.contract")
    assert same is contract
    assert same.__name__ == same.__spec__.name == "methods.contract"
    inner = importlib.import_module("dpbayes_bench.methods.sufficient_statistics.adassp")
    assert inner is importlib.import_module("methods.sufficient_statistics.adassp")


@pytest.mark.parametrize("name", ["workflow", "methods.no_such_module", "reports.verdict"])
def test_what_a_wheel_does_not_hold_is_not_found(name):
    with pytest.raises(ModuleNotFoundError, match=f"{dpbayes_bench.__name__}.{name.split('.')[0]}"):
        importlib.import_module(f"dpbayes_bench.{name}")


def test_the_checkout_and_the_wheel_have_the_same_folders():
    assert _checkout.CORE == _build.CORE


@pytest.mark.parametrize(
    ("source", "moved"),
    [
        ("from methods.contract import Method\n", "from dpbayes_bench.methods.contract import Method\n"),
        ("    from privacy import budget\n", "    from dpbayes_bench.privacy import budget\n"),
        ("import models.kind as kind\n", "import dpbayes_bench.models.kind as kind\n"),
        ('scorer="evaluation.scorers:classes",\n', 'scorer="dpbayes_bench.evaluation.scorers:classes",\n'),
        ("from privacy_of_others import x\n", "from privacy_of_others import x\n"),
        ('"methods of moments"\n', '"methods of moments"\n'),
    ],
)
def test_imports_move_into_the_package(source, moved):
    assert _build.inside(source) == moved


@pytest.mark.parametrize("source", ["import methods\n", "    import models.kind\n"])
def test_an_import_that_cannot_move_stops_the_build(source):
    with pytest.raises(ValueError, match="from \\.\\.\\. import"):
        _build.inside(source)
