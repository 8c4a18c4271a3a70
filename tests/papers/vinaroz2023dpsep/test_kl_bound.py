"""Theorem 4.1 as printed, and the bounds that can be proved."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.vinaroz2023dpsep.kl_bound import (
    corrected_bound,
    corrected_shift_bound,
    interval_2021,
    pointwise_bound,
    radius_2023,
    theorem_2021,
    theorem_2023,
)
from papers.vinaroz2023dpsep.kl_gaussians import (
    change_of,
    clipped_sep_kl,
    kl_given_covariance_noise,
    kl_given_noise,
    problem,
    second_moment,
    symmetric_noise,
)
from tests.papers.vinaroz2023dpsep.kl_problems import expected_kl, gaussian_kl, random_problem


def test_variance_of_2021_is_the_larger_half():
    rng = np.random.default_rng(0)
    for d in (2, 3, 6):
        precision = random_problem(rng, d, spread=50.0)[1]
        top = np.linalg.eigvalsh(precision)[-1]
        left = np.linalg.norm(precision @ (d * np.eye(d)) @ precision, 2)
        right = np.linalg.norm(second_moment(precision @ precision), 2)
        assert theorem_2021(precision, 0.1, 0.01, 0.5, 1.5).variance == pytest.approx(1e-4 * left, rel=1e-12)
        assert left == pytest.approx(d * top**2)
        assert right <= left * (1 + 1e-12)


@pytest.mark.parametrize("rho", [0.5, 1.0])
def test_six_terms_against_the_proof_form(rho):
    """The theorem writes h + H - 1 + (lambda_min + s - rho)/lambda_i, eq. 80 its simplified numerator."""
    eta, precision = random_problem(np.random.default_rng(2), 3)
    sigma1, sigma2, m = 0.02, 0.01, 0.1
    found = theorem_2023(eta, precision, sigma1, sigma2, rho, m)
    lam = np.linalg.eigvalsh(precision)[::-1]
    v = 3 * sigma2**2
    s = math.sqrt(2 * v * math.log(3))
    values, vectors = np.linalg.eigh(precision)
    b = vectors @ np.diag(values**-0.5) @ vectors.T @ eta
    a = np.linalg.inv(precision) @ eta
    total = [0.0] * 6
    for i in range(3):
        low = 1 + (-2 * m - lam[-1] + rho) / lam[i]
        high = 1 + (2 * m - lam[-1] + rho) / lam[i]
        fraction = (1 + (rho - lam[-1] + s) / lam[i]) / (low * high)
        total[0] += (-lam[-1] + s + rho) / lam[i]
        total[1] += sigma1**2 / lam[-1] * fraction
        total[2] += b[i] ** 2 * fraction
        total[4] += a[i] ** 2 * (-lam[-1] + s + rho)
        total[5] += math.log(fraction)
    total[3] = eta @ a
    np.testing.assert_allclose(list(found.terms.values()), total, rtol=1e-11)
    signed = sum(total) - 2 * total[3]
    assert found.bound == pytest.approx(signed / 2, rel=1e-10)
    assert found.probability == pytest.approx(1 - 3 * math.exp(-(m**2) / (2 * v)))
    assert found.h_min == pytest.approx(min(1 + (-2 * m - lam[-1] + rho) / lam))


def test_radius_has_the_probability_that_it_is_made_for():
    eta, precision = problem(4, 1.0)
    found = theorem_2023(eta, precision, 0.1, 0.01, 0.1, radius_2023(4, 0.01, 0.99))
    assert found.probability == pytest.approx(0.99)


def test_limit_of_2023_needs_the_smallest_eigenvalue():
    """No noise: 0 for rho = lambda_min (B.1), but definition 4.2 with a constant rho leaves bound and truth above 0."""
    eta, precision = np.array([1.0, 2.0]), np.diag([4.0, 1.0])
    assert theorem_2023(eta, precision, 0, 1e-12, 1.0, 1e-11).bound == pytest.approx(0, abs=1e-9)
    # Diagonal and sorted: eq. 41 is exact in the limit, so bound and truth meet.
    rng = np.random.default_rng(0)
    truth = expected_kl(eta, precision, 0, 1e-9, 0.1, rng, 10).mean
    assert truth > 1
    assert theorem_2023(eta, precision, 0, 1e-9, 0.1, 1e-8).bound == pytest.approx(truth, rel=1e-4)


def test_2023_fails_in_every_order_of_the_eigenvalues():
    """b along the eigenvector of lambda_min, half turned: its coordinates are equal, so no order helps term 3."""
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2)
    precision, eta = turn @ np.diag([4.0, 1.0]) @ turn.T, turn[:, 1]
    sigma, rho = 1e-5, 0.01
    m = radius_2023(2, sigma)
    printed = theorem_2023(eta, precision, sigma, sigma, rho, m)
    assert printed.meaningful
    truth = expected_kl(eta, precision, sigma, sigma, rho, np.random.default_rng(0), 200)
    # The noise moves the truth by 1e-3 of itself at most; the bound is about half of it.
    assert truth.standard_error < 1e-3 * truth.mean
    assert truth.mean > 1.5 * printed.bound
    assert truth.mean < theorem_2023(eta, precision, sigma, sigma, rho, m, "eigenbasis").bound


def test_2021_is_the_sum_of_the_display():
    precision = np.diag([2.0, 1.0, 0.5])
    sigma1, sigma2, tau, upper, a = 0.2, 0.01, 0.8, 1.3, 0.25
    found = theorem_2021(precision, sigma1, sigma2, tau, upper, a)
    s = math.sqrt(2 * 3 * sigma2**2 * 4 * math.log(6))
    display = 3 / (2 * a) * math.log(1 + s) - 3 / (2 * a)
    display += 3 / (2 * a) * (upper + tau + s - 1) / (upper * tau) * (sigma1**2 * 3.5 + 1)
    assert found.probability == pytest.approx(display, rel=1e-12)
    assert found.mean == pytest.approx(a * display, rel=1e-12)


def test_2021_holds_on_its_event():
    _, precision = problem(4, 1.0)
    sigma = 0.05
    tau, upper = interval_2021(precision, sigma)
    noise = sigma * symmetric_noise(np.random.default_rng(1), 4, 2000)
    kl, radius = kl_given_covariance_noise(precision, noise, sigma)
    inside = radius <= upper - 1
    assert inside.mean() >= 0.99 - 0.01  # 4.5 standard errors below its least probability: false alarm 4e-6
    assert kl[inside].mean() < theorem_2021(precision, sigma, sigma, tau, upper).mean


def test_2021_kl_is_the_gaussian_kl():
    eta, precision = random_problem(np.random.default_rng(5), 3)
    noise = 0.02 * symmetric_noise(np.random.default_rng(6), 3, 5)
    found, _ = kl_given_covariance_noise(precision, noise, 0.0)
    mean = np.linalg.solve(precision, eta)
    for value, e in zip(found, noise, strict=True):
        p = np.linalg.inv(np.linalg.inv(precision) + e)
        p = (p + p.T) / 2
        assert value == pytest.approx(gaussian_kl((eta, precision), (p @ mean, p)), rel=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([2, 5, 10, 30]), st.integers(0, 10**6), st.floats(0.001, 0.3), st.floats(0, 2))
def test_pointwise_bound_is_never_exceeded(d, seed, size, sigma1):
    rng = np.random.default_rng(seed)
    eta, precision = random_problem(rng, d, spread=rng.choice([1.5, 20.0]))
    noise = size / math.sqrt(d) * symmetric_noise(rng, d, 50)
    bound, _ = pointwise_bound(eta, precision, noise, sigma1)
    kl = kl_given_noise(eta, precision, noise, sigma1)
    assert (kl <= bound * (1 + 1e-9)).all()


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([2, 5, 10, 30]), st.integers(0, 10**6), st.floats(0.01, 0.9), st.floats(0, 3))
def test_corrected_bound_on_its_event(d, seed, radius, relative):
    rng = np.random.default_rng(seed)
    eta, precision = random_problem(rng, d)
    # Scale the noise so that the 99 per cent event is |W| <= radius.
    sigma2 = radius / corrected_bound(eta, precision, 0.0, 1.0).radius
    found = corrected_bound(eta, precision, relative * sigma2, sigma2)
    assert found.radius == pytest.approx(radius)
    noise = sigma2 * symmetric_noise(rng, d, 400)
    kl = kl_given_noise(eta, precision, noise, relative * sigma2)
    inside = pointwise_bound(eta, precision, noise, relative * sigma2)[1] <= found.radius
    # Binomial(400, >= .99): P(fewer than 380) < 1e-8.
    assert inside.sum() >= 380
    error = kl[inside].std(ddof=1) / math.sqrt(inside.sum())
    # 6 standard errors, 40 examples; the mean of a skew sample of 400: false alarm below 1e-6.
    assert kl[inside].mean() - 6 * error <= found.bound


def test_corrected_bound_is_sharp():
    eta, precision = problem(5, 1.0)
    bound = corrected_bound(eta, precision, 1e-6, 1e-6).bound
    truth = expected_kl(eta, precision, 1e-6, 1e-6, 1.0, np.random.default_rng(3), 4000, rule="none")
    # 5 standard errors: false alarm 6e-7; t is about 1e-4 here.
    assert abs(truth.mean - bound) <= 5 * truth.standard_error + 1e-3 * bound
    assert math.isnan(corrected_bound(eta, precision, 1.0, 1.0).bound)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([1, 2, 5, 10]), st.integers(0, 10**6), st.floats(0.001, 5))
def test_shift_bound_at_every_noise_level(d, seed, sigma):
    rng = np.random.default_rng(seed)
    eta, precision = random_problem(rng, d)
    smallest = float(np.linalg.eigvalsh(precision)[0])
    truth = expected_kl(eta, precision, sigma, sigma, smallest, rng, 200)
    # d = 1 has no randomness left; from d = 2 on the bound is above 3 times the mean, over 100 standard errors away.
    assert truth.mean <= corrected_shift_bound(eta, precision, sigma, sigma)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gaussian_kl((np.zeros(2), np.eye(3)), (np.zeros(2), np.eye(2))), "shape"),
        (lambda: gaussian_kl((np.zeros(2), np.eye(2)), (np.zeros(3), np.eye(3))), "dimensions"),
        (lambda: gaussian_kl((np.zeros(2), -np.eye(2)), (np.zeros(2), np.eye(2))), "positive definite"),
        (lambda: gaussian_kl((np.zeros(2), np.array([[1, 0.5], [0, 1]])), (np.zeros(2), np.eye(2))), "symmetric"),
        (lambda: clipped_sep_kl(np.zeros(2), np.eye(2), 0), "clip"),
        (lambda: theorem_2023(np.zeros(2), np.eye(2), 1, 1, 0, 1), "rho"),
        (lambda: theorem_2023(np.zeros(2), np.eye(2), -1, 1, 1, 1), "sigma1"),
        (lambda: theorem_2023(np.zeros(2), np.eye(2), 1, 1, 1, 1, "sorted"), "pairing"),
        (lambda: theorem_2021(np.eye(2), 1, 1, 1.5, 1.2), "interval"),
        (lambda: change_of(np.eye(2), np.zeros((1, 2, 2)), "clip", 1), "rule"),
        (lambda: expected_kl(np.zeros(2), np.eye(2), 1, 1, 1, np.random.default_rng(0), 1), "draws"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
