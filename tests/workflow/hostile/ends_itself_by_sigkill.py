"""failed: sends itself SIGKILL."""

import os
import signal

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "ends_itself_by_sigkill"

    def fit(self, task, settings, budget, rng):
        os.kill(os.getpid(), signal.SIGKILL)
