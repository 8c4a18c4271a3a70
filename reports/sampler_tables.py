"""Tables of the distance of released draws of logistic posteriors from exact ones (``evaluation.sampler_distance``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reports.blocks import Block, Table, entry
from reports.tables import SCALE_BANNERS, dataset_title, method_title


def stacked(extra: Path, names: Sequence[str]) -> pd.DataFrame | None:
    parts = [pd.read_csv(extra / n, keep_default_na=False) for n in names if (extra / n).is_file()]
    parts = [p for p in parts if len(p)]
    return pd.concat(parts, ignore_index=True) if parts else None


def _distances(extra: Path | None, names: Sequence[str]) -> pd.DataFrame | None:
    """The measured distances, from the files that a config names."""
    return None if extra is None else stacked(extra, [n for n in names if re.match("sampler_(separable|common)", n)])


def distance_note(extra: Path | None, names: Sequence[str]) -> tuple[str, ...]:
    """A note for a table of epsilons: the distance of draws from exact ones. () if there are no files.

    ``names``: names of the further tables of the config.
    """
    long = _distances(extra, names)
    if long is None:
        return ()
    worst = long.loc[long["tv_high"].astype(float).idxmax()]
    return (
        "The epsilon of a posterior sample from a logistic regression is that of an exact sample. We measured the "
        f"total variation between samples and exact ones on {len(long)} posteriors. It is at least "
        f"{_few(long['tv_low'].min())} to {_few(long['tv_low'].max())} and at most {_few(long['tv_high'].min())} to "
        f"{_few(long['tv_high'].max())}. The largest is that of {method_title(worst['method'])}, {worst['setting']}, "
        f"{worst['n']} rows. A total variation t adds (1 + e^epsilon) t to delta, and leaves no bound if that is above "
        "1. With the largest measured t, the addition stays below 1e-5 on "
        f"{int((long['delta_added_high'] < 1e-5).sum())} of them (table sampler_distance_{long['task'].iloc[0]}).",
    )


def _few(v: float) -> str:
    return "0" if v == 0 else f"{v:.2g}"


def distance_table(extra: Path, names: Sequence[str], scale: str) -> tuple[Table, pd.DataFrame] | None:
    """The distance of released draws from exact ones, and what it adds to delta. None if there is no such file."""
    long = _distances(extra, names)
    if long is None:
        return None
    task, blocks = str(long["task"].iloc[0]), []
    for (dataset, level), here in long.groupby(["dataset", "level"], sort=False):
        rows = []
        for r in here.to_dict("records"):
            cells = [f"{r['epsilon']:.4g} at {r['delta']:g}"]
            cells += [f"{r[k]:.2%} ({r[f'{k}_low']:.2%} to {r[f'{k}_high']:.2%})" for k in ("below", "above")]
            cells += [" to ".join(_few(r[f"{k}_{end}"]) for end in ("low", "high")) for k in _INTERVALS]
            if task == "separable":
                cells += [_pair(r, "delta", ".1e"), _pair(r, "epsilon", ".4g")]
            else:
                cells += [f"{r['reference']}, worth {float(r['reference_size']):.0f} draws"]
            name = f"{method_title(r['method'])} [{r['setting']}], {r['n']} rows, precision {r['precision']:.3g}"
            rows.append((name, [entry(c) for c in cells]))
        heads = ["epsilon of an exact draw, at delta", f"draws below the exact {level:g} quantile"]
        heads += [f"above the {1 - level:g} quantile", "Kolmogorov distance", "total variation", "added to delta"]
        heads += _LAST[task]
        title = dataset_title(dataset) if dataset else "Separable rows, one weight"
        blocks.append(Block(f"{title} ({int(here['draws'].iloc[0])} draws)", "Posterior", heads, rows))
    notes = (
        "The guarantees are for exact samples, and the end of a Markov chain is released. Intervals are 95 %. The "
        "addition to delta is (1 + e^epsilon) t for the total variation t of this posterior. At 1 no bound is left. A "
        "guarantee would need the largest t over all data sets, which nobody has measured.",
        _HOW[task],
    )
    title = "How far are the released draws from exact ones?"
    table = Table(f"sampler_distance_{task}", title, SCALE_BANNERS[scale], blocks, notes)
    return table, long.assign(scale=scale)


_INTERVALS = ("kolmogorov", "tv", "delta_added")
_LAST = {
    "separable": ["delta at that epsilon: exact, drawn", "epsilon at that delta: exact, drawn"],
    "common": ["reference"],
}
_HOW = {
    "separable": (
        "All rows and classes are equal, so one side of the posterior is a wall. Its distribution is known by "
        "quadrature. If the integration can follow the draws, their distribution is known too, and total variation is "
        "that number with its error. Otherwise it lies between the draws' Kolmogorov distance and the distance of the "
        "run's start. The last two columns are what a flipped label can show at most of exact draws and of ours."
    ),
    "common": (
        "Draws are compared along the log ratio of the run's start (the Laplace approximation) to the posterior, which "
        "separates the two best. Total variation lies between the Kolmogorov distance along it and that of the start."
    ),
}


def _pair(r: Mapping[str, Any], name: str, form: str) -> str:
    return ", ".join(
        format(float(r[f"{name}_{k}"]), form) if r[f"{name}_{k}"] != "" else "-" for k in ("exact", "drawn")
    )
