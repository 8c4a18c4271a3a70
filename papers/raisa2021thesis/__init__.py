"""Räisä (2021), Differentially private MCMC (thesis): 592 box plots of penalty and Hamiltonian chains on seven models.

``boxes.csv`` has the box plots of the figures: MMD, acceptance rate, and share of clipped log-likelihood ratios. They
are read from the vector files to 1e-5, as five numbers and the count of outliers of 20 chains each. ``published.csv``
has the same with the suite's keys and names of methods. Algorithms, settings and random streams are those of the
thesis' repository (oraisa/masters-thesis, MIT).
"""

from pathlib import Path

import yaml

from workflow.papers import Paper, Program

_SETTINGS = yaml.safe_load((Path(__file__).parent / "program.yaml").read_text(encoding="utf-8"))["settings"]

#: names of the score files, MODEL.METHOD, with the long chains last.
SCORES = tuple(f"{model}.{method}" for method, models in _SETTINGS.items() for model in models)

PAPER = Paper(
    key="raisa2021thesis",
    title="Räisä 2021 (thesis)",
    sources={"raisa2021thesis": "Räisä 2021 (thesis)"},
    family=592,
    program=Program(
        __name__,
        scores=SCORES,
        checks=("exact", "starts", "calibration", "rates"),
        # all box plots of one fast model per method
        samples={
            "*-correlated_gauss_2d-dp_penalty-*": 6.0,
            "*-flat_banana_2d-dp_hmc-*": 20.0,
            "*-flat_banana_2d-dp_penalty_ocu_gwmh-*": 6.0,
        },
        measures={"{metric}": "median", "mean of {metric}": "mean", "epsilon": "ledger_epsilon"},
        judged="The numbers are medians of box plots of 20 chains. They are judged by ranks from medians, quartiles "
        "and whiskers",
    ),
)
