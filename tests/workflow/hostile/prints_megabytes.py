"""ok: prints 20 MB."""

import sys

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "prints_megabytes"

    def fit(self, task, settings, budget, rng):
        print("x" * 20_000_000)
        sys.stderr.write("\x1b[2J\0")
        return super().fit(task, settings, budget, rng)
