"""Small tables from scores and verdicts, for claims, findings and figures."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from papers.jalko2017dpvi import accounting, claims, run, verdicts
from papers.jalko2017dpvi.checks import HALF, ORDERS
from reports.config import READING_TITLES
from reports.program import counts

#: reading -> its name in tables.
READINGS = {"published": "published", **{r: READING_TITLES[r] for r in ("authors", "corrected")}}
METHODS = {"dpvi": "DPVI", "vi": "VI"}
FIGURES = {
    "abalone_acc_vs_c": "Abalone, clip",
    "adult_acc_vs_c": "Adult, clip",
    "adult_acc_vs_q": "Adult, sampling rate",
    "sgld_vs_advi_abalone": "Abalone, noise",
    "non_dp": "without privacy",
}


def build(scores: pd.DataFrame, checks: Path) -> dict[str, pd.DataFrame]:
    """Tables by file name, from all score rows and the folder of the checks."""
    judged = verdicts.NUMBERS.verdicts(scores)
    charged, sgld = ledger(scores, checks), pd.read_csv(checks / "sgld.csv")
    return {
        "verdicts.csv.gz": judged,
        "joint.csv": verdicts.joint(judged),
        "counts.csv": counts(judged, ["reading", "table"], "table"),
        "ledger.csv": charged,
        "claims.csv": claims.build(claims.Tables(accuracies(judged), sgld, charged)),
    }


def accuracies(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by published number and reading, with ``published`` among the readings.

    Columns: table, dataset, method, reading, clip, sigma, kappa, T, epsilon, accuracy, se, spread.

    * ``epsilon``: as printed. In the fourth figure it is that of the moments accountant. NaN without noise.
    * ``se``: standard error of the mean, NaN if there is none. ``spread``: standard deviation of runs.
    """
    rows = []
    for cell in verdicts.to_dict("records"):
        told = run.fields(cell["setting"])
        known = {k: cell[k] for k in ("table", "dataset", "method")}
        known |= {k: told.get(k, float("nan")) for k in ("epsilon", "clip", "sigma", "kappa", "T")}
        if cell["table"] == "sgld_vs_advi_abalone":
            s = run.setting_of(cell["setting"])
            known["epsilon"] = accounting.moments(
                s.sigma, HALF * float(run.config()["delta"]), s.kappa, s.steps, ORDERS
            )
        if cell["reading"] == "authors":
            se = float(cell["published_std"]) if cell["published_std"] else float("nan")
            n = int(cell["n_published"])
            rows.append(known | {"reading": "published", "accuracy": float(cell["published_mean"]), "se": se,
                                 "spread": se * n**0.5, "n": n})  # fmt: skip
        if cell["verdict"] not in ("no_data", "not_run", "diverged"):
            n = int(cell["n"])
            rows.append(known | {"reading": cell["reading"], "accuracy": 1 - float(cell["mean"]),
                                 "se": float(cell["std"]) / n**0.5, "spread": float(cell["std"]), "n": n})  # fmt: skip
    return pd.DataFrame(rows)


def ledger(scores: pd.DataFrame, reference: Path) -> pd.DataFrame:
    """Epsilon by data set, noise, rate and reading: as printed, and by accountants or :mod:`.accounting`.

    One row holds for all clipping norms, because epsilon does not depend on them. ``authors``: ``epsilon`` is the bound
    for sampling with replacement, which the ledger does not know. ``corrected``: ``epsilon`` is the ledger's.
    """
    bounds = pd.read_csv(reference / "epsilons.csv", dtype={"sigma": str})
    bounds = bounds[bounds["rule"] == "replace-one, with replacement: bound"]
    frame, rows = scores[(scores["method"] == "dpvi") & (scores["status"] == "ok")].copy(), []
    told = frame["setting"].map(run.setting_of)
    frame["sigma"] = [f"{s.sigma:.6g}" for s in told]
    frame["kappa"], frame["T"] = [s.kappa for s in told], [s.steps for s in told]
    deltas = {k: float(run.config()[k]) for k in ("delta", "small_delta")}
    for (dataset, sigma, kappa, steps, reading), g in frame.groupby(
        ["dataset", "sigma", "kappa", "T", "reading"], sort=False
    ):
        facts = json.loads(g["ledger"].iloc[0])[0]
        row = {"dataset": dataset, "sigma": sigma, "kappa": kappa, "T": steps, "reading": reading,
               "printed": g["epsilon_program"].iloc[0]}  # fmt: skip
        for name, column in (("delta", "ledger_epsilon"), ("small_delta", "ledger_epsilon_small")):
            own = bounds[(bounds["dataset"] == dataset) & (bounds["sigma"] == sigma) & (bounds["kappa"] == kappa)
                         & (bounds["T"] == steps) & (bounds["delta"] == deltas[name])]  # fmt: skip
            row[f"epsilon_{name}"] = float(own["epsilon"].iloc[0] if reading == "authors" else g[column].iloc[0])
            row[f"ledger_{name}"] = float(g[column].iloc[0])
        rows.append(row | {k: facts[k] for k in ("relation", "sampling", "noise_multiplier", "proof")})
    return pd.DataFrame(rows)
