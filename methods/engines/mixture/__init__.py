"""Numerics of the mixture of Gaussians: EP and its stochastic, clipped and private variants, EM and DP-EM."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("mixture_of_gaussians",)
