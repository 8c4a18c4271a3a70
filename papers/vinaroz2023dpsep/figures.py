"""Figures of this paper: networks on UCI data, and the mixture of Gaussians with theorem 4.1."""

from __future__ import annotations

from papers.vinaroz2023dpsep import mixture_figures, uci_figures
from reports.blocks import Figure
from reports.contents import Run


def build(run: Run) -> list[Figure]:
    """Draw every figure for which an experiment has data."""
    if run.config["model"]["kind"] == "mixture_of_gaussians":
        return mixture_figures.build(run.figures, run.config, run.verdicts, run.scores, run.fits, run.data, run.extra)
    return uci_figures.build(run.figures, run.config, run.verdicts, run.scores, run.every)
