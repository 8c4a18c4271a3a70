"""ok: changes folder, mask and variables of its process."""

import os

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "changes_its_place"

    def fit(self, task, settings, budget, rng):
        os.chdir("/")
        os.umask(0o777)
        os.environ.clear()
        return super().fit(task, settings, budget, rng)
