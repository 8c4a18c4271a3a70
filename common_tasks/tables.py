"""Tables of the common tasks: scores by epsilon, and calibration, distance to the exact posterior and cost."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from common_tasks.scores import (
    CONDITIONAL_NOTE,
    ROLES,
    Arm,
    Family,
    column_words,
    constants_of,
    label,
    name_of,
    title,
)
from evaluation.metrics import METRICS
from evaluation.summary import mean_std
from reports.blocks import Block, Entry, Footnotes, Table, entry
from reports.ledger import CONDITIONAL
from reports.tables import SCALE_BANNERS

#: metric -> heading. Metrics without a score in a family are left out.
CALIBRATION = {
    "coverage_50": "coverage of 50 % intervals",
    "coverage_90": "of 90 %",
    "coverage_95": "of 95 %",
    "expected_calibration_error": "expected calibration error (share)",
    **{m: METRICS[m].heading for m in ("posterior_mean_error", "posterior_log_variance_ratio")},
}
#: file of ``common_tasks.controls``.
CONTROLS = "common_controls.csv"
COSTS = {"cpu_seconds": "CPU seconds per fit", "seconds": "wall seconds per fit", "peak_mb": "peak memory (MB)"}
_NO_GUARANTEE = "It adds noise, but nothing bounds what the noise hides. By its ledger epsilon is infinite."


def build(family: Family, scale: str) -> list[tuple[Table, pd.DataFrame]]:
    """Both tables of one family, with their data frames. Tables without scores are left out."""
    pairs = [score_table(family, scale), calibration_table(family, scale)]
    return [(table, long) for table, long in pairs if table.blocks]


def controls_table(extra: Path, scale: str) -> tuple[Table, pd.DataFrame] | None:
    """The metrics of the exact posterior, and of one twice too narrow or too wide. None if they were not computed."""
    path = extra / CONTROLS
    if not path.is_file():
        return None
    long = pd.read_csv(path)
    rows = [
        (
            f"{r['width']:g} times as wide, {r['level']:.0%} intervals",
            [
                entry(f"{r['share']:.3f}", verdict="inside" if r["inside"] else "outside"),
                entry(f"{r['low']:.3f} to {r['high']:.3f}"),
                entry(f"{r['posterior_mean_error']:.2g}"),
                entry(f"{r['posterior_log_variance_ratio']:+.2f}"),
            ],
        )
        for r in long.to_dict("records")
    ]
    heads = ["share covered", "binomial interval (99 %)", CALIBRATION["posterior_mean_error"],
             CALIBRATION["posterior_log_variance_ratio"]]  # fmt: skip
    notes = (
        f"{int(long['sets'].iloc[0])} data sets simulated from prior and likelihood of the linear regression, one true "
        "weight each. The exact posterior has to lie inside, the others outside.",
    )
    block = Block("", "Posterior", heads, rows)
    table = Table("common_controls", "Controls of the common tasks", SCALE_BANNERS[scale], [block], notes)
    return table, long.assign(scale=scale)


def row_id(family: Family, what: str, dataset: str, arm: Arm) -> str:
    """The anchor of a row. Arms in one row (one method at several epsilons) share it."""
    words = [f"common_{family.task}", what, dataset, arm.method, label(arm)]
    return "-".join(re.sub(r"[^a-z0-9_.]+", "_", w.lower()) for w in words if w)


def rows_of(arms: Sequence[Arm]) -> dict[str, list[list[Arm]]]:
    """Part -> rows in the given order, each with the arms of one method and label."""
    out: dict[str, dict[tuple[str, str], list[Arm]]] = {}
    for arm in arms:
        out.setdefault(arm.role, {}).setdefault((arm.method, label(arm)), []).append(arm)
    return {role: list(out[role].values()) for role in ROLES if role in out}


def _row_name(arm: Arm, kind: str) -> str:
    return ", ".join(filter(None, (title(arm.method, kind), label(arm))))


def score_table(family: Family, scale: str) -> tuple[Table, pd.DataFrame]:
    """Scores: one block per data set and metric, methods in rows, and epsilons, tuned and non-private in columns."""
    footnotes, blocks, long = Footnotes(), [], []
    columns = [*family.columns, ("", False), ("", True)]
    columns = [c for c in columns if c != ("", True) or any(a.column == c for a in family.arms)]
    heads = [column_words(c) if c[0] else "without privacy" + (", tuned" if c[1] else "") for c in columns]
    heads.append("where the default settings come from")
    for dataset in family.datasets:
        present = [a for a in family.arms if (dataset, a) in family.status]
        for metric in family.metrics:
            rows: list[tuple[str, list[Entry]]] = []
            ids: list[str] = []
            for role, lines in rows_of(present).items():
                rows.append((role, []))
                ids.append("")
                for arms in lines:
                    name = _row_name(arms[0], family.kind)
                    at = {a.column: a for a in arms}
                    entries = [_score(family, dataset, metric, at.get(c), footnotes) for c in columns]
                    rows.append((name, [*entries, _constants(family, dataset, arms)]))
                    ids.append(row_id(family, metric, dataset, arms[0]))
                    long += [_long(family, dataset, metric, a) for a in arms]
            heading = f"{_heading(family, dataset)}: {METRICS[metric].heading}"
            blocks.append(Block(heading, "Method", heads, rows, ids=ids))
    notes = (
        "Mean ± standard deviation over splits (their number). Neighbours: one row or an empty one (add/remove), "
        "delta = 1e-5. The table of privacy has the guarantees.",
        *_tuned_note(family),
        "Last column: the default settings and what the code holds, by the methods' own statement. \"Developed here\": "
        "tried on synthetic problems by this suite, none of its data sets; \"guessed here\": chosen, and nothing says "
        "that others were tried. All get the same part of the budget for ranges, which was developed here.",
        *([CONDITIONAL_NOTE] if family.conditional else []),
    )  # fmt: skip
    table = Table(f"common_{family.task}", family.title, SCALE_BANNERS[scale], blocks, notes, footnotes.texts)
    return table, pd.DataFrame(long).assign(scale=scale)


def _tuned_note(family: Family) -> tuple[str, ...]:
    if not any(a.tuned for a in family.arms):
        return ()
    return ("Tuned settings were chosen on public synthetic data of the same shape, with the same effort for every "
            "method. All others are the methods' own defaults, which read no private row. In a tuned column, "
            "\"default\" says that the choice was the default, whose scores are those of the column before. \"Default, "
            "no grid\" says that the method names no other settings, and \"default, not tuned\" that none were tried "
            "on this data set. Methods without a guarantee are not tuned.",)  # fmt: skip


def _heading(family: Family, dataset: str) -> str:
    """The title of a data set, with its condition if it is conditional."""
    return family.set_title(dataset) + (f" ({CONDITIONAL})" if dataset in family.conditional else "")


def _constants(family: Family, dataset: str, arms: Sequence[Arm]) -> Entry:
    """The origin of the default settings of a row."""
    plain = next((a for a in arms if not a.tuned), arms[0])
    return entry(constants_of(family, dataset, plain))


def _score(family: Family, dataset: str, metric: str, arm: Arm | None, footnotes: Footnotes) -> Entry:
    if arm is None or (dataset, arm) not in family.status:
        return entry("-")
    r = family.summary.get((dataset, arm, metric))
    status, reason = family.status[dataset, arm]
    if r is None:
        word, after = "no score" if status == "ok" else status, (family.mark(dataset, arm),)
        return entry(verdict=word, after=after, marks=footnotes(reason))
    bare = _NO_GUARANTEE if r["epsilon"] == "inf" else ""
    spread = f" ± {r['std']:.2g}" if math.isfinite(r["std"]) else ""
    marks = footnotes(reason, bare)
    words = ", ".join(filter(None, (f"{r['mean']:.4g}{spread} ({r['n']})", family.mark(dataset, arm))))
    return entry(words, marks=marks)


def _long(family: Family, dataset: str, metric: str, arm: Arm) -> dict[str, Any]:
    r = family.summary.get((dataset, arm, metric), {})
    status, reason = family.status.get((dataset, arm), ("not_run", ""))
    return _key(family, dataset, arm) | {
        "metric": metric,
        "mean": r.get("mean", math.nan),
        "std": r.get("std", math.nan),
        "n": r.get("n", 0),
        "status": status,
        "reason": reason,
    }


def _key(family: Family, dataset: str, arm: Arm) -> dict[str, Any]:
    return {
        "experiment": family.experiment,
        "dataset": dataset,
        "method": arm.method,
        "title": name_of(arm, family.kind),
        "setting": arm.setting,
        "group": arm.role,
        "epsilon_claimed": arm.epsilon,
        "tuned": arm.tuned,
        "chosen": family.mark(dataset, arm) or (arm.tuned and "tuned") or "",
        "constants": constants_of(family, dataset, arm),
        "conditional": dataset in family.conditional,
    }


@cache
def costs(family: Family) -> dict[tuple[str, Arm], dict[str, tuple[float, float, int]]]:
    """(data set, arm) -> each of ``COSTS`` -> mean (NaN if missing), sd and number over the splits with a score.

    A default that is in a tuned column has its own entry there.
    """
    by = {(a.method, a.setting): a for a in family.every_arm}
    ok = family.scores[(family.scores["status"] == "ok") & (family.scores["split"] != "")]
    out = {}
    for (dataset, method, setting), rows in ok.groupby(["dataset", "method", "setting"], sort=False):
        once = rows.drop_duplicates("split")
        values = {c: [float(v) for v in once[c] if v != ""] for c in COSTS}
        out[dataset, by[method, setting]] = {c: mean_std(v) for c, v in values.items()}
    taken = {(d, a): out[d, source] for (d, a), (source, _) in family.defaults.items() if (d, source) in out}
    return out | taken


def calibration_table(family: Family, scale: str) -> tuple[Table, pd.DataFrame]:
    """One block per data set, one row per arm: coverage or calibration error, distance to the exact posterior, cost."""
    metrics = [m for m in CALIBRATION if any(key[2] == m for key in family.summary)]
    spent, footnotes, blocks, long = costs(family), Footnotes(), [], []
    shown = [c for c in COSTS if any(each[c][2] for each in spent.values())]
    for dataset in family.datasets:
        present = [a for a in family.arms if (dataset, a) in family.status]
        rows: list[tuple[str, list[Entry]]] = []
        ids: list[str] = []
        for role in dict.fromkeys(a.role for a in present):
            # by epsilon, so rows to be compared are adjacent
            part = sorted((a for a in present if a.role == role), key=lambda a: (float(a.epsilon or 0), a.tuned))
            for column in dict.fromkeys(a.column for a in part):
                rows.append((role + (f", {column_words(column)}" if column[0] else ""), []))
                ids.append("")
                for arm in (a for a in part if a.column == column):
                    name = ", ".join(filter(None, (name_of(arm, family.kind), family.mark(dataset, arm))))
                    rows.append((name, _calibration(family, dataset, arm, metrics, shown, footnotes)))
                    ids.append(calibration_id(family, dataset, arm))
                    long.append(_long_calibration(family, dataset, arm, metrics, spent))
        heads = [*(CALIBRATION[m] for m in metrics), *(COSTS[c] for c in shown)]
        blocks.append(Block(_heading(family, dataset), "Method", heads, rows, ids=ids))
    notes = (
        "Means over splits. Coverage is the share of test targets in the central predictive interval of that level. "
        "The error of the posterior mean is the mean over the coefficients of |mean - exact mean|, in units of the "
        "exact posterior's standard deviation. The log variance ratio is the mean of log(variance / exact variance). "
        "It is below 0 if the posterior is too narrow. \"-\" is for a point estimate, which has no spread. Seconds are "
        "of one fit on one core, without compilation. Wall time grows with the load of the machine. If several methods "
        "read one run, CPU seconds count the share of each, and wall time the whole run. Peak memory is that of the "
        "process that fits.",
        *_tuned_note(family),
        *([CONDITIONAL_NOTE] if family.conditional else []),
    )  # fmt: skip
    name = f"common_{family.task}_calibration"
    table = Table(name, f"{family.title}: calibration and cost", SCALE_BANNERS[scale], blocks, notes, footnotes.texts)
    return table, pd.DataFrame(long).assign(scale=scale)


def calibration_id(family: Family, dataset: str, arm: Arm) -> str:
    """Anchor of an arm's row in the table of calibration."""
    tail = "tuned" if arm.tuned else ""
    return "-".join(filter(None, (row_id(family, "calibration", dataset, arm), arm.epsilon, tail)))


def _calibration(family: Family, dataset: str, arm: Arm, metrics, told, footnotes: Footnotes) -> list[Entry]:
    spent = costs(family)
    status, reason = family.status[dataset, arm]
    if (dataset, arm) not in spent:
        return [entry(verdict=status, marks=footnotes(reason)), *[entry("-")] * (len(metrics) + len(told) - 1)]
    summaries = [family.summary.get((dataset, arm, m)) for m in metrics]
    scores = [entry("-") if r is None else entry(f"{r['mean']:.3g}") for r in summaries]
    return [*scores, *(entry(_short(spent[dataset, arm][c][0])) for c in told)]


def _short(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def _long_calibration(family: Family, dataset: str, arm: Arm, metrics, spent) -> dict[str, Any]:
    row = _key(family, dataset, arm)
    for m in metrics:
        r = family.summary.get((dataset, arm, m), {})
        row |= {m: r.get("mean", math.nan), f"{m}_std": r.get("std", math.nan)}
    row |= {c: spent.get((dataset, arm), {}).get(c, (math.nan,))[0] for c in COSTS}
    status, reason = family.status[dataset, arm]
    return row | {"status": status, "reason": reason}
