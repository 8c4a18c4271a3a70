"""failed: the clocks of its process give no numbers."""

import time

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "changes_the_clock"

    def fit(self, task, settings, budget, rng):
        time.perf_counter = time.process_time = time.monotonic = time.time = lambda: float("nan")
        return super().fit(task, settings, budget, rng)
