"""KL of Gaussians in natural parameters, the noise, and the Monte Carlo truth."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from papers.vinaroz2023dpsep.kl_gaussians import (
    change_of,
    clipped_sep_kl,
    kl_given_noise,
    matrix_variance,
    problem,
    second_moment,
    symmetric_noise,
)
from tests.papers.vinaroz2023dpsep.kl_problems import expected_kl, gaussian_kl, random_problem, textbook_kl


@pytest.mark.parametrize(("eta_q", "lam_q", "eta_p", "lam_p"), [(1.0, 2.0, -0.5, 0.7), (0.0, 1.0, 0.3, 1.0)])
def test_kl_in_one_dimension_is_the_integral(eta_q, lam_q, eta_p, lam_p):
    q = norm(eta_q / lam_q, lam_q**-0.5)
    p = norm(eta_p / lam_p, lam_p**-0.5)
    integral = quad(lambda x: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), -20, 20, epsabs=1e-12, limit=200)[0]
    found = gaussian_kl((np.array([eta_q]), np.array([[lam_q]])), (np.array([eta_p]), np.array([[lam_p]])))
    assert found == pytest.approx(integral, abs=1e-9)


@pytest.mark.parametrize("d", [2, 5, 10])
def test_kl_agrees_with_the_moment_form(d):
    rng = np.random.default_rng(d)
    q, p = random_problem(rng, d), random_problem(rng, d)
    assert gaussian_kl(q, p) == pytest.approx(textbook_kl(q, p), rel=1e-10)
    assert gaussian_kl(q, q) == 0.0


def test_kl_keeps_its_digits_near_zero():
    # Second order: Lambda_p = (1 + x) Lambda has KL = d (x - log(1 + x)) / 2 = d x^2 / 4 to 1e-8 relative.
    precision = np.diag([1.0, 3.0])
    x = 1e-8
    found = gaussian_kl((np.zeros(2), precision), (np.zeros(2), precision * (1 + x)))
    assert found == pytest.approx(2 * x**2 / 4, rel=1e-6)


@pytest.mark.parametrize("x", [9e-4, -9e-4, 1.1e-3])
def test_series_meets_the_logarithm(x):
    # At 1e-3 the plain difference still has 10 digits.
    found = gaussian_kl((np.zeros(1), np.eye(1)), (np.zeros(1), np.eye(1) * (1 + x)))
    assert found == pytest.approx((x - math.log1p(x)) / 2, rel=1e-8)


@pytest.mark.parametrize("clip", [0.3, 1.0, 5.0, 1e4])
def test_appendix_a_corrected_is_the_kl_and_printed_is_not(clip):
    eta, precision = random_problem(np.random.default_rng(4), 4)
    k_eta, k_precision = (max(1, np.linalg.norm(a) / clip) for a in (eta, precision))
    exact = gaussian_kl((eta, precision), (eta / k_eta, precision / k_precision))
    found = clipped_sep_kl(eta, precision, clip)
    assert found.corrected == pytest.approx(exact, rel=1e-10, abs=1e-14)
    if k_precision > 1:
        assert abs(found.printed - exact) > 0.1 * exact
    else:
        assert found.printed == pytest.approx(exact, abs=1e-12)


def test_appendix_a_in_numbers():
    # Lambda = 2, eta = 0, C = 1: Lambda_p = 1, KL = (1/2 - 1 + log 2)/2; printed (2 - 1 + log max(1, 1/2))/2.
    found = clipped_sep_kl(np.array([0.0]), np.array([[2.0]]), 1.0)
    assert found.corrected == pytest.approx((math.log(2) - 0.5) / 2, rel=1e-14)
    assert found.printed == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_second_moment_of_the_noise(d):
    rng = np.random.default_rng(10 + d)
    inner = random_problem(rng, d)[1]
    noise = symmetric_noise(rng, d, 20000)
    np.testing.assert_array_equal(noise, np.swapaxes(noise, 1, 2))
    products = noise @ inner @ noise
    error = products.std(axis=0, ddof=1) / math.sqrt(len(noise))
    # 5 standard errors, at most 21 entries over all d: false alarm below 2e-5.
    assert (np.abs(products.mean(axis=0) - second_moment(inner)) <= 5 * error + 1e-12).all()


def test_variance_of_the_series_exactly():
    d, sigma2 = 5, 0.3
    total = np.zeros((d, d))
    for i in range(d):
        for j in range(i, d):
            b = np.zeros((d, d))
            b[i, j] = b[j, i] = 1
            total += sigma2**2 * b @ b.T
    assert np.linalg.norm(total, 2) == pytest.approx(matrix_variance(d, sigma2), rel=1e-13)
    np.testing.assert_allclose(second_moment(np.eye(d)), d * np.eye(d))


@pytest.mark.parametrize("rule", ["shift", "floor", "none"])
def test_integral_over_e_against_draws_of_e(rule):
    eta, precision = random_problem(np.random.default_rng(7), 3)
    rng = np.random.default_rng(8)
    change = change_of(precision, 0.1 * symmetric_noise(rng, 3, 1), rule, 0.4)
    sigma1 = 0.5
    exact = kl_given_noise(eta, precision, change, sigma1)[0]
    p = precision + change[0]
    without = gaussian_kl((eta, precision), (eta, p))
    assert exact == pytest.approx(without + sigma1**2 * np.trace(np.linalg.inv(p)) / 2, rel=1e-10)
    draws = np.array([gaussian_kl((eta, precision), (eta + sigma1 * rng.standard_normal(3), p)) for _ in range(4000)])
    # 5 standard errors: false alarm 6e-7.
    assert abs(draws.mean() - exact) <= 5 * draws.std(ddof=1) / math.sqrt(4000)


def test_rules():
    _, precision = random_problem(np.random.default_rng(9), 4)
    noise = 1.5 * symmetric_noise(np.random.default_rng(9), 4, 300)
    before = np.linalg.eigvalsh(precision + noise)
    negative = before[:, 0] <= 0
    assert 0 < negative.sum() < 300
    shifted = np.linalg.eigvalsh(precision + change_of(precision, noise, "shift", 0.1))
    np.testing.assert_allclose(shifted[:, 0], 0.1, atol=1e-12)  # also where Lambda + E was positive definite
    floored = np.linalg.eigvalsh(precision + change_of(precision, noise, "floor", 0.1, floor=1e-4))
    np.testing.assert_allclose(floored, np.sort(np.where(before > 0, before, 1e-4), axis=1), atol=1e-12)
    kl = kl_given_noise(np.zeros(4), precision, change_of(precision, noise, "none", 0.1), 1.0)
    np.testing.assert_array_equal(np.isinf(kl), negative)
    share = expected_kl(np.zeros(4), precision, 1.0, 1.5, 0.1, np.random.default_rng(9), 300, rule="none").share
    assert share == pytest.approx(1 - negative.mean())


@pytest.mark.parametrize(
    ("growth", "rho", "slope"), [("fixed", None, -2), ("fixed", 0.01, 0), ("rows", None, -3), ("rows", 0.01, 2)]
)
def test_order_in_n(growth, rho, slope):
    eta, precision = problem(3, 1.0)
    logs = []
    for n in (1e4, 1e5):
        k = n if growth == "rows" else 1.0
        floor = float(np.linalg.eigvalsh(k * precision)[0]) if rho is None else rho
        logs.append(
            math.log(expected_kl(k * eta, k * precision, 2 / n, 2 / n, floor, np.random.default_rng(1), 100).mean)
        )
    # The same noise at both n: what is left is the next order of the expansion, below 1 per cent.
    assert (logs[1] - logs[0]) / math.log(10) == pytest.approx(slope, abs=0.02)
