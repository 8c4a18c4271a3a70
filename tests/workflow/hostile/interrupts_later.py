"""ok failed: interrupts its process when the fit has ended."""

import _thread
import threading
import time

from methods.baselines.predict_mean import PredictMean


def later():
    while True:
        time.sleep(0.05)
        _thread.interrupt_main()


class Hostile(PredictMean):
    name = title = "interrupts_later"

    def fit(self, task, settings, budget, rng):
        threading.Thread(target=later, daemon=True).start()
        return super().fit(task, settings, budget, rng)
