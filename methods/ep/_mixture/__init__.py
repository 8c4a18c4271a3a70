"""Numerics of the mixture of Gaussians: EP and its stochastic, clipped and private variants, EM and DP-EM."""
