"""Summary and convergence diagnostics of chains of draws, by ArviZ (``arviz_stats``).

R-hat and effective sample sizes are those of rank-normalised, split chains (Vehtari, Gelman, Simpson, Carpenter &
Bürkner 2021, "Rank-normalization, folding, and localization: an improved R-hat for assessing convergence of MCMC").
"""

from __future__ import annotations

from typing import Any

import numpy as np

QUANTILES = {"q5": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
#: the limits of that paper for converged chains.
LARGEST_RHAT, LEAST_ESS_PER_CHAIN = 1.01, 100


def diagnostics(draws: np.ndarray) -> dict[str, np.ndarray]:
    """Diagnostics of draws (chains, samples, D), each of shape (D,).

    ``rhat``, ``ess_bulk``, ``ess_tail`` (the smaller one of the 5 % and 95 % quantiles), and ``mcse``, the Monte Carlo
    standard error of the mean.
    """
    from arviz_stats.base import array_stats

    axes = {"chain_axis": 0, "draw_axis": 1}
    tail = {"method": "tail", "prob": (0.05, 0.95)}
    return {
        "rhat": np.asarray(array_stats.rhat(draws, **axes, method="rank")),
        "ess_bulk": np.asarray(array_stats.ess(draws, **axes, method="bulk")),
        "ess_tail": np.asarray(array_stats.ess(draws, **axes, **tail)),
        "mcse": np.asarray(array_stats.mcse(draws, **axes, method="mean")),
    }


def told_of(draws: np.ndarray) -> dict[str, Any]:
    """The ``summary`` per coordinate and the worst ``diagnostics`` of draws (chains, samples, D), ready for JSON.

    Raises ValueError unless all draws are finite, each coordinate moves, and the chains have converged by
    ``LARGEST_RHAT`` and ``LEAST_ESS_PER_CHAIN``.
    """
    flat = draws.reshape(-1, draws.shape[2]).astype(np.float64)
    usable = np.isfinite(flat).all(axis=0) & (flat.max(axis=0) > flat.min(axis=0))
    if not usable.all():
        at = int(np.argmin(usable))
        raise ValueError(
            f"the draws of coordinate {at} are not finite or never move; correct the sampler and run it again"
        )
    summary = {"mean": flat.mean(axis=0), "sd": flat.std(axis=0, ddof=1)}
    summary |= {word: np.quantile(flat, level, axis=0) for word, level in QUANTILES.items()}
    summary |= diagnostics(draws.astype(np.float64))
    worst = {
        "rhat_max": float(summary["rhat"].max()),
        "ess_bulk_min": float(summary["ess_bulk"].min()),
        "ess_tail_min": float(summary["ess_tail"].min()),
        "draws": len(flat),
    }
    least = LEAST_ESS_PER_CHAIN * len(draws)
    if not (worst["rhat_max"] < LARGEST_RHAT and worst["ess_bulk_min"] >= least and worst["ess_tail_min"] >= least):
        raise ValueError(f"the chains have not converged: {worst}; run longer chains")
    return {"summary": {k: [float(v) for v in of] for k, of in summary.items()}, "diagnostics": worst}
