"""failed: raises MemoryError."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "memory_error"

    def fit(self, task, settings, budget, rng):
        raise MemoryError
