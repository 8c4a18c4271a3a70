"""ok failed: replaces what writes its answer."""

import json

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "changes_json"

    def fit(self, task, settings, budget, rng):
        json.dumps = lambda *args, **kwargs: "NaN"
        return super().fit(task, settings, budget, rng)
