"""failed: an array that runs code when it is read."""

from types import SimpleNamespace

import numpy as np

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit


class Hostile(PredictMean):
    name = title = "array_of_objects"

    def fit(self, task, settings, budget, rng):
        given = {"location": np.array([print]), "spread": np.array(1.0)}
        return Fit(SimpleNamespace(kind="constant_gaussian", parameters=lambda: given), budget.ledger)
