"""Guarantee and draw of posterior sampling in Bayesian linear regression with a known noise variance."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("bounded_linear_regression",)
