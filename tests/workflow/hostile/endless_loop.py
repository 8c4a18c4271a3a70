"""timeout: never ends."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "endless_loop"

    def fit(self, task, settings, budget, rng):
        while True:
            pass
