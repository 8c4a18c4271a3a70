"""failed: returns None."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "returns_nothing"

    def fit(self, task, settings, budget, rng):
        return None
