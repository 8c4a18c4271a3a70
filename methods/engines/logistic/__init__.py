"""Numerics of logistic regression: the sampler of its posterior and the guarantees of one draw."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("logistic_regression",)
