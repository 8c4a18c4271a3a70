"""Shared parts of the figures of NA-DPVI: dots with intervals, axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from reports import style
from reports.palette import Look

#: claimed epsilon that fits the main numbers of Table 1, which prints none (see the finding).
HEADLINE = "0.1"
DASHED = (0, (4, 2))
#: (dataset, our method, our setting) -> published number and its spread.
Printed = dict[tuple[str, str, str], tuple[float, float]]


def dot(ax: Any, y: float, r: dict[str, Any], look: Look, variant: int = 0) -> None:
    """One error with its interval at height ``y``, in front of the range of a calibrated posterior."""
    ax.fill_betweenx([y - 0.42, y + 0.42], 1e-6, r["floor_upper"], color=style.LIGHT, linewidth=0, zorder=1)
    ax.plot([r["floor"]] * 2, [y - 0.42, y + 0.42], color=style.GREY, linewidth=0.8, zorder=1.2)
    ax.plot([max(r["low"], 1e-6), r["high"]], [y, y], color=look.colour, linewidth=1.4, zorder=3)
    ax.plot([r["rmse"]], [y], markersize=5, zorder=5, **look.dot(variant))


def cross(ax: Any, y: float, value: float, spread: float) -> None:
    """The published number with its spread, a little below height ``y``. Nothing is drawn if there is none."""
    if math.isfinite(value):
        ax.errorbar(value, y + 0.28, xerr=spread, color=style.PUBLISHED, marker="x", markersize=4.5, elinewidth=0.8,
                    linestyle="none", zorder=4)  # fmt: skip


def dot_handles() -> dict[str, Any]:
    """Label -> legend handle of the marks of :func:`dot` and :func:`cross`."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return {
        "ours, 95 % over data sets": Line2D([], [], color=style.GREY, marker="o", linewidth=1.4),
        "published ± sd over redraws": Line2D([], [], color=style.PUBLISHED, marker="x", linewidth=0.8),
        "right posterior (95 %)": Patch(color=style.LIGHT),
    }


def error_axis(ax: Any) -> None:
    """A logarithmic x axis of coverage errors."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.get_major_locator().set_params(subs=(1, 2, 5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="x")
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="x", labelsize=7.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("RMSE of the coverage (share)", fontsize=8)


def same_x(axes: Sequence[Any]) -> None:
    """One x axis for all panels, chosen from dots and calibrated posteriors. Intervals that reach 0 are cut."""
    lines = [line.get_xdata() for ax in axes for line in ax.lines]
    points = np.concatenate([x for x in lines if len(x) == 1 or x[0] == x[1] != 0])
    for ax in axes:
        ax.set_xlim(0.4 * points.min(), min(1.0, 1.3 * points.max()))


def same_limits(axes: Sequence[Any]) -> None:
    """One y axis for all panels."""
    low, high = min(ax.get_ylim()[0] for ax in axes), max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(low, high)
