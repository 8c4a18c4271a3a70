"""failed: has lost a mount of its own."""

import errno

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "own_mount"

    def fit(self, task, settings, budget, rng):
        raise OSError(errno.ESTALE, "Stale file handle", "/mnt/embeddings.npy")
