"""ok failed: replaces functions that the check of its fit calls."""

import numpy as np

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "changes_numpy"

    def fit(self, task, settings, budget, rng):
        np.isfinite = np.asarray = np.savez = lambda *args, **kwargs: True
        return super().fit(task, settings, budget, rng)
