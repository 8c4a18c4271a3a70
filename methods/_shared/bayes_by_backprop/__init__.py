"""Numerics of Bayes by backprop on classification networks: per-row gradients, mean-field updates, training rows."""
