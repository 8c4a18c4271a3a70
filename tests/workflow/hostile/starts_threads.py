"""ok: leaves threads behind that never end."""

import threading
import time

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "starts_threads"

    def fit(self, task, settings, budget, rng):
        for _ in range(50):
            threading.Thread(target=time.sleep, args=(777,)).start()
        return super().fit(task, settings, budget, rng)
