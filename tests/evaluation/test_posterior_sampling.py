"""Exact scores of a release, and the short cuts of the paper, against published digits and by other means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.special import ndtr

from evaluation import posterior_sampling as e
from models.exponential_family import BetaBernoulli, DirichletCategorical

PRIOR, N, K = (6.0, 18.0), 100, 38
BETA = BetaBernoulli()


def over_all(make, rho):
    return e.heldout_moments(e.over_data((make(k) for k in range(N + 1)), rho, N), rho, N)


def diffused(prior, r):
    return lambda k: e.posterior_law(prior, np.array([k]), N, data_weight=r)


def gaussian(prior, order, epsilon):
    return lambda k: e.gaussian_mechanism_law(prior, k, N, math.sqrt(order / (2 * epsilon)))


def test_heldout_scores_of_the_posterior_and_the_prior():
    assert over_all(diffused(PRIOR, 1.0), 0.5) == pytest.approx((70.244207, 1.896177), abs=6e-7)
    assert over_all(diffused(PRIOR, 0.0), 0.5) == pytest.approx((78.794718, 10.934206), abs=6e-7)
    point = over_all(lambda k: e.posterior_law(PRIOR, np.array([k]), N, prior_weight=1e14), 0.5)
    assert point[0] == pytest.approx(75.203870, abs=6e-7)
    assert point[1] == pytest.approx(5 * math.log(2), rel=1e-6)  # sd of 50 trials' worth of log(2 / 1)
    assert over_all(diffused((1.0, 2.0), 1.0), 0.2) == pytest.approx((51.030341, 5.899029), abs=6e-7)


@pytest.mark.parametrize(
    ("order", "epsilon", "value"), [(15, 0.1, 54.54174), (15, 1, 51.28819), (2, 0.1, 51.37872), (2, 1, 51.06370)]
)
def test_heldout_scores_of_the_gaussian_mechanism(order, epsilon, value):
    """Uniform prior, rho = 0.2."""
    assert over_all(gaussian((1.0, 2.0), order, epsilon), 0.2)[0] == pytest.approx(value, abs=6e-6)


def test_heldout_moments_by_enumeration():
    """Every H, and an integral over p, for a mixture of two laws."""
    law, rho, n = (
        e.Mixture(
            np.array([0.3, 0.7]),
            np.array([2.0, 5.0]),
            np.array([3.0, 1.5]),
        ),
        0.3,
        4,
    )

    def moment(power):
        def score(p, h):
            return (-(h * math.log(p) + (n - h) * math.log1p(-p))) ** power

        return sum(
            stats.binom.pmf(h, n, rho)
            * w
            * quad(lambda p, h=h, a=a, b=b: stats.beta.pdf(p, a, b) * score(p, h), 0, 1)[0]
            for h in range(n + 1)
            for w, a, b in zip(*law, strict=True)
        )

    mean, sd = e.heldout_moments(law, rho, n)
    assert mean == pytest.approx(moment(1), rel=1e-8)
    assert sd == pytest.approx(math.sqrt(moment(2) - moment(1) ** 2), rel=1e-7)


def kl(law):
    return e.kl_from_posterior(PRIOR, K, N, law)


def test_limits_of_figure_2():
    def tempered(r=1.0, m=1.0):
        return e.posterior_law(PRIOR, np.array([float(K)]), N, r, 1 / m)

    assert kl(tempered(r=0.0)) == pytest.approx(0.611674273, abs=6e-10)
    assert kl(tempered(r=6 / 14)) == pytest.approx(0.097728765, abs=6e-10)
    assert kl(tempered(m=6 / 14)) == pytest.approx(0.022164989, abs=6e-10)
    assert kl(tempered()) == pytest.approx(0.0, abs=1e-12)
    assert kl(tempered(m=1e-6)) > 1e4  # a point mass in the limit
    assert kl(e.gaussian_mechanism_law(PRIOR, K, N, 1e-3)) == pytest.approx(0.0, abs=1e-9)


def test_quadrature_of_the_divergence_is_the_closed_form():
    for r, m in ((0.2, 1.0), (1.0, 0.1), (0.01, 1.0)):
        eta = np.array(PRIOR) / m + r * np.array([K, N])
        exact = BETA.kl(np.array(PRIOR) + np.array([K, N]), eta)
        assert kl(e.posterior_law(PRIOR, np.array([float(K)]), N, r, 1 / m)) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("sigma", [0.3, 5.0, 80.0])
def test_law_of_the_gaussian_mechanism(sigma):
    """Weights add up to 1; density of rho and the divergence against adaptive quadrature of the clipped normal."""
    law = e.gaussian_mechanism_law(PRIOR, K, N, sigma)
    assert law.weight.sum() == pytest.approx(1.0, rel=1e-12)

    def density(rho):
        def both(s):
            """Density of the count s before it is clipped, times that of rho given s."""
            normal = -0.5 * ((s - K) / sigma) ** 2 - math.log(sigma * math.sqrt(2 * math.pi))
            constant = math.lgamma(118) - math.lgamma(6 + s) - math.lgamma(112 - s)
            return math.exp(normal + constant + (5 + s) * math.log(rho) + (111 - s) * math.log1p(-rho))

        inside = quad(both, max(0, K - 12 * sigma), min(N, K + 12 * sigma), limit=200)[0]
        low, high = ndtr(-K / sigma), ndtr(-(N - K) / sigma)
        return low * stats.beta.pdf(rho, 6, 112) + high * stats.beta.pdf(rho, 106, 12) + inside

    for rho in (0.05, 0.3, 0.6):
        ours = law.weight @ stats.beta.pdf(rho, law.a, law.b)
        assert ours == pytest.approx(density(rho), rel=1e-7)
    p = stats.beta(44, 74)
    points = np.linspace(0.12, 0.68, 141)
    coarse = np.array([p.pdf(t) * math.log(p.pdf(t) / density(t)) for t in points])
    # p is below 1e-11 outside of these points; trapezoids of a smooth function that ends in zeros
    assert kl(law) == pytest.approx(np.trapezoid(coarse, points), abs=1e-8)


def test_without_a_budget_the_gaussian_mechanism_knows_nothing():
    """epsilon -> 0: an equal mixture of the laws at 0 and n."""
    law = e.gaussian_mechanism_law(PRIOR, K, N, math.inf)
    assert law.weight.tolist() == [0.5, 0.5]
    assert (law.a.tolist(), law.b.tolist()) == ([6, 106], [112, 12])
    far = e.gaussian_mechanism_law(PRIOR, K, N, 1e9)
    assert far.weight[:2] == pytest.approx([0.5, 0.5], abs=1e-6)


def test_scores_are_sums_and_must_be_finite():
    assert e.heldout_scores(np.array([-1.0, -2.5])) == {"heldout_nll": (3.5, "nats")}
    with pytest.raises(ValueError, match="not finite"):
        e.heldout_scores(np.array([-1.0, -math.inf]))


# --------------------------------------------------------------------------------------------------- short cuts


@pytest.mark.parametrize(("order", "literal", "true"), [(1, 0.101151, 0.090140), (1.5, 0.147419, 0.139140)])
def test_corollary_2_read_literally_is_larger_below_order_two(order, literal, true):
    assert e.corollary_2(BETA, PRIOR, N, order) == pytest.approx(literal, abs=6e-7)
    assert e.brute_force(BETA, PRIOR, N, order) == pytest.approx(true, abs=6e-7)


def test_corollary_2_read_literally_is_infinite_for_a_uniform_prior():
    for order in (1, 1.5, 1.9):
        assert e.corollary_2(BETA, (1.0, 2.0), N, order) == math.inf
        assert e.brute_force(BETA, (1.0, 2.0), N, order) < math.inf


@given(
    a=st.tuples(st.floats(0.3, 30), st.floats(0.3, 30)),
    n=st.integers(1, 200),
    r=st.floats(0.05, 1),
    order=st.one_of(st.floats(1.01, 2), st.floats(2, 12)),
)
@settings(deadline=None, max_examples=150)
def test_corollary_2_is_never_too_small_and_exact_from_order_two_on(a, n, r, order):
    assume(abs(order - 1 - min(a) / r) > 1e-6)  # where one is infinite by rounding alone
    prior = np.array([a[0], sum(a)])
    literal, true = e.corollary_2(BETA, prior, n, order, r), e.brute_force(BETA, prior, n, order, r)
    assert literal >= true * (1 - 1e-9) - 1e-9
    if order >= 2 and math.isfinite(literal):
        assert literal == pytest.approx(true, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("order", "corners", "true"), [(1.3, 0.402979, 0.572714), (2, 0.737599, 0.980829), (2.5, 1.129890, 1.420148)]
)
def test_corner_pairs_alone_are_too_small_for_three_categories(order, corners, true):
    law = DirichletCategorical(3)
    prior = law.natural(np.array([2.0, 3.0, 4.0]))
    assert e.corners_only(law, prior, 20, order) == pytest.approx(corners, abs=6e-7)
    assert e.brute_force(law, prior, 20, order) == pytest.approx(true, abs=6e-7)


@pytest.mark.parametrize(
    ("tau2", "order", "value"),
    [
        (0.01, 2, 0.009975124326799),
        (0.1, 2, 0.097618597676469),
        (1.0, 2, 0.831796565751186),
        (5.0, 2, 3.151238659199846),
        (0.1, 3, 0.146433052391413),
        (1.0, 3, 1.262090509935999),
        (1.0, 5, 2.166160180145274),
    ],
)
def test_flip_to_the_published_digits(tau2, order, value):
    assert e.flip_divergence(order, tau2) == pytest.approx(value, rel=1e-13)
    # whole orders in closed form
    t = order - 1
    whole = sum((-1) ** (t - i) * math.exp(i**2 * tau2 / 2) for i in range(1, order)) + (-1) ** t / 2
    assert e.flip_divergence(order, tau2) == pytest.approx(math.log(2 * whole) / t, rel=1e-12)


@pytest.mark.parametrize("tau2", [0.01, 0.1, 1.0, 5.0])
def test_slack_of_theorem_16_and_the_bound_of_theorem_18(tau2):
    for order in (1, 1.01, 1.5, 2, 3, 5, 10, 20, 50):
        found = e.flip_divergence(order, tau2)
        assert 0.14 <= found / (2 * tau2 * order) <= 0.2494
        assert found >= (order - 1) * tau2 / 2
    assert e.flip_divergence(1 + 1e-7, tau2) == pytest.approx(e.flip_divergence(1, tau2), rel=1e-6)


def test_flip_out_of_range():
    with pytest.raises(ValueError, match=r"Renyi order 0\.5"):
        e.flip_divergence(0.5, 1.0)
    with pytest.raises(ValueError, match="tau2 = 0"):
        e.flip_divergence(2, 0.0)
