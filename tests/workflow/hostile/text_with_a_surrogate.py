"""failed: an error whose text no file can hold."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "text_with_a_surrogate"

    def fit(self, task, settings, budget, rng):
        raise ValueError("caf\udce9 \x1b[2J \0")
