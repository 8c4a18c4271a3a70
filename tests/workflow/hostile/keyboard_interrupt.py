"""failed: raises KeyboardInterrupt."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "keyboard_interrupt"

    def fit(self, task, settings, budget, rng):
        raise KeyboardInterrupt
