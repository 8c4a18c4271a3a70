"""failed: ends its process as if its answer could not be written."""

import os

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "exit_of_no_answer"

    def fit(self, task, settings, budget, rng):
        os._exit(74)
