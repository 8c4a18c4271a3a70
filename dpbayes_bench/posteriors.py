"""Exact posteriors of the common tasks, as ``python -m common_tasks.posteriors`` computed and committed them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

#: tasks without an exact posterior -> why.
ABSENT = "absent.json"


@dataclass(frozen=True)
class ReferencePosterior:
    """The posterior of D parameters given the n training rows of split 0, scaled to the unit box.

    Parameters
    ----------
    task : name of the common task.
    summary : data frame, one row a parameter (index: its name): mean, sd, and the quantiles q5, q25, q50, q75, q95;
        for draws also rhat, ess_bulk and ess_tail (Vehtari et al. 2021).
    covariance : (D, D).
    draws : (chains, draws a chain, D) of a sampler, single precision; None for a closed form.
    info : how it was computed (``how``), model and its constants, frame that maps original units to the box, n,
        data_hash (of the parsed table), rows_hash (of the training rows), hash (of the data, the model and all
        settings), diagnostics, versions, and for a closed form its parameters.

    Units: rows are in the box: u = (x - x_shift) / x_scale for each input, cut to [-1, 1], with the shifts and scales
    of ``info["frame"]``; weights, the intercept last, are target (of two classes: log-odds) in the box per unit of the
    box, ``noise_variance`` is target in the box squared.
    """

    task: str
    summary: pd.DataFrame
    covariance: np.ndarray
    draws: np.ndarray | None
    info: dict[str, Any] = field(repr=False)

    def sample(self, count: int, seed: int = 0) -> np.ndarray:
        """``count`` draws, (count, D): independent ones of a closed form, else stored ones, with replacement."""
        rng = np.random.default_rng(seed)
        if self.draws is not None:
            flat = self.draws.reshape(-1, self.draws.shape[2])
            return flat[rng.integers(len(flat), size=count)].astype(np.float64)
        told = self.info["closed_form"]
        variance = told["scale"] / rng.gamma(told["shape"], 1.0, (count, 1))
        root = np.linalg.cholesky(np.array(told["weights_covariance_over_variance"]))
        weights = np.array(told["mean"]) + np.sqrt(variance) * (rng.standard_normal((count, len(root))) @ root.T)
        return np.concatenate([weights, variance], axis=1)


def names(folder: Path) -> list[str]:
    """Tasks with a committed posterior, sorted."""
    return sorted(p.stem for p in folder.glob("*.json") if p.name != ABSENT)


def read(folder: Path, task: str) -> ReferencePosterior:
    """Of the folder of committed posteriors. Raises LookupError where a task has none; the message says why."""
    if task not in names(folder):
        absent = json.loads((folder / ABSENT).read_text(encoding="utf-8"))
        why = absent.get(task, "none is committed; run `python -m common_tasks.posteriors`")
        raise LookupError(f"{task}: no exact posterior: {why}")
    info = json.loads((folder / f"{task}.json").read_text(encoding="utf-8"))
    summary = pd.DataFrame(info.pop("summary"), index=info.pop("parameters"))
    stored = folder / f"{task}.npz"
    if not stored.is_file():
        return ReferencePosterior(task, summary, np.array(info.pop("covariance")), None, info)
    with np.load(stored) as arrays:
        draws = arrays["draws"]
    flat = draws.reshape(-1, draws.shape[2]).astype(np.float64)
    return ReferencePosterior(task, summary, np.cov(flat, rowvar=False), draws, info)
