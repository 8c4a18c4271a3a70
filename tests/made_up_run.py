"""Made up: a run of one experiment, as the report hands it to a paper, and a table that is called wine."""

from pathlib import Path

import numpy as np
import pandas as pd

import datasets
from datasets import store
from reports.contents import Run

NOWHERE = Path("nowhere")


def run_of(folder, config, scores, verdicts=None, extra=None, fits=NOWHERE, data=NOWHERE, scale="full") -> Run:
    """Figures go to ``folder``; without ``verdicts`` nothing is published."""
    verdicts = pd.DataFrame() if verdicts is None else verdicts
    return Run(config, scores, verdicts, scores, scale, fits, data, Path(folder), extra)


def store_wine(path: Path) -> None:
    """60 rows of 11 columns, the target near the first, stored as the data set wine."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 11))
    table = datasets.Table(x, x[:, 0] + 0.1 * rng.normal(size=60), tuple(f"x{j}" for j in range(11)))
    store.save(path, datasets.get("wine"), table)
