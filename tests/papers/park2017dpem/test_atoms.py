"""The bounds on delta by repeated fits: one committed row, again with its seeds."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from papers.park2017dpem import atoms
from workflow import papers
from workflow.experiments import cells

REFERENCE = Path(atoms.__file__).parent / "reference"


def test_the_first_row_is_the_committed_one():
    table = pd.read_csv(REFERENCE / "dpem_atoms.csv")
    found = next(atoms.rows(cells(papers.experiments()["dpem_life_science"], "full"), atoms.FITS))
    for name, value in table.iloc[0].items():
        assert found[name] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value)
