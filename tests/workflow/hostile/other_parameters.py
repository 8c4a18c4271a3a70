"""ok failed: its posterior gives other parameters at each call."""

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit


class Changes:
    kind, calls = "constant_gaussian", 0

    def parameters(self):
        self.calls += 1
        return {"location": float(self.calls), "spread": 1.0} if self.calls < 2 else {"location": print}


class Hostile(PredictMean):
    name = title = "other_parameters"

    def fit(self, task, settings, budget, rng):
        return Fit(Changes(), budget.ledger)
