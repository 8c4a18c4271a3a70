"""failed: a diagnostic is a number of its own kind, which raises when it is read."""

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit


class Liar(float):
    def __float__(self):
        raise SystemExit(0)


class Word(str):
    def __hash__(self):
        return 1

    def __eq__(self, other):
        return True


class Hostile(PredictMean):
    name = title = "diagnostics_of_liars"

    def fit(self, task, settings, budget, rng):
        found = super().fit(task, settings, budget, rng)
        return Fit(found.posterior, found.ledger, {Word("loss"): Liar(1.0)})
