"""Small tables from scores and verdicts for claims and findings. Each function makes one table of ``reference/``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import beta, mannwhitneyu

from papers.wang2018 import PAPER, claims, run, verdicts
from papers.wang2018.verdicts import values_of
from reports.program import counts

#: titles of the methods, in the order of all tables and figures.
METHODS = {
    "trivial": "Trivial (mean)",
    "non_private": "Not private",
    "ssp": "SSP",
    "adassp": "AdaSSP",
    "adaops": "AdaOPS",
    "ops_balanced": "OPS, balanced",
    "ops_balanced_unshown": "OPS, balanced (second run)",
    "ops_diffused": "OPS, diffused",
    "ops_worstcase": "OPS, worst case",
    "ops_concentrated": "OPS, concentrated",
    "objpert": "Objective perturbation",
}
#: private methods of the paper's own comparison (its figures results_<set>).
COMPARED = ("ssp", "adassp", "adaops", "ops_balanced", "objpert")
RULES = ("ops_balanced", "ops_diffused", "ops_worstcase", "ops_concentrated")
#: epsilons that findings show.
SHOWN = ("0.01", "0.1", "1", "2", "5", "10")


def build(scores: pd.DataFrame, checks: Path) -> dict[str, pd.DataFrame]:
    """Tables by file name, from all score rows and the folder of the checks."""
    judged = verdicts.NUMBERS.verdicts(scores)
    errors = pd.concat([published_means(judged), medians(scores)], ignore_index=True)
    won, charged = wins(errors), ledger(scores)
    shown = pd.read_csv(checks / "counterexample_adaops.csv", dtype=str)
    return {
        "verdicts.csv.gz": judged,
        "joint.csv": verdicts.joint(judged),
        "leave_one_out.csv": verdicts.leave_one_out(scores, PAPER.family),
        "counts.csv": counts(judged, ["reading", "our_method"], "our_method"),
        "ledger.csv": charged,
        "wins.csv": won,
        "orders.csv": orders(scores),
        "effects.csv": effects(errors),
        "claims.csv": claims.build(claims.Tables(won, charged, shown, judged)),
    }


def ledger(scores: pd.DataFrame) -> pd.DataFrame:
    """Smallest and largest epsilon of one fit over the tables, per method, reading and claimed epsilon."""
    frame = scores[(scores["status"] == "ok") & (scores["epsilon"] != "")].copy()
    frame["real"] = frame["ledger_epsilon"].astype(float)
    rows = []
    for (method, reading, epsilon), g in frame.groupby(["method", "reading", "epsilon"], sort=False):
        facts = json.loads(g["ledger"].iloc[0])
        rows.append(
            {
                "method": method,
                "reading": reading,
                "claimed_epsilon": epsilon,
                "delta": g["delta"].iloc[0],
                "least": g["real"].min(),
                "largest": g["real"].max(),
                "tables": len(g),
                "relation": facts[0]["relation"],
                "releases": "; ".join(f"{e['what']} ({e['mechanism']})" for e in facts),
                "proof": facts[-1]["proof"],
            }
        )
    return pd.DataFrame(rows)


def medians(scores: pd.DataFrame) -> pd.DataFrame:
    """Median error over the repetitions (one if noise-free), per table, method, reading and epsilon."""
    ok = scores[scores["status"] == "ok"]
    middle = [float(np.median(values_of(row))) for row in ok.to_dict("records")]
    return ok[["dataset", "method", "reading", "epsilon"]].assign(median=middle)


def published_means(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Published error by table, method and epsilon, in the layout of :func:`medians` with the reading ``published``."""
    rows = verdicts[verdicts["reading"] == "authors"]
    epsilon = rows["setting"].str.extract(r"epsilon=([\d.]+)")[0].fillna("")
    return pd.DataFrame(
        {
            "dataset": rows["dataset"].to_numpy(),
            "method": rows["our_method"].to_numpy(),
            "reading": "published",
            "epsilon": epsilon.to_numpy(),
            "median": rows["published_mean"].astype(float).to_numpy(),
        }
    )


def wins(errors: pd.DataFrame) -> pd.DataFrame:
    """Number of tables on which one method's error is below another's.

    Columns: reading, epsilon, question, yes, of, ties, tables.

    * ``errors``: rows of :func:`medians` and :func:`published_means`. If a method lacks the reading ``printed``, its
      ``authors`` is used, because methods whose printed form was not available are the same in both.
    * ``ties``: tables that would be added if equal numbers counted as below. Published numbers have six digits.
    * ``tables``: those on which the error is not below.
    """
    rows = []
    for reading in ("published", "authors", "printed", "corrected"):
        for epsilon in run.config()["epsilons"]:
            table = _wide(errors, reading, epsilon)
            equal = questions(table, np.less_equal)
            for question, answer in questions(table).items():
                rows.append(
                    {"reading": reading, "epsilon": epsilon, "question": question, "yes": int(answer.sum()),
                     "of": len(answer), "ties": " ".join(answer.index[equal[question] & ~answer]),
                     "tables": " ".join(answer.index[~answer])}
                )  # fmt: skip
    return pd.DataFrame(rows)


def _wide(errors: pd.DataFrame, reading: str, epsilon: str) -> pd.DataFrame:
    """Errors (tables x methods) at one epsilon, of the tables that have an error for all methods."""
    chosen = []
    for method in (*run.NOISE_FREE, *COMPARED, *RULES[1:]):
        rows = errors[(errors["method"] == method) & errors["epsilon"].isin(["", epsilon])]
        own = rows[rows["reading"] == reading]
        chosen.append(own if len(own) else rows[rows["reading"] == "authors"])
    return pd.concat(chosen).pivot(index="dataset", columns="method", values="median").dropna()


def questions(table: pd.DataFrame, below=np.less) -> dict[str, pd.Series]:
    """Answers by table. ``below``: the comparison of two errors."""
    others = table[["ssp", "objpert", "ops_balanced"]].min(axis=1)
    ada = table[["adassp", "adaops"]]
    rules = table[[r for r in RULES if r != "ops_concentrated"]].min(axis=1)
    return {
        "both adaptive methods below the three others": below(ada.max(axis=1), others),
        "one of the adaptive methods below the three others": below(ada.min(axis=1), others),
        "both adaptive methods below the three others and trivial": below(
            ada.max(axis=1), np.minimum(others, table["trivial"])
        ),
        "both adaptive methods below the three others and OPS, concentrated": below(
            ada.max(axis=1), np.minimum(others, table["ops_concentrated"])
        ),
        "AdaOPS below OPS": below(table["adaops"], table["ops_balanced"]),
        "AdaSSP below SSP": below(table["adassp"], table["ssp"]),
        "SSP below trivial": below(table["ssp"], table["trivial"]),
        "AdaSSP below trivial": below(table["adassp"], table["trivial"]),
        "AdaOPS below trivial": below(table["adaops"], table["trivial"]),
        "OPS, concentrated, the best of the four rules": below(table["ops_concentrated"], rules),
        "OPS, concentrated, below AdaOPS": below(table["ops_concentrated"], table["adaops"]),
    }


def orders(scores: pd.DataFrame, first: str = "adassp", second: str = "ssp") -> pd.DataFrame:
    """Comparison of two methods over the tables with its uncertainty: one row per epsilon and reading that both have.

    * ``below``: tables on which the median of ``first`` is the lower one.
    * ``surely_below``, ``surely_above``: tables on which the methods are significantly different by a two-sided
      Mann-Whitney test of the repetitions. Its level is 5 % / number of tables, so at most 5 % of rows have any false
      one.
    * ``low``, ``high``: 95 % Clopper-Pearson interval of the share of tables below, as if they were a sample of tables.
    * ``turned``: tables significantly different in both readings, where ``first`` is above as run and below as
      corrected.
    * ``turned_back``: the reverse.
    """
    ok = scores[(scores["status"] == "ok") & scores["method"].isin([first, second])]
    names_of = ("method", "reading", "epsilon", "dataset")
    runs = {tuple(row[k] for k in names_of): values_of(row) for row in ok.to_dict("records")}
    names, rows, as_run = sorted(set(ok["dataset"])), [], {}
    for reading in ("authors", "corrected"):
        for epsilon in run.config()["epsilons"]:
            pairs = [(runs[first, reading, epsilon, d], runs[second, reading, epsilon, d]) for d in names]
            below = np.array([np.median(a) < np.median(b) for a, b in pairs])
            told = np.array([mannwhitneyu(a, b).pvalue <= 0.05 / len(names) for a, b in pairs])
            sign = np.where(told, np.where(below, -1, 1), 0)
            before = as_run.setdefault(epsilon, sign)
            count, n = int(below.sum()), len(names)
            rows.append(
                {"reading": reading, "epsilon": epsilon, "of": n, "below": count,
                 "surely_below": int((sign < 0).sum()), "surely_above": int((sign > 0).sum()),
                 "low": float(beta.ppf(0.025, count, n - count + 1)) if count else 0.0,
                 "high": float(beta.ppf(0.975, count + 1, n - count)) if count < n else 1.0,
                 "turned": int(((before > 0) & (sign < 0)).sum()),
                 "turned_back": int(((before < 0) & (sign > 0)).sum())}
            )  # fmt: skip
    return pd.DataFrame(rows)


def effects(errors: pd.DataFrame) -> pd.DataFrame:
    """Ratio of the median errors as run and as stated, by method and epsilon.

    Columns are its median, smallest and largest value over the tables.
    """
    wide = errors.pivot(index=["method", "epsilon", "dataset"], columns="reading", values="median")
    wide = wide.dropna(subset=["authors", "printed"])
    ratio = (wide["authors"] / wide["printed"]).rename("ratio").reset_index()
    rows = []
    for (method, epsilon), g in ratio.groupby(["method", "epsilon"], sort=False):
        worst = g.loc[g["ratio"].idxmax()]
        rows.append(
            {"method": method, "epsilon": epsilon, "tables": len(g), "median": g["ratio"].median(),
             "least": g["ratio"].min(), "largest": worst["ratio"], "largest_on": worst["dataset"]}
        )  # fmt: skip
    return pd.DataFrame(rows)
