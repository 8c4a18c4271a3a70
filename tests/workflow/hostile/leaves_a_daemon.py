"""ok: leaves a daemon behind, in a session of its own."""

import os
import sys

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "leaves_a_daemon"

    def fit(self, task, settings, budget, rng):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(777)  # hostile child"])
            os._exit(0)
        return super().fit(task, settings, budget, rng)
