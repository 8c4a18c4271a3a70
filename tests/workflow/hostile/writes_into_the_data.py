"""failed: changes its inputs."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "writes_into_the_data"

    def fit(self, task, settings, budget, rng):
        task.x[:] = 0.0
        return super().fit(task, settings, budget, rng)
