"""Every kind of model has one record, and everything that it names is there."""

import dataclasses
import importlib
import pkgutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from methods import contract
from models import kind as registry
from models import posteriors, tiny
from models.kind import CONJUGATE, Kind, kind, kinds, resolve
from models.linear_regression import LinearGaussian, LinearRegression
from workflow.papers import experiments

ROOT = Path(__file__).resolve().parents[2]
MODULES = [importlib.import_module(f"models.{i.name}") for i in pkgutil.iter_modules([str(ROOT / "models")])]

every_kind = pytest.mark.parametrize("name", kinds())


def made(name):
    """Classes of models/ that have this method, and a ``kind``, of their own file."""
    classes = {c for m in MODULES for c in vars(m).values() if isinstance(c, type) and c.__module__ == m.__name__}
    return {c for c in classes if isinstance(getattr(c, "kind", None), str) and hasattr(c, name)}


def test_every_experiment_is_of_a_known_kind():
    configs = [yaml.safe_load(p.read_text()) for p in experiments().values()]
    assert len(configs) > 10
    assert {c["model"]["kind"] for c in configs} <= set(kinds())


def test_every_model_has_a_record():
    models = {c for m in MODULES for c in vars(m).values() if isinstance(c, type) and c.__module__ == m.__name__}
    models = {c for c in models if isinstance(getattr(c, "kind", None), str)} - made("parameters")
    assert {c.kind for c in models} == set(kinds())
    assert {kind(name).model for name in kinds()} == models


def test_every_posterior_is_found_by_its_kind():
    assert set(registry.posteriors().values()) == made("parameters")
    assert registry.posteriors()["linear_gaussian"] is LinearGaussian
    for name, c in registry.posteriors().items():
        assert c.kind == name
        with pytest.raises(KeyError):  # it is loaded by its own module, which misses its parameters
            posteriors.load(name, {})
    with pytest.raises(KeyError, match="linear_gaussian"):
        posteriors.load("no_such_posterior", {})


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(KeyError, match="bnn_regression"):
        kind("no_such_model")


@every_kind
def test_a_record_is_complete(name):
    about = kind(name)
    assert about.name == name == about.model.kind
    assert dataclasses.is_dataclass(about.model)
    assert callable(resolve(about.scorer))
    assert not about.draws or callable(resolve(about.draws))
    methods = {*about.references, *([about.exact] if about.exact not in ("", CONJUGATE) else [])}
    assert methods <= set(contract.names(name))
    assert about.exact != CONJUGATE or hasattr(about.model().inner, "exact_posterior")
    assert {about.model.__module__, "models.posteriors", about.scorer.partition(":")[0]} <= set(about.modules)
    assert set(about.unaudited) < set(about.tiny)


@pytest.mark.parametrize(("case", "make"), registry.tiny_cases().items(), ids=list(registry.tiny_cases()))
def test_a_tiny_task_is_of_its_kind_and_follows_from_its_arguments(case, make):
    task, again, other = make(9, 3), make(9, 3), make(9, 4)
    about = kind(task.model.kind)
    assert case in about.tiny
    assert isinstance(task.model, about.model)
    assert task.n == task.public.n == 9
    np.testing.assert_array_equal(task.x, again.x)
    assert not np.array_equal(task.x, other.x)
    assert (task.y is None) == (about.target == "density")
    if about.target == "classification" and case != "logistic_regression_normal_prior":
        assert set(task.y) <= {0.0, 1.0, 2.0}
    for column, bounds in zip(task.x.T, task.public.x_bounds, strict=False):
        assert bounds[0] <= column.min() <= column.max() <= bounds[1]


def test_listing_the_kinds_imports_nothing_heavy():
    """In a fresh interpreter: cells are listed often, and torch or jax cost seconds each time."""
    heavy = ("torch", "jax", "numba", "numpyro", "sklearn", "pandas", "scipy.stats", "evaluation", "workflow")
    code = (
        "import sys; from models import kind as k; assert [k.kind(n).modules for n in k.kinds()]; k.posteriors(); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout.strip() == "[]"


GOOD = {
    "name": "linear_regression",
    "model": LinearRegression,
    "scorer": "evaluation.scorers:regression",
    "tiny": {"linear_regression": partial(tiny.regression, LinearRegression())},
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "other"}, "must say 'other'"),
        ({"target": "ranking"}, "target = 'ranking'"),
        ({"scorer": ""}, "scorer = ''"),
        ({"scorer": "evaluation.scorers"}, "give 'module:function'"),
        ({"draws": "fractions"}, "draws = 'fractions'"),
        ({"tiny": {}}, "first case of tiny"),
        ({"tiny": {"other": GOOD["tiny"]["linear_regression"]}}, "must be 'linear_regression'"),
        ({"unaudited": ("other",)}, "unaudited has 'other'"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        Kind(**GOOD | change)


def module(**names):
    return SimpleNamespace(__name__="models.linear_regression", **names)


def test_a_name_that_stands_twice_is_refused(monkeypatch):
    monkeypatch.setattr(registry, "_modules", lambda: [module(KIND=Kind(**GOOD)), module(KINDS=(Kind(**GOOD),))])
    with pytest.raises(TypeError, match="the kind 'linear_regression' is that of"):
        registry._kinds.__wrapped__()
    monkeypatch.setattr(registry, "_modules", lambda: [module(KIND="linear_regression")])
    with pytest.raises(TypeError, match=r"must be a models\.kind\.Kind"):
        registry._kinds.__wrapped__()
    twin = type("Twin", (LinearGaussian,), {})
    monkeypatch.setattr(
        registry, "_modules", lambda: [module(POSTERIORS=(LinearGaussian,)), module(POSTERIORS=(twin,))]
    )
    monkeypatch.setattr(registry, "_kinds", dict)
    with pytest.raises(TypeError, match="two posteriors of kind 'linear_gaussian'"):
        registry.posteriors.__wrapped__()
