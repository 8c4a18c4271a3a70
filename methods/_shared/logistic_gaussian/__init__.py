"""Gaussian posteriors of logistic regression on scaled inputs: their fixed points, and what of them can be released."""
