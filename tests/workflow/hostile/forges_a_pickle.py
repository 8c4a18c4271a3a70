"""failed: leaves a pickle that runs a command where an answer is due."""

import os
import pathlib
import pickle
import tempfile
import time

from methods.baselines.predict_mean import PredictMean


class Command:
    def __reduce__(self):
        return os.system, ("touch FORGED",)


class Hostile(PredictMean):
    name = title = "forges_a_pickle"

    def fit(self, task, settings, budget, rng):
        scratch = pathlib.Path(tempfile.gettempdir()).parent
        for k in range(20):
            (scratch / f"answer{k}").write_bytes(pickle.dumps(Command()))
        time.sleep(60)
