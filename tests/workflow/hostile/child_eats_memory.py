"""failed: a child of it takes more memory than its cell may."""

import subprocess
import sys

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "child_eats_memory"

    def fit(self, task, settings, budget, rng):
        code = "taken = []\nwhile True: taken.append(bytearray(b'x' * 10**8))  # hostile child"
        subprocess.run([sys.executable, "-c", code])
