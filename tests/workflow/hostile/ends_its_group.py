"""failed: kills all processes of its group."""

import os
import signal

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "ends_its_group"

    def fit(self, task, settings, budget, rng):
        os.kill(0, signal.SIGKILL)
