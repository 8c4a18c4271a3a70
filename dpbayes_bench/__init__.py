"""dpbayes-bench in Python: its committed results as data frames and arrays, and private fits on arrays of one's own.

    import dpbayes_bench as bench

    bench.verdicts()                                        published numbers, ours, and the verdict on each
    bench.scores()                                          every score of every run
    bench.ledger()                                          what each fit released, and what that costs
    bench.tasks()                                           names of the common tasks
    bench.task("wine-linear_regression", epsilon=1.0)       all methods on one of them at one budget
    bench.reference_posterior("wine-linear_regression")     its exact posterior
    bench.reference_posteriors()                            names of all exact posteriors, of private releases too
    bench.list_methods(model="linear", private=True)        what can be fitted
    bench.fit(X, y, ...)                                    a private posterior

Results need numpy and pandas. A fit needs the extra ``fit``. ``columns(table)`` says what each column holds, its type
and its unit. In a checkout the files of the checkout are read, in an installed package the copies that it carries.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from dpbayes_bench import _checkout, tables
from dpbayes_bench.accountant import Accountant, BudgetFileError, BudgetSpent
from dpbayes_bench.fits import Bounds, HiddenRangeWarning, PrivacyLeakWarning, fit, list_methods
from dpbayes_bench.posteriors import ReferencePosterior, names, read
from dpbayes_bench.private_fit import Predictive, Privacy, PrivateFit
from dpbayes_bench.suite import check_method, evaluate, judge

__all__ = [
    "Accountant", "Bounds", "BudgetFileError", "BudgetSpent", "HiddenRangeWarning", "Predictive", "Privacy",
    "PrivacyLeakWarning", "PrivateClassifier", "PrivateFit", "PrivateRegressor", "ReferencePosterior", "Schema",
    "check_method", "columns", "evaluate", "fit", "judge", "ledger", "list_methods", "reference_posterior",
    "reference_posteriors", "scores", "task", "tasks", "verdicts",
]  # fmt: skip

if not (tables.HERE / "methods").is_dir():
    sys.meta_path.insert(0, _checkout.SameModule())  # before the one that reads files, and would load them again


def __getattr__(name: str):
    """The estimators, whose module imports scikit-learn, and the schema, whose module imports PyYAML."""
    if name in ("PrivateClassifier", "PrivateRegressor"):
        from dpbayes_bench import estimators

        return getattr(estimators, name)
    if name == "Schema":
        from datasets.schema import Schema

        return Schema
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


#: experiments of the common tasks begin with it.
COMMON = "common_"


def home() -> Path:
    """The folder of the committed files: copies in an installed package, otherwise the checkout."""
    carried = tables.HERE / "data"
    return carried if carried.is_dir() else tables.HERE.parent


def columns(table: str | None = None) -> pd.DataFrame:
    """The dictionary of a table: table, column, type, unit and meaning of each column. ``None`` gives all tables.

    Raises KeyError for an unknown table. The message names the known ones.
    """
    told = tables.dictionary()
    if table is None:
        return told.copy()
    if table not in set(told["table"]):
        raise KeyError(f"no table '{table}'; there are {', '.join(told['table'].unique())}")
    return told[told["table"] == table].reset_index(drop=True)


def scores() -> pd.DataFrame:
    """Every score of every paper and common task: about 900,000 rows, one per number (ten seconds, 150 MB).

    ``value`` is in the unit that ``unit`` names, ``epsilon`` what the fit's ledger costs at ``delta``. Rows whose
    ``status`` is not "ok" have no value and give a ``reason``. :func:`columns` describes the rest.
    """
    return tables.scores(home())


def verdicts() -> pd.DataFrame:
    """Every published number with ours, one row per number, reading and split protocol, copies included.

    Readings are printed, authors and corrected. Rows of a reading's own protocol have ``headline`` "yes".

    ``mean``, ``std`` and ``difference`` are in the unit of ``metric``. :func:`columns` describes all columns.
    """
    return tables.verdicts(home())


def ledger() -> pd.DataFrame:
    """The releases of the fit of each private cell, and their epsilon: one row per event and accountant.

    The event "(total)" is the sum over all events. ``epsilon`` holds at ``delta`` under ``relation``. It is inf if no
    bound is finite.
    """
    return tables.ledger(home())


@cache
def _task_files() -> dict[str, tuple[Path, str]]:
    """Task -> (score file, data set)."""
    found = {}
    for path in tables.score_files(home()):
        experiment = path.name.removesuffix(".csv.gz")
        if tables.paper_of(path) == "common_tasks":
            for dataset in sorted(tables.text(path)["dataset"].unique()):
                found[f"{dataset}-{experiment.removeprefix(COMMON)}"] = path, str(dataset)
    return found


def tasks() -> list[str]:
    """Names of the common tasks, ``<data set>-<family>``, sorted."""
    return sorted(_task_files())


def _known(name: str) -> tuple[Path, str]:
    if name not in _task_files():
        raise KeyError(f"no task '{name}'; there are {', '.join(tasks())}")
    return _task_files()[name]


def task(name: str, epsilon: float | None = None) -> pd.DataFrame:
    """All methods on one common task at one budget, one row per method, setting and measure.

    Columns are task, method, setting, epsilon_asked, measure, unit, mean, std, n, lost, epsilon, delta, relation,
    status and reason. An empty setting means the default. "tuned" at its start says that it was chosen on synthetic
    surrogate data, and "ablation" that it takes part in no comparison. ``std`` is over splits, with n - 1, and NaN
    below two. ``n`` and ``lost`` count splits with and without a score. ``epsilon`` is the largest of the splits, at
    ``delta``. A method without any score has a status and a reason. Methods without privacy are listed at every
    budget, with epsilon_asked NaN.

    ``epsilon``: None gives all budgets. Raises KeyError for an unknown task, and ValueError for a budget that was not
    run. The messages name the known ones.
    """
    path, dataset = _known(name)
    rows = tables.typed_scores([tables.scores_of(path)])
    rows = rows[rows["dataset"] == dataset]
    asked = rows["epsilon_asked"]
    if epsilon is not None:
        ran = sorted(asked.dropna().unique())
        if not np.isclose(ran, epsilon, rtol=1e-9, atol=0).any():
            raise ValueError(
                f"{name}: nothing ran at epsilon = {epsilon:g}; budgets are {', '.join(map('{:g}'.format, ran))}"
            )
        rows = rows[asked.isna() | np.isclose(asked, epsilon, rtol=1e-9, atol=0)]
    rows = rows.astype({c: str for c in rows.columns[rows.dtypes == "category"]})
    out = []
    for (method, setting), cell in rows.groupby(["method", "setting"], sort=False):
        ok, bad = cell[cell["status"] == "ok"], cell[cell["status"] != "ok"]
        first = (ok if len(ok) else bad).iloc[0]
        same = {"task": name, "method": method, "setting": setting, "epsilon_asked": first["epsilon_asked"]}
        same |= {"lost": bad["split"].nunique(), "epsilon": ok["epsilon"].max(), "delta": first["delta"]}
        same |= {"relation": first["relation"], "status": first["status"]}
        same["reason"] = "" if len(ok) else first["reason"]
        if ok.empty:
            out.append(same | {"measure": "", "unit": "", "n": 0})
        for measure, values in ok.groupby("measure", sort=True):
            numbers = {"mean": values["value"].mean(), "std": values["value"].std(), "n": len(values)}
            out.append(same | {"measure": measure, "unit": values["unit"].iloc[0]} | numbers)
    named = ["task", "method", "setting", "epsilon_asked", "measure", "unit", "mean", "std", "n", "lost"]
    return pd.DataFrame(out, columns=[*named, "epsilon", "delta", "relation", "status", "reason"])


def _releases() -> dict[str, Path]:
    """Name of each private release with a committed exact posterior -> its folder."""
    return {name: folder for folder in sorted(home().glob("papers/*/reference/posteriors")) for name in names(folder)}


def reference_posteriors() -> list[str]:
    """The names that :func:`reference_posterior` knows, sorted: common tasks and private releases."""
    return sorted([*names(home() / "common_tasks" / "reference" / "posteriors"), *_releases()])


def reference_posterior(name: str) -> ReferencePosterior:
    """A committed exact posterior with its diagnostics, of a common task or of a private release.

    ``name``: a name of :func:`reference_posteriors`. The posterior of a common task is given the training rows of split
    0. Raises KeyError for an unknown name, and LookupError for a task whose exact posterior is not known. The messages
    name the known ones, or say why.
    """
    if name in (releases := _releases()):
        return read(releases[name], name)
    folder = home() / "common_tasks" / "reference" / "posteriors"
    if name not in (known := {*tasks(), *names(folder)}):
        raise KeyError(f"no task '{name}'; there are {', '.join(sorted(known | set(releases)))}")
    return read(folder, name)
