"""failed: may not read a file of its own."""

import errno

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "own_file"

    def fit(self, task, settings, budget, rng):
        raise PermissionError(errno.EACCES, "Permission denied", "/root/embeddings.npy")
