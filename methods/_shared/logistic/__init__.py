"""Draws from the posterior of logistic regression: a sampler that runs many at once, and long reference chains."""
