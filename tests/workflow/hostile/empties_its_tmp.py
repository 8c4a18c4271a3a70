"""ok failed: removes the temporary folder."""

import shutil
import tempfile

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "empties_its_tmp"

    def fit(self, task, settings, budget, rng):
        shutil.rmtree(tempfile.gettempdir())
        return super().fit(task, settings, budget, rng)
