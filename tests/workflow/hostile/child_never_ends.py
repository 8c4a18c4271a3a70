"""timeout: a child of it burns CPU time, and it waits for it."""

import subprocess
import sys

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "child_never_ends"

    def fit(self, task, settings, budget, rng):
        subprocess.run([sys.executable, "-c", "while True: pass"])
