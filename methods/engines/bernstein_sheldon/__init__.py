"""Gibbs samplers for sufficient statistics released with Laplace noise (Bernstein & Sheldon 2018, 2019)."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("conjugate_simulator", "linear_regression_unknown_noise")
