"""The argument of a scorer (``evaluation.scorers``): one fit of one split, with its data."""

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
    posterior : rebuilt from its stored parameters (``models.posteriors``); None if ``drawn`` is used instead.
    model : the probabilistic model.
    data : the data set, with ``x`` (n, d) and ``y`` (n,) of all rows in original units.
    split : returns the row numbers (training rows, test rows). It is called when rows are first read.
    rng : for the draws of a prediction; the same for every score of this fit.
    as_programmed : whether the rows are drawn as the authors' code draws them (``datasets.base.DataSet``).
    intervals : whether the experiment asks for the coverage of predictive intervals.
    rare_class : whether it asks for scores that suit a rare class: AUC, Brier score and balanced accuracy, or average
        precision in place of the last if it is "average_precision".
    drawn : the array computed from draws of the posterior (``Kind.draws``); None for kinds without this step.
    """

    posterior: Any
    model: Any
    data: Any
    split: Callable[[], tuple[np.ndarray, np.ndarray]]
    rng: np.random.Generator
    as_programmed: bool = False
    intervals: bool = False
    rare_class: bool | str = False
    drawn: np.ndarray | None = None

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the training rows and of the test rows."""
        return self.split()

    @property
    def test_x(self) -> np.ndarray:
        """The inputs of the test rows, (m, d), in original units."""
        return self.data.x[self.rows[1]]

    @property
    def test_y(self) -> np.ndarray:
        """The targets of the test rows, (m,), in original units."""
        return self.data.y[self.rows[1]]

    @property
    def train_x(self) -> np.ndarray:
        """The inputs of the training rows, (n - m, d), in original units.

        Only for a truth that depends on the training rows, never for a prediction.
        """
        return self.data.x[self.rows[0]]

    @property
    def train_y(self) -> np.ndarray:
        """The targets of the training rows, (n - m,), in original units."""
        return self.data.y[self.rows[0]]

    def predictive(self):
        """The posterior's prediction of the test rows."""
        return self.posterior.predictive(self.test_x, self.rng)
