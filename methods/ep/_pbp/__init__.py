"""Probabilistic backpropagation and its EP, SEP, clipped and private variants."""
