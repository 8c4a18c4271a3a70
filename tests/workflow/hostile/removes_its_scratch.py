"""failed: removes the folder in which its answer is due."""

import pathlib
import shutil
import tempfile

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "removes_its_scratch"

    def fit(self, task, settings, budget, rng):
        shutil.rmtree(pathlib.Path(tempfile.gettempdir()).parent)
        return super().fit(task, settings, budget, rng)
