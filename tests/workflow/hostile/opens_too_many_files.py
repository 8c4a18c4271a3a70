"""failed: opens files until there are no more to be had."""

import os

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "opens_too_many_files"

    def fit(self, task, settings, budget, rng):
        self.files = getattr(self, "files", [])
        while True:
            self.files.append(os.open("/dev/null", os.O_RDONLY))
