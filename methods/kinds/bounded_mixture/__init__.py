"""Density estimation by a mixture of Gaussians with rows in the unit box (``models.bounded``)."""
