"""failed: a whole number that is no floating-point number."""

import dataclasses

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "diagnostics_too_large"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        return dataclasses.replace(fit, diagnostics={"steps": 10**400})
