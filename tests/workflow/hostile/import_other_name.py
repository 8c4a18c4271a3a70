"""left out: has the name of another file."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "wanted"
