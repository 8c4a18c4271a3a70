"""failed: an error of a full disk that names no file."""

import errno

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "says_no_space"

    def fit(self, task, settings, budget, rng):
        raise OSError(errno.ENOSPC, "No space left on device")
