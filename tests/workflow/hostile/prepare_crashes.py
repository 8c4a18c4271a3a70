"""failed: crashes while it prepares."""

import os

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "prepare_crashes"

    def prepare(self, task, settings):
        os.abort()

    def fit(self, task, settings, budget, rng):
        return super().fit(task, settings, budget, rng)
