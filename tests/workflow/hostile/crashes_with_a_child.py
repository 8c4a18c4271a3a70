"""failed: crashes while a child holds its pipes."""

import ctypes
import subprocess
import sys

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "crashes_with_a_child"

    def fit(self, task, settings, budget, rng):
        self.child = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(777)  # hostile child"], close_fds=False
        )
        ctypes.string_at(0)
