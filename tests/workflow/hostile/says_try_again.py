"""failed: an error of a system that has no resources left."""

import errno

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "says_try_again"

    def fit(self, task, settings, budget, rng):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
