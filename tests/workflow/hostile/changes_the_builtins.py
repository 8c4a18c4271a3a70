"""failed: nothing opens, and nothing is of any type."""

import builtins

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "changes_the_builtins"

    def fit(self, task, settings, budget, rng):
        builtins.open = builtins.isinstance = builtins.dict = lambda *args, **kwargs: None
        return super().fit(task, settings, budget, rng)
