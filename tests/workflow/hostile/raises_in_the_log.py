"""failed: nobody can write that it raised."""

import sys

from methods.baselines.predict_mean import PredictMean


class Trap:
    def __getattr__(self, name):
        raise ValueError("no log")


class Hostile(PredictMean):
    name = title = "raises_in_the_log"

    def fit(self, task, settings, budget, rng):
        sys.stdout = sys.stderr = Trap()
        raise ValueError("told to nobody")
