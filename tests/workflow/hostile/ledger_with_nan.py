"""failed: a written bound that is NaN."""

import dataclasses

from methods.baselines.predict_mean import PredictMean
from privacy.ledger import Event, Ledger, Mechanism, Relation


class Hostile(PredictMean):
    name = title = "ledger_with_nan"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        curve = ((2.0, float("nan")),)
        event = Event("x", Mechanism.WRITTEN_BOUND, Relation.REPLACE_ONE, 1.0, 0.0, renyi_curve=curve)
        return dataclasses.replace(fit, ledger=Ledger([event]))
