"""Private fits in Python: the seven rules that keep rows inside, units, and errors that name the remedy."""

from __future__ import annotations

import copy
import json
import math
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import dpbayes_bench as dpb
from datasets.schema import LEVELS, NUMBER, Column
from dpbayes_bench import fits, private_fit
from evaluation.intervals import predictive_cdf
from methods.contract import names
from privacy import discrete
from privacy.budget import BudgetSpec
from privacy.release import GUARANTEE, POSTERIOR, ReleaseError

ROOT = Path(__file__).resolve().parents[2]
N = 300
BOUNDS = dpb.Bounds(x={"age": (0, 120), "dose": (0, 10)}, y=(0, 300), citation="protocol, section 2")
SSP = "sufficient_statistics_perturbation"
#: cheap ones, by closed form.
LINEAR = [SSP, "whitened_ssp", "adassp", "dp_em_corrected", "posterior_sampling_concentrated", "dp_hmc"]
ACCEPT = ("public n", "failing", "inexact sampler")


def rows(n: int = N, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows whose numbers are found nowhere else, and a target of them in [0, 300]."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.uniform(20, 90, n), "dose": rng.uniform(0, 10, n)})
    return X, np.clip(2 * X["age"] + 10 * X["dose"] + rng.normal(0, 10, n), 0, 300).to_numpy()


def a_fit(method: str = SSP, n: int = N, model: str = "linear", **more) -> dpb.PrivateFit:
    X, y = rows(n)
    if model == "logistic":
        y = (y > 150).astype(float)
    given = {"model": model, "method": method, "epsilon": 1.0, "delta": 1e-6, "bounds": BOUNDS, "n_public": n}
    return dpb.fit(X, y, **given | more)


# ----------------------------------------------------------------------------------------------------- the seven rules


@pytest.mark.parametrize("method", LINEAR)
def test_rule_1_a_result_holds_no_row(method, tmp_path):
    """No number of a row is in its bytes, as eight bytes or as a text, pickled or saved."""
    X, y = rows()
    found = a_fit(method, accept=ACCEPT)
    found.save(tmp_path / "fit")
    held = [pickle.dumps(found), *(p.read_bytes() for p in (tmp_path / "fit").iterdir())]
    assert sorted(p.name for p in (tmp_path / "fit").iterdir()) == [GUARANTEE, POSTERIOR]
    secret = np.concatenate([X.to_numpy().ravel(), y])
    for content in held:
        assert not any(v.tobytes() in content or repr(float(v)).encode() in content for v in secret)
    assert not hasattr(found, "diagnostics")
    assert set(vars(found)) == {"model", "method", "columns", "privacy", "asked", "posterior"}


def test_rule_1_the_search_finds_a_row():
    X, _ = rows()
    assert X["age"].to_numpy()[0].tobytes() in pickle.dumps(X.to_numpy())


def test_rule_2_noise_is_the_systems_and_a_number_warns():
    first, second = a_fit(), a_fit()
    assert first.privacy.secret_noise
    assert (first.point()["coef"] != second.point()["coef"]).any()
    with pytest.warns(dpb.PrivacyLeakWarning, match="random_state"):
        third = a_fit(random_state=3)
    with pytest.warns(dpb.PrivacyLeakWarning):
        fourth = a_fit(random_state=3)
    assert not third.privacy.secret_noise
    assert "random_state" in str(third.privacy)
    assert (third.point()["coef"] == fourth.point()["coef"]).all()


@pytest.mark.filterwarnings("ignore::dpbayes_bench.HiddenRangeWarning")
def test_rule_3_ranges_are_estimated_from_the_budget_and_never_read_off():
    whole = a_fit(bounds=None)
    assert whole.privacy.ranges == ("age", "dose", "the target")
    assert whole.privacy.ranges_share == pytest.approx(0.1, rel=1e-6)  # methods._shared.frames.SHARE
    assert whole.privacy.epsilon <= 1 + 1e-6
    assert "10 % of the budget" in str(whole.privacy)
    part = a_fit(bounds=dpb.Bounds(x={"age": (0, 120)}, citation="c"))
    assert part.privacy.ranges == ("dose", "the target")
    stated = a_fit()
    assert (stated.privacy.ranges, stated.privacy.ranges_share) == ((), 0)
    assert stated.posterior.frame.x_scale.tolist() == [60, 5]  # half the ranges that were stated
    with pytest.raises(ValueError, match="n_public = None; give the public number of rows"):
        dpb.fit(*rows(), model="linear", method=SSP, epsilon=1, delta=1e-6, bounds=None)


def test_rule_3_a_value_beyond_its_range_changes_nothing_else():
    """It is set to the end of the range, without an error that would tell it."""
    X, y = rows()
    X.loc[0, "age"] = 1e6
    found = dpb.fit(X, y, model="linear", method=SSP, epsilon=1, delta=1e-6, bounds=BOUNDS, n_public=N)
    assert found.posterior.frame.x_scale.tolist() == [60, 5]


@pytest.mark.parametrize(
    ("method", "model", "word"),
    [
        ("dp_hmc", "linear", "public n"),
        ("exact_posterior", "linear", fits.NO_GUARANTEE),
        ("dp_em_authors", "linear", fits.AUTHORS),
        ("output_perturbation", "logistic", "failing"),
    ],
)
def test_rule_4_what_leaks_has_to_be_accepted_by_name(method, model, word):
    charged = dpb.Accountant(1.0, 1e-6)
    with pytest.raises(ValueError, match=word):
        a_fit(method, model=model, accountant=charged)
    with pytest.raises(ValueError, match=word):
        a_fit(method, model=model, accept=("batch scheme",))
    assert charged.spent == (0, 0)
    with pytest.raises(ValueError, match=r"nobody knows 'public m'; did you mean public n\?"):
        a_fit(method, model=model, accept=("public m",))


def test_rule_4_what_was_accepted_is_told():
    found = a_fit("dp_hmc", accept=("public n",))
    assert [s for s in found.privacy.limits if s.startswith("Not counted: ")]
    bare = a_fit("exact_posterior", accept=(fits.NO_GUARANTEE,))
    assert bare.privacy.epsilon == np.inf
    assert bare.privacy.guarantee.startswith("No guarantee")


def test_rule_5_an_accountant_adds_up_fits():
    charged = dpb.Accountant(2.5, 1e-5)
    a_fit(accountant=charged)
    a_fit(accountant=charged)
    with pytest.raises(dpb.BudgetSpent, match=r"epsilon = 3 at delta = 3e-06; the accountant has 2\.5"):
        a_fit(accountant=charged)
    assert charged.spent == (2.0, 2e-6)
    for cost in ((math.nan, 0.0), (0.0, math.nan), (-1.0, 0.0)):
        with pytest.raises(ValueError, match="give two numbers of at least 0"):
            charged.charge(*cost)
    with pytest.raises(dpb.BudgetSpent):
        charged.charge(math.inf, 0.0)
    assert charged.spent == (2.0, 2e-6)
    assert copy.deepcopy(charged) is charged
    with pytest.raises(dpb.BudgetSpent, match="n_jobs=1"):
        a_fit(accountant=pickle.loads(pickle.dumps(charged)))


def test_rule_5_a_grid_search_stops_at_the_second_fit():
    X, y = rows()
    charged = dpb.Accountant(1.0, 1e-6)
    mine = dpb.PrivateRegressor(SSP, 1.0, 1e-6, bounds=BOUNDS, n_public=N, accountant=charged)
    assert clone(mine).accountant is charged
    search = GridSearchCV(mine, {"settings": [None, {}]}, scoring="r2", error_score="raise")
    with pytest.raises(dpb.BudgetSpent):
        search.fit(X, y)
    assert charged.spent == (1.0, 1e-6)


def test_rule_5_a_score_takes_public_rows():
    X, y = rows()
    mine = dpb.PrivateRegressor(SSP, 5.0, 1e-6, bounds=BOUNDS, n_public=N).fit(X, y)
    with pytest.raises(ValueError, match="rows_are_public=True"):
        mine.score(X, y)
    assert mine.score(*rows(50, 1), rows_are_public=True) <= 1
    mean, sd = mine.predict(X, return_std=True)
    assert mean.shape == sd.shape == (N,)
    assert mine.privacy_.epsilon <= 5 + 1e-6


@pytest.mark.nightly
def test_rule_6_a_method_of_ones_own_never_sees_a_test_row(tmp_path):
    """A method that writes down what it gets: the training rows of one split, and nothing that leads to others."""
    (tmp_path / "spy.py").write_text(SPY.format(log=str(tmp_path / "log.txt")))
    code = "import sys; sys.path.insert(0, sys.argv[1]); import spy, dpbayes_bench as dpb\n"
    code += "print(dpb.evaluate(spy.Spy, 'wine-linear_regression', 1.0, splits=2)[['split', 'measure']].to_csv())"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "0,rmse" in done.stdout
    assert "1,rmse" in done.stdout
    for line in (tmp_path / "log.txt").read_text().splitlines():
        told = json.loads(line)
        assert told["fields"] == ["model", "name", "public", "x", "y"]
        assert told["n"] == told["public"] < 1599  # rows of the whole table


SPY = """
import json
import math
from dataclasses import dataclass
from methods.contract import Constants, Fit, Method, Role
from models.linear_regression import ConstantGaussian

class Spy(Method):
    name, title, reference = "spy", "Spy", "a test"
    models, role, constants = ("bounded_linear_regression",), Role.CONTROL, (Constants.NONE,)

    def fit(self, task, settings, budget, rng):
        with open({log!r}, "a") as f:
            told = dict(fields=sorted(vars(task)), n=task.n, public=task.public.n)
            f.write(json.dumps(told) + "\\n")
        return Fit(ConstantGaussian(5.0, 1.0), budget.ledger)
"""


@pytest.mark.parametrize("method", [SSP, "adassp"])
def test_rule_7_double_precision_is_told_at_each_fit(method, monkeypatch):
    monkeypatch.setattr(discrete, "available", lambda: False)
    assert "double precision" in str(a_fit(method).privacy)


def test_rule_7_a_release_that_cannot_be_discrete_is_in_double_precision(monkeypatch):
    """A draw from a posterior has no noise that could be exchanged; no OpenDP is needed to refuse it."""
    monkeypatch.setattr(discrete, "available", lambda: True)
    assert len(fits.specs(BudgetSpec(epsilon=1, delta=1e-6, mode="enforce"), N)) == 2
    assert "double precision" in str(a_fit("posterior_sampling_concentrated").privacy)


def test_rule_7_noise_is_discrete_where_it_can_be():
    pytest.importorskip("opendp", reason="the extra discrete is not installed")
    found = a_fit()
    assert "Noise is discrete" in str(found.privacy)
    assert found.privacy.epsilon <= 1 + 1e-6
    with pytest.warns(dpb.PrivacyLeakWarning):
        assert "double precision" in str(a_fit(random_state=1).privacy)


# ------------------------------------------------------------------------------------------------------ what it gives


def test_a_fit_is_in_original_units_and_within_its_budget():
    found = a_fit(n=5000, epsilon=20.0)
    assert found.point()["coef"] == pytest.approx([2, 10], rel=0.1)
    assert found.point()["intercept"] == pytest.approx(0, abs=15)
    X, y = rows(100, 1)
    told = found.predict(X)
    assert np.corrcoef(told.mean, y)[0, 1] > 0.95
    assert told.log_density(y).mean() > -5
    low, high = told.interval(0.9).T
    assert 0.75 < ((low < y) & (y < high)).mean() <= 1
    assert predictive_cdf(told._inner, low) == pytest.approx(np.full(100, 0.05), abs=1e-5)
    assert (told.interval(0.5)[:, 0] > low).all()
    with pytest.raises(TypeError, match="interval"):
        _ = told.probability
    shuffled = found.predict(X[["dose", "age"]])
    assert (shuffled.mean == told.mean).all()
    assert (found.predict(X.to_numpy()).mean == told.mean).all()
    assert found.privacy.epsilon == pytest.approx(20, rel=1e-6)


def test_a_quantile_is_found_however_long_the_tails():
    from models.linear_regression_unknown_noise import NormalInverseGamma

    heavy = NormalInverseGamma(np.zeros(2), np.eye(2), 1.2, 0.2)
    inner = heavy.predictive(np.zeros((3, 1)), np.random.default_rng(0))
    told = private_fit.Predictive(inner.mean, np.full(3, 1e-8), inner, "linear")  # a spread that is far too small
    assert predictive_cdf(inner, told.interval(0.98)[:, 1]) == pytest.approx([0.99] * 3, abs=1e-5)


@pytest.mark.parametrize("method", LINEAR)
def test_a_saved_fit_is_the_same(method, tmp_path):
    found = a_fit(method, accept=ACCEPT)
    found.save(tmp_path / "fit")
    again = dpb.PrivateFit.load(tmp_path / "fit")
    X, _ = rows(20, 1)
    assert (again.predict(X).mean == found.predict(X).mean).all()
    assert str(again.privacy) == str(found.privacy)
    assert (again.model, again.method, again.columns) == (found.model, found.method, found.columns)
    assert again.privacy.ledger == found.privacy.ledger
    assert "dpbayes_bench" not in (tmp_path / "fit" / GUARANTEE).read_text().replace("proof", "")
    with pytest.raises(FileExistsError, match="empty or not there"):
        found.save(tmp_path / "fit")


def test_no_fit_is_saved_that_has_no_guarantee(tmp_path):
    with pytest.raises(ReleaseError, match="the ledger is empty"):
        a_fit("exact_posterior", accept=(fits.NO_GUARANTEE,)).save(tmp_path / "bare")
    with pytest.warns(dpb.PrivacyLeakWarning):
        public = a_fit(random_state=1)
    with pytest.raises(ReleaseError, match="random_state"):
        public.save(tmp_path / "public")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match=GUARANTEE):
        dpb.PrivateFit.load(tmp_path)


def test_a_method_that_reads_a_run_fits(tmp_path):
    """NA-DPVI reads the run of DPVI, under one budget."""
    found = a_fit("na_dpvi", accept=("public n",), settings={"steps": 200})
    assert found.privacy.noise_aware
    assert found.privacy.epsilon <= 1 + 1e-6
    assert found.draws(5)["coef"].shape == (5, 2)


def test_a_classifier_gives_probabilities():
    X, y = rows()
    mine = dpb.PrivateClassifier(
        "output_perturbation", 5.0, 1e-6, bounds=BOUNDS, n_public=N, accept=("failing",)
    ).fit(X, y > 150)  # fmt: skip
    assert mine.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(N))
    assert set(mine.predict(X)) <= {0, 1}
    told = mine.fit_.predict(X)
    assert (told.variance <= 0.25).all()
    assert told.log_density(np.ones(N)) == pytest.approx(np.log(told.probability))
    with pytest.raises(TypeError, match="probability"):
        told.interval()


def test_a_single_value_says_so():
    told = a_fit("adassp").privacy
    assert told.is_point
    assert "without a spread" in told.intervals
    assert "do not count the privacy noise" in a_fit(SSP).privacy.intervals


def test_arviz_is_asked_for_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r"pip install 'dpbayes-bench\[arviz\]'"):
        a_fit().to_arviz()


def test_arviz_gets_draws_and_the_guarantee():
    pytest.importorskip("arviz_base", reason="the extra arviz is not installed")
    tree = a_fit().to_arviz(7)
    assert dict(tree["posterior"].sizes) == {"chain": 1, "draw": 7, "column": 2}
    assert tree["posterior"].attrs["delta"] == 1e-6


def test_the_list_of_methods_says_which_intervals_count_the_noise():
    every = dpb.list_methods()
    assert set(every["name"]) == {n for kind, _ in fits.MODELS.values() for n in names(kind)}
    aware = dpb.list_methods(model="linear", private=True, noise_aware=True)
    assert list(aware["name"]) == ["bernstein_sheldon_2019_corrected", "na_dpvi", "na_dpvi_laplace"]
    assert (aware["seconds"] > 0).all()
    assert aware["leaks"].tolist() == [(), ("public n",), ("public n",)]
    assert (dpb.list_methods(private=False)["relation"] == "").all()


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"epsilon": 0}, "epsilon = 0 is no budget; give a finite number above 0"),
        ({"epsilon": float("nan")}, "epsilon = nan is no budget"),
        ({"delta": 1.0}, "delta = 1 is no probability"),
        ({"delta": 0.0}, "delta = 0 is no probability"),
        ({"n_public": 0}, "n_public = 0; give the public number of rows"),
        *(({"n_public": n}, f"n_public = {n!r}; give the public number") for n in (True, None, math.inf, "200", 2.5)),
        ({"epsilon": "1"}, "epsilon = '1' is not a number; give one, such as epsilon=1.0"),
        ({"bounds": [(-4, 4)] * 2}, r"bounds is of type list; give Bounds\(x="),
        ({"bounds": {"age": (0, 1)}}, r"bounds is of type dict; give Bounds\(x="),
        ({"accountant": 3}, "accountant is of type int"),
        ({"schema": "schema.yaml", "bounds": None}, r"schema is of type str; give Schema.read\(path\)"),
        ({"model": "linaer"}, "unknown model 'linaer'; give linear or logistic"),
        ({"method": "whitened_sp"}, "did you mean whitened_ssp"),
        ({"method": "dp_sep_corrected"}, "it fits bayesian|it fits"),
        ({"settings": {"stepps": 3}}, "has no setting 'stepps'"),
        ({"bounds": dpb.Bounds(x={"agee": (0, 1)}, citation="c")}, r"no column 'agee'; did you mean age\?"),
        ({"bounds": dpb.Bounds(x=[(0, 1)], citation="c")}, "1 ranges for 2 columns"),
    ],
)
def test_a_wrong_argument_is_one_line_with_the_remedy(more, said):
    with pytest.raises(ValueError, match=said):
        a_fit(**more)


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        ([(0, float("inf"))], None, "lower < upper"),
        ({"age": (3, 3)}, None, "age has"),
        ({"age": "ab"}, None, "two numbers"),
        ((), (2, 1), "y has"),
    ],
)
def test_a_range_that_is_none_is_refused(x, y, said):
    with pytest.raises(ValueError, match=said):
        dpb.Bounds(x=x, y=y, citation="c")


def test_every_wrong_argument_is_listed_and_nothing_is_charged():
    charged, wrong = dpb.Accountant(5, 1e-6), dpb.Bounds(x={"agee": (0, 1)}, citation="c")
    with pytest.raises(ValueError) as error:
        a_fit("whitened_sp", epsilon=0, delta=2, n_public=0, bounds=wrong, accountant=charged)
    assert str(error.value).startswith("(1) no method 'whitened_sp'")
    said = ("(2) epsilon = 0", "(3) n_public = 0", "(4) bounds: X has no column 'agee'; did you mean age?")
    assert all(word in str(error.value) for word in said)
    assert charged.spent == (0, 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.set_axis(["age", "age"], axis=1), "X has several columns of the name age; give each a name"),
        (lambda f: f.set_axis([1, "1"], axis=1), "X has several columns of the name 1"),
        (lambda f: f.assign(age=pd.date_range("2020-01-01", periods=len(f))), "age is of type datetime64"),
        (lambda f: f.assign(age=pd.to_timedelta(f["age"])), "age is of type timedelta64"),
        (lambda f: f.assign(age=pd.period_range("2020", periods=len(f), freq="D")), "age is of type period"),
        (lambda f: np.ma.masked_greater(f.to_numpy(), 1), "X is a masked array; drop its masked rows"),
        (lambda f: f.to_numpy() + 1j, "X is of type complex128; give numbers"),
        (lambda f: sparse.csr_matrix(f.to_numpy()), r"X is a sparse matrix; give X.toarray\(\)"),
        (lambda f: None, "X is None"),
        (lambda f: f["age"], "one row per record"),
    ],
)
def test_a_container_is_refused_before_the_charge(change, said):
    X, y = rows(40)
    charged = dpb.Accountant(5, 1e-6)
    given = {"model": "linear", "method": SSP, "epsilon": 1, "delta": 1e-6, "n_public": 40, "accountant": charged}
    with pytest.raises(ValueError, match=said):
        dpb.fit(change(X), y, **given)
    for target in (pd.Series(pd.date_range("2020-01-01", periods=40)), np.ma.masked_greater(y, 100), y + 1j, None):
        with pytest.raises(ValueError, match=r"^y is "):
            dpb.fit(X, target, **given)
    assert charged.spent == (0, 0)


def test_ranges_may_name_the_columns_that_pandas_numbers():
    X, y = rows(40)
    bounds = dpb.Bounds(x={0: (0, 120), 1: (0, 10)}, y=(0, 300), citation="c")
    found = dpb.fit(
        pd.DataFrame(X.to_numpy()), y, model="linear", method=SSP, epsilon=1, delta=1e-6, bounds=bounds, n_public=40
    )
    assert found.columns == ("0", "1")
    assert found.posterior.frame.x_scale.tolist() == [60, 5]


def test_rows_beyond_the_public_number_are_left_out():
    X, y = rows(60)
    given = {"model": "linear", "method": SSP, "epsilon": 1, "delta": 1e-6, "bounds": BOUNDS, "n_public": 40}
    with pytest.warns(dpb.PrivacyLeakWarning):
        one, two = (dpb.fit(X[:m], y[:m], random_state=1, **given) for m in (60, 40))
    assert (one.point()["coef"] == two.point()["coef"]).all()
    assert "rows beyond it are left out, and missing ones are empty" in str(one.privacy)


def test_an_estimator_says_that_it_is_not_fitted_and_can_be_saved():
    X, y = rows()
    charged = dpb.Accountant(5.0, 1e-5)
    mine = dpb.PrivateRegressor(SSP, 1.0, 1e-6, bounds=BOUNDS, n_public=N, accountant=charged)
    for use in (lambda: mine.predict(X), lambda: mine.privacy_):
        with pytest.raises(NotFittedError):
            use()
    again = pickle.loads(pickle.dumps(mine.fit(X, y)))
    assert (again.predict(X) == mine.predict(X)).all()
    assert again.privacy_.epsilon == mine.privacy_.epsilon
    with pytest.raises(dpb.BudgetSpent, match="n_jobs=1"):
        again.fit(X, y)


def test_a_classifier_by_a_schema_gives_its_classes():
    ill = Column("ill", LEVELS, levels=("well", "ill"))
    schema = dpb.Schema(N, "ill", "classification", (Column("dose", NUMBER, (0.0, 10.0), default="5"), ill))
    X, y = rows()
    frame = X[["dose"]].assign(ill=np.where(y > 150, "ill", "well"))
    mine = dpb.PrivateClassifier("output_perturbation", 5.0, 1e-6, schema=schema, accept=("failing",))
    mine.fit(frame[["dose"]], frame["ill"])
    assert mine.classes_.tolist() == ["well", "ill"]
    assert set(mine.predict(X)) <= {"well", "ill"}
    assert mine.fit_.labels == ("well", "ill")
    plain = a_fit("output_perturbation", model="logistic", accept=("failing",))
    assert (plain.labels, a_fit().labels) == (("0", "1"), ())


def test_ranges_that_the_noise_may_hide_are_told_before_anything_is_spent():
    charged = dpb.Accountant(1.0, 1e-6)
    given = {"model": "linear", "method": SSP, "epsilon": 1, "delta": 1e-6, "accountant": charged}
    with pytest.raises(ValueError, match="target's range is hidden"):
        dpb.fit(*rows(40), n_public=40, bounds=None, **given)
    with pytest.warns(dpb.HiddenRangeWarning, match="expected to be left out"), pytest.raises(dpb.BudgetSpent):
        dpb.fit(*rows(60), n_public=60, bounds=dpb.Bounds(y=(0, 300), citation="c"), **given | {"epsilon": 1.5})
    assert charged.spent == (0, 0)


def test_a_price_in_millions_is_fitted_with_estimated_ranges():
    """Case: 3.5 to 12 million, where the ranges of a fixed grid end at two million."""
    rng = np.random.default_rng(1)
    area = rng.uniform(30, 200, 2000)
    price = 2e6 + 5e4 * area + rng.normal(0, 1e5, 2000)
    found = dpb.fit(
        area[:, None], price, model="linear", method="adassp", epsilon=5, delta=1e-5, bounds=None, n_public=2000
    )
    missed = price - found.predict(area[:, None]).mean
    assert 1 - missed.var() / price.var() > 0.9


def test_an_input_that_the_noise_hides_is_named():
    X, y = rows(60)
    with pytest.warns(dpb.HiddenRangeWarning):
        found = dpb.fit(
            X, y, model="linear", method=SSP, epsilon=0.5, delta=1e-6, n_public=60,
            bounds=dpb.Bounds(x={"age": (0, 120)}, y=(0, 300), citation="c"),
        )  # fmt: skip
    assert found.left_out == ("dose",)
    assert "the noise hides their scale: dose" in str(found)
    assert found.point()["coef"][1] == 0


def test_ranges_need_a_source():
    with pytest.raises(ValueError, match="citation is empty"):
        dpb.Bounds(x={"age": (0, 1)})


def test_rows_that_cannot_be_fitted_are_refused_without_their_values():
    X, y = rows(40)
    given = {"model": "linear", "method": SSP, "epsilon": 1, "delta": 1e-6, "bounds": BOUNDS, "n_public": 40}
    cases = [
        (X.assign(age=np.where(X.index == 3, np.nan, X["age"])), y, "NaN or infinity in column age"),
        (X.assign(age="old"), y, "code its public levels"),
        (X["age"], y, "one row per record"),
        (X, y[:5], r"y has the shape \(5,\); X has 40 rows"),
        (X, np.where(y == y[0], np.inf, y), "y has a NaN"),
        (X, ["a"] * 40, "y is not of numbers"),
    ]
    for x, target, said in cases:
        with pytest.raises(ValueError, match=said) as error:
            dpb.fit(x, target, **given)
        assert not any(f"{v:.4g}" in str(error.value) for v in y)
    with pytest.raises(ValueError, match="code the two classes as 0 and 1"):
        dpb.fit(X, y, **given | {"model": "logistic", "method": "output_perturbation", "accept": ("failing",)})
    with pytest.raises(ValueError, match="no column 'dose'"):
        a_fit().predict(X[["age"]])


def test_a_delta_that_is_too_large_warns():
    with pytest.warns(dpb.PrivacyLeakWarning, match="1 / n_public"):
        a_fit(delta=0.01)


def test_importing_the_package_is_light():
    code = "import sys, dpbayes_bench as d; d.fit, d.Bounds; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ("torch", "jax", "numba", "scipy", "sklearn", "methods", "workflow")
    done = subprocess.run([sys.executable, "-c", code, *heavy], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


# ----------------------------------------------------------------------------------------------------- for a researcher


def test_a_published_number_is_judged_by_the_rule():
    rng = np.random.default_rng(0)
    assert dpb.judge(0.64 + 0.01 * rng.standard_normal(30), "0.64", std="0.01", n=20).verdict == "reproduced"
    assert dpb.judge(0.80 + 0.01 * rng.standard_normal(30), "0.64", std="0.01", n=20).verdict == "worse"
    with pytest.raises(ValueError, match="plain decimal digits"):
        dpb.judge([0.6], "6.4e-1")


def test_an_evaluation_asks_for_what_there_is():
    with pytest.raises(KeyError, match="no task 'wine-nothing'"):
        dpb.evaluate(SSP, "wine-nothing", 1.0)
    with pytest.raises(ValueError, match=r"at epsilon = 3; there is 0\.1, "):
        dpb.evaluate(SSP, "wine-linear_regression", 3.0)

    class Unnamed:
        name = "unnamed"

    with pytest.raises(ValueError, match=r"a file of its own, 'unnamed\.py'"):
        dpb.evaluate(Unnamed, "wine-linear_regression", 1.0)
