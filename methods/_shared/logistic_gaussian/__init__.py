"""Gaussian posteriors of logistic regression on scaled inputs: fixed points, and private releases."""
