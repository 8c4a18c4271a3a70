"""failed timeout: a ledger of a hundred thousand events."""

import dataclasses

from methods.baselines.predict_mean import PredictMean
from privacy.ledger import Event, Ledger, Mechanism, Relation


class Hostile(PredictMean):
    name = title = "ledger_without_end"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        events = [Event(f"x{k}", Mechanism.GAUSSIAN, Relation.REPLACE_ONE, 1.0, 1.0 + k) for k in range(100_000)]
        return dataclasses.replace(fit, ledger=Ledger(events))
