"""The table from its seed: equal to the published rows up to the last bits, which move no score."""

import numpy as np
import pytest

from datasets.base import Table
from datasets.honkela2018 import COLUMNS
from papers.honkela2018robust import data


@pytest.fixture(scope="session")
def table():
    rng = np.random.RandomState(42)
    x, b = rng.normal(0, 1, (1000, 10)), rng.normal(0, 1, 10)
    return Table(x, rng.normal(x @ b, 1), COLUMNS)


@pytest.fixture(scope="session")
def fold(table):
    """The first fold."""
    return data.fold(table, 0)
