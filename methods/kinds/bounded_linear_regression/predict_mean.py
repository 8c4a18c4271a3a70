"""Negative control: mean and variance of the training targets, original units."""

from __future__ import annotations

from methods import predict_mean
from methods.contract import Constants


class PredictMean(predict_mean.PredictMean):
    """As on the network's data sets."""

    name = "predict_mean"
    models = ("bounded_linear_regression",)
    constants = (Constants.NONE,)
