"""left out: a text where a tuple is due."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "import_wrong_types"
    models = "bnn_regression"
