"""Small tables from scores and verdicts, for claims, findings and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from papers.honkela2018robust import PAPER, advi, claims, published, verdicts
from papers.honkela2018robust.verdicts import values_of
from reports.program import counts

METHODS = {
    "lr": "Linear regression",
    "rlr": "Clipping only",
    "rplr": "Robust private linear regression",
    "lr_public": "Linear regression, public rows",
    "ridge_public": "Ridge regression, public rows",
    "plr": "Private linear regression",
    "oplr": "Output perturbation",
    "fmlr": "Functional mechanism",
    "omega_x": "Multiple of the inputs",
    "omega_y": "Multiple of the targets",
}
#: rows of a table as texts by column.
Rows = Sequence[Mapping[str, str]]


def build(scores: pd.DataFrame, checks: Path) -> dict[str, pd.DataFrame]:
    """Tables by file name, from all score rows and the folder of the checks."""
    judged, spread = verdicts.NUMBERS.verdicts(scores), verdicts.spreads(scores)
    return {
        "verdicts.csv.gz": judged,
        "spreads.csv": spread,
        "joint.csv": verdicts.joint(judged, spread),
        "counts.csv": counts(judged, ["reading", "table"], "table"),
        "ledger.csv": ledger(scores),
        "corrected.csv": corrected(judged),
        "claims.csv": claims.build(claims.Tables(scores, split_fits(scores))),
    }


def ledger(scores: pd.DataFrame) -> pd.DataFrame:
    """Epsilon of one fit by its ledger: table, setting, reading, claimed and real epsilon, relation and releases."""
    rows = []
    for row in scores[scores["ledger"] != ""].to_dict("records"):
        events = json.loads(row["ledger"])
        rows.append({k: row[k] for k in ("table", "setting", "reading")}
                    | {"claimed_epsilon": published.fields(row["setting"])["epsilon"],
                       "ledger_epsilon": row["ledger_epsilon"], "relation": events[0]["relation"],
                       "releases": "; ".join(f"{e['what']} ({e['mechanism']})" for e in events),
                       "proof": events[0]["proof"]})  # fmt: skip
    return pd.DataFrame(rows)


def corrected(judged: pd.DataFrame) -> pd.DataFrame:
    """Corrected scores and published ones: mean and standard deviation of a run, and the difference."""
    rows = judged[judged["reading"] == "corrected"]
    out = rows[["table", "setting", "mean", "std", "n", "verdict"]].assign(
        published=rows["published_mean"].astype(float)
    )
    return out.assign(difference=out["mean"] - out["published"])


def split_fits(scores: pd.DataFrame) -> dict[tuple[str, str], np.ndarray]:
    """(p1, p2) as printed -> scores (25, streams)."""
    rows = scores[scores["table"] == published.SPLITS].to_dict("records")
    parts = (dict(p.split("=") for p in r["setting"].split(";")) for r in rows)
    return {(p["p1"], p["p2"]): values_of(r) for p, r in zip(parts, rows, strict=True)}


#: tables that the texts of findings read.
READ = ("updates", "posteriors", "counts", "answers", "outlier", "corrected", "charged", "costs")


def evidence(
    updates: Rows,
    posteriors: Rows,
    counts: Rows,
    answers: Rows,
    outlier: Rows,
    corrected: Rows,
    charged: Rows,
    costs: Rows,
) -> dict[str, object]:
    """The numbers of the findings, from the rows of the tables with these names.

    * ``lines``: per fit its scores by number of updates, and that of the posterior mean.
    * ``words``: how many numbers of the authors' reading have each verdict.
    * ``cross_wins``: private numbers for which the released X'y has a higher score than the published one.
    * ``outliers``: per replaced row the lower bounds on delta at the claimed epsilon.
    * ``five``: the smallest lower bound of one row at five times epsilon.
    * ``better``, ``charged``: private numbers for which a corrected mean is above the published one.
    """
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for r in updates:
        line = lines.setdefault((r["method"], r["setting"]), {})
        line[r["updates"]] = f"{float(r['score']):.3f}"
        line["largest"] = f"{float(r['largest']):.1f}"  # after the most updates
    for (method, setting), line in lines.items():
        (row,) = (r for r in posteriors if (r["method"], r["setting"], r["table"]) == (method, setting, "synth_A"))
        epsilon = published.fields(setting)["epsilon"]
        line["fit"] = "not private" if method == "lr" else f"private, epsilon = {epsilon:g}"
        line["posterior"] = f"{float(row['score']):.3f}" if row["exist"] == row["folds"] else "none"
    (whole,) = (r for r in counts if (r["reading"], r["table"]) == ("authors", "all"))
    private = [r for r in answers if r["method"] == "rplr" and published.private_rows(r["setting"])]
    outliers: dict[str, dict[str, str]] = {}
    for r in outlier:
        if r["at"] == r["epsilon"]:
            at = outliers.setdefault(r["row"], {"row": r["row"]})
            at[f"{float(r['epsilon']):g}"] = f"{float(r['delta_at_least']):.3f}"
    five = [float(r["delta_at_least"]) for r in outlier
            if r["row"] == "target 1000" and float(r["at"]) == 5 * float(r["epsilon"])]  # fmt: skip
    theirs = {(r["table"], r["setting"]): float(r["published"]) for r in corrected}
    above = [sum(float(r["mean"]) > theirs[r["table"], r["setting"]] for r in of) for of in (corrected, charged)]
    (plain,) = (r for r in costs if r["scales"] == "authors' code")
    return {
        "family": PAPER.family,
        "lines": list(lines.values()),
        "words": {k: int(v or 0) for k, v in whole.items() if k not in ("reading", "table")},
        "private": len(private),
        "cross_wins": sum(float(r["noisy_cross"]) > float(r["published"]) for r in private),
        "steps": f"{advi.STEPS:,}",
        "window": advi.WINDOW,
        "reach": f"{advi.RATE * advi.STEPS / advi.WINDOW**0.5:.2f}",
        "outliers": list(outliers.values()),
        "five": f"{min(five):.3f}",
        "cost": f"{float(plain['together']):.3f}",
        "better": above[0],
        "charged": above[1],
        "corrected": len(corrected),
        "runs": corrected[0]["n"],
    }
