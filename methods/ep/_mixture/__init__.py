"""Numerics of EP and its stochastic, clipped and private variants on a mixture of Gaussians."""
