"""failed: ends the program when it is asked what it supports."""

import sys

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "supports_raises"

    def supports(self, task):
        sys.exit(0)

    def fit(self, task, settings, budget, rng):
        return super().fit(task, settings, budget, rng)
