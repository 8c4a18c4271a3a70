"""The table of a block: one row per private method with its score, its calibration and its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from common_tasks import best
from common_tasks import tables as common_tables
from common_tasks.advice.answer import FAR, Answer, number
from common_tasks.scores import Arm, adapter

#: metric of calibration -> its heading. The table shows the first that a task has.
CALIBRATION = {
    "coverage_90": "90 % intervals cover",
    "expected_calibration_error": "calibration error of probabilities",
}
#: metrics of a rare class that the table shows, if the experiment asks for them.
RARE_CLASS = {
    "auc": "AUC",
    "average_precision": "average precision of the rarer class",
    "balanced_accuracy": "balanced accuracy",
    "brier_score": "Brier score",
}
#: neighbouring relation -> how neighbours differ.
RELATIONS = {
    "add_remove": "one row's values against an empty row (add/remove)",
    "replace_one": "one replaced row (replace one)",
}
#: largest number of names in a sentence. The table has all.
NAMED = 4
#: mark after a score on a table that was looked at while the method was designed.
LOOKED_AT = "†"


def build(found: Answer) -> pd.DataFrame:
    """The table as text, with one row per private method at the main epsilon, in the order of ``Answer.order``."""
    family, epsilon = found.family, found.main
    fitted = found.at(epsilon)
    scores, whole = fitted.scores, fitted.frame[fitted.frame["without"] == ""].set_index("method")
    spent = common_tables.costs(family)
    metric = next((m for m in CALIBRATION if any(k[2] == m for k in family.summary)), None)
    tuned = "tuned" in scores.settings.values()
    splits = {m: _splits(scores, m) for m in scores.methods}
    rows = []
    for method in found.order(epsilon):
        arm = scores.arms[method]
        rated = bool(np.isfinite(scores.y[scores.methods.index(method)]).any())
        counted = method in whole.index
        row = {"method": found.name(method)}
        if len(whole):
            told = whole.loc[method] if counted else None
            row["probability of being best on the next table"] = "-" if told is None else f"{told['probability']:.2f}"
            row["expected regret"] = "-" if told is None else f"{told['regret']:.2f}"
            row["median score (range)"] = _range(scores, method) if counted else _why(found, method)
        else:
            for d in scores.named:
                mean, error = scores.on(method, d)
                missing = scores.why.get((method, d), "no score").partition(":")[0]
                mark = f" {LOOKED_AT}" if (method, d) in found.looked_at else ""
                row[found.set_name(d)] = f"{_with_error(mean, error)}{mark}" if math.isfinite(mean) else missing
            row |= _rare_class(found, arm, scores.named)
        if metric:
            at = [family.summary.get((d, arm, metric)) for d in scores.named]
            values = [r["mean"] for r in at if r]
            row[CALIBRATION[metric]] = f"{100 * math.fsum(values) / len(values):.1f} %" if values else "-"
        if any(_noise_aware(a, family.kind) for a in scores.arms.values()):
            row["intervals count the privacy noise"] = "yes" if _noise_aware(arm, family.kind) else "no"
        if tuned:
            row["settings"] = scores.settings[method] if rated else "-"
        if len(set(filter(None, splits.values()))) > 1:
            row["splits"] = splits[method] or "-"
        row["seconds per fit"] = _mean_of([spent[d, arm]["seconds"][0] for d in scores.named if (d, arm) in spent])
        rows.append(row)
    return pd.DataFrame([*rows, *_ends(found, metric, spent)]).fillna("-") if found.own else pd.DataFrame(rows)


def _ends(found: Answer, metric: str | None, spent: Mapping[Any, Any]) -> list[dict[str, str]]:
    """Rows of the methods at both ends of the scale, for a user's table."""
    family, scores = found.family, found.at(found.main).scores
    dataset = scores.named[0]
    out = []
    for place, arm in enumerate(best.ends(family, dataset, found.about)[:2]):
        if arm is None or (dataset, arm, best.metric_of(family)) not in family.summary:
            continue
        r = family.summary[dataset, arm, best.metric_of(family)]
        words = "constant prediction" if place == 0 else "without privacy"
        row = {"method": f"{found.name(arm.method).removesuffix(' (baseline)')} ({words})"}
        row[found.set_name(dataset)] = f"{place}" if scores.scaled else number(r["mean"])
        row |= _rare_class(found, arm, [dataset])
        if metric and (dataset, arm, metric) in family.summary:
            row[CALIBRATION[metric]] = f"{100 * family.summary[dataset, arm, metric]['mean']:.1f} %"
        if (dataset, arm) in spent:
            row["seconds per fit"] = _mean_of([spent[dataset, arm]["seconds"][0]])
        out.append(row)
    return out


def _rare_class(found: Answer, arm: Arm, sets: Sequence[str]) -> dict[str, str]:
    """Means over the splits of the metrics of a rare class, with half a 95 % interval, for one data set."""
    out = {}
    for name, words in RARE_CLASS.items():
        if len(sets) == 1 and any(k[2] == name for k in found.family.summary):
            r = found.family.summary.get((sets[0], arm, name))
            out[words] = _with_error(r["mean"], best.error_of(r["std"], r["n"]), 3) if r else "-"
    return out


def _with_error(mean: float, error: float, digits: int = 2) -> str:
    """A mean with half of its 95 % interval, or without it if the mean is far off."""
    width = f" ± {number(1.96 * error, digits)}" if error > 0 and abs(mean) < FAR else ""
    return number(mean, digits) + width


def caption(found: Answer) -> str:
    """The budget of the table, from the rows of its fits, and why a score can be above 1."""
    scores = found.at(found.main).scores
    shown = {(a.method, a.setting): found.name(m) for m, a in scores.arms.items()}
    shown |= {
        (source.method, source.setting): shown[a.method, a.setting]
        for (_, a), (source, _) in found.family.defaults.items()
        if (a.method, a.setting) in shown
    }
    rows = found.family.scores
    pairs = zip(rows["method"], rows["setting"], strict=True)
    rows = rows.assign(title=[shown.get(pair, "") for pair in pairs])
    rows = rows[(rows["title"] != "") & (rows["delta"] != "")]
    delta = " or ".join(f"{d:g}" for d in sorted(set(rows["delta"].astype(float))))
    of = {r: sorted(set(here["title"])) for r, here in rows.groupby("relation")}
    of = sorted(of.items(), key=lambda pair: -len(pair[1]))
    words = [RELATIONS.get(relation, relation.replace("_", " ")) for relation, _ in of]
    words[1:] = [f"for {listed(names)} {w}" for w, (_, names) in zip(words[1:], of[1:], strict=True)]
    out = [
        f"The table is for epsilon = {found.main} and delta = {delta}.",
        f"Neighbouring tables differ by {listed(words)}.",
    ]
    if scores.scaled:
        out.append(
            "A score above 1 is possible: a private fit may predict better than the exact posterior if the model does "
            "not hold for the table."
        )
    return " ".join(out)


def listed(names: Sequence[str], word: str = "and") -> str:
    """Names in words. More than ``NAMED`` are counted."""
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _noise_aware(arm: Arm, kind: str) -> bool:
    method = adapter(arm.method, kind)
    return method is not None and method.noise_aware


def _range(scores: best.Scores, method: str) -> str:
    """Median, lowest and highest score of the tables, and the number of tables if it is not all."""
    y = scores.counted[scores.methods.index(method)]
    y, count = y[np.isfinite(y)], len(y)
    words = f"{np.median(y):.2f} ({y.min():.2f} to {y.max():.2f})" if len(y) > 1 else f"{y[0]:.2f}"
    return words + (f", {len(y)} of {count}" if len(y) < count else "")


def _why(found: Answer, method: str) -> str:
    why = (found.at(found.main).scores.why.get((method, d), "no score") for d in found.at(found.main).scores.named)
    return "; ".join(dict.fromkeys(w.partition(":")[0] for w in why))


def _splits(scores: best.Scores, method: str) -> str:
    """Smallest and largest number of splits of a table with a score."""
    n = scores.n[scores.methods.index(method)]
    n = n[n > 0]
    return "" if not len(n) else f"{n.min()} to {n.max()}" if n.min() < n.max() else f"{n.min()}"


def _mean_of(values: Sequence[float]) -> str:
    values = [v for v in values if math.isfinite(v)]
    return f"{math.fsum(values) / len(values):.2g}" if values else "-"
