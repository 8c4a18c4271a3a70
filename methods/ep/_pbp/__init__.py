"""Kernels and training loops of probabilistic backpropagation and its EP, SEP, clipped and private variants."""
