"""ok: forks, and returns in both processes."""

import os

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "returns_twice"

    def fit(self, task, settings, budget, rng):
        os.fork()
        return super().fit(task, settings, budget, rng)
