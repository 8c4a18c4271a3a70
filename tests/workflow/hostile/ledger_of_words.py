"""failed: a noise that is a word."""

import dataclasses

from methods.baselines.predict_mean import PredictMean
from privacy.ledger import Event, Ledger, Mechanism, Relation


class Word(str):
    def __ge__(self, other):
        return True


class Hostile(PredictMean):
    name = title = "ledger_of_words"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        event = Event("x", Mechanism.GAUSSIAN, Relation.REPLACE_ONE, 1.0, Word("much"))
        return dataclasses.replace(fit, ledger=Ledger([event]))
