"""Whether another surrogate would have chosen the same settings, for five methods on further surrogates.

    python -m common_tasks.tuning_seeds            # print the table: about two CPU minutes
    python -m common_tasks.tuning_seeds --commit   # write it to common_tasks/reference/tuning_seeds.csv

The tuned column of linear regression takes its settings from one surrogate per data set (``common_tasks.tuning``). Here
each choice is made again on the surrogates of ``SEEDS``, with the same noise. A row is a method, over ``DATASETS``,
three budgets and the seeds. No data set of the suite is read.

* ``same``: share of choices that equal the committed ones.
* ``default``: share of committed choices that are the default.
* ``lost``: mean log-likelihood, in nats per row of the further surrogate, of its own choice minus the committed one.
* ``gained``: that of the committed choice minus the default. ``worst``: the smallest of these.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy is imported
from __future__ import annotations

import json
import os
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd

import datasets
from common_tasks.tuning import choose, surrogate
from datasets.files import ROOT, write_csv
from methods import contract
from models.bounded import BoundedLinearRegression

KIND, DELTA, EPSILONS = "bounded_linear_regression", 1e-5, (0.1, 1.0, 8.0)
METHODS = ("adassp", "boosted_adassp", "dp_em_corrected", "sufficient_statistics_perturbation", "whitened_ssp")
DATASETS = ("wine", "kin8nm", "power", "naval")
#: seeds of the further surrogates. The committed choices are those of seed 20.
SEEDS = (21, 22, 23, 24)
CHOSEN = ROOT / "common_tasks" / "tuned" / "common_linear_regression.json"
#: in the folder of the tables that findings read.
TABLE = ROOT / "common_tasks" / "reference" / "tuning_seeds.csv"
COLUMNS = ("method", "choices", "same", "default", "lost", "gained", "worst")


def compared(committed: dict, again: dict, grid: tuple[dict, ...]) -> list[tuple[bool, bool, float, float]]:
    """Per budget: is the choice the same, is the committed one the default, what is lost, and what is gained.

    ``committed``, ``again``: from :func:`common_tasks.tuning.choose`. A setting whose fit failed has no score. A choice
    that fails on the further surrogate loses infinitely much.
    """
    out = []
    for epsilon, made in again.items():
        was = committed[epsilon]["settings"]
        scores = [-np.inf if s is None else s for s in made["scores"]]
        at, own = scores[grid.index(was)], scores[grid.index(made["settings"])]
        out.append((was == made["settings"], was == {}, own - at, at - scores[0]))
    return out


def table(names: tuple[str, ...] = DATASETS, methods: tuple[str, ...] = METHODS) -> pd.DataFrame:
    """The table with columns ``COLUMNS``."""
    committed = json.loads(CHOSEN.read_text(encoding="utf-8"))
    found: dict[str, list[tuple[bool, bool, float, float]]] = {name: [] for name in methods}
    for dataset in names:
        about = datasets.get(dataset)
        for seed in SEEDS:
            made = surrogate(about, BoundedLinearRegression(), about.n_rows, np.random.default_rng(seed))
            for name in methods:
                method = contract.get(name, KIND)
                again = choose(method, made, list(EPSILONS), DELTA)
                found[name] += compared(committed[dataset][name], again, method.grid)
    out = []
    for name, rows in found.items():
        same, default, lost, gained = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        numbers = (same.mean(), default.mean(), lost.mean(), gained.mean(), gained.min())
        out.append((name, len(rows), *(round(float(v), 4) for v in numbers)))
    return pd.DataFrame(out, columns=COLUMNS)


def main() -> None:
    frame = table()
    print(frame.to_string(index=False))
    if "--commit" in sys.argv[1:]:
        write_csv(TABLE, frame)


if __name__ == "__main__":
    main()
