"""timeout: ignores every signal that can be ignored, and waits."""

import signal
import time

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "deaf_to_signals"

    def fit(self, task, settings, budget, rng):
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        time.sleep(3600)
