"""What a method gives back: every breach of the contract is named where it happens, and is that method's row alone."""

from types import SimpleNamespace

import numpy as np
import pytest
from project import place_data

from methods import contract
from methods.contract import Fit
from models.kind import tiny_cases
from models.linear_regression import ConstantGaussian, LinearGaussian
from models.standardise import Standardiser
from privacy.ledger import Ledger
from workflow import returned, worker
from workflow.experiments import cells
from workflow.papers import experiments as files

METHOD = contract.get("predict_mean")
GOOD = ConstantGaussian(0.5, 1.0)
PLAIN = Standardiser(np.float64(0.0), np.float64(1.0), 0.0, 1.0)


@pytest.fixture(scope="module")
def task():
    return tiny_cases()["bnn_regression"](20, 0)


def posterior(kind="constant_gaussian", **parameters):
    return SimpleNamespace(kind=kind, parameters=lambda: parameters)


def test_what_the_contract_says_is_taken(task):
    found = returned.parameters_of(METHOD, task, Fit(GOOD, Ledger(), {"steps": 3, "loss": np.float64(0.1)}))
    assert set(found) == set(GOOD.parameters())


BREACHES = {
    "no fit": (None, "where a methods.contract.Fit is due"),
    "no ledger": (Fit(GOOD, [], {}), "its ledger is a list"),
    "diagnostics that are a list": (Fit(GOOD, Ledger(), [1.0]), "its diagnostics are a list"),
    "a diagnostic that is a word": (Fit(GOOD, Ledger(), {"loss": "low"}), "diagnostic 'loss' is a str"),
    "a diagnostic that is an array": (Fit(GOOD, Ledger(), {"loss": np.ones(3)}), "diagnostic 'loss' is a ndarray"),
    "no posterior": (Fit(None, Ledger()), "its posterior is a NoneType"),
    "parameters that are no mapping": (
        Fit(SimpleNamespace(kind="constant_gaussian", parameters=lambda: [1.0]), Ledger()),
        r"parameters\(\) of its posterior gives a list",
    ),
    "an array of objects": (
        Fit(posterior(location=np.array([None]), spread=1.0), Ledger()),
        "location is an array of object",
    ),
    "an unknown kind": (
        Fit(posterior("no_such_kind", location=1.0), Ledger()),
        "unknown kind of posterior 'no_such_kind'",
    ),
    "a missing parameter": (Fit(posterior(location=1.0), Ledger()), "can be made of location"),
    "a wrong shape": (Fit(LinearGaussian(np.zeros(9), None, 1.0, PLAIN), Ledger()), "that predicts can be made of"),
}


@pytest.mark.parametrize("what", BREACHES)
def test_a_breach_names_the_method_and_what_is_wrong(what, task):
    fit, words = BREACHES[what]
    with pytest.raises(returned.BadFit, match=rf"^predict_mean.*{words}"):
        returned.parameters_of(METHOD, task, fit)


def test_nan_is_a_result_and_not_a_breach(task):
    found = returned.parameters_of(METHOD, task, Fit(ConstantGaussian(np.nan, 1.0), Ledger()))
    assert returned.not_finite(found) == "location"
    assert returned.not_finite({"words": np.array(["a"]), "n": np.arange(3)}) is None


def test_a_breach_is_a_row_of_its_method(tmp_path, monkeypatch):
    (cell, *_) = [c for c in cells(files()["dpsep_uci"], "tiny") if c.method == "predict_mean"]
    place_data(tmp_path, "wine")
    monkeypatch.setattr(type(METHOD), "fit", lambda self, *rest: Fit(posterior("no_such_kind"), Ledger()))
    ((_, row),) = worker.respond([cell], [0], str(tmp_path / "results/data/wine.npz"), tmp_path, True)
    assert row["status"] == "failed"
    assert "predict_mean: no 'no_such_kind'" in row["reason"]
