"""Gaussian posteriors of logistic regression in the box: their fixed points, and what of them can be released."""
