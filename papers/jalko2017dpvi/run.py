"""All published numbers of one figure's file.

A score row has ``repeats`` repetitions of one fit on the one split, computed as one array program (``dpvi``). Its
ledger is that of one fit. A run is the number of test rows whose label is predicted right.

Columns: table, dataset, method, reading, setting, metric (test_error = 1 - accuracy), scale, repeats, status, reason,
n_test, mean, std, epsilon_program, ledger_epsilon, ledger_epsilon_small, ledger, log_likelihood, length, sd, runs.

* ``std``: of the error, over the repetitions.
* ``epsilon_program``: the epsilon that the authors' code prints, "" if it prints none.
* ``ledger_epsilon``, ``ledger_epsilon_small``: of one fit, at the source's delta and at the small one.
* ``log_likelihood``, ``length``, ``sd``: test log-likelihood in nats, |u| and mean posterior standard deviation, each
  the mean over the repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from datasets.base import DataError
from papers.jalko2017dpvi import data, dpvi
from privacy.budget import BudgetSpec
from workflow import program

HERE = Path(__file__).parent
#: the settings in ``program.yaml``.
config = partial(program.config, HERE)
#: fields of each release in the column ``ledger``
FACTS = (
    *("what", "mechanism", "relation", "sampling", "sampling_rate", "steps"),
    *("noise_multiplier", "sensitivity", "proof"),
)
#: AdaGrad's rate in the non-private runs.
PLAIN_RATE = 0.01
COLUMNS = (
    *("table", "dataset", "method", "reading", "setting", "metric", "scale", "repeats", "status", "reason", "n_test"),
    *("mean", "std", "epsilon_program", "ledger_epsilon", "ledger_epsilon_small", "ledger"),
    *("log_likelihood", "length", "sd", "runs"),
)


def published() -> pd.DataFrame:
    """The published numbers, as strings."""
    return program.published(HERE)


def fields(setting: str) -> dict[str, float]:
    """Numbers of a setting such as ``epsilon~0.9;clip=1;sigma=2;kappa=0.01;T=2000``."""
    return {k: float(v) for k, _, v in (part.replace("~", "=").partition("=") for part in setting.split(";"))}


def setting_of(text: str) -> dpvi.Setting:
    """The setting of a published number.

    The ten noise levels of the fourth figure are exp(.2 + 4.8 k / 9). The file has six digits of them.
    """
    told = fields(text)
    sigma, rate = told.get("sigma"), 0.1 if "sigma" in told else PLAIN_RATE
    if "epsilon" not in told and sigma is not None:
        exact = np.exp(np.linspace(0.2, 5, 10))
        sigma = float(exact[np.argmin(np.abs(exact - sigma))])
    return dpvi.Setting(sigma, told.get("clip", math.inf), told["kappa"], int(told["T"]), rate)


def generator(*key: str) -> np.random.Generator:
    """The random generator of one published number, the same for both readings."""
    return program.stream("jalko2017dpvi", *key)


def budget_of(cell: dict, setting: dpvi.Setting, rng: np.random.Generator):
    """A budget that only records, because the noise is that of the published setting."""
    spec = BudgetSpec(
        delta=float(config()["delta"]),
        noise_multiplier=setting.sigma,
        claimed_epsilon=fields(cell["setting"]).get("epsilon"),
    )
    return spec.open(rng)


def row_of(cell: dict, reading: str, split: data.Split, count: int) -> dict:
    """The score row of one published number."""
    from privacy.accountants import epsilon_of

    setting, rng = setting_of(cell["setting"]), generator(cell["table"], cell["dataset"], cell["setting"])
    budget = budget_of(cell, setting, rng)
    found = dpvi.repeated(split.x, split.y, setting, reading, budget, rng, count)
    at = {"": float(config()["delta"]), "_small": float(config()["small_delta"])}
    row = {f"ledger_epsilon{k}": f"{epsilon_of(budget.ledger, d).epsilon:.6g}" for k, d in at.items()}
    row |= {
        "ledger": program.facts(budget.ledger, FACTS),
        "epsilon_program": fields(cell["setting"]).get("epsilon", ""),
    }
    if not (np.isfinite(found.mean).all() and np.isfinite(found.sd).all()):
        return row | {"status": "diverged", "reason": "some repetition has a number that is not finite"}
    right, n = dpvi.right(found, split.x_test, split.y_test), len(split.y_test)
    error = 1 - right / n
    return row | {
        "n_test": n,
        "mean": repr(float(error.mean())),
        "std": repr(float(error.std(ddof=1))),
        "log_likelihood": f"{dpvi.log_likelihood(found, split.x_test, split.y_test).mean():.6g}",
        "length": f"{np.linalg.norm(found.mean, axis=1).mean():.6g}",
        "sd": f"{found.sd.mean():.6g}",
        "runs": " ".join(str(r) for r in right),
    }


def rows(
    table: str, scale: str, mirror: str | None, raw: str | Path, wanted: Callable[[dict], bool] | None = None
) -> Iterator[dict]:
    """Score rows of one table, or those that are ``wanted``. If a data set is not available, each has the reason."""
    told, splits, reasons = config(), {}, {}
    cells = [c for c in published().to_dict("records") if c["table"] == table]
    for cell in cells:
        name = cell["dataset"]
        for reading in told["readings"][cell["method"]]:
            row = dict.fromkeys(COLUMNS, "") | {k: cell[k] for k in ("table", "dataset", "method", "setting")}
            row |= {"reading": reading, "metric": "test_error", "scale": scale, "repeats": told["repeats"][scale]}
            if wanted is not None and not wanted(row):
                continue
            if name not in splits and name not in reasons:
                try:
                    splits[name] = data.load(name, mirror, raw)
                except DataError as error:
                    reasons[name] = str(error)
            if name in reasons:
                yield row | {"status": "no_data", "reason": reasons[name]}
            else:
                yield row | {"status": "ok"} | row_of(cell, reading, splits[name], row["repeats"])
