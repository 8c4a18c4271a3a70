"""The one-dimensional moments against adaptive quadrature and limits known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit

from methods._shared.logistic_gaussian.kernel import sites

CASES = [(m, v) for m in (-40.0, -3.0, 0.0, 0.7, 12.0) for v in (1e-6, 0.02, 1.0, 9.0, 101.0)]


def moments(mean, variance, tilted):
    """(E r, E r (1 - r), Var r) by adaptive quadrature around the mode."""
    sd = math.sqrt(variance)
    grid = np.linspace(-9, sd + 9, 20001)
    log_weight = -0.5 * grid**2 + (log_expit(mean + sd * grid) if tilted else 0.0)
    mode, top = grid[np.argmax(log_weight)], log_weight.max()

    def integral(f):
        def integrand(u):
            t = mean + sd * u
            return f(expit(-t), expit(t)) * math.exp(-0.5 * u * u + (float(log_expit(t)) if tilted else 0.0) - top)

        return quad(integrand, mode - 9, mode + 9, epsabs=0, epsrel=1e-10, limit=400, points=[mode])[0]

    total = integral(lambda r, p: 1.0)
    first = integral(lambda r, p: r) / total

    def small(r, p):  # Var r = Var (1 - r): of the one that is not close to 1, and about its mean
        return p if mean < 0 else r

    centre = integral(small) / total
    spread = integral(lambda r, p: (small(r, p) - centre) ** 2) / total
    return first, integral(lambda r, p: r * p) / total, spread


@pytest.mark.parametrize(("mean", "variance"), CASES)
def test_sites_match_adaptive_quadrature(mean, variance):
    """1e-6 relative: the trapezoidal rule's own error is below 1e-8, cancellation in 1 - v beta costs the rest."""
    alpha, curvature, spread = moments(mean, variance, True)
    beta = curvature - spread
    g, k = (float(a[0]) for a in sites(np.array([mean]), np.array([variance]), True))
    assert g == pytest.approx(alpha / (1 - variance * beta), rel=1e-6)
    assert k == pytest.approx(beta / (1 - variance * beta), rel=1e-5, abs=1e-12)


@pytest.mark.parametrize(("mean", "variance"), CASES)
def test_expectations_match_adaptive_quadrature(mean, variance):
    first, curvature, _ = moments(mean, variance, False)
    g, k = (float(a[0]) for a in sites(np.array([mean]), np.array([variance]), False))
    assert g == pytest.approx(first, rel=1e-7, abs=1e-14)
    assert k == pytest.approx(curvature, rel=1e-7, abs=1e-14)


def test_a_sure_margin_gives_the_derivatives_of_the_log_likelihood():
    t = np.linspace(-30, 30, 13)
    for tilted in (False, True):
        g, k = sites(t, np.zeros(13), tilted)
        np.testing.assert_allclose(g, expit(-t), rtol=1e-12)
        np.testing.assert_allclose(k, expit(t) * expit(-t), rtol=1e-9, atol=1e-15)
