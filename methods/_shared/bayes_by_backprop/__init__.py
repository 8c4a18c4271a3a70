"""Numerics of Bayes by backprop on classification networks: gradients of rows, mean-field updates, training rows."""
