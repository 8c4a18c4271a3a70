"""failed: an error of five million letters."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "text_of_megabytes"

    def fit(self, task, settings, budget, rng):
        raise ValueError("x" * 5_000_000)
