"""ok: changes the metrics in its process."""

import sys

import numpy as np

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "changes_the_metrics"

    def fit(self, task, settings, budget, rng):
        density = sys.modules.get("evaluation.metrics")
        if density is not None:
            vars(density).clear()
        np.seterr(all="raise")
        return super().fit(task, settings, budget, rng)
