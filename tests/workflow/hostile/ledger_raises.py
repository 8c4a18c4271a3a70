"""failed: a ledger that ends the program when it is written."""

import dataclasses
import sys

from methods.baselines.predict_mean import PredictMean
from privacy.ledger import Ledger


class Trap(Ledger):
    def to_json(self):
        sys.exit(0)


class Hostile(PredictMean):
    name = title = "ledger_raises"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        return dataclasses.replace(fit, ledger=Trap())
