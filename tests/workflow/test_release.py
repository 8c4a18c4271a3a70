"""Of a run with secret noise two files may leave the machine; they hold nothing that follows from rows otherwise."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from models import tiny
from models.bounded import BoundedLinearRegression
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec
from privacy.ledger import Ledger, Relation
from workflow import environment, release
from workflow.store import write_cell
from workflow.worker import fit

MODEL, METHOD = BoundedLinearRegression(), "sufficient_statistics_perturbation"


def ledger() -> Ledger:
    budget = BudgetSpec(epsilon=1.0, delta=1e-5).open(np.random.default_rng(0))
    budget.gaussian("sums", sensitivity=1.0, noise_multiplier=2.0, relation=Relation.ADD_REMOVE, proof="tests")
    return budget.ledger


def a_fit(folder):
    """The row of one fit with its parameters, as a worker gives them."""
    from methods import contract

    adapter = contract.get(METHOD, MODEL.kind)
    made = SimpleNamespace(
        id="one", method=METHOD, code_hash="", adapter=lambda: adapter, seed=lambda k, role: [k, len(role)],
        budget=(("epsilon", 1.0), ("delta", 1e-5)), build_budget=lambda: BudgetSpec(epsilon=1.0, delta=1e-5),
    )  # fmt: skip
    ((_, row),) = fit(adapter, [(made, 0)], {0: tiny.regression(MODEL, 40, 0)}, adapter.Settings(), 0.0, folder)
    with np.load(folder / "one.0.npz") as store:
        return row, {f"0/{name}": store[name] for name in store.files}


@pytest.fixture
def results(tmp_path):
    """A run with one cell of secret noise, and one of public noise."""
    row, parameters = a_fit(tmp_path)
    lost = {**row, "split": 1, "status": "failed", "reason": "a reason that names the row 7.25"}
    record = {
        "dataset": "secrets", "method": METHOD, "setting": "", "model": {"kind": MODEL.kind}, "settings": {},
        "budget": {"epsilon": 1.0, "delta": 1e-5}, "experiment": "e", "protocol": "p", "cell": "hidden",
        "data_hash": "d1g3st", "splits": [row, lost], "n_splits": 2, "reused": [],
    }  # fmt: skip
    fits = tmp_path / "run" / "fits"
    write_cell(fits, record | {"noise": environment.SECRET}, parameters)
    write_cell(fits, record | {"cell": "open"}, parameters)
    write_cell(fits, record | {"cell": "plain", "noise": environment.SECRET, "method": "exact_posterior"}, parameters)
    return fits.parent


def test_exactly_two_files_are_written_and_hold_the_fit_and_what_was_asked(results, tmp_path):
    out = tmp_path / "out"
    paths = release.release(results, "hidden", 0, out)
    assert sorted(out.iterdir()) == sorted(paths) == sorted([out / release.POSTERIOR, out / release.GUARANTEE])
    told = json.loads((out / release.GUARANTEE).read_text())
    assert set(told) == {
        "asked", "posterior", "epsilon", "delta", "relation", "accountant", "ledger", "not counted", "guarantee",
        "one row replaced by another",
    }  # fmt: skip
    assert told["guarantee"] == "one row's values against an empty row"
    assert told["one row replaced by another"]["epsilon"] > 2 * told["epsilon"]
    assert set(told["asked"]) == set(release.ASKED)
    events = Ledger.from_json(told["ledger"])
    assert told["epsilon"] == epsilon_of(events, told["delta"]).epsilon <= 1.0 + 1e-9
    with np.load(results / "fits" / "hidden.npz") as there, np.load(out / release.POSTERIOR) as here:
        assert {f"0/{name}" for name in here.files} == set(there.files)
        assert all(np.array_equal(here[name], there[f"0/{name}"]) for name in here.files)


def test_nothing_else_of_the_record_is_in_them(results, tmp_path):
    """Times, diagnostics, seeds, reasons, the digest of the table, and other splits stay."""
    release.release(results, "hidden", 0, tmp_path / "out")
    record = json.loads((results / "fits" / "hidden.json").read_text())
    text = (tmp_path / "out" / release.GUARANTEE).read_text()
    names = ("seconds", "peak_mb", "diagnostics", "seed", "reason", "splits")
    for word in (*(f'"{name}"' for name in names), "7.25", "d1g3st", "sha256"):
        assert word in json.dumps(record)
        assert word not in text


@pytest.mark.parametrize(
    ("cell", "split", "words"),
    [
        ("open", 0, "noise follows from public seeds"),
        ("plain", 0, "claims no guarantee"),
        ("hidden", 1, "has the status failed"),
        ("hidden", 7, "is not there"),
        ("nothing", 0, "names cells"),
    ],
)
def test_what_is_refused(results, tmp_path, cell, split, words, capsys):
    with pytest.raises(release.ReleaseError, match=words):
        release.release(results, cell, split, tmp_path / "out")
    assert release.main([cell, str(split), "--results", str(results), "--out", str(tmp_path / "out")]) == 1
    assert words.split()[-1] in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_is_refused(results, tmp_path):
    with pytest.raises(release.ReleaseError, match="not an empty folder"):
        release.release(results, "hidden", 0, tmp_path)


def test_an_infinite_epsilon_no_ledger_and_a_nan_are_refused(tmp_path):
    budget = BudgetSpec(delta=1e-5).open(np.random.default_rng(0))
    budget.no_noise("raw sums", relation=Relation.ADD_REMOVE)
    good = {"w": np.zeros(2)}
    for parameters, events, words in (
        (good, budget.ledger, "no finite epsilon"),
        (good, Ledger(), "claims no guarantee"),
        ({"w": np.array([math.nan])}, ledger(), "NaN"),
    ):
        with pytest.raises(release.ReleaseError, match=words):
            release.write_release(tmp_path / "out", "kind", parameters, events, 1e-5, {})
        assert not (tmp_path / "out").exists()


def test_the_command_lists_and_says_what_it_wrote(results, tmp_path, capsys):
    assert release.main(["--results", str(results), "--list"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == ["hidden 0", "plain 0"]
    assert release.main(["hidden", "0", "--results", str(results), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "epsilon" in said
    assert "add up" in said
