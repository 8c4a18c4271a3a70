"""Figure of average ranks with their confidence sets: one a family, tuned with the default beside it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from common_tasks import ranks as common_ranks
from common_tasks.ranks import Standing
from common_tasks.scores import CONDITIONAL_MARK, PRIVATE, Arm, Family, label, name_of
from evaluation.metrics import METRICS
from reports import palette, style
from reports.figure import Figure

log = logging.getLogger(__name__)

#: (method, label): a line of a panel.
Key = tuple[str, str]
_CAPTION = (
    "Dot: average rank over the data sets, 1 is best; thin bar: its 95 % confidence set under the law of the data; "
    "thick bar: on these rows. Methods whose bars overlap are not told apart. Best mean first. The table of average "
    "ranks says how the sets are made."
)
_TUNED = (
    " Tuned on a public stand-in with the same effort for all; hollow: the default, on every data set. Tick: the "
    "average rank with default settings."
)
_DEFAULT = " Nothing is tuned here: all run with their defaults."


def name_of_figure(family: Family) -> str:
    return f"common_ranks_{family.task}"


def draw(folder: Path, family: Family) -> Figure | None:
    """A row a metric, a panel an epsilon, all panels of a row in one order; None without a private score."""
    name = name_of_figure(family)
    columns = [(e, (e, True) in family.columns) for e in family.epsilons]
    rows = {m: [common_ranks.standing(family, m, c) for c in columns] for m in family.metrics}
    rows = {m: line for m, line in rows.items() if any(line)}
    if not rows:
        log.info("figure %s left out: no score of a private method", name)
        return None
    orders = {m: _order([s for s in line if s]) for m, line in rows.items()}
    tallest = max(map(len, orders.values()))
    shown: list[dict[str, Any]] = []
    handles: dict[str, Any] = {}
    with style.canvas(len(rows), len(columns), panel=0.95 + 0.19 * tallest) as (figure, axes):
        figure.get_layout_engine().set(w_pad=0.06, h_pad=0.08)
        for line, (metric, standings) in zip(axes, rows.items(), strict=True):
            for ax, column, found in zip(line, columns, standings, strict=True):
                ax.set_visible(found is not None)
                if found is None:
                    continue
                beside = common_ranks.standing(family, metric, (column[0], False)) if column[1] else None
                key = {"experiment": family.experiment, "metric": metric, "epsilon": column[0], "tuned": column[1]}
                shown += [key | r for r in _panel(ax, family, found, beside, orders[metric], handles)]
                words = METRICS[metric].title.replace("test", "Test", 1)
                ax.set_title(f"{words}\nepsilon = {column[0]}" + (", tuned" if column[1] else ""), fontsize=8.5)
            names = [_name(a, family) for a in orders[metric].values()]
            line[0].set_yticks(range(len(names)), names, fontsize=7.5)
        style.legend(figure, handles, size=7.5)
        style.save(figure, folder / name, pd.DataFrame(shown))
    title = f"Average ranks: {family.title.partition(':')[0]}"
    return Figure(name, title, _caption(family, any(tuned for _, tuned in columns)))


def _caption(family: Family, tuned: bool) -> str:
    sets = ", ".join(map(family.set_title, family.datasets))
    mark = f" ({CONDITIONAL_MARK}: conditional)" if family.conditional else ""
    return f"{_CAPTION}{_TUNED if tuned else _DEFAULT} Data sets: {sets}{mark}."


def _order(standings: Sequence[Standing]) -> dict[Key, Arm]:
    """Lines with one of their arms, best mean of the average ranks first."""
    ranks: dict[Key, list[float]] = {}
    arms: dict[Key, Arm] = {}
    for arm, rank in (pair for s in standings for pair in s.law.items()):
        ranks.setdefault(_key(arm), []).append(rank.rank)
        arms.setdefault(_key(arm), arm)
    return {k: arms[k] for k in sorted(arms, key=lambda k: sum(ranks[k]) / len(ranks[k]))}


def _key(arm: Arm) -> Key:
    return arm.method, label(arm)


def _panel(
    ax: Any, family: Family, found: Standing, beside: Standing | None, order: dict[Key, Arm], handles: dict[str, Any]
) -> list[dict[str, Any]]:
    """Draw it; what it shows, a row a method. ``beside``: of the defaults."""
    at = {key: k for k, key in enumerate(order)}
    for arm, rank in (beside.law if beside else {}).items():
        if _key(arm) in at:
            kind = {"marker": "|", "markersize": 8, "markeredgewidth": 1.4, "linestyle": "none", "color": style.BLACK}
            handles["average rank with default settings"] = ax.plot([rank.rank], [at[_key(arm)]], zorder=4, **kind)[0]
    rows = [_line(ax, family, found, arm, at[_key(arm)]) for arm in found.law]
    among = max(r.among for r in found.law.values())
    ax.set_yticks(range(len(order)), [""] * len(order))
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlim(0.4, among + 0.6)
    ax.set_xticks(sorted({1, *range(5, among - 1, 5), among}) if among > 5 else range(1, among + 1))
    ax.set_xlabel(f"average rank of {among}", fontsize=7.5)
    ax.tick_params(axis="x", labelsize=7.5)
    ax.grid(axis="x")
    return rows


def _line(ax: Any, family: Family, found: Standing, arm: Arm, height: int) -> dict[str, Any]:
    """One method: both sets and its average rank."""
    law, rows = found.law[arm], found.rows[arm]
    look = palette.look(arm.method)
    wide = {"linewidth": 4.5, "alpha": 0.35, "solid_capstyle": "butt"}
    ax.plot([law.low, law.high], [height, height], color=look.colour, linewidth=1.0, alpha=0.8)
    ax.plot([rows.low, rows.high], [height, height], color=look.colour, **wide)
    taken = [bool(family.mark(d, arm)) for d in found.datasets]
    ax.plot([law.rank], [height], markersize=4.5, zorder=3, **look.dot(variant=all(taken)))
    return {
        "method": arm.method, "title": name_of(arm, family.kind), "group": arm.role, "rank": law.rank, "low": law.low,
        "high": law.high, "rows_low": rows.low, "rows_high": rows.high, "among": law.among,
        "datasets": len(found.datasets), "defaults": sum(taken),
    }  # fmt: skip


def _name(arm: Arm, family: Family) -> str:
    return name_of(arm, family.kind) + ("" if arm.role == PRIVATE else " (yardstick)")
