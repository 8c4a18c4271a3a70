"""What the abstract says and the figures show, and whether our runs bear it out. The body of the paper was not at hand.

Each claim is a function of the accuracies by reading (``published``: the printed numbers themselves) and the table of
DP-SGLD. Verdicts: those of ``reports.claims``. A comparison of our means is "not told apart" where its margin lies
within two standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from papers.jalko2017dpvi.checks import BY_BUDGET
from reports.claims.record import HOLDS, REFUTED, UNTOLD

ABSTRACT = "abstract"
ERRORS = 2.0


@dataclass(frozen=True)
class Tables:
    """accuracies: :func:`papers.jalko2017dpvi.tables.accuracies`; sgld: the check of that name."""

    accuracies: pd.DataFrame
    sgld: pd.DataFrame


@dataclass(frozen=True)
class Claim:
    """``judge``: tables -> (reading, verdict, evidence) once a reading."""

    id: str
    place: str
    quote: str
    statement: str
    judge: Callable[[Tables], list[tuple[str, str, str]]]


def above(differences, errors, least: float, every: bool = True) -> str:
    """Are all (or any) of these differences above ``least``?"""
    differences, errors = np.asarray(differences, float), ERRORS * np.nan_to_num(np.asarray(errors, float))
    shown, against = differences - errors > least, differences + errors <= least
    if not every:
        return HOLDS if shown.any() else REFUTED if against.all() else UNTOLD
    return HOLDS if shown.all() else REFUTED if against.any() else UNTOLD


def _by_reading(tables: Tables, table: str):
    frame = tables.accuracies[tables.accuracies["table"] == table]
    return [(reading, g) for reading, g in frame.groupby("reading", sort=False)]


def _line(tables: Tables, dataset: str, reading: str) -> float:
    frame = tables.accuracies
    found = frame[(frame["method"] == "vi") & (frame["dataset"] == dataset)].set_index("reading")["accuracy"]
    return float(found["published" if reading == "published" else "authors"])


CLOSE, AT_MOST = 0.015, 1.0


def close_to_non_private(tables: Tables) -> list[tuple[str, str, str]]:
    out = []
    for reading in tables.accuracies["reading"].unique():
        told, differences, errors = [], [], []
        for dataset in ("abalone_coded", "adult_coded"):
            frame = tables.accuracies
            g = frame[(frame["reading"] == reading) & (frame["dataset"] == dataset) & (frame["epsilon"] <= AT_MOST)]
            best, line = g.loc[g["accuracy"].idxmax()], _line(tables, dataset, reading)
            differences.append(best["accuracy"] - line)
            errors.append(best["se"])
            told.append(f"{dataset}: {best['accuracy']:.4f} at {best['epsilon']:.3g}, not private {line:.4f}")
        out.append((reading, above(differences, errors, -CLOSE), "; ".join(told)))
    return out


STRONG, CLEARLY = 1.0, 0.02


def beats_sampling(tables: Tables) -> list[tuple[str, str, str]]:
    """At budgets up to 1 as the comparison prints them (program) or as they are (sound): DPVI above DP-SGLD by 0.02."""
    dpvi = {r: g.assign(key=g["sigma"].map("{:.6g}".format)).set_index("key")
            for r, g in _by_reading(tables, "sgld_vs_advi_abalone")}  # fmt: skip
    out = []
    sgld = tables.sgld.assign(key=pd.to_numeric(tables.sgld["sigma"]).map("{:.6g}".format))
    for variant, relation, reading in (
        ("program", "", "published"), ("program", "", "authors"), (BY_BUDGET, "replace_one", "authors"),
        (BY_BUDGET, "add_remove", "corrected"),
    ):  # fmt: skip
        rows = sgld[(sgld["variant"] == variant) & (sgld["relation"].fillna("") == relation) & (sgld["delta"] > 1e-4)]
        rows = rows[rows["epsilon"] <= STRONG]
        own = dpvi[reading].loc[[_near(k, dpvi[reading].index) for k in rows["key"]]]
        differences = own["accuracy"].to_numpy() - rows["accuracy"].to_numpy()
        errors = np.hypot(own["se"].to_numpy(), rows["sd"].to_numpy() / np.sqrt(rows["repeats"].to_numpy()))
        said = above(differences, errors, CLEARLY)
        told = ", ".join(f"{d:+.3f} at {e:.2g}" for d, e in zip(differences, rows["epsilon"], strict=True))
        out.append((f"{reading} against {'the program' if variant == 'program' else 'a sound'} DP-SGLD", said, told))
    return out


def _near(key: str, index) -> str:
    """The label whose number is that of ``key`` to five digits."""
    return min(index, key=lambda k: abs(float(k) / float(key) - 1))


def _grid(g: pd.DataFrame, row: str, column: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    return g.pivot(index=row, columns=column, values="accuracy"), g.pivot(index=row, columns=column, values="se")


def abalone_flat(tables: Tables) -> list[tuple[str, str, str]]:
    out = []
    for reading, g in _by_reading(tables, "abalone_acc_vs_c"):
        g = g[g["clip"] == 5]
        low, high = g.loc[g["accuracy"].idxmin()], g.loc[g["accuracy"].idxmax()]
        spread = high["accuracy"] - low["accuracy"]
        said = above([-spread], [np.hypot(low["se"], high["se"])], -0.01)
        out.append((reading, said, f"{low['accuracy']:.4f} to {high['accuracy']:.4f}"))
    return out


def abalone_larger_clip(tables: Tables) -> list[tuple[str, str, str]]:
    out = []
    for reading, g in _by_reading(tables, "abalone_acc_vs_c"):
        mean, se = _grid(g, "sigma", "clip")
        best = mean[[4.0, 5.0]].idxmax(axis=1)
        differences = [mean.loc[s, best[s]] - mean.loc[s, c] for s in mean.index for c in (1.0, 2.0, 3.0)]
        errors = [np.hypot(se.loc[s, best[s]], se.loc[s, c]) for s in mean.index for c in (1.0, 2.0, 3.0)]
        told = ", ".join(f"{mean.loc[s].idxmax():g} at sigma {s:g}" for s in mean.index)
        out.append((reading, above(differences, errors, 0.0), f"best clip: {told}"))
    return out


def adult_small_clip(tables: Tables) -> list[tuple[str, str, str]]:
    out = []
    for reading, g in _by_reading(tables, "adult_acc_vs_c"):
        mean, se = _grid(g, "sigma", "clip")
        rest = [c for c in mean.columns if c != 10]
        differences = [mean.loc[s, c] - mean.loc[s, 10] for s in mean.index for c in rest]
        errors = [np.hypot(se.loc[s, c], se.loc[s, 10]) for s in mean.index for c in rest]
        out.append(
            (reading, above(differences, errors, 0.0), f"least advantage of another clip {min(differences):+.4f}")
        )
    return out


def adult_cliff(tables: Tables) -> list[tuple[str, str, str]]:
    out = []
    for reading, g in _by_reading(tables, "adult_acc_vs_c"):
        mean, se = _grid(g, "sigma", "clip")
        rest = [c for c in mean.columns if c != 10]
        falls = [mean.loc[0.8, c] - mean.loc[2.0, c] for c in rest]
        errors = [np.hypot(se.loc[0.8, c], se.loc[2.0, c]) for c in rest]
        told = ", ".join(f"{d:.3f} at clip {c:g}" for d, c in zip(falls, rest, strict=True))
        out.append((reading, above(falls, errors, 0.04), told))
    return out


def adult_larger_batch(tables: Tables) -> list[tuple[str, str, str]]:
    out = []
    for reading, g in _by_reading(tables, "adult_acc_vs_q"):
        mean, se = _grid(g, "sigma", "kappa")
        pairs = [(s, k) for s in mean.index if s >= 1.2 for k in mean.columns if k > 0.001]
        gains = [mean.loc[s, k] - mean.loc[s, 0.001] for s, k in pairs]
        errors = [np.hypot(se.loc[s, k], se.loc[s, 0.001]) for s, k in pairs]
        out.append((reading, above(gains, errors, 0.02), f"least gain {min(gains):+.4f}"))
    return out


def above_non_private(tables: Tables) -> list[tuple[str, str, str]]:
    out = []
    for reading, g in _by_reading(tables, "adult_acc_vs_q"):
        g, line = g[(g["kappa"] == 0.005) & (g["sigma"] <= 1.2)], _line(tables, "adult_coded", reading)
        said = above(g["accuracy"] - line, g["se"], 0.0)
        out.append((reading, said, ", ".join(f"{a:.4f}" for a in g["accuracy"]) + f" against {line:.4f}"))
    return out


CLAIMS = (
    Claim("close-to-non-private", ABSTRACT,
          "reach an accuracy close to non-private level under reasonably strong privacy guarantees",
          "on both tables the best cell at a printed epsilon of at most 1 is within 0.015 of the run without privacy",
          close_to_non_private),
    Claim("beats-sampling", ABSTRACT,
          "clearly improving over previous sampling-based alternatives especially in the strong privacy regime",
          "Abalone: accuracy above DP-SGLD's by more than 0.02 at every epsilon up to 1", beats_sampling),
    Claim("abalone-flat", "figure abalone_acc_vs_c", "read off figure",
          "at clip 5 accuracy changes by less than 0.01 over the five noises", abalone_flat),
    Claim("abalone-larger-clip", "figure abalone_acc_vs_c", "read off figure",
          "at every noise clip 4 or 5 is the best", abalone_larger_clip),
    Claim("adult-small-clip", "figure adult_acc_vs_c", "read off figure", "clip 10 is the worst at every noise",
          adult_small_clip),
    Claim("adult-cliff", "figure adult_acc_vs_c", "read off figure",
          "from a printed epsilon of 1.02 to 0.146 accuracy falls by more than 0.04 at all clips but 10", adult_cliff),
    Claim("adult-larger-batch", "figure adult_acc_vs_q", "read off figure",
          "at sigma 1.2 and above every larger sampling rate beats 0.001 by more than 0.02", adult_larger_batch),
    Claim("above-non-private", "figure adult_acc_vs_q", "read off figure",
          "at sampling rate 0.005 and sigma up to 1.2 private runs are above the line of the run without privacy",
          above_non_private),
)  # fmt: skip


def build(tables: Tables) -> pd.DataFrame:
    """One row a claim and reading."""
    rows = []
    for claim in CLAIMS:
        for reading, verdict, evidence in claim.judge(tables):
            rows.append(
                {"claim": claim.id, "place": claim.place, "quote": claim.quote, "statement": claim.statement,
                 "reading": reading, "verdict": verdict, "evidence": evidence}
            )  # fmt: skip
    return pd.DataFrame(rows)
