"""Logarithms and exponentials that are rounded correctly, so the same on every machine.

NumPy's functions and the C library's have other last digits on other machines, and the fingerprint of a table has every
digit: the true parameters of simulated data sets are made of these.
"""

from __future__ import annotations

from decimal import Context, Decimal

_DIGITS = Context(prec=40)


def log(x: float) -> float:
    """Natural logarithm of x > 0."""
    return float(Decimal(x).ln(_DIGITS))


def log1p(x: float) -> float:
    """log(1 + x) of x > -1."""
    return float(_DIGITS.add(1, Decimal(x)).ln(_DIGITS))


def expm1(x: float) -> float:
    """exp(x) - 1."""
    return float(_DIGITS.subtract(Decimal(x).exp(_DIGITS), 1))


def inverse_softplus(x: float) -> float:
    """log(exp(x) - 1) of x > 0."""
    return x + log(-expm1(-x))
