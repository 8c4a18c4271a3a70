"""failed: says that its table is damaged."""

from datasets.store import Damaged
from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "claims_a_damaged_table"

    def fit(self, task, settings, budget, rng):
        raise Damaged("wine.npz is damaged")
