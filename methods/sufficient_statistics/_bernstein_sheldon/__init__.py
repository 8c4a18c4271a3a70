"""Gibbs samplers for sufficient statistics released with Laplace noise (Bernstein & Sheldon 2018, 2019)."""
