"""Small tables from scores and verdicts, for claims, findings and figures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation import metrics
from papers.raisa2021thesis import claims, models, run, verdicts
from reports.evidence import MEDIAN, spread_of
from reports.program import counts

#: name of a method here -> its name in the source.
METHODS = {
    "dp_penalty": "DP Penalty",
    "dp_hmc": "DP HMC",
    "dp_penalty_ocu_gwmh": "DP Penalty OCU+GWMH",
    "dp_penalty_minibatch": "Minibatch DP Penalty",
    "dp_penalty_minibatch_ocu_gwmh": "Minibatch DP Penalty OCU+GWMH",
    "dp_barker": "DP Barker",
}
MODELS = {
    "flat_banana_2d": "flat banana, d = 2",
    "flat_banana_10d": "flat banana, d = 10",
    "tempered_banana_2d": "tempered banana, d = 2",
    "tempered_banana_10d": "tempered banana, d = 10",
    "narrow_banana_2d": "narrow banana, d = 2",
    "gauss_30d": "Gauss, d = 30",
    "correlated_gauss_2d": "correlated Gauss, d = 2",
}
METRICS = {m: metrics.METRICS[m].title for m in run.METRICS}


def build(scores: pd.DataFrame, checks: Path) -> dict[str, pd.DataFrame]:
    """Tables by file name, from all score rows."""
    judged = verdicts.numbers(checks).verdicts(scores)
    return {
        "verdicts.csv.gz": judged,
        "joint.csv": verdicts.joint(judged),
        "counts.csv": counts(judged, ["dataset", "method", "metric"], "dataset"),
        "iterations.csv": iterations(),
        "ledger.csv": ledger(scores),
        "claims.csv": claims.build(medians(scores), ledger(scores)),
    }


def medians(scores: pd.DataFrame) -> pd.DataFrame:
    """Medians with standard errors, and the quartiles ``q1`` and ``q3``, by reading, metric, model, method and epsilon.

    The readings are ``published`` and ``authors``. The standard error is 1.2533 IQR / 1.349 / sqrt 20.
    """
    rows = []
    boxes = run.published()
    for reading, frame in (("published", boxes), ("authors", scores)):
        for cell in frame.to_dict("records"):
            if reading == "published":
                at = {k: float(cell[k]) for k in ("median", "q1", "q3")}
            else:
                at = dict(
                    zip(("q1", "median", "q3"), np.quantile(verdicts.values_of(cell), [0.25, 0.5, 0.75]), strict=True)
                )
            se = MEDIAN * spread_of(at["q1"], at["q3"]) / math.sqrt(verdicts.N)
            rows.append({"reading": reading, **{k: cell[k] for k in ("metric", "dataset", "method")},
                         "epsilon": epsilon_of(cell["setting"]), **at, "se": se})  # fmt: skip
    return pd.DataFrame(rows)


def epsilon_of(setting: str) -> int:
    return int(setting.split(";")[0].removeprefix("epsilon="))


def iterations() -> pd.DataFrame:
    """Number k of iterations by the exact curve of Gaussian DP, compared with the published acceptance rates.

    ``off``: distance of the published median rate from a multiple of 1 / (2 k), in units of the last digit. It is at
    most 0.5 if k is the source's.
    """
    boxes, rows = run.published(), []
    for cell in boxes[boxes["metric"] == "acceptance"].to_dict("records"):
        if cell["method"] not in run.config()["settings"]:
            continue
        model, setting = models.MODELS[cell["dataset"]], run.setting_of(cell["dataset"], cell["method"])
        epsilon = epsilon_of(cell["setting"])
        k = run.iterations(setting, model, epsilon)
        steps = 2 * k * float(cell["median"])
        off = abs(steps - round(steps)) / (2 * k) / verdicts.UNIT
        rows.append({"dataset": cell["dataset"], "method": cell["method"], "epsilon": epsilon, "k": k, "off": off})
    return pd.DataFrame(rows)


def ledger(scores: pd.DataFrame) -> pd.DataFrame:
    """Epsilon of one chain by its ledger, and its releases, by model, method and epsilon."""
    own = scores[scores["metric"] == "mmd"]
    own = own.assign(epsilon=own["setting"].map(epsilon_of))
    return own[["dataset", "method", "epsilon", "iterations", "delta", "ledger_epsilon"]]
