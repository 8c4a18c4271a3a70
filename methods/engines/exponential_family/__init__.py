"""Guarantees and draws of posterior sampling in exponential families."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("exponential_family",)
