"""The style of all figures: sizes, legends and colours. Figures are saved as SVG with their data as CSV.

Methods get colour, marker, line style and order from ``reports.palette``. Readings, settings and budgets have the
colours of Okabe and Ito (2008, "Color Universal Design") and a marker each.
"""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from datasets.files import sheet_text, write_text
from reports import palette

log = logging.getLogger(__name__)

BLACK, GREY, LIGHT = "#1a1a1a", "#6e6e6e", "#d9d9d9"
BLUE, ORANGE, GREEN, PURPLE, SKY, RED = "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"
#: reading -> (colour, marker).
READING = {"printed": (BLUE, "o"), "authors": (RED, "s"), "corrected": (GREEN, "D")}
PUBLISHED = BLACK
SERIES = ((BLUE, "o"), (RED, "s"), (GREEN, "D"), (PURPLE, "^"), (ORANGE, "v"), (SKY, "P"))
#: width of a page without its margins, and height of a panel, in inches.
WIDTH, PANEL = 9.6, 2.7

_RC = {
    "font.size": 9,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters everywhere
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#ececec",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "dpbayes-bench",
}


@contextmanager
def canvas(rows: int, columns: int, panel: float = PANEL) -> Iterator[tuple[Any, Any]]:
    """A context manager for (figure, 2-d array of axes) in this style, without a screen.

    ``panel`` is the height of a panel in inches.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_RC):
        # Not a figure of pyplot, so that no global state remains.
        figure = Figure(
            figsize=(min(WIDTH, 3.4 * columns + (2.2 if columns == 1 else 0.6)), panel * rows + 0.7),
            layout="constrained",
        )
        FigureCanvasAgg(figure)
        yield figure, figure.subplots(rows, columns, squeeze=False)


@contextmanager
def panels(count: int, columns: int = 3, panel: float = PANEL) -> Iterator[tuple[Any, Any]]:
    """A :func:`canvas` of ``count`` panels in rows of ``columns``, or of fewer if there are not so many."""
    columns = min(columns, count)
    with canvas(math.ceil(count / columns), columns, panel) as (figure, axes):
        for ax in axes.flat[count:]:
            ax.set_visible(False)
        yield figure, axes


def skip(name: str, why: str) -> None:
    """Say why a figure is left out. Returns None, which takes its place."""
    log.info("figure %s is left out: %s", name, why)


def labels(axes: Any) -> dict[str, Any]:
    """Label -> its handle, of all panels, each label once."""
    return {t: h for ax in axes.flat for h, t in zip(*ax.get_legend_handles_labels(), strict=True)}


def legend(
    figure: Any,
    found: Mapping[str, Any],
    methods: Mapping[str, str] | None = None,
    size: float = 8,
) -> None:
    """Draw one legend below all panels, in as many columns as fit into the width.

    ``found`` maps a label to its handle. ``methods`` maps labels of methods to the method. These labels come first, in
    the order of ``reports.palette``, and the file records them.
    """
    order = in_order(found, methods or {})
    if not order:
        return
    figure.set_label(" | ".join(f"{methods[k]}: {k}" for k in order if k in (methods or {})))
    widest = 0.5 + 0.0082 * size * max(map(len, order))  # inches at this size of letters
    columns = min(max(1, int(figure.get_figwidth() / widest)), len(order))
    figure.legend([found[k] for k in order], order, loc="outside lower center", ncols=columns, fontsize=size)


def in_order(found: Iterable[str], methods: Mapping[str, str]) -> list[str]:
    """The labels, those of methods first and in the order of ``reports.palette``."""
    known = sorted((k for k in found if k in methods), key=lambda k: palette.place(methods[k])[:2])
    return [*known, *(k for k in found if k not in methods)]


def save(figure: Any, stem: Path, data: pd.DataFrame) -> None:
    """Write ``<stem>.svg`` and ``<stem>.csv`` atomically. There is no date in them: same data, same files."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    write_text(stem.with_suffix(".csv"), sheet_text(data))
    write_text(stem.with_suffix(".svg"), svg(figure))


def svg(figure: Any) -> str:
    """The figure as SVG without a date, on white. Its keywords are "method: label", as in :func:`legend`."""
    out = io.StringIO()
    words = [k for k in figure.get_label().split(" | ") if k]
    figure.savefig(out, format="svg", metadata={"Date": None, "Keywords": words}, facecolor="white")
    return out.getvalue()
