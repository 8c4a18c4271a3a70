"""failed: a posterior of ten thousand arrays."""

from types import SimpleNamespace

import numpy as np

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit


class Hostile(PredictMean):
    name = title = "many_arrays"

    def fit(self, task, settings, budget, rng):
        given = {f"a{k}": np.array(1.0) for k in range(10_000)}
        return Fit(SimpleNamespace(kind="constant_gaussian", parameters=lambda: given), budget.ledger)
