"""ok: leaves a child behind."""

import subprocess
import sys

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "leaves_a_child"

    def fit(self, task, settings, budget, rng):
        self.child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(777)  # hostile child"])
        return super().fit(task, settings, budget, rng)
