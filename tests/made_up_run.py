"""A run of one experiment, as the report hands it to a paper."""

from pathlib import Path

import pandas as pd

from reports.contents import Run

NOWHERE = Path("nowhere")


def run_of(folder, config, scores, verdicts=None, extra=None, fits=NOWHERE, data=NOWHERE, scale="full") -> Run:
    """Figures go to ``folder``; without ``verdicts`` nothing is published."""
    verdicts = pd.DataFrame() if verdicts is None else verdicts
    return Run(config, scores, verdicts, scores, scale, fits, data, Path(folder), extra)
