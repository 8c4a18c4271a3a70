"""failed: an error of a device."""

import errno

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "says_no_device"

    def fit(self, task, settings, budget, rng):
        raise OSError(errno.ENXIO, "No such device or address")
