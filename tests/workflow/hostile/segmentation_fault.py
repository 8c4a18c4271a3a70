"""failed: reads memory that it does not have."""

import ctypes

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "segmentation_fault"

    def fit(self, task, settings, budget, rng):
        ctypes.string_at(0)
