"""torch is installed once, before the first run whose code imports it. No test installs anything."""

import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from methods import contract
from workflow import on_demand
from workflow.imports import libraries, libraries_of


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """An environment without torch; gives the calls of ./bench, each of which installs it."""
    calls, known = [], []

    def run(command, **given):
        calls.append([str(word) for word in command[1:]])
        known.append("torch")
        return SimpleNamespace(returncode=0)

    def version(name):
        if name not in known:
            raise on_demand.PackageNotFoundError(name)
        return "2.13.0"

    monkeypatch.setattr(on_demand, "HOME", tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(on_demand, "version", version)
    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_the_methods_that_need_it_are_those_that_fit_networks_by_it():
    """By their imports. The linear and logistic DP-SGD of the same file do not."""
    assert "torch" in libraries("methods.baselines.dp_sgd")
    for kind in contract.get("dp_sgd").models:
        assert "torch" in libraries_of("methods.baselines.dp_sgd", type(contract.get("dp_sgd", kind)).__name__)
    for kind in ("bounded_linear_regression", "bounded_logistic_regression"):
        of = libraries_of("methods.baselines.dp_sgd", type(contract.get("dp_sgd", kind)).__name__)
        assert "torch" not in of
        assert "numpy" in of


def test_imports_of_a_class_are_those_that_its_source_uses(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/heavy.py").write_text("def f():\n    import torch\n")
    text = """
    import scipy
    from models import heavy
    RATE = scipy.pi
    def helper(): return heavy.f()
    class Own:
        def fit(self):
            import numba
            return RATE
    class Direct:
        rate = helper
    class Derived(Direct): pass
    """
    (tmp_path / "models/several.py").write_text(textwrap.dedent(text))
    found = {name: libraries_of("models.several", name, tmp_path) for name in ("Own", "Direct", "Derived")}
    assert found == {"Own": {"scipy", "numba"}, "Direct": {"torch"}, "Derived": {"torch"}}


def test_it_is_installed_once_and_said_in_a_line(scene, capsys):
    on_demand.for_methods([("ridge", "bnn_regression"), ("dp_sgd", "bounded_logistic_regression")])
    assert scene == []
    for _ in range(2):
        on_demand.for_methods([("ridge", "bnn_regression"), ("dp_sgd", "bnn_classification")])
    assert scene == [["setup", "torch"]]
    assert capsys.readouterr().err == "bench: dp_sgd needs torch\n"


def test_a_table_that_needs_it(scene):
    on_demand.for_module("papers.wang2018.run")
    assert scene == []
    on_demand.for_module("papers.dp_bayes_by_backprop2020note.note_claims")
    assert scene == [["setup", "torch"]]


def test_a_call_that_was_killed_is_tried_again(scene, tmp_path):
    on_demand.install("a test")
    (tmp_path / on_demand.UNFINISHED).touch()
    with pytest.raises(SystemExit, match="could not be installed"):  # this ./bench leaves the mark
        on_demand.install("a test")
    assert len(scene) == 2


def test_another_environment_is_left_as_it_is(scene, monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/usr")
    with pytest.raises(SystemExit, match=r"install torch==[\d.]+ into /usr"):
        on_demand.install("a test")
    assert scene == []
