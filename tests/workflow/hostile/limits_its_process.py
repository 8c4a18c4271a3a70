"""failed: lets its process write no file."""

import resource

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "limits_its_process"

    def fit(self, task, settings, budget, rng):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        return super().fit(task, settings, budget, rng)
