"""not_supported: its reason is five million letters."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "supports_rubbish"

    def supports(self, task):
        return "\udce9" * 5_000_000

    def fit(self, task, settings, budget, rng):
        return super().fit(task, settings, budget, rng)
