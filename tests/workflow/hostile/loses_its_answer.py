"""timeout: its answer is written, and never renamed."""

import os
import pathlib

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "loses_its_answer"

    def fit(self, task, settings, budget, rng):
        os.replace = os.rename = lambda *args, **kwargs: None
        pathlib.Path.replace = pathlib.Path.rename = lambda self, target: target
        return super().fit(task, settings, budget, rng)
