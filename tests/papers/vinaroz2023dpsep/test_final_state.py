"""The bounds by repeated fits: a hundredth of the committed fits, again with their seeds."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from papers.vinaroz2023dpsep import final_state
from workflow import papers
from workflow.experiments import cells

REFERENCE = Path(final_state.__file__).parent / "reference"


def test_the_first_fits_give_the_committed_counts():
    table = pd.read_csv(REFERENCE / "final_state.csv").set_index(["case", "setting"])
    every = cells(papers.experiments()["dpsep_mixture"], "full")
    chosen = [c for c in every if c.setting in ("epsilon=1", "epsilon=1;not scaled back", "epsilon=5;not scaled back")]
    again = list(final_state.happened(chosen, head=True))
    assert {about["case"] for about, _ in again} == set(final_state.CASES)
    for about, flags in again:
        row = table.loc[(about["case"], about["setting"])]
        assert flags.shape == (2, row["first"])
        assert 100 * row["first"] >= row["fits"]
        assert [*flags.sum(axis=1)] == [row["with_event_first"], row["with_event_neighbour_first"]]
