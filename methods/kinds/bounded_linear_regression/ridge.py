"""Yardstick: ridge regression on the rows of the common task, original units."""

from __future__ import annotations

from methods import ridge
from methods.contract import Constants


class Ridge(ridge.Ridge):
    """As on the network's data sets: rows standardised by their own moments, nothing clipped to the box."""

    name = "ridge"
    models = ("bounded_linear_regression",)
    constants = (Constants.GUESSED,)
