"""Figures: bias of tau against the exact posterior, and runs of DP-DA-MCMC against their own exact posteriors."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reports import style
from reports.blocks import Figure

PRIORS = ("conjugate", "heavy")


def bias(frame: pd.DataFrame, stem: Path) -> Figure:
    with style.canvas(1, 2, panel=2.8) as (figure, axes):
        for ax, prior in zip(axes[0], PRIORS, strict=True):
            own = frame[frame["prior"] == prior]
            for (epsilon, g), (colour, mark) in zip(own.groupby("epsilon", sort=True), style.SERIES, strict=False):
                ax.plot(g["n"], g["tau_bias"], f"{mark}-", color=colour, ms=4, lw=1, label=f"epsilon = {epsilon:g}")
            ax.axhline(0, color=style.GREY, ls=":", lw=1)
            ax.set(xlabel="rows", title=f"{prior} prior")
        axes[0, 0].set_ylabel("bias of tau (sd of the exact posterior)")
        style.legend(figure, style.labels(axes))
        style.save(figure, stem, frame[["prior", "epsilon", "n", "tau_bias"]])
    return Figure(
        stem.name,
        "Bias of the published means of tau by the particle filter",
        "Mean over the published runs less the exact posterior mean, in standard deviations of the exact posterior. "
        "The four epsilons of one number of rows share data and noise.",
    )


def build(reference: Path, out: Path) -> list[Figure]:
    """All figures under ``out``, from the tables of ``reference``."""
    return [bias(pd.read_csv(reference / "bias.csv"), out / "chen2025dppf_bias")]
