"""Numerics of DPVI and of what is made from its trace: noise-aware posteriors, averages, aligned gradients."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("conjugate_simulator", "linear_regression_unknown_noise", "logistic_regression_normal_prior")
