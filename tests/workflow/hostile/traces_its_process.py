"""ok failed: every call and return after its fit raises."""

import gc
import sys

from methods.baselines.predict_mean import PredictMean


def raises(*args):
    raise ValueError("traced")


class Hostile(PredictMean):
    name = title = "traces_its_process"

    def fit(self, task, settings, budget, rng):
        gc.disable()
        gc.callbacks.append(raises)
        sys.setprofile(raises)
        sys.settrace(raises)
        return super().fit(task, settings, budget, rng)
