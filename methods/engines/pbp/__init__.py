"""Probabilistic backpropagation and its EP, SEP, clipped and private variants."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("bnn_regression",)
