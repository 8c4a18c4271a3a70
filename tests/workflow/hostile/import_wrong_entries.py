"""left out: texts where leaks and counterparts are due."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "import_wrong_entries"
    leaks = counterparts = constants = ("none",)
    grid = (3,)
