"""ok failed: writes rubbish into what it finds open."""

import os

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "writes_into_all_descriptors"

    def fit(self, task, settings, budget, rng):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"\x80\x04rubbish" * 100)
            except OSError:
                continue
        return super().fit(task, settings, budget, rng)
