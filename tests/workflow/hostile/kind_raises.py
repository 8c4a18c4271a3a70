"""failed: a posterior that ends the program when it is asked."""

import sys

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit


class Trap:
    @property
    def kind(self):
        sys.exit(0)


class Hostile(PredictMean):
    name = title = "kind_raises"

    def fit(self, task, settings, budget, rng):
        return Fit(Trap(), budget.ledger)
