"""The argument of a scorer (``evaluation.scorers``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One fit of one split, and the rows that it is scored on.

    Parameters
    ----------
    posterior : rebuilt from its stored parameters (``models.posteriors``); None if ``drawn`` takes its place.
    model : the probabilistic model.
    data : the data set, ``x`` (n, d) and ``y`` (n,) of all rows in original units.
    split : gives the row numbers (training rows, test rows); called when rows are first asked for.
    rng : for the draws of a prediction; the same for every score of this fit.
    as_programmed : are the rows drawn as the authors' code draws them (``datasets.base.DataSet``)?
    intervals : does the experiment ask for the coverage of predictive intervals?
    rare_class : does it ask for what a rare class of two needs: AUC, balanced accuracy and Brier score?
    drawn : what the draws of the posterior were kept as (``Kind.draws``); None for a kind that has no such step.
    """

    posterior: Any
    model: Any
    data: Any
    split: Callable[[], tuple[np.ndarray, np.ndarray]]
    rng: np.random.Generator
    as_programmed: bool = False
    intervals: bool = False
    rare_class: bool = False
    drawn: np.ndarray | None = None

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the training rows and of the test rows."""
        return self.split()

    @property
    def test_x(self) -> np.ndarray:
        """(m, d), original units."""
        return self.data.x[self.rows[1]]

    @property
    def test_y(self) -> np.ndarray:
        """(m,), original units."""
        return self.data.y[self.rows[1]]

    @property
    def train_x(self) -> np.ndarray:
        """(n - m, d), original units; for a truth that follows from the training rows, never for a prediction."""
        return self.data.x[self.rows[0]]

    @property
    def train_y(self) -> np.ndarray:
        """(n - m,), original units."""
        return self.data.y[self.rows[0]]

    def predictive(self):
        """The posterior's prediction of the test rows."""
        return self.posterior.predictive(self.test_x, self.rng)
