"""Guarantee and draw of posterior sampling in Bayesian linear regression with a known noise variance."""
