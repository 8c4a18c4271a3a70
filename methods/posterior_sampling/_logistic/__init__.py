"""Numerics of logistic regression: the sampler of its posterior and the guarantees of one draw."""
