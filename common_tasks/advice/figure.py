"""The figure of a block: scores of every method on the tables, with the names on the axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from common_tasks import best
from common_tasks.advice.answer import NEXT, Answer, number
from common_tasks.advice.table import listed
from common_tasks.scores import title
from evaluation.metrics import METRICS
from reports import palette, style

#: end of a scaled axis.
LOWEST, HIGHEST = -0.03, 1.12
#: looks of the epsilons if each panel is a table.
LOOKS = ("o", "s", "D", "^", "v", "P")


def draw(found: Answer) -> tuple[str, str]:
    """SVG text and caption."""
    return _next_table(found) if len(found.at(found.main).frame) else _each_table(found)


def _next_table(found: Answer) -> tuple[str, str]:
    """One panel per epsilon: one dot per table, and the prediction of the model for the next table."""
    order = found.order(found.main)
    names = [found.name(m) for m in order]
    data = found.data()
    with style.canvas(1, len(found.epsilons), panel=0.235 * len(order) + 0.75) as (figure, axes):
        figure.set_figwidth(min(style.WIDTH, 3.4 + 2.3 * len(found.epsilons)))
        for ax, epsilon in zip(axes[0], found.epsilons, strict=True):
            here = data[data["epsilon"] == epsilon]
            for y, method in enumerate(order):
                mine = here[here["method"] == method]
                look = palette.look(method.partition(",")[0])
                tables = mine[mine["dataset"] != NEXT]
                for counts, mark in ((True, "|"), (False, "x")):
                    dots = tables.loc[tables["counts"] == counts, "score"].clip(0.0, HIGHEST - 0.04)
                    ax.plot(dots, [y] * len(dots), mark, color=style.GREY, markersize=6 if counts else 3.5, zorder=2)
                expected = mine.loc[mine["dataset"] == NEXT, "score"]
                ax.plot(expected, [y] * len(expected), markersize=4.8, zorder=3, **look.dot(variant=0))
            ax.set_xlim(LOWEST, HIGHEST)
            _rows(ax, names, ax is axes[0][0], f"epsilon = {epsilon}")
        axes[0][len(found.epsilons) // 2].set_xlabel("score", fontsize=8)
        words = "A line is a table, a cross a table that does not count, a marker what is expected of the next table."
        return style.svg(figure), f"{_upper(found.words)}. {words}"


def _each_table(found: Answer) -> tuple[str, str]:
    """One panel per table: one dot with its 95 % interval per epsilon. No figure if all scores are far off."""
    order = found.order(found.main)
    names = [found.name(m) for m in order]
    data, scores = found.data(), found.at(found.main).scores
    from matplotlib.lines import Line2D

    marked = {d: _ends(found, d) for d in scores.named}
    rooms = {
        d: (LOWEST, HIGHEST) if scores.scaled else _room(data.loc[data["dataset"] == d, "score"], marked[d].values())
        for d in scores.named
    }
    inside = [rooms[d][0] <= y <= rooms[d][1] for d, y in zip(data["dataset"], data["score"], strict=True) if d != NEXT]
    if not any(inside):
        return "", f"There is no chart, because every score is far below {listed(_names_of(marked))}."
    with style.canvas(1, len(scores.named), panel=0.34 * len(order) + 0.75) as (figure, axes):
        figure.set_figwidth(min(style.WIDTH, 3.4 + 2.3 * len(scores.named)))
        for ax, dataset in zip(axes[0], scores.named, strict=True):
            here = data[data["dataset"] == dataset]
            low, high = rooms[dataset]
            ax.set_xlim(low, high)
            for value in marked[dataset].values():
                ax.axvline(value, color=style.BLACK, linewidth=1.2, linestyle=":", zorder=1)
            for r in here.to_dict("records"):
                if r["method"] not in order:
                    continue
                k = found.epsilons.index(r["epsilon"])
                y = order.index(r["method"]) + 0.2 * (k - (len(found.epsilons) - 1) / 2)
                colour = palette.look(r["method"].partition(",")[0]).colour
                if low <= r["score"] <= high:
                    ax.plot([max(r["low"], low), min(r["high"], high)], [y, y], color=colour, linewidth=1.0, zorder=2)
                    ax.plot(r["score"], y, LOOKS[k % len(LOOKS)], color=colour, markersize=3.6, zorder=3)
                else:
                    text = f"◂ {number(r['score'])}" if r["score"] < low else f"{number(r['score'])} ▸"
                    at, side = (low, "left") if r["score"] < low else (high, "right")
                    ax.annotate(text, (at, y), fontsize=6, va="center", ha=side, color=colour)
            _rows(ax, names, ax is axes[0][0], "" if found.own else found.set_name(dataset))
        metric = METRICS[best.metric_of(found.family)]
        axes[0][len(scores.named) // 2].set_xlabel("score" if scores.scaled else metric.unit.words, fontsize=8)
        marks = [
            Line2D([], [], linestyle="none", marker=LOOKS[k % len(LOOKS)], color=style.GREY, label=f"epsilon = {e}")
            for k, e in enumerate(found.epsilons)
        ]
        figure.legend(handles=marks, loc="outside upper center", ncols=len(marks), fontsize=7.5)
        lines = f" Dotted lines are {listed(_names_of(marked))}." if any(marked.values()) else ""
        return style.svg(figure), f"{_upper(found.words)}, with 95 % intervals over the splits.{lines}"


def _ends(found: Answer, dataset: str) -> dict[str, float]:
    """Name -> score, on the axis of the figure, of the methods at both ends of the scale that have one."""
    family, out = found.family, {}
    for place, arm in enumerate(best.ends(family, dataset, found.about)[:2]):
        if arm is not None and (r := family.summary.get((dataset, arm, best.metric_of(family)))):
            words = "" if place == 0 else " without privacy"
            out[title(arm.method, family.kind) + words] = place if found.at(found.main).scores.scaled else r["mean"]
    return out


def _names_of(marked: Mapping[str, Mapping[str, float]]) -> list[str]:
    return list(dict.fromkeys(name for ends in marked.values() for name in ends)) or ["the reference"]


def _rows(ax, names: list[str], first: bool, heading: str) -> None:
    """Names on the axis, the first on top."""
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_yticks(range(len(names)), names if first else [""] * len(names))
    ax.tick_params(labelsize=7.5)
    ax.grid(axis="x")
    ax.set_title(heading, fontsize=9)


def _room(values: Iterable[float], ends: Iterable[float]) -> tuple[float, float]:
    """Limits of an axis for scores and both ends of the scale. Scores far below these are left out."""
    found, ends = sorted(v for v in values if math.isfinite(v)), [*ends]
    if ends:
        reach = 10 * max(max(ends) - min(ends), 0.05)
        found = sorted([*(v for v in found if min(ends) - reach <= v <= max(ends) + reach), *ends])
        low, top = found[0], found[-1]
    else:
        middle, top = found[len(found) // 2], found[-1]
        low = max(found[0], middle - 3 * max(top - middle, 0.05))
    room = 0.08 * (top - low) or 0.1
    return low - room, top + room


def _upper(words: str) -> str:
    return words[:1].upper() + words[1:]
