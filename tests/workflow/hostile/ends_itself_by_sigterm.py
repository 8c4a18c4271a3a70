"""failed: sends itself SIGTERM."""

import os
import signal
import time

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "ends_itself_by_sigterm"

    def fit(self, task, settings, budget, rng):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
