"""failed: an error of a network."""

import errno

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "says_timed_out"

    def fit(self, task, settings, budget, rng):
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")
