"""failed: a ledger that is a list."""

import dataclasses

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "ledger_is_a_list"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        return dataclasses.replace(fit, ledger=[1, 2])
