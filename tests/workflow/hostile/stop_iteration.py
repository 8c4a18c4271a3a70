"""failed: raises StopIteration."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "stop_iteration"

    def fit(self, task, settings, budget, rng):
        raise StopIteration
