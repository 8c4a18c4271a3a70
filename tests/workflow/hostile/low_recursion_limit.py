"""ok failed: leaves a limit in which nothing works."""

import sys

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "low_recursion_limit"

    def fit(self, task, settings, budget, rng):
        sys.setrecursionlimit(70)
        return super().fit(task, settings, budget, rng)
