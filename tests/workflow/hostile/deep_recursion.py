"""failed: calls itself without end."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "deep_recursion"

    def fit(self, task, settings, budget, rng):
        return self.fit(task, settings, budget, rng)
