"""ok: sets a variable that the next split would read."""

import os

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "asks_for_secret_noise"

    def fit(self, task, settings, budget, rng):
        if os.environ.get("DPBAYES_NOISE") == "secret":
            raise RuntimeError("the variable of the split before is here")
        os.environ["DPBAYES_NOISE"] = "secret"
        return super().fit(task, settings, budget, rng)
