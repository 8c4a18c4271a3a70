"""What scores need many draws for: predicted probabilities, and fractions of one data set."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from evaluation import drawn
from evaluation.case import Case
from evaluation.coverage import tarp_fractions
from models.unconstrained import Likelihood, UnconstrainedDraws, UnconstrainedGaussian


def test_probabilities_of_a_gaussian_are_its_integral():
    """Against 200,000 draws a row: five standard errors of a mean of numbers in [0, 1] are at most 0.0056."""
    rng = np.random.default_rng(0)
    posterior = UnconstrainedGaussian(np.array([1.0, -2.0, 0.5]), np.array([0.5, 3.0, 20.0]), Likelihood("logistic"))
    x = rng.standard_normal((6, 2))
    p = drawn.probabilities(posterior, x, rng)
    theta = posterior.sample(200_000, rng)
    np.testing.assert_allclose(p, expit(theta @ np.column_stack([x, np.ones(6)]).T).mean(axis=0), atol=0.0056)
    assert drawn.probabilities(UnconstrainedGaussian(np.zeros(3), np.full(3, 9.0), Likelihood("logistic")), x, rng)[
        0
    ] == pytest.approx(0.5)


def test_probabilities_of_a_mixture_are_averaged_over_draws():
    rng = np.random.default_rng(1)
    posterior = UnconstrainedDraws(np.array([[30.0, 0.0], [-30.0, 0.0]]), Likelihood("logistic"))
    p = drawn.probabilities(posterior, np.ones((3, 1)), rng)
    np.testing.assert_allclose(p, 0.5, atol=0.02)  # 5.6 standard errors of 20,000 coins


def case(posterior, x, y, test) -> Case:
    data = SimpleNamespace(x=x, y=y)
    return Case(posterior, None, data, lambda: (np.empty(0, np.int64), test), np.random.default_rng(3))


def test_the_draws_of_a_case_are_of_its_test_rows():
    posterior = UnconstrainedGaussian(np.array([1.0, -2.0, 0.5]), np.ones(3), Likelihood("logistic"))
    x, y = np.random.default_rng(2).standard_normal((8, 2)), np.array([9.0] * 5 + [0.4, 0.1, 0.2])
    test = np.array([5, 6, 7])
    p = drawn.probabilities_of(case(posterior, x, y, test))
    np.testing.assert_array_equal(p, drawn.probabilities(posterior, x[test], np.random.default_rng(3)))
    found = drawn.fractions(case(posterior, x, y, test))
    np.testing.assert_array_equal(found, tarp_fractions(posterior, y[test], np.random.default_rng(3)))


def test_a_probability_that_is_not_finite_is_refused():
    posterior = UnconstrainedDraws(np.full((5, 2), np.nan), Likelihood("logistic"))
    with pytest.raises(ValueError, match="not finite"):
        drawn.probabilities_of(case(posterior, np.ones((2, 1)), np.zeros(2), np.array([0, 1])))
