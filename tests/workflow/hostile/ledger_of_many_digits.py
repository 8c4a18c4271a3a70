"""failed: a number of steps with five thousand digits."""

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit
from privacy.ledger import Event, Ledger, Mechanism, Relation


class Hostile(PredictMean):
    name = title = "ledger_of_many_digits"

    def fit(self, task, settings, budget, rng):
        event = Event("x", Mechanism.GAUSSIAN, Relation.REPLACE_ONE, 1.0, 1.0)
        object.__setattr__(event, "steps", 10**5000)
        return Fit(super().fit(task, settings, budget, rng).posterior, Ledger([event]))
