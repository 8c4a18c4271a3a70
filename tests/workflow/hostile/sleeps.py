"""timeout: waits for an hour."""

import time

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "sleeps"

    def fit(self, task, settings, budget, rng):
        time.sleep(3600)
