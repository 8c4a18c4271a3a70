"""failed: an error with the words of an allocator."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "words_of_an_allocator"

    def fit(self, task, settings, budget, rng):
        raise ValueError("Unable to allocate attention")
