"""The figure of a block: score against epsilon with 95 % intervals; methods are lines, or rows where they are many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from common_tasks import comparisons as compare
from common_tasks.advice.standings import Standings, number
from common_tasks.advice.table import is_default
from common_tasks.scores import Arm, title
from evaluation.metrics import METRICS
from evaluation.paired import Difference
from reports import palette, style

#: up to so many methods are lines over epsilon; more are a dot plot with the names on the axis.
LINES = 8
#: the axis of a scaled score ends here at the latest.
LOWEST, HIGHEST = -0.5, 1.5


def draw(table: Standings, columns: Sequence[compare.Column]) -> tuple[str, str]:
    """SVG text, and in words the points that its axis leaves out."""
    epsilons = [e for e in table.family.epsilons if any(c[0] == e for c in columns)]
    methods = {_line(a) for c in columns for a in table.of(c).scores}
    low, high = _axis(table, columns)
    form = _curves if len(epsilons) > 1 and len(methods) <= LINES else _dots
    return form(table, epsilons, low, high)


def _line(arm: Arm) -> tuple[str, str]:
    """What is one line or row of a figure: a method, however it is set."""
    return arm.method, ";".join(p for p in arm.setting.split(";") if p != "tuned" and not p.startswith("epsilon="))


def _axis(table: Standings, columns: Sequence[compare.Column]) -> tuple[float, float]:
    """Ends of the axis of scores: all of 0 to 1, and no farther than ``LOWEST`` and ``HIGHEST``, where it is scaled;
    else where most of the scores are."""
    found = [d for c in columns for d in table.of(c).scores.values()]
    values = sorted(d.difference for d in found)
    if table.scaled:
        inside = [d for d in found if d.difference >= LOWEST]
        lows = [d.low if math.isfinite(d.low) else d.difference for d in inside]
        highs = [d.high if math.isfinite(d.high) else d.difference for d in inside]
        return max(LOWEST, min([0.0, *lows])) - 0.05, min(HIGHEST, max([1.0, *highs])) + 0.05
    middle, top = values[len(values) // 2], max(values[-1], 0.0) if table.zero else values[-1]
    low = max(values[0], middle - 3 * (top - middle)) if top > middle else values[0]
    room = 0.08 * (top - low) or 0.1 * max(abs(top), 1.0)
    return low - room, top + room


def _marks(table: Standings) -> list[tuple[float, str]]:
    """Lines of the scale with their words."""
    if not table.scaled:
        return [(0.0, title(table.zero.method, table.family.kind))] if table.zero else []
    one = table.ends(table.datasets[0])[1]
    kind = table.family.kind
    return [(0.0, title(table.zero.method, kind)), (1.0, title(one.method, kind))]


def _dots(table: Standings, epsilons: Sequence[str], low: float, high: float) -> tuple[str, str]:
    """Names on the axis, sorted by score; a panel an epsilon."""
    order: list[tuple[str, str]] = []
    names: dict[tuple[str, str], str] = {}
    first = table.main
    for column in [first, *[(e, t) for e in epsilons for t in (True, False) if (e, t) != first]]:
        for arm in table.of(column).scores:
            if _line(arm) not in names:
                names[_line(arm)] = table.name(arm)
                order.append(_line(arm))
    outside: list[tuple[Arm, Difference]] = []
    from matplotlib.lines import Line2D

    with style.canvas(1, len(epsilons), panel=0.235 * len(order) + 0.75) as (figure, axes):
        figure.set_figwidth(min(style.WIDTH, 3.4 + 2.3 * len(epsilons)))
        for ax, epsilon in zip(axes[0], epsilons, strict=True):
            tuned_too = bool(table.of((epsilon, True)).order)
            for tuned in (False, True) if tuned_too else (False,):
                for arm, d in table.of((epsilon, tuned)).scores.items():
                    if tuned_too and not tuned and _said_by_twin(table, arm, d, low, high):
                        continue
                    y = order.index(_line(arm)) + (0.0 if not tuned_too else -0.12 if tuned else 0.16)
                    full = tuned or not tuned_too
                    outside += _point(ax, arm, d, y, low, high, full)
            for at, word in _marks(table):
                ax.axvline(at, color=style.GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
                ax.annotate(
                    word, (at, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                    ha="right" if at > high - 0.2 else "center", fontsize=6.5, color=style.GREY,
                )  # fmt: skip
            ax.set_xlim(low, high)
            ax.set_ylim(len(order) - 0.4, -0.6)
            ax.set_yticks(range(len(order)), [names[k] for k in order] if ax is axes[0][0] else [""] * len(order))
            ax.tick_params(labelsize=7.5)
            ax.grid(axis="x")
            ax.set_title(f"epsilon = {epsilon}", fontsize=9, pad=14)
        axes[0][len(epsilons) // 2].set_xlabel(_label(table), fontsize=8)
        tuned_any = any(table.of((e, True)).order for e in epsilons)
        if tuned_any:
            kind = {"linestyle": "none", "markersize": 5, "marker": "o", "color": style.GREY}
            hollow = {"markerfacecolor": "white", "label": "default settings, where they differ"}
            handles = [Line2D([], [], label="tuned", **kind), Line2D([], [], **kind, **hollow)]
            figure.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=7.5)
        return style.svg(figure), _beyond(table, outside)


def _said_by_twin(table: Standings, arm: Arm, d: Difference, low: float, high: float) -> bool:
    """Does the tuned column show this default's number too, or is neither of the two on the axis?"""
    for twin, other in table.of((arm.epsilon, True)).scores.items():
        if _line(twin) == _line(arm):
            beyond = all(not low <= x.difference <= high for x in (d, other))
            return beyond or is_default(table, twin) or d.difference == other.difference
    return False


def _label(table: Standings) -> str:
    return f"scaled {METRICS[table.metric].title}" if table.scaled else table.words


def _point(
    ax: Any, arm: Arm, d: Difference, y: float, low: float, high: float, full: bool
) -> list[tuple[Arm, Difference]]:
    """One dot with its interval, or an arrow with the number at the edge; gives what lies beyond it."""
    look = palette.look(arm.method)
    if low <= d.difference <= high:
        if math.isfinite(d.low):
            ends_of = max(d.low, low), min(d.high, high)
            ax.plot(ends_of, [y, y], color=look.colour, linewidth=1.4 if full else 0.8, zorder=2)
        ax.plot(d.difference, y, markersize=4.2, zorder=3, **look.dot(variant=not full))
        return []
    left = d.difference < low
    word, at, by = (f"◂ {number(d.difference)}", low, 3) if left else (f"{number(d.difference)} ▸", high, -3)
    ax.annotate(
        word, (at, y), xytext=(by, 0), textcoords="offset points", va="center", ha="left" if left else "right",
        fontsize=6.5, color=look.colour,
    )  # fmt: skip
    return [(arm, d)]


def _beyond(table: Standings, outside: Sequence[tuple[Arm, Difference]]) -> str:
    """Points that the axis leaves out, in words."""
    by: dict[str, list[str]] = {}
    for arm, d in outside:
        by.setdefault(table.name(arm), []).append(f"{number(d.difference)} at epsilon = {arm.epsilon}")
    return "; ".join(f"{name} ({', '.join(at)})" for name, at in by.items())


def _curves(table: Standings, epsilons: Sequence[str], low: float, high: float) -> tuple[str, str]:
    """Few methods: lines over epsilon, tuned where there is such a column."""
    lines: dict[tuple[str, str], list[tuple[str, Arm, Difference]]] = {}
    for e in epsilons:
        column = (e, True) if table.of((e, True)).order else (e, False)
        for arm, d in table.of(column).scores.items():
            lines.setdefault(_line(arm), []).append((e, arm, d))
    order = sorted(lines, key=lambda k: (palette.place(k[0]), k[1]))
    outside: list[tuple[Arm, Difference]] = []
    with style.canvas(1, 1, panel=3.0) as (figure, axes):
        figure.set_figwidth(7.6)
        ax = axes[0][0]
        for k, key in enumerate(order):
            # beside one another, so that intervals do not hide each other
            shift = 0.05 * (k - (len(order) - 1) / 2)
            look = palette.look(key[0])
            variant = [other[0] for other in order[:k]].count(key[0])
            shown = [(epsilons.index(e) + shift, d, arm) for e, arm, d in lines[key]]
            inside = [(x, d) for x, d, _ in shown if low <= d.difference <= high]
            name = table.name(lines[key][0][1])
            xs, ys = [x for x, _ in inside], [d.difference for _, d in inside]
            ax.plot(xs, ys, markersize=4.5, linewidth=1.1, label=name, **look.line(variant))
            for x, d in inside:
                if math.isfinite(d.low):
                    ax.plot([x, x], [max(d.low, low), min(d.high, high)], color=look.colour, linewidth=1.4)
            for x, d, arm in shown:
                if not low <= d.difference <= high:
                    down = d.difference < low
                    ax.annotate(
                        f"{number(d.difference)} {'◂' if down else '▸'}", (x, low if down else high),
                        xytext=(0, 3 if down else -3), textcoords="offset points", va="bottom" if down else "top",
                        ha="center", fontsize=6.5, color=look.colour, rotation=90,
                    )  # fmt: skip
                    outside.append((arm, d))
        for at, word in _marks(table):
            ax.axhline(at, color=style.GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
            ax.annotate(
                word, (1.0, at), xycoords=("axes fraction", "data"), xytext=(0, 2), textcoords="offset points",
                ha="right", fontsize=6.5, color=style.GREY,
            )  # fmt: skip
        ax.set_xticks(range(len(epsilons)), epsilons)
        ax.set_xlim(-0.4, len(epsilons) - 0.6)
        ax.set_ylim(low, high)
        ax.set_xlabel("epsilon" + (", tuned settings" if table.main[1] else ""), fontsize=8)
        ax.set_ylabel(_label(table), fontsize=8)
        ax.tick_params(labelsize=8)
        names = {table.name(lines[key][0][1]): key[0] for key in order}
        style.legend(figure, style.labels(axes), names, size=7.5, beside=True)
        return style.svg(figure), _beyond(table, outside)
