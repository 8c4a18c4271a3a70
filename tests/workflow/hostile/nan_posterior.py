"""diverged: its posterior is not finite."""

import numpy as np

from methods.baselines.predict_mean import PredictMean
from methods.contract import Fit
from models.linear_regression import ConstantGaussian


class Hostile(PredictMean):
    name = title = "nan_posterior"

    def fit(self, task, settings, budget, rng):
        return Fit(ConstantGaussian(np.nan, 1.0), budget.ledger)
