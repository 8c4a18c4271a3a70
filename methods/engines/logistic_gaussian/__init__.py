"""Gaussian posteriors of logistic regression in the box: their fixed points, and what of them can be released."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("bounded_logistic_regression",)
