"""ok failed: runs code when its objects go, and at the end of its process."""

import atexit
import os
import time

from methods.baselines.predict_mean import PredictMean


class Trap:
    def __del__(self):
        os._exit(0)


class Hostile(PredictMean):
    name = title = "runs_at_the_end"

    def fit(self, task, settings, budget, rng):
        self.trap = Trap()
        atexit.register(time.sleep, 777)
        return super().fit(task, settings, budget, rng)
