"""Guarantees and draws of posterior sampling in exponential families."""
