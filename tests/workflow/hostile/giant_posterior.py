"""failed: a posterior of 400 MB."""

from types import SimpleNamespace

import numpy as np

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit


class Hostile(PredictMean):
    name = title = "giant_posterior"

    def fit(self, task, settings, budget, rng):
        given = {"location": np.zeros(5 * 10**7), "spread": np.array(1.0)}
        return Fit(SimpleNamespace(kind="constant_gaussian", parameters=lambda: given), budget.ledger)
