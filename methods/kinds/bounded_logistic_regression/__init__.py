"""Logistic regression with rows in the unit box (``models.bounded``)."""
