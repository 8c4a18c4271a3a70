"""Numerics of DPVI and of what is made from its trace: noise-aware posteriors, averages, aligned gradients."""
