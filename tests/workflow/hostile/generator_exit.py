"""failed: raises GeneratorExit."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "generator_exit"

    def fit(self, task, settings, budget, rng):
        raise GeneratorExit
