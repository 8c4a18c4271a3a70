"""failed: calls sys.exit."""

import sys

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "system_exit"

    def fit(self, task, settings, budget, rng):
        sys.exit(0)
