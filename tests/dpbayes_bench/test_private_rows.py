"""What follows from one row: its own part of a fit, and nothing else.

Each private method is fitted at a fixed seed to tables that differ in one row. A method whose calibration is slow is
tried in the night.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpbayes_bench as dpb
from datasets import arrays
from datasets.schema import EMPTY, LEVELS, NUMBER, OTHER, Column, Schema
from dpbayes_bench import fits
from methods import contract
from models.task import PublicKnowledge
from privacy import audit
from privacy.budget import BudgetSpec
from privacy.ledger import Relation
from privacy.release import GUARANTEE
from tests.datasets.test_arrays import ODD

N, EPSILON, DELTA = 24, 4.0, 1e-6
ACCEPT = ("public n", "failing", "inexact sampler")
#: settings of short fits, by the names of their fields
SHORT = {"steps": 40, "num_warmup": 5, "num_samples": 5, "burn_in_sweeps": 3, "sweeps": 5, "grams": 3, "iterations": 3}
METHODS = [
    (model, name)
    for model, (kind, _) in fits.MODELS.items()
    for name in contract.names(kind)
    if contract.get(name, kind).privacy is not None
]
#: those with a fit in less than a second, calibration and compilation included
DAILY = {
    "linear": {"adassp", "bernstein_sheldon_2019_corrected", "sufficient_statistics_perturbation", "whitened_ssp"},
    "logistic": {"dp_sep_corrected", "output_perturbation", "posterior_sampling_ops"},
}
#: methods whose ledger states sensitivities that follow from an earlier, accounted release. Noise over sensitivity,
#: from which epsilon follows, does not.
OWN_UNITS = {"output_perturbation"}
each = pytest.mark.parametrize(
    ("model", "method"),
    [pytest.param(m, n, id=f"{m}-{n}", marks=() if n in DAILY[m] else pytest.mark.nightly) for m, n in METHODS],
)


def schema(model: str) -> Schema:
    target = Column("y", NUMBER, (-3.0, 3.0)) if model == "linear" else Column("y", LEVELS, levels=("no", "yes"))
    return Schema(
        n=N, target="y", task="regression" if model == "linear" else "classification",
        columns=(
            Column("age", NUMBER, (0.0, 10.0), default="5", source="scale"), Column("dose", NUMBER, default=EMPTY),
            Column("group", LEVELS, levels=("a", "b"), default=OTHER), target,
        ),
    )  # fmt: skip


def records(model: str) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    out = []
    for _ in range(N):
        age, dose, group = rng.uniform(0, 10), rng.normal(), str(rng.choice(["a", "b"]))
        y = 0.2 * age + dose - 1 + rng.normal() / 4
        target = y if model == "linear" else "yes" if y > 0 else "no"
        out.append({"age": age, "dose": dose, "group": group, "y": target})
    return out


def settings_of(method: str, kind: str) -> dict[str, Any]:
    names = {f.name for f in dataclasses.fields(contract.get(method, kind).Settings)}
    return {k: v for k, v in SHORT.items() if k in names}


def fitted(rows: list[dict[str, Any]], model: str, method: str, **more: Any) -> dpb.PrivateFit:
    """A fit of short settings whose noise follows from a seed, as if it were secret."""
    given = {"model": model, "method": method, "epsilon": EPSILON, "delta": DELTA, "schema": schema(model)}
    given |= {"settings": settings_of(method, fits.kind_of(model)), "accept": ACCEPT, "random_state": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpb.PrivacyLeakWarning)
        warnings.simplefilter("ignore", dpb.HiddenRangeWarning)
        found = dpb.fit(pd.DataFrame(rows), **given | more)
    return dataclasses.replace(found, privacy=dataclasses.replace(found.privacy, secret_noise=True))


def outcome(rows: list[dict[str, Any]], model: str, method: str, folder: Path) -> dict[str, Any]:
    """Everything that somebody sees of a fit except what it releases: files, guarantee, words, warnings and errors."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = fitted(rows, model, method)
            found.save(folder)
        except Exception as e:
            return {"error": f"{type(e).__name__}: {e}", "warnings": [str(w.message) for w in heard]}
    quiet = dataclasses.replace(found.privacy.counted, noisy=np.zeros(4))  # without the sentence of the counts
    told = dataclasses.replace(found, privacy=dataclasses.replace(found.privacy, counted=quiet))
    guarantee = (folder / GUARANTEE).read_text()
    if method in OWN_UNITS:
        guarantee = json.loads(guarantee)
        for event in guarantee["ledger"]:
            event["noise_multiplier"] = f"{event.pop('noise_scale') / event.pop('sensitivity'):.12g}"
    return {
        "files": sorted(p.name for p in folder.iterdir()), "guarantee": guarantee,
        "words": str(told), "repr": repr(found).replace(repr(found.privacy), ""),
        "warnings": [str(w.message) for w in heard],
        "shapes": {k: np.shape(v) for k, v in found.posterior.parameters().items()},
    }  # fmt: skip


@each
def test_one_row_changed_to_anything_changes_nothing_else(model, method, tmp_path):
    before = records(model)
    known = outcome(before, model, method, tmp_path / "before")
    for i, odd in enumerate(ODD):
        for name in ("age", "dose", "group", "y", None):
            if name and i % 4 != ("age", "dose", "group", "y").index(name):
                continue  # each value in one field and in the whole row
            after = [*before]
            after[5] = after[5] | (dict.fromkeys(after[5], odd) if name is None else {name: odd})
            assert outcome(after, model, method, tmp_path / f"{i}-{name}") == known, (name, odd)
    if "error" in known:
        assert known["error"].startswith(("ValueError: posterior_sampling", "BudgetExceeded"))


class Recording:
    """Attaches a recorder to every budget that is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.recorders: list[audit.Recorder] = []
        opened = BudgetSpec.open

        def recording(spec: BudgetSpec, rng: np.random.Generator, recorder: object | None = None) -> Any:
            self.recorders.append(audit.Recorder())
            return opened(spec, rng, self.recorders[-1])

        monkeypatch.setattr(BudgetSpec, "open", recording)

    def values(self) -> list[np.ndarray]:
        """Each query of the last fit before its noise, without the count of replaced fields."""
        return [v for v, e in zip(self.recorders[-1].values, self.recorders[-1].events, strict=True)
                if e.proof != "privacy.replaced.counts"]  # fmt: skip


@contextlib.contextmanager
def refused_by_public_numbers() -> Iterator[None]:
    """A method that cannot fit at this n and budget says so for every table."""
    try:
        yield
    except Exception as e:
        if "posterior_sampling" not in str(e):
            raise
        pytest.skip(str(e)[:80])


@each
def test_an_empty_row_adds_nothing_to_any_release(model, method, monkeypatch):
    """Each query before its noise is the same with the row empty, whatever it holds, and with the row absent."""
    made = arrays.rows_of(pd.DataFrame(records(model)), None, schema(model))
    ranges = dpb.Bounds(x=[(0, 10), None, (0, 1), (0, 1)], y=(-3, 3), citation="scale")
    heard, given = Recording(monkeypatch), {"schema": None, "n_public": N, "bounds": ranges}
    empty = np.arange(N) % 7 == 3
    x = made.x.copy()
    x[empty] = 7.7

    def queries(x: np.ndarray, y: np.ndarray, empty: np.ndarray) -> list[np.ndarray]:
        given["empty"] = empty
        with refused_by_public_numbers():
            fit_arrays(x, y, model, method, **given)
        return heard.values()

    there = queries(x, np.where(empty, 1.0, made.y), empty)
    padded = queries(made.x, made.y, empty)
    monkeypatch.setattr(fits, "_slots", lambda relation, rows, public: (made.x[~empty], made.y[~empty]))
    absent = queries(made.x, made.y, np.zeros(N, dtype=bool))
    assert len(there) == len(absent) > 0
    for one, two, three in zip(there, padded, absent, strict=True):
        assert (one == two).all()
        assert (one == three).all()


def fit_arrays(x: np.ndarray, y: np.ndarray, model: str, method: str, **more: Any) -> dpb.PrivateFit:
    """A fit of rows that a schema has mapped."""
    given = {"model": model, "method": method, "epsilon": EPSILON, "delta": DELTA, "accept": ACCEPT, "random_state": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpb.PrivacyLeakWarning)
        warnings.simplefilter("ignore", dpb.HiddenRangeWarning)
        return dpb.fit(x, y, **given | {"settings": settings_of(method, fits.kind_of(model))} | more)


@each
def test_a_table_of_empty_rows_is_fitted(model, method):
    """Whether any row is left may follow from one row, so no method may refuse it."""
    rows = [dict.fromkeys(("age", "dose", "group", "y"))] * 2
    with refused_by_public_numbers():
        found = fitted(rows, model, method)
    assert found.privacy.epsilon <= EPSILON * (1 + 1e-6)
    assert len(found.privacy.counted.noisy) == 4
    parameters = found.posterior.parameters()
    left_out = np.isin(found.columns, found.left_out)
    hidden = [v for v in parameters.values() if not np.isfinite(v).all()]  # the scale of inputs that are left out
    assert len(hidden) == bool(left_out.any())
    assert all((np.isposinf(v) == left_out).all() for v in hidden)


# ------------------------------------------------------------------------------------------------------ both relations


def test_a_fixed_batch_keeps_the_slot_of_an_empty_row():
    """Under replace-one an empty or missing row is a public one, in its place."""
    rows = fits._Rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0]), np.array([True, False]))
    public = PublicKnowledge(3, ((0.0, 10.0), None), (0.0, 8.0))
    x, y = fits._slots(Relation.REPLACE_ONE, rows, public)
    assert x.tolist() == [[5, 0], [3, 4], [5, 0]]
    assert y.tolist() == [4, 6, 4]
    x, y = fits._slots(Relation.ADD_REMOVE, rows, public)
    assert (x.tolist(), y.tolist()) == ([[3, 4]], [6])
    x, y = fits._slots(Relation.ADD_REMOVE, rows._replace(empty=np.zeros(2, bool)), PublicKnowledge(1, (None, None)))
    assert (x.tolist(), y.tolist()) == ([[1, 2]], [5])


def test_the_guarantee_says_what_it_compares(tmp_path):
    found = fitted(records("linear"), "linear", "adassp")
    p = found.privacy
    assert p.guarantee.startswith("Epsilon 4 at delta 1e-06, for one row's values against an empty row, by")
    assert 2 * p.epsilon < p.replace_one < 2.4 * p.epsilon
    assert f"For one row replaced by another, epsilon is {p.replace_one:.4g} at the same delta" in p.guarantee
    assert "rows beyond it are left out, and missing ones are empty" in str(found)
    found.save(tmp_path / "fit")
    told = json.loads((tmp_path / "fit" / GUARANTEE).read_text())
    assert told["guarantee"] == "one row's values against an empty row"
    assert told["one row replaced by another"] == {"epsilon": p.replace_one, "accountant": p.replace_one_accountant}
    fixed = dataclasses.replace(p, relation="replace_one")
    assert fixed.guarantee == "Epsilon 4 at delta 1e-06, for one row replaced by another, by the accountant gdp."


@pytest.mark.parametrize("method", ["posterior_sampling_ops", "dp_sep_corrected"])
def test_both_guarantees_exist_for_draws_and_steps(method):
    p = fitted(records("logistic"), "logistic", method).privacy
    assert 2 * p.epsilon < p.replace_one < 4 * p.epsilon


# ------------------------------------------------------------------------------------------------------------- schema


def test_a_fit_by_a_schema_is_saved_with_its_counts_and_classes(tmp_path):
    found = fitted(records("logistic"), "logistic", "output_perturbation")
    assert found.labels == ("no", "yes")
    assert found.columns == ("age", "dose", "group=b", "group=(other)")
    found.save(tmp_path / "fit")
    again = dpb.PrivateFit.load(tmp_path / "fit")
    assert str(again) == str(found)
    assert "Class 1 is yes, class 0 is no." in str(again)
    assert (again.privacy.counted.noisy == found.privacy.counted.noisy).all()
    assert json.loads((tmp_path / "fit" / GUARANTEE).read_text())["asked"]["labels"] == ["no", "yes"]
    frame = pd.DataFrame(records("logistic"))
    coded = pd.DataFrame(arrays.rows_of(frame, None, schema("logistic")).x, columns=found.columns)
    assert (again.predict(frame).probability == again.predict(coded).probability).all()
    with pytest.raises(ValueError, match="row 2 of X has a field that does not fit and has no default"):
        again.predict(frame.assign(dose=[None if i == 2 else 0.0 for i in range(N)]))
    with pytest.raises(ValueError, match="X has no column dose"):
        again.predict(frame[["age", "group"]])


def test_a_hundredth_of_the_budget_counts_only_with_a_schema():
    found = fitted(records("linear"), "linear", "adassp")
    assert next(iter(found.privacy.ledger)).proof == "privacy.replaced.counts"
    assert found.privacy.epsilon == pytest.approx(EPSILON, rel=1e-6)
    made = arrays.rows_of(pd.DataFrame(records("linear")), None, schema("linear"))
    stated = dpb.Bounds(x=[(0, 10)] * 4, y=(-3, 3), citation="scale")
    plain = fit_arrays(made.x, made.y, "linear", "adassp", n_public=N, empty=made.empty, bounds=stated)
    assert plain.privacy.counted is None
    assert "privacy.replaced.counts" not in [e.proof for e in plain.privacy.ledger]
    bare = fitted(records("linear"), "linear", "exact_posterior", accept=(fits.NO_GUARANTEE,))
    assert len(bare.privacy.ledger) == 0


def test_everything_that_is_wrong_is_refused_at_once_and_nothing_is_charged():
    charged = dpb.Accountant(10, 1e-5)
    with pytest.raises(ValueError) as error:
        fitted(records("linear"), "logistic", "adassp", epsilon="1", n_public=3, bounds=3, accountant=charged,
               schema=schema("linear"))  # fmt: skip
    said = str(error.value)
    words = ("(1) no method 'adassp' fits", "epsilon = '1'", "n_public = 3, but", "leave bounds out", "of a regression")
    assert all(word in said for word in words)
    assert charged.spent == (0, 0)


def test_the_accountant_is_charged_before_a_row_is_mapped(monkeypatch):
    charged = dpb.Accountant(10, 1e-5)

    def broken(*given: object) -> None:
        assert charged.spent == (EPSILON, DELTA)
        raise RuntimeError("here")

    monkeypatch.setattr(arrays, "rows_of", broken)
    with pytest.raises(RuntimeError, match="here"):
        fitted(records("linear"), "linear", "adassp", accountant=charged)
    assert charged.spent == (EPSILON, DELTA)


@pytest.mark.parametrize("change", ["x", "y", "empty", "replaced", "width"])
def test_rows_that_are_mapped_have_the_public_number(change):
    made = arrays.rows_of(pd.DataFrame(records("linear")), None, schema("linear"))
    given = {"x": made.x, "y": made.y, "empty": made.empty, "replaced": made.replaced, "schema": schema("linear")}
    assert fit_arrays(given.pop("x"), given.pop("y"), "linear", "adassp", **given).privacy.counted.columns[-1] == "y"
    given |= {"x": made.x, "y": made.y}
    word = "x" if change == "width" else change
    given[word] = given[word][:, 1:] if change == "width" else given[word][1:]
    with pytest.raises(ValueError, match="has the shape"):
        fit_arrays(given.pop("x"), given.pop("y"), "linear", "adassp", **given)
