"""ok failed: an alarm rings after its fit."""

import signal

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "alarm"

    def fit(self, task, settings, budget, rng):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        return super().fit(task, settings, budget, rng)
