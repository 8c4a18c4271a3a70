"""failed: takes more memory than its cell may."""

import numpy as np

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "eats_memory"

    def fit(self, task, settings, budget, rng):
        taken = []
        while True:
            taken.append(np.ones(10**7))
