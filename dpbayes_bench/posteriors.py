"""Committed exact posteriors of common tasks and of private releases.

``python -m common_tasks.posteriors`` and the ``stored`` module of a paper compute them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

#: file with the tasks without an exact posterior, and why.
ABSENT = "absent.json"


@dataclass(frozen=True)
class ReferencePosterior:
    """An exact posterior of D parameters.

    That of a common task is given the n training rows of split 0, with inputs scaled to [-1, 1]. That of a private
    release is given nothing but the noisy numbers, in ``info["release"]``.

    Parameters
    ----------
    task : name of the common task or of the release.
    summary : data frame, one row per parameter, which is its index: mean, sd, and the quantiles q5, q25, q50, q75, q95.
        With draws also rhat, ess_bulk and ess_tail (Vehtari et al. 2021) and mcse, the Monte Carlo error of the mean.
    covariance : (D, D).
    draws : (chains, draws per chain, D) of a sampler, single precision; None for a closed form.
    info : ``how`` it was computed, the model and its constants, the scaling (``frame``), n, hashes of the data and the
        settings, diagnostics, versions, and for a closed form its parameters.

    Units of a common task: each input is scaled as u = (x - x_shift) / x_scale and cut to [-1, 1]. ``info["frame"]``
    has the shifts and scales. Weights, the intercept last, are scaled target (of two classes: log-odds) per unit of
    scaled input. ``noise_variance`` is scaled target squared. Units of a release are those of its model,
    ``info["model"]``.
    """

    task: str
    summary: pd.DataFrame
    covariance: np.ndarray
    draws: np.ndarray | None
    info: dict[str, Any] = field(repr=False)

    def sample(self, count: int, seed: int = 0) -> np.ndarray:
        """``count`` draws (count, D): independent draws of a closed form, otherwise stored draws with replacement."""
        rng = np.random.default_rng(seed)
        if self.draws is not None:
            flat = self.draws.reshape(-1, self.draws.shape[2])
            return flat[rng.integers(len(flat), size=count)].astype(np.float64)
        told = self.info["closed_form"]
        variance = told["scale"] / rng.gamma(told["shape"], 1.0, (count, 1))
        root = np.linalg.cholesky(np.array(told["weights_covariance_over_variance"]))
        weights = np.array(told["mean"]) + np.sqrt(variance) * (rng.standard_normal((count, len(root))) @ root.T)
        return np.concatenate([weights, variance], axis=1)

    def to_arviz(self, n: int = 4000, seed: int = 0) -> Any:
        """An ArviZ ``DataTree``, a variable per parameter: the stored chains, or ``n`` draws of a closed form as one.

        Raises ImportError without the extra ``arviz``.
        """
        try:
            from arviz_base import from_dict
        except ImportError:
            raise ImportError("to_arviz needs ArviZ: pip install 'dpbayes-bench[arviz]'") from None
        draws = self.sample(n, seed)[None] if self.draws is None else self.draws
        tree = from_dict({"posterior": {str(p): draws[..., j] for j, p in enumerate(self.summary.index)}})
        tree["posterior"].attrs.update(task=self.task, how=self.info["how"])
        return tree


def names(folder: Path) -> list[str]:
    """Tasks with a committed posterior, sorted."""
    return sorted(p.stem for p in folder.glob("*.json") if p.name != ABSENT)


def read(folder: Path, task: str) -> ReferencePosterior:
    """The posterior of a task in the folder of committed ones.

    Raises LookupError with the reason if there is none, and ValueError for a number that is not finite or an sd of 0.
    """
    if task not in names(folder):
        absent = json.loads((folder / ABSENT).read_text(encoding="utf-8"))
        why = absent.get(task, "none is committed; run `python -m common_tasks.posteriors`")
        raise LookupError(f"{task}: no exact posterior: {why}")
    path, stored = folder / f"{task}.json", folder / f"{task}.npz"
    info = json.loads(path.read_text(encoding="utf-8"))
    summary = pd.DataFrame(info.pop("summary"), index=info.pop("parameters"))
    for column in summary:
        _check(path, column, summary[column], above=0.0 if column == "sd" else -np.inf)
    if not stored.is_file():
        covariance = np.array(info.pop("covariance"))
        for key, values in {"covariance": covariance, **info["closed_form"]}.items():
            _check(path, key, values)
        return ReferencePosterior(task, summary, covariance, None, info)
    with np.load(stored) as arrays:
        draws = arrays["draws"]
    _check(stored, "draws", draws)
    flat = draws.reshape(-1, draws.shape[2]).astype(np.float64)
    return ReferencePosterior(task, summary, np.cov(flat, rowvar=False), draws, info)


def _check(path: Path, key: str, values: Any, above: float = -np.inf) -> None:
    """Raise ValueError unless all ``values`` are finite numbers above ``above``."""
    values = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(values) & (values > above)).all():
        size = "" if np.isneginf(above) else f" above {above:g}"
        raise ValueError(
            f"{path}: '{key}' must hold finite numbers{size}; check the file out again, or compute it anew"
        )
