"""Tables of NA-DPVI (Alrawajfeh, Jalko & Honkela 2025): coverage, calibration, and the check of the exact draws.

They replace the table of all methods. A coverage error needs three more numbers to be understood: its interval, the
error that a calibrated posterior has on as many data sets, and the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from evaluation.coverage import REDRAWS
from evaluation.metrics import METRICS
from evaluation.summary import CELL, summarise
from reports.blocks import Block, Entry, Footnotes, Table, entry, number
from reports.contents import Run, Tables
from reports.ledger import leaks_under
from reports.tables import SCALE_BANNERS, dataset_title, method_title, natural

#: column -> metric over all splits of a cell (``evaluation.coverage.coverage_scores``).
COVERAGE = {"rmse": "tarp_coverage_rmse"} | {
    k: f"tarp_coverage_rmse_{k}" for k in ("redraws", "sd", "low", "high", "floor", "floor_upper")
}
#: metric of a run -> (words, decimals).
CALIBRATION = {
    "calibration_rmse": ("calibration error, equal widths", 4),
    "calibration_rmse_inverse": ("the same, interpolated", 4),
    "calibration_rmse_program": ("the same, as programmed", 4),
    **{m: (METRICS[m].heading, 4) for m in ("test_error", "test_log_likelihood")},
}
#: metric of the check against NUTS -> (words, function that selects the worst split, decimals).
CHECK = {
    "rhat_max": ("largest R-hat", np.max, 4),
    "ess_min": ("smallest ESS (draws)", np.min, 0),
    "divergences": ("most divergences (draws)", np.max, 0),
    "mean_gap_max": ("largest gap of a mean (posterior sd)", np.max, 3),
    "mean_gap_errors": ("the same (standard errors)", np.max, 2),
    "sd_log_ratio_max": ("largest |log ratio| of sd", np.max, 3),
}
#: order of the rows. Others are last.
ORDER = (
    *("exact_posterior", "na_dpvi", "na_dpvi_nuts", "na_dpvi_laplace", "dpvi_last_iterate", "dpvi"),
    *("dpvi_trace_average", "dpvim", "bernstein_sheldon_2018", "bernstein_sheldon_2018_authors"),
    *("bernstein_sheldon_2019_corrected", "bernstein_sheldon_2019_authors"),
)
#: note on the bootstrap interval of a coverage error.
INTERVAL = (
    "It is for the error on infinitely many data sets. The number also has the noise of its batch. So it lies above "
    "its interval if it is near that of a right posterior."
)
_COST = ["epsilon", "delta", "relation", "accountant"]
_GUARANTEES = (
    "Rows do not carry the same guarantee. DPVI, DPVIm and all that is made from their traces: (epsilon, delta), one "
    "row added or removed, Poisson sampling, the number of rows used as public. Bernstein & Sheldon: pure epsilon by "
    "the Laplace mechanism, one row replaced, the number of rows public; shown is what the ledger gives at the same "
    "delta, a little below the pure epsilon. Leaks (footnotes) are ways around the ledger that no epsilon counts."
)


def build(run: Run) -> Tables:
    """Every table of an experiment for which its scores have data."""
    config, scores, scale = run.config, run.real, run.scale
    if not len(scores):
        return Tables([])
    stem, title = config["experiment"], config.get("title", config["experiment"])
    tables = (
        coverage_table(scores, f"{stem}_coverage", scale, title, config["datasets"], config["model"]),
        calibration_table(scores, f"{stem}_calibration", scale, title, config["model"]),
        check_table(scores, f"{stem}_nuts", scale, title, config["datasets"]),
    )
    return Tables([t for t in tables if t is not None])


def coverage_frame(scores: pd.DataFrame, datasets: Sequence[str]) -> pd.DataFrame:
    """One row per cell, data sets in the order given, methods by ``ORDER``.

    Columns: the five of ``CELL``, rmse, redraws, sd, low, high, floor, floor_upper, n, planned, claimed, epsilon,
    delta, relation, accountant, status, reason. A cell without a score keeps its status and reason.

    * ``redraws``: standard deviation over redraws of the references.
    * ``sd``, ``low``, ``high``: of the bootstrap over data sets.
    * ``floor``, ``floor_upper``: mean and 95 % point of a calibrated posterior's error.
    * ``n``, ``planned``: data sets with a score, and all data sets of the cell.
    * ``claimed``: epsilon of the label.
    """
    rows = []
    for key, group in summarise(scores).groupby(CELL, sort=False):
        at = {r["metric"]: r for r in group.to_dict("records")}
        one = next(iter(at.values()))
        values = {c: at[m]["mean"] if m in at else math.nan for c, m in COVERAGE.items()}
        n = at["tarp_fraction"]["n"] if "tarp_fraction" in at else 0
        row = dict(zip(CELL, key, strict=True)) | values | {"n": n, "claimed": label_of(one["setting"])["epsilon"]}
        row["planned"] = one["planned"]
        rows.append(row | {c: one[c] for c in (*_COST, "status", "reason")})
    rows.sort(key=lambda r: (list(datasets).index(r["dataset"]), *rank(r["method"], r["setting"])))
    return pd.DataFrame(rows, columns=[*CELL, *COVERAGE, "n", "planned", "claimed", *_COST, "status", "reason"])


def label_of(setting: str) -> dict[str, str]:
    """The parts of a setting's label by name.

    ``epsilon=0.1;step=sqrt 2;tight`` gives {epsilon: "0.1", step: "sqrt 2", words: "step sqrt 2, tight"}.
    """
    parts = [p.partition("=") for p in setting.split(";") if p]
    named = {k: v for k, _, v in parts if v}
    words = ", ".join(" ".join(filter(None, (k, v))) for k, _, v in parts if k != "epsilon")
    return {"epsilon": "", "step": "", **named, "words": words}


def row_title(method: str, setting: str) -> str:
    """A cell's method and label without its epsilon, such as "NA-DPVI, step sqrt 2, tight"."""
    return ", ".join(filter(None, (method_title(method), label_of(setting)["words"])))


def rank(method: str, setting: str) -> tuple:
    """Sort key of a cell: by ``ORDER``, then by its label, with numbers as numbers."""
    return (ORDER.index(method) if method in ORDER else len(ORDER), method, natural(setting))


def coverage_table(
    scores: pd.DataFrame, name: str, scale: str, title: str, datasets: Sequence[str], model: dict[str, Any]
) -> tuple[Table, pd.DataFrame] | None:
    """Coverage errors with intervals, a calibrated posterior's error, and guarantees, by data set and cell."""
    long = coverage_frame(scores, datasets)
    if long["rmse"].isna().all():
        return None
    footnotes, blocks = Footnotes(), []
    heads = ["RMSE ± sd over redraws", "95 % interval", "right posterior: mean, 95 % point", "data sets"]
    for dataset, here in long.groupby("dataset", sort=False):
        rows: list[tuple[str, list[Entry]]] = []
        for claimed, part in sorted(here.groupby("claimed", sort=False), key=lambda pair: natural(pair[0])):
            rows.append((f"claimed epsilon {claimed}" if claimed else "no claim", []))
            for r in part.to_dict("records"):
                marks = footnotes(r["reason"])
                told = [
                    entry(f"{number(r['rmse'], 4)} ± {number(r['redraws'], 4)}", marks=marks),
                    entry(f"{number(r['low'], 4)} to {number(r['high'], 4)}"),
                    entry(f"{number(r['floor'], 4)}, {number(r['floor_upper'], 4)}"),
                    entry(str(r["n"])),
                ]
                if r["status"] != "ok" or math.isnan(r["rmse"]):
                    told = [entry(verdict=r["status"], marks=marks), *[entry("-")] * 3]
                rows.append((row_title(r["method"], r["setting"]), [*told, *_cost(r, footnotes, model)]))
        blocks.append(Block(dataset_title(dataset), "Method", [*heads, *_COST_HEADS], rows))
    notes = (
        f"RMSE of the coverage error over its levels (share): mean ± standard deviation over {REDRAWS} redraws of the "
        "reference points, as published. The redraws share data sets and draws, so the interval is a bootstrap over "
        f"data sets. {INTERVAL} The next column has what a right posterior gets from as many data sets. An error below "
        "its 95 % point is no evidence against a posterior.",
        *_spent(long),
        _GUARANTEES,
    )
    table = Table(name, f"{title}: coverage error", SCALE_BANNERS[scale], blocks, notes, footnotes.texts)
    return table, long.assign(scale=scale)


_COST_HEADS = ("epsilon by the ledger", "delta", "neighbours", "accountant")


def _cost(r: dict[str, Any], footnotes: Footnotes, model: dict[str, Any]) -> list[Entry]:
    """Real epsilon with the leaks of its method under this model of a config, delta, relation and accountant."""
    marks = footnotes(*leaks_under(model, r["method"], r["dataset"]))
    if not r["epsilon"]:
        return [entry("none", marks=marks), *[entry("-")] * 3]
    who, _, remark = r["accountant"].partition(": ")
    real = float(r["epsilon"])
    marks = tuple(sorted({*marks, *footnotes(remark)}))
    shown = "inf" if math.isinf(real) else f"{real:.4g}"
    texts = (r["delta"], r["relation"].replace("_", " ") or "-", who.replace("_", " "))
    return [entry(shown, marks=marks), *map(entry, texts)]


def _spent(long: pd.DataFrame) -> list[str]:
    """The epsilon of the noise multipliers of a claimed epsilon, if it differs from the claim by 1 % or more."""
    told = []
    known = long[(long["claimed"] != "") & (long["relation"] == "add_remove")]
    for claimed, part in sorted(known.groupby("claimed"), key=lambda pair: natural(pair[0])):
        costs = sorted(set(part["epsilon"].astype(float)))
        off = [c for c in costs if abs(c / float(claimed) - 1) >= 0.01]
        told += [f"a claimed {claimed} costs {' or '.join(f'{c:.4g}' for c in off)}"] if off else []
    end = ' ("tight": the least noise that keeps the claim)' if long["setting"].str.contains("tight").any() else ""
    return [f"The authors' noise multipliers leave slack: {'; '.join(told)}{end}."] if told else []


def calibration_table(
    scores: pd.DataFrame, name: str, scale: str, title: str, model: dict[str, Any]
) -> tuple[Table, pd.DataFrame] | None:
    """One block per claimed epsilon, one row per cell: calibration by three definitions, test scores, guarantee.

    ``model``: of the config. If its scaling is "paid", inputs are standardised by privately estimated moments, which
    are charged to the budget and not a leak.
    """
    long = summarise(scores)
    long = long[long["metric"].isin(CALIBRATION) | (long["status"] != "ok")]
    if not set(long["metric"]) & {m for m in CALIBRATION if m.startswith("calibration")}:
        return None
    long = long.iloc[sorted(range(len(long)), key=lambda k: rank(*long[["method", "setting"]].iloc[k]))].copy()
    long["claimed"] = [label_of(s)["epsilon"] for s in long["setting"]]
    footnotes, blocks = Footnotes(), []
    blocks_of = long.groupby(["dataset", "claimed"], sort=False)
    for (dataset, claimed), here in sorted(blocks_of, key=lambda pair: (pair[0][0], natural(pair[0][1]))):
        rows = []
        for (method, setting), part in here.groupby(["method", "setting"], sort=False):
            at = {r["metric"]: r for r in part.to_dict("records")}
            one = next(iter(at.values()))
            told = [_scored(at.get(m) or at.get(""), digits, footnotes) for m, (_, digits) in CALIBRATION.items()]
            rows.append((row_title(method, setting), [*told, *_cost(one, footnotes, model)]))
        heads = [*(words for words, _ in CALIBRATION.values()), *_COST_HEADS]
        blocks.append(Block(f"{dataset_title(dataset)}, claimed epsilon {claimed or 'none'}", "Method", heads, rows))
    notes = (
        "Mean ± standard deviation over runs on one split (number of runs). The calibration error is the RMSE of the "
        "fraction of positives minus the predicted probability. The first is over ten bins of equal width without "
        "empty ones. The second is over 100 points of a curve through ten bins of equal counts. The third exchanges "
        "the axes of that curve, as the published code interpolates it. It has no number if two bins have one "
        "fraction, because it divides by zero.",
        *_spent(long),
        "All rows: (epsilon, delta), one row added or removed, Poisson sampling, the number of rows used as public. "
        "Leaks (footnotes) are ways around the ledger that no epsilon counts.",
    )
    table = Table(name, f"{title}: calibration and test scores", SCALE_BANNERS[scale], blocks, notes, footnotes.texts)
    return table, long.assign(scale=scale)


def _scored(r: dict[str, Any] | None, digits: int, footnotes: Footnotes) -> Entry:
    if r is None:
        return entry("-")
    if r["status"] != "ok":
        return entry(verdict=r["status"], marks=footnotes(r["reason"]))
    spread = f" ± {number(r['std'], digits)}" if math.isfinite(r["std"]) else ""
    return entry(f"{number(r['mean'], digits)}{spread} ({r['n']})", marks=footnotes(r["reason"]))


def check_table(
    scores: pd.DataFrame, name: str, scale: str, title: str, datasets: Sequence[str]
) -> tuple[Table, pd.DataFrame] | None:
    """The exact draws compared with NUTS, one row per cell of ``na_dpvi_nuts``: the worst split and the median."""
    kept = scores[(scores["method"] == "na_dpvi_nuts") & (scores["status"] == "ok") & scores["metric"].isin(CHECK)]
    if kept.empty:
        return None
    rows, long = [], []
    groups = sorted(kept.groupby(["dataset", "setting"]), key=lambda pair: list(datasets).index(pair[0][0]))
    for (dataset, setting), here in groups:
        told = []
        for metric, (_, take, digits) in CHECK.items():
            values = here.loc[here["metric"] == metric, "value"].astype(float).to_numpy()
            worst, middle = (float(f(values)) if len(values) else math.nan for f in (take, np.median))
            told.append(entry(number(worst, digits), after=(f"median {number(middle, digits)}",)))
            what = {"metric": metric, "worst": worst, "median": middle, "runs": len(values)}
            long.append({"dataset": dataset, "method": "na_dpvi_nuts", "setting": setting, **what})
        runs = entry(str(here["split"].nunique()))
        rows.append((f"{dataset_title(dataset)} [{setting}]", [*told, runs]))
    heads = [*(words for words, _, _ in CHECK.values()), "runs"]
    notes = (
        "NUTS on the same posterior (the likelihood of the whole trace, collapsed to six numbers a coordinate) against "
        "its exact independent draws. Each number is the worst over the runs, below it their median; within a run it "
        "is the worst over the coordinates.",
    )
    blocks = [Block("", "Cell", heads, rows)]
    table = Table(name, f"{title}: exact draws against NUTS", SCALE_BANNERS[scale], blocks, notes)
    return table, pd.DataFrame(long).assign(scale=scale)
