"""failed: a list that is nested 100,000 deep."""

import dataclasses

from methods.baselines.predict_mean import PredictMean


def nested():
    out = []
    for _ in range(100_000):
        out = [out]
    return out


class Hostile(PredictMean):
    name = title = "diagnostics_nested"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        return dataclasses.replace(fit, diagnostics={"tree": nested()})
