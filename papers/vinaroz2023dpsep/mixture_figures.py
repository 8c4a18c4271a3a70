"""Figures of the mixture of Gaussians: clusters, errors over data sets, and theorem 4.1.

Each is drawn from the available fits, scores and tables, and left out if they hold no data for it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

from evaluation.metrics import METRICS
from evaluation.mixture import greedy_match
from evaluation.summary import values_by
from reports import palette, published, style
from reports.blocks import Figure
from reports.published import SOURCE_TITLES
from reports.tables import row_title
from reports.verdicts import answers_of, ours_of

#: data seed of the paper's figure: replicate 59 of the released distribution
#: (``datasets.mixture_of_gaussians_released``).
SEED = 60
RELEASED = "mixture_of_gaussians_released"
#: radius of the 98 % contour of a Gaussian in the plane, in standard deviations.
RADIUS = math.sqrt(chi2.ppf(0.98, 2))
#: panels of figure 1: (heading, method, setting); None: the exact posterior given the labels.
FIRST = (
    ("truth, exact posterior", None, ""),
    ("EP", "ep", ""),
    ("SEP", "sep", ""),
)
PRIVATE = tuple((f"DP-SEP, epsilon = {e}", "dp_sep_authors", f"epsilon={e}") for e in (1, 5, 50))
PANELS = {
    "vinaroz2021dpsep": (*FIRST, *PRIVATE),
    "vinaroz2023dpsep": (
        *FIRST,
        *((f"SEP clipped, C = {c}", "clipped_sep_authors", f"clip={c}") for c in (1, 10, 20)),
        *PRIVATE,
        *((f"DP-EM, epsilon = {e}, as compared", "dp_em_authors", f"epsilon={e};not scaled back") for e in (1, 5, 50)),
        *((f"DP-EM, epsilon = {e}, scaled back", "dp_em_authors", f"epsilon={e}") for e in (1, 5, 50)),
        *((f"DP-SEP corrected, epsilon = {e}", "dp_sep_corrected", f"epsilon={e}") for e in (1, 5, 50)),
    ),
}
_COLOURS = (style.RED, style.ORANGE, style.GREEN, style.SKY)


def build(
    folder: Path,
    config: dict[str, Any],
    verdicts: pd.DataFrame,
    scores: pd.DataFrame,
    fits: Path,
    data: Path,
    extra: Path | None,
) -> list[Figure]:
    """Draw every figure for which this experiment has data, into ``folder``."""
    drawn = []
    for source in config["sources"]:
        if source in PANELS:
            drawn.append(clusters(folder, source, scores, fits, data))
    drawn.append(errors(folder, config, verdicts, scores))
    if extra is not None and "kl_bound.csv" in config.get("extra", []):
        drawn.append(theorem(folder, extra / "kl_bound.csv"))
    return [f for f in drawn if f is not None]


# ---------------------------------------------------------------------------------------------------- clusters


def clusters(folder: Path, source: str, scores: pd.DataFrame, fits: Path, data: Path) -> Figure | None:
    """Figure 1: test rows of the paper's data set in two coordinates, and posterior means with their 98 % ellipses."""
    name = f"{source}_figure1"
    table = Path(data) / f"{RELEASED}.npz"
    posteriors = _posteriors(scores, fits)
    panels = [p for p in PANELS[source] if p[1] is None or p[1:] in posteriors]
    if len(panels) < 2 or not table.is_file():
        return style.skip(name, f"no fit of data seed {SEED} on {RELEASED}")
    import datasets
    from datasets.protocols.replicates import split
    from models.mixture_of_gaussians import MixtureOfGaussians, posterior_given_labels

    loaded = datasets.load(table)
    train, _ = split(RELEASED, "replicates", len(loaded.y), SEED - 1)
    x, labels = loaded.x[train], loaded.y[train].astype(int)
    noise = float(next(iter(posteriors.values()))["noise_sd"]) if posteriors else 0.5
    truth = posterior_given_labels(MixtureOfGaussians(int(labels.max()) + 1, noise), x, labels)
    rows: list[dict[str, Any]] = []
    with style.panels(len(panels), panel=2.3) as (figure, axes):
        limits = np.quantile(x[:, :2], [0.0, 1.0], axis=0) + np.array([[-1.0], [1.0]])
        for ax, (heading, method, setting) in zip(axes.flat, panels, strict=False):
            if method is None:
                means, covariances, colour = truth.means, truth.covariances, labels
            else:
                means, covariances, colour = _panel(posteriors[method, setting], x, truth.means)
            for j in range(len(means)):
                mine = x[colour == j]
                ax.scatter(mine[:, 0], mine[:, 1], s=3, color=_COLOURS[j % 4], alpha=0.45, linewidths=0)
            outside = 0
            for j, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
                ring = ellipse(mean[:2], covariance[:2, :2])
                ax.plot(*ring.T, color=style.BLACK, linewidth=1.3)
                ax.plot(*mean[:2], marker="+", color=style.BLACK, markersize=5)
                outside += int(((mean[:2] < limits[0]) | (mean[:2] > limits[1])).any())
                rows.append({"panel": heading, "component": j, "mean_x1": mean[0], "mean_x2": mean[1],
                             "var_x1": covariance[0, 0], "cov_x1_x2": covariance[0, 1],
                             "var_x2": covariance[1, 1]})  # fmt: skip
            ax.set_title(heading + (f" ({outside} mean{'s' if outside > 1 else ''} outside)" if outside else ""),
                         fontsize=8.5)  # fmt: skip
            ax.set_xlim(limits[0, 0], limits[1, 0])
            ax.set_ylim(limits[0, 1], limits[1, 1])
            ax.set_xlabel("x1 (data units)", fontsize=7.5)
            ax.set_ylabel("x2 (data units)", fontsize=7.5)
            ax.grid(False)
        style.save(figure, folder / name, pd.DataFrame(rows))
    return Figure(
        name,
        f"{SOURCE_TITLES[source]}, figure 1: clusters and posterior means",
        f"Data seed {SEED}, the rows the methods were fitted to, first two coordinates. Crosses and black rings: "
        "posterior mean of each component and its 98 % ellipse (marginal; the paper draws the conditional one). "
        "Colours: true labels in the first panel, most probable component in the others, matched to the true ones. For "
        "DP-EM the ring is that of a cluster's covariance, which the paper compares with the posterior covariance of a "
        "mean.",
    )


def _posteriors(scores: pd.DataFrame, fits: Path) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Stored parameters of the fits of data seed SEED on the released distribution, by (method, setting)."""
    mine = scores[(scores["dataset"] == RELEASED) & (scores["split"] == str(SEED - 1)) & (scores["status"] == "ok")]
    found = {}
    for (cell, method, setting), _ in mine.groupby(["cell", "method", "setting"], sort=False):
        path = Path(fits) / f"{cell}.npz"
        if not path.is_file():
            continue
        prefix = f"{SEED - 1}/"
        with np.load(path) as store:
            values = {n[len(prefix) :]: store[n] for n in store.files if n.startswith(prefix)}
        if "means" in values:
            found[method, setting] = values
    return found


def _panel(p: dict[str, np.ndarray], x: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and covariances in the order of the true components, and the most probable component of each row."""
    from models import posteriors

    kind = "mixture_means" if "noise_sd" in p else "mixture_parameters"
    order = greedy_match(truth, p["means"])  # the authors' matching, as in its figure
    place = np.argsort(order)
    chosen = posteriors.load(kind, p).responsibilities(x).argmax(axis=1)
    return p["means"][order], p["covariances"][order], place[chosen]


def ellipse(mean: np.ndarray, covariance: np.ndarray, points: int = 100) -> np.ndarray:
    """Points (points, 2) of the 98 % contour of N(mean, covariance) in the plane."""
    angle = np.linspace(0, 2 * np.pi, points)
    values, vectors = np.linalg.eigh(covariance)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return mean + RADIUS * circle * np.sqrt(np.maximum(values, 0.0)) @ vectors.T


# ---------------------------------------------------------------------------------- errors over the data sets


def errors(folder: Path, config: dict[str, Any], verdicts: pd.DataFrame, scores: pd.DataFrame) -> Figure | None:
    """Errors of table 1 over data sets: one box plot per method and reading, with the published number."""
    name = "dpsep_mixture_errors"
    rows = verdicts[(verdicts["source"] == "vinaroz2023dpsep") & (verdicts["table"] == "1")]
    rows = rows[np.isfinite(rows["mean"].astype(float))] if len(rows) else rows
    if rows.empty:
        return None
    runs, numbers = values_by(scores, "cell", "metric"), published.load()
    metrics = ["fnorm_mean", "fnorm_covariance"]
    columns = list(dict.fromkeys(zip(rows["method"], rows["setting"], strict=True)))
    columns.sort(key=lambda c: palette.place(c[0])[:2])
    data: list[dict[str, Any]] = []
    with style.canvas(2, 1, panel=3.3) as (figure, axes):
        figure.set_figwidth(style.WIDTH)
        for ax, metric in zip(axes.flat, metrics, strict=True):
            for k, (method, setting) in enumerate(columns):
                part = rows[(rows["method"] == method) & (rows["setting"] == setting) & (rows["metric"] == metric)]
                for r in part.to_dict("records"):
                    answer = next(a for a in answers_of(config, r | {"same_as": ""}, numbers)
                                  if a["reading"] == r["reading"] and a["headline"])  # fmt: skip
                    values = np.array([*runs[r["cell"], ours_of(r, answer)[1]].values()])
                    colour, _ = style.READING[r["reading"]]
                    at = k + (list(style.READING).index(r["reading"]) - 1) * 0.26
                    low, q1, q2, q3, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
                    ax.plot([at, at], [low, high], color=colour, linewidth=0.9)
                    ax.plot([at, at], [q1, q3], color=colour, linewidth=5, solid_capstyle="butt", alpha=0.55)
                    ax.plot([at - 0.09, at + 0.09], [q2, q2], color=colour, linewidth=1.8)
                    data.append({"method": method, "setting": setting, "metric": metric, "reading": r["reading"],
                                 "n": len(values), "q05": low, "q25": q1, "median": q2, "q75": q3, "q95": high,
                                 "published": r["published_mean"]})  # fmt: skip
                if len(part):
                    value = float(part["published_mean"].iloc[0])
                    ax.plot([k - 0.42, k + 0.42], [value, value], color=style.PUBLISHED, linewidth=1.5, zorder=5)
            ax.set_yscale("log")
            ax.set_ylabel(METRICS[metric].heading, fontsize=8)
            ax.set_xticks(range(len(columns)), [row_title(*c) for c in columns], rotation=25, ha="right", fontsize=8)
        from matplotlib.lines import Line2D

        marks = [Line2D([], [], color=style.PUBLISHED, linewidth=1.5, label="published")]
        marks += [Line2D([], [], color=c, linewidth=5, alpha=0.55, label=f"ours, {r}")
                  for r, (c, _) in style.READING.items() if r in {d["reading"] for d in data}]  # fmt: skip
        style.legend(figure, {m.get_label(): m for m in marks}, size=9)
        style.save(figure, folder / name, pd.DataFrame(data))
    return Figure(
        name,
        "Table 1 of DP-SEP over many data sets",
        "Bars: from the 25 % to the 75 % quantile over independent data sets, whiskers 5 % to 95 %, tick the median. "
        "Printed and corrected: Euclidean distance on the printed distribution. Authors: the mean of squared distances "
        "of their code, on its own distribution. The published number is a mean of five runs.",
    )


# ------------------------------------------------------------------------------------------------- theorem 4.1


def theorem(folder: Path, path: Path) -> Figure | None:
    """Expected KL divergence, the printed bound and the corrected one against the number of rows."""
    name = "kl_bound"
    if not path.is_file():
        return style.skip(name, f"no {path.name}")
    table = pd.read_csv(path)
    rows = []
    lines = (
        ("expected_kl", "lambda_min", "E KL, rho = lambda_min", style.BLUE, "o", "-"),
        ("expected_kl", "small", "E KL, rho = 0.01 (definition 4.2)", style.RED, "s", "-"),
        ("expected_kl_floor", "lambda_min", "E KL, floor of the authors' code", style.GREEN, "D", "-"),
        ("bound_2023_least", "lambda_min", "bound 2023, rho = lambda_min", style.BLUE, "", (0, (4, 2))),
        ("bound_2023_least", "small", "bound 2023, rho = 0.01", style.RED, "", (0, (4, 2))),
        ("corrected_bound", "lambda_min", "corrected bound, no shift", style.BLACK, "", (0, (1, 1.2))),
        ("corrected_shift_bound", "lambda_min", "corrected bound, rho = lambda_min", style.PURPLE, "", (0, (1, 1.2))),
    )
    dimensions = sorted(table["d"].unique())
    growths = {"fixed": "precision fixed", "rows": "precision ~ N"}
    with style.canvas(len(growths), len(dimensions), panel=2.5) as (figure, axes):
        for i, (growth, words) in enumerate(growths.items()):
            for ax, d in zip(axes[i], dimensions, strict=True):
                here = table[(table["d"] == d) & (table["growth"] == growth) & (table["sigma"] == 1)]
                for column, reading, label, colour, marker, dashes in lines:
                    part = here[here["rho_reading"] == reading].sort_values("n")
                    values = part[column].where(part[column] > 0)
                    ax.plot(part["n"], values, color=colour, marker=marker or None, markersize=3, linewidth=1.1,
                            linestyle=dashes, label=label)  # fmt: skip
                    rows += [{"growth": growth, "d": d, "line": label, "n": n, "value": v}
                             for n, v in zip(part["n"], values, strict=True)]  # fmt: skip
                ax.set_xscale("log")
                ax.set_yscale("log")
                ax.set_title(f"d = {d}, {words}", fontsize=8.5)
                ax.set_xlabel("N (rows)", fontsize=8)
                ax.set_ylabel("KL divergence (nats)", fontsize=8)
        style.legend(figure, style.labels(axes))
        style.save(figure, folder / name, pd.DataFrame(rows))
    return Figure(
        name,
        "Theorem 4.1 of DP-SEP (2023): bound and truth",
        "sigma = 1, C = 1, noise 2 C sigma / N on both natural parameters. Solid: Monte Carlo of the expected KL "
        "divergence. Dashed: the printed bound at the smallest M with a positive probability (nothing is drawn where "
        "its h is not positive and the bound means nothing). Dotted: bounds that are proved (kl_bound.py).",
    )
