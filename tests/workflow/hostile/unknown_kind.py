"""failed: a posterior that nobody knows."""

from types import SimpleNamespace

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit


class Hostile(PredictMean):
    name = title = "unknown_kind"

    def fit(self, task, settings, budget, rng):
        return Fit(SimpleNamespace(kind="\udce9", parameters=dict), budget.ledger)
