"""ok diverged: numbers at the end of the range."""

from types import SimpleNamespace

import numpy as np

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit


class Hostile(PredictMean):
    name = title = "enormous_numbers"

    def fit(self, task, settings, budget, rng):
        given = {"location": np.array(1e308), "spread": np.array(1e308)}
        return Fit(SimpleNamespace(kind="constant_gaussian", parameters=lambda: given), budget.ledger)
