"""failed: raises what no `except Exception` catches."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "base_exception"

    def fit(self, task, settings, budget, rng):
        raise BaseException("no fit")
