"""Numerics of Bayes by backprop on classification networks: gradients of rows, mean-field updates, training rows."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("bnn_classification",)
