"""failed: aborts."""

import os

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "abort"

    def fit(self, task, settings, budget, rng):
        os.abort()
