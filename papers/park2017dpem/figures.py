"""Figure of DP-EM on Life Science."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluation.paired import half_width
from reports import palette, style
from reports.blocks import Figure
from reports.contents import Run
from reports.tables import method_title


def build(run: Run) -> list[Figure]:
    """The figure of this paper's experiment, if it has a score."""
    drawn = life_science(run.figures, run.config, run.scores)
    return [] if drawn is None else [drawn]


def life_science(folder: Path, config: dict[str, Any], scores: pd.DataFrame) -> Figure | None:
    """Test log-likelihood against epsilon for each way of composing DP-EM's releases."""
    name = config["experiment"]
    ok = scores[(scores["status"] == "ok") & (scores["metric"] == "test_log_likelihood")]
    if ok.empty:
        return style.skip(name, "no score")
    series: dict[str, list[tuple[float, np.ndarray]]] = {}
    plain: dict[str, np.ndarray] = {}
    for (method, setting), group in ok.groupby(["method", "setting"], sort=False):
        values = group["value"].astype(float).to_numpy()
        first, *rest = setting.split(";")
        if not first.startswith("epsilon="):
            if method == "em":
                plain[setting] = values
            continue
        label = method_title(method) if method != "dp_em_authors" else ", ".join(rest)
        series.setdefault(label, []).append((float(first.removeprefix("epsilon=")), values))
    # A way of composing is a setting of one method, so it has one look in both panels. The joint release is a method of
    # its own and has that method's look.
    ways = [w for w in dict.fromkeys(k.partition(", ")[2] for k in series) if w]
    joint, plain_em = palette.look("dp_em_corrected"), palette.look("em")
    rows = []
    with style.canvas(1, 2, panel=3.6) as (figure, axes):
        for ax, kind in zip(axes.flat, ("GGG", "LLG"), strict=True):
            shown = {k: v for k, v in series.items() if k.startswith(kind) or "," not in k}
            for k, (series_name, points) in enumerate(shown.items()):
                label = series_name.partition(", ")[2] or series_name
                look = joint.line()
                if label in ways:
                    colour, marker = style.SERIES[ways.index(label) % len(style.SERIES)]
                    look = {"color": colour, "marker": marker}
                points.sort(key=lambda p: p[0])
                x = np.array([e for e, _ in points]) * 1.04 ** (k - len(shown) / 2)
                means = np.array([v.mean() for _, v in points])
                bars = [half_width(v.std(ddof=1), len(v)) if len(v) > 1 else math.nan for _, v in points]
                ax.errorbar(x, means, yerr=np.nan_to_num(bars), markersize=4, linewidth=1.1, elinewidth=0.9,
                            label=label, **look)  # fmt: skip
                rows += [{"panel": kind, "series": label, "epsilon": e, "mean": m, "half_width": b, "n": len(v)}
                         for (e, v), m, b in zip(points, means, bars, strict=True)]  # fmt: skip
            for (setting, values), dashes in zip(plain.items(), ((5, 2), (1, 1), (5, 1, 1, 1)), strict=False):
                label = f"EM, no privacy, {setting or 'with its tolerance'}"
                ax.axhline(values.mean(), color=plain_em.colour, linestyle=(0, dashes), linewidth=1.1, label=label)
                rows.append({"panel": kind, "series": f"em {setting}".strip(), "epsilon": "", "mean": values.mean(),
                             "half_width": "", "n": len(values)})  # fmt: skip
            ax.set_xscale("log")
            ax.set_xticks([0.1, 0.5, 1, 5], ["0.1", "0.5", "1", "5"])
            ax.set_xticks([], minor=True)
            ax.set_xlabel("claimed epsilon (delta = 1e-4)")
            ax.set_ylabel("test log-likelihood (nats per row)")
            ax.set_title({"GGG": "Gaussian noise on all (GGG)", "LLG": "Laplace, Laplace, Gaussian (LLG)"}[kind])
        found = style.labels(axes)
        methods = {k: "em" for k in found if k.startswith("EM, no privacy")}
        style.legend(figure, found, methods | {method_title("dp_em_corrected"): "dp_em_corrected"})
        style.save(figure, folder / name, pd.DataFrame(rows))
    return Figure(
        name,
        "DP-EM on Life Science: ways of composing its releases",
        "Mean over 10 folds; bars: 95 % intervals corrected for folds that share training rows. Only the joint release "
        "has a guarantee at the epsilon shown; the others' noise rests on private counts and on a sensitivity of the "
        "covariance that neighbours exceed.",
    )
