"""failed: a ledger with infinite noise."""

import dataclasses

from methods.baselines.predict_mean import PredictMean
from privacy.ledger import Event, Ledger, Mechanism, Relation


class Hostile(PredictMean):
    name = title = "ledger_of_infinite_noise"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        event = Event("x", Mechanism.GAUSSIAN, Relation.REPLACE_ONE, 1.0, float("inf"))
        return dataclasses.replace(fit, ledger=Ledger([event]))
