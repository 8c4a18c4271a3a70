"""Logarithms and exponentials that are rounded correctly, so they are the same on every machine.

The last digits of NumPy's functions and of the C library's depend on the machine. The true parameters of simulated data
sets are computed with the functions here, because the fingerprint of a table has every digit.
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
    """The inverse of the softplus function, log(exp(x) - 1), for x > 0."""
    return x + log(-expm1(-x))
