"""Evaluation of a researcher's own method or runs, by the suite itself. It needs a checkout.

This module lies above ``reports`` and imports what it needs inside its functions, so that reading results stays fast.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpbayes_bench import tables


def _suite(what: str) -> None:
    """Raise ImportError in one line if the folders of the checkout are missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("workflow", "reports", "datasets")):
        raise ImportError(f"{what} needs a checkout of dpbayes-bench, with its data, worker and tests: run it there")


def evaluate(method: str | type, task: str, epsilon: float, splits: int = 5) -> pd.DataFrame:
    """Scores of a method on a common task, one row per split and measure; the columns are those of ``scores()``.

    Parameters
    ----------
    method : a name, or a class in a file of its own with the name of the method.
    task : a name of ``tasks()``.
    epsilon : a budget of that task; not used by a method without a guarantee.
    splits : the first of the task's splits.

    The suite's worker fits. The method gets the training rows of one split, and never sees splits or test rows. Raises
    KeyError for an unknown task, and ValueError for a method or budget that the task does not have.
    """
    _suite("evaluate")
    import tempfile

    from methods import contract
    from workflow import papers, quickcheck
    from workflow.experiments import cells
    from workflow.recompute import run_cell

    files = next(p for p in papers.papers() if p.key == "common_tasks").experiments
    dataset, _, family = task.partition("-")
    if f"common_{family}" not in files:
        raise KeyError(f"no task '{task}'; tasks() has them")
    name = method if isinstance(method, str) else _from_outside(method, contract)
    every = [c for c in cells(files[f"common_{family}"], "full") if c.dataset == dataset and c.method == name]
    plain = [c for c in every if c.setting == "" or c.setting.startswith("epsilon")]
    asked = {c: dict(c.budget).get("epsilon") for c in plain}
    found = [c for c, e in asked.items() if e is None or math.isclose(e, epsilon, rel_tol=1e-9)]
    if not found:
        known = ", ".join(sorted({f"{e:g}" for e in asked.values() if e is not None}, key=float))
        raise ValueError(
            f"{task} has no {name} at epsilon = {epsilon:g}; {f'there is {known}' if known else 'no cell'}"
        )
    cell = dataclasses.replace(found[0], splits=min(splits, found[0].splits))
    with tempfile.TemporaryDirectory(prefix="evaluate-") as folder:
        results = Path(folder)
        steps = quickcheck.Steps(results / "log.txt")
        data = quickcheck.tables_for(results, steps).get(dataset)
        if isinstance(data, str):
            raise FileNotFoundError(data)
        with steps.quiet():
            rows = run_cell(cell, data, results, cell.timeout_s)
    frame = pd.DataFrame(rows).astype(str).rename(columns={"metric": "measure"})
    asked_for = tables.epsilon_asked(frame["setting"])
    return tables.typed(frame.assign(paper="common_tasks", epsilon_asked=asked_for), "scores")


def _from_outside(cls: type, contract: Any) -> str:
    """The name of a class's method, whose file the suite then knows. Raises ValueError without a file."""
    import inspect

    name = vars(cls).get("name", "")
    if name in contract.names():
        return name
    try:
        path = Path(inspect.getfile(cls)).resolve()
    except (TypeError, OSError):
        path = Path()
    if path.stem != name:
        raise ValueError(f"{cls.__name__} has to be in a file of its own, '{name}.py', which a worker can import")
    known = os.environ.get(contract.OUTSIDE, "")
    os.environ[contract.OUTSIDE] = os.pathsep.join(filter(None, [known, str(path)]))
    contract._scan.cache_clear()  # the files are scanned again
    if why := [w for w in contract.broken() if name in w]:
        raise ValueError(why[0])
    return name


def check_method(method: str | type) -> pd.DataFrame:
    """The checks of ``./bench try`` (conformance, privacy, layers), one row per check: check, case, passed, message.

    Raises ValueError for a class that is not in a file with the name of the method.
    """
    _suite("check_method")
    from methods import contract
    from workflow.try_method import checked

    name = method if isinstance(method, str) else _from_outside(method, contract)
    return pd.DataFrame(checked(name, contract.get(name).privacy is not None))


def judge(runs: Sequence[float], published: str, std: str | None = None, n: int = 1, metric: str = "rmse") -> Any:
    """The verdict of the suite on a published number, from a user's own runs: ``reports.verdict.Verdict``.

    Parameters
    ----------
    runs : the scores, one per run, in the unit of the metric.
    published, std : mean and standard deviation over runs as text, as they are printed, because rounding counts.
    n : the number of runs of the published number.
    metric : a name of ``evaluation.metrics.METRICS`` with a margin, such as "rmse".

    Raises ValueError for numbers that cannot be read, and for an unknown metric.
    """
    _suite("judge")
    from reports.evidence import Runs, printed
    from reports.verdict import judge as rule

    number = printed(str(published), int(n), "" if std is None else str(std), "none" if std is None else "sd")
    return rule(Runs(number, [float(v) for v in runs], metric))
