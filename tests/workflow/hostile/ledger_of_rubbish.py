"""failed: a mechanism that nobody knows."""

import dataclasses

from methods.baselines.predict_mean import PredictMean
from privacy.ledger import Event, Ledger, Relation


class Hostile(PredictMean):
    name = title = "ledger_of_rubbish"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        event = Event("x", "rubbish", Relation.REPLACE_ONE, 1.0, 1.0)
        return dataclasses.replace(fit, ledger=Ledger([event]))
