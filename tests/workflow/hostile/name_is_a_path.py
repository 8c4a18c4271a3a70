"""failed: the name of an array leaves the folder."""

from types import SimpleNamespace

import numpy as np

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit


class Hostile(PredictMean):
    name = title = "name_is_a_path"

    def fit(self, task, settings, budget, rng):
        given = {"../../../../evil": np.array(1.0)}
        return Fit(SimpleNamespace(kind="constant_gaussian", parameters=lambda: given), budget.ledger)
