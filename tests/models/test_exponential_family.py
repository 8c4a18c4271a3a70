"""Conjugate families: closed forms against published digits, against Observation 7 and against quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit, logsumexp

from models import posteriors
from models.exponential_family import (
    BetaBernoulli,
    DirichletCategorical,
    ExponentialFamily,
    GaussianMean,
    ParameterSample,
    load,
    log_gamma_variates,
    renyi,
    statistic_of,
)
from models.task import PublicKnowledge, Task

BETA = BetaBernoulli()
GAUSS = GaussianMean(variance=1.7, clip=2.0)


def beta(a, b):
    return np.array([a, a + b], dtype=float)


def gauss(mean, variance, law=GAUSS):
    """Natural parameters of N(mean, variance) on the mean."""
    worth = law.variance / variance
    return np.array([mean * worth, worth])


@pytest.mark.parametrize(
    ("p", "q", "order", "value"),
    [
        ((2, 3), (3, 2), 1.5, 0.774088368303767),
        ((2, 3), (3, 2), 2, 1.09861228866811),
        ((10, 20), (11, 19), 5, 0.421260024643969),
        ((44, 74), (45, 73), 2, 0.0365951702804774),
        ((44, 74), (45, 73), 10, 0.188529049592840),
        ((1, 1), (2, 0.5), 1.4, 1.24754117490251),
        ((44, 74), (6, 12), 1, 0.611674273236768),
    ],
)
def test_published_divergences_of_beta_laws(p, q, order, value):
    assert BETA.renyi(order, beta(*p), beta(*q)) == pytest.approx(value, rel=2e-12)
    assert renyi(BETA, order, beta(*p), beta(*q)) == pytest.approx(value, rel=2e-12)


def test_infinite_where_the_combination_is_not_normalizable():
    assert BETA.renyi(7, beta(6, 112), beta(7, 111)) == math.inf
    assert BETA.renyi(6.999, beta(6, 112), beta(7, 111)) < math.inf
    assert renyi(BETA, 7, beta(6, 112), beta(7, 111)) == math.inf
    assert GAUSS.renyi(3, gauss(0, 2.0), gauss(0, 1.0)) == math.inf
    assert renyi(GAUSS, 3, gauss(0, 2.0), gauss(0, 1.0)) == math.inf


positive = st.floats(0.05, 200.0)
orders = st.one_of(st.just(1.0), st.floats(1.01, 20.0))


@given(data=st.data(), d=st.integers(2, 5), order=orders)
@settings(deadline=None, max_examples=200)
def test_closed_forms_are_observation_7(data, d, order):
    law = DirichletCategorical(d)
    p, q = (law.natural(np.array(data.draw(st.lists(positive, min_size=d, max_size=d)))) for _ in range(2))
    one, two = law.renyi(order, p, q), renyi(law, order, p, q)
    # both subtract numbers of the size of C; the smallest order above 1 divides by 0.01
    size = 1 + abs(law.log_partition(p)) + abs(law.log_partition(q)) + np.abs(p - q).max() * 20
    assert one == two or abs(one - two) < 1e-11 * size * order / (order - 0.99)
    assert one > -1e-11 * size * order / (order - 0.99)


@given(m=st.tuples(st.floats(-5, 5), st.floats(-5, 5)), v=st.tuples(positive, positive), order=orders)
@settings(deadline=None, max_examples=200)
def test_closed_forms_are_observation_7_gauss(m, v, order):
    p, q = gauss(m[0], v[0]), gauss(m[1], v[1])
    one, two = GAUSS.renyi(order, p, q), renyi(GAUSS, order, p, q)
    assert one == two or one == pytest.approx(two, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("order", [1, 1.5, 3])
def test_divergences_by_quadrature(order):
    """Integrals over rho and over the mean, against nothing but the densities of another library."""
    for p, q, law, convert in (
        (stats.beta(4, 7), stats.beta(5, 6), BETA, lambda f: beta(*f.args)),
        (stats.norm(0.3, 1.1), stats.norm(-0.4, 1.3), GAUSS, lambda f: gauss(f.args[0], f.args[1] ** 2)),
    ):
        low, high = (0, 1) if law is BETA else (-12, 12)
        if order == 1:
            value = quad(lambda t, p=p, q=q: p.pdf(t) * (p.logpdf(t) - q.logpdf(t)), low, high)[0]
        else:
            inside = quad(lambda t, p=p, q=q: np.exp(order * p.logpdf(t) + (1 - order) * q.logpdf(t)), low, high)[0]
            value = math.log(inside) / (order - 1)
        assert law.renyi(order, convert(p), convert(q)) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    ("law", "eta", "log_likelihood"),
    [
        (BETA, beta(2.5, 4.0), lambda t, e: t * e[0] - np.logaddexp(0, t) * e[1]),
        (GAUSS, gauss(0.7, 0.4), lambda t, e: t * e[0] - GAUSS.variance * t**2 / 2 * e[1]),
    ],
)
def test_log_partition_is_the_integral_that_defines_it(law, eta, log_likelihood):
    integral = quad(lambda t: np.exp(log_likelihood(t, eta)), -40, 40, limit=200)[0]
    assert law.log_partition(eta) == pytest.approx(math.log(integral), rel=1e-8)


@pytest.mark.parametrize(
    ("law", "eta"),
    [(BETA, beta(2.5, 4)), (GAUSS, gauss(0.7, 0.4)), (DirichletCategorical(4), np.array([1, 2, 3, 9.0]))],
)
def test_the_mean_is_the_gradient_of_the_log_partition(law, eta):
    h = 1e-5
    slope = [(law.log_partition(eta + h * e) - law.log_partition(eta - h * e)) / (2 * h) for e in np.eye(len(eta))]
    np.testing.assert_allclose(law.mean(eta), slope, rtol=1e-7)


def test_updating_is_conjugate():
    """prior x likelihood is proportional to the updated law, at random parameters."""
    rng = np.random.default_rng(0)
    cases = [
        (ExponentialFamily.beta_bernoulli(2, 3), rng.integers(0, 2, (7, 1)).astype(float)),
        (ExponentialFamily.dirichlet_categorical((1, 2, 3)), rng.integers(0, 3, (7, 1)).astype(float)),
        (ExponentialFamily.gaussian_mean(0.5, 2.0, 1.7, 9.0), rng.normal(size=(7, 1))),
    ]
    for model, x in cases:
        law, eta = model.law, model.natural
        after = eta + np.append(law.statistic(x).sum(axis=0), len(x))
        thetas = rng.normal(size=(5, len(eta) - 1))

        def log_density(theta, at, law=law):
            if law.name == "gaussian_mean":
                potential = law.variance * theta[0] ** 2 / 2
            else:
                potential = logsumexp(np.append(theta, 0.0))
            return theta @ at[:-1] - potential * at[-1] - law.log_partition(at)

        gaps = [log_density(t, after) - log_density(t, eta) - law.log_likelihood(t, x).sum() for t in thetas]
        np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_likelihoods():
    x = np.array([[0.0], [1.0], [0.25]])
    np.testing.assert_allclose(
        BETA.log_likelihood(np.array([0.7]), x),
        [math.log(1 - expit(0.7)), math.log(expit(0.7)), 0.25 * 0.7 - np.logaddexp(0, 0.7)],
    )
    law = DirichletCategorical(3)
    theta = np.array([0.3, -1.0])
    p = law.value(theta)
    np.testing.assert_allclose(p, np.exp([0.3, -1.0, 0.0]) / np.exp([0.3, -1.0, 0.0]).sum())
    np.testing.assert_allclose(law.log_likelihood(theta, np.array([[2.0], [0.0]])), np.log(p[[2, 0]]))
    np.testing.assert_allclose(law.log_likelihood(theta, np.eye(3)), np.log(p))
    far = np.array([[3.5], [50.0]])  # scored as it is, not clipped
    np.testing.assert_allclose(
        GAUSS.log_likelihood(np.array([0.4]), far), stats.norm(1.7 * 0.4, math.sqrt(1.7)).logpdf(far[:, 0])
    )


@pytest.mark.parametrize(("a", "b"), [(6.0, 12.0), (0.5, 0.7), (300.0, 2.0)])
def test_draws_follow_the_beta_law(a, b):
    """Kolmogorov-Smirnov at 4,000 draws; false-alarm rate 1e-6 each."""
    theta = BETA.sample(np.random.default_rng(1), np.tile(beta(a, b), (4000, 1)))
    assert theta.shape == (4000, 1)
    assert stats.kstest(BETA.value(theta), stats.beta(a, b).cdf).pvalue > 1e-6


def test_draws_follow_the_other_laws():
    """Marginals of a Dirichlet law are Beta laws; false-alarm rate 1e-6 each."""
    law, a = DirichletCategorical(3), np.array([0.4, 2.0, 5.0])
    p = law.value(law.sample(np.random.default_rng(2), np.tile(law.natural(a), (4000, 1))))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    for k in range(3):
        assert stats.kstest(p[:, k], stats.beta(a[k], a.sum() - a[k]).cdf).pvalue > 1e-6
    means = GAUSS.value(GAUSS.sample(np.random.default_rng(3), np.tile(gauss(0.7, 0.4), (4000, 1))))
    assert stats.kstest(means, stats.norm(0.7, math.sqrt(0.4)).cdf).pvalue > 1e-6


def test_draws_stay_finite_where_a_probability_underflows():
    theta = BETA.sample(np.random.default_rng(4), np.tile(beta(1e-4, 50.0), (2000, 1)))
    assert np.isfinite(theta).all()
    assert (theta < -800).any()  # exp of it is 0 in double precision
    # log G has the law of -Exponential / a for small a: median -log(2) / a; 2,000 draws, false-alarm rate below 1e-9
    median = np.median(log_gamma_variates(np.random.default_rng(5), np.full(2000, 1e-4)))
    assert median == pytest.approx(-math.log(2) / 1e-4, rel=0.2)


@given(total=st.lists(st.floats(-50, 150), min_size=3, max_size=3), n=st.integers(1, 40))
@settings(deadline=None)
def test_projection_is_the_nearest_possible_sum(total, n):
    law, total = DirichletCategorical(4), np.array(total)
    nearest = law.project(total, n)
    assert (nearest >= 0).all()
    assert nearest.sum() <= n * (1 + 1e-12)
    # the residual makes an obtuse angle with every direction into the set
    corners = np.vstack([np.zeros(3), n * np.eye(3)])
    assert ((corners - nearest) @ (total - nearest) <= 1e-6).all()
    np.testing.assert_allclose(law.project(np.stack([total, total]), n), [nearest, nearest])


def test_projection_of_the_other_families():
    np.testing.assert_array_equal(BETA.project(np.array([[-3.0], [4.5], [12.0]]), 10), [[0.0], [4.5], [10.0]])
    np.testing.assert_array_equal(GAUSS.project(np.array([-50.0]), 10), [-20.0])


def test_constructors():
    assert ExponentialFamily.beta_bernoulli(6, 12).prior == (6, 18)
    assert ExponentialFamily.dirichlet_categorical((2, 3, 4)).prior == (2, 3, 9)
    model = ExponentialFamily.gaussian_mean(mean=0.5, precision=2.0, variance=3.0, clip=1.0)
    draws = model.law.value(model.law.sample(np.random.default_rng(0), np.tile(model.natural, (20_000, 1))))
    # 6 standard errors
    assert abs(draws.mean() - 0.5) < 6 * math.sqrt(0.5 / 20_000)
    assert draws.var() == pytest.approx(0.5, rel=6 * math.sqrt(2 / 20_000))


def test_public_rows_go_into_the_prior():
    model = ExponentialFamily.beta_bernoulli(6, 12).with_public_rows(np.array([[1.0], [1.0], [0.0]]))
    assert model.public == (2, 3)
    np.testing.assert_array_equal(model.natural, [8, 21])
    again = model.with_public_rows(np.array([[1.0]]))
    np.testing.assert_array_equal(again.natural, [9, 22])
    # an improper prior that public rows make proper
    assert ExponentialFamily("beta_bernoulli", (0, 0), public=(1, 2)).natural.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"family": "poisson", "prior": (1, 2)}, "family = 'poisson'.*beta_bernoulli"),
        ({"family": "beta_bernoulli", "prior": (0, 2)}, "prior = .* is not normalizable"),
        ({"family": "beta_bernoulli", "prior": (6, 6)}, "not normalizable"),
        ({"family": "beta_bernoulli", "prior": (6, math.inf)}, "not normalizable"),
        ({"family": "beta_bernoulli", "prior": (math.nan, 3)}, "not normalizable"),
        ({"family": "beta_bernoulli", "prior": (6,)}, "1 .*2 natural parameters"),
        ({"family": "beta_bernoulli", "prior": (6, 18), "clip": 1.0}, "clip = 1.0 for beta_bernoulli"),
        ({"family": "beta_bernoulli", "prior": (6, 18), "public": (3, 2)}, "public = .* not the sum"),
        ({"family": "beta_bernoulli", "prior": (6, 18), "public": (3,)}, "public 1"),
        ({"family": "dirichlet_categorical", "prior": (2,)}, "natural parameters"),
        ({"family": "dirichlet_categorical", "prior": (2, 3, 5)}, "not normalizable"),
        ({"family": "gaussian_mean", "prior": (0, 1)}, "variance = None"),
        ({"family": "gaussian_mean", "prior": (0, 1), "variance": 1.0}, "clip = None"),
        ({"family": "gaussian_mean", "prior": (0, 1), "variance": -1.0, "clip": 1.0}, "variance = -1.0"),
        ({"family": "gaussian_mean", "prior": (0, 0), "variance": 1.0, "clip": 1.0}, "not normalizable"),
        ({"family": "gaussian_mean", "prior": (0, 1), "variance": 1.0, "clip": 1.0, "public": (5, 2)}, "public"),
    ],
)
def test_a_model_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ExponentialFamily(**arguments)


@pytest.mark.parametrize(
    ("model", "x", "message"),
    [
        (ExponentialFamily.beta_bernoulli(1, 1), [[0.0], [2.0]], "row 1 is 2; .*0 or 1"),
        (ExponentialFamily.beta_bernoulli(1, 1), [[0.5]], "row 0 is 0.5"),
        (ExponentialFamily.beta_bernoulli(1, 1), [[0.0, 1.0]], "2 columns"),
        (ExponentialFamily.dirichlet_categorical((1, 1, 1)), [[3.0]], "0 to 2"),
        (ExponentialFamily.dirichlet_categorical((1, 1, 1)), [[0.5]], "row 0 is 0.5"),
        (ExponentialFamily.dirichlet_categorical((1, 1, 1)), [[1.0, 1.0, 0.0]], "one 1"),
        (ExponentialFamily.dirichlet_categorical((1, 1, 1)), [[1.0, 0.0]], "2 columns"),
        (ExponentialFamily.gaussian_mean(0, 1, 1, 1), [[1.0, 0.0]], "2 columns"),
        (ExponentialFamily.beta_bernoulli(1, 1), np.empty((0, 1)), "at least 1 training row"),
    ],
)
def test_rows_outside_the_support_are_refused_by_name(model, x, message):
    with pytest.raises(ValueError, match=f"some rows: .*{message}"):
        statistic_of(Task("some rows", model, np.array(x)))


def test_another_number_of_rows_than_the_public_one_is_refused():
    """The guarantee is for replacement of one row: n is public, and it is that of the rows."""
    task = Task("t", ExponentialFamily.beta_bernoulli(1, 1), np.zeros((3, 1)), public=PublicKnowledge(4))
    with pytest.raises(ValueError, match="3 training rows, and the public number of rows is 4"):
        statistic_of(task)


def test_fractions_are_for_queries_alone():
    x = np.array([[0.2], [1.0]])
    task = Task("t", ExponentialFamily.beta_bernoulli(1, 1), x)
    np.testing.assert_array_equal(statistic_of(task, fractional=True), x)
    for bad in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"row 0 .*\[0, 1\]"):
            statistic_of(Task("t", task.model, np.array([[bad]])), fractional=True)
    with pytest.raises(ValueError, match="columns"):
        statistic_of(Task("t", ExponentialFamily.gaussian_mean(0, 1, 1, 1), x), fractional=True)


def test_clipping_is_part_of_the_model():
    task = Task("t", ExponentialFamily.gaussian_mean(0, 1, 1, 1.5), np.array([[-9.0], [0.2], [4.0]]))
    np.testing.assert_array_equal(statistic_of(task)[:, 0], [-1.5, 0.2, 1.5])


@pytest.mark.parametrize("order", [0.5, 0.999, -1.0, math.nan, math.inf])
def test_orders_below_one_are_refused(order):
    for found in (
        lambda: BETA.renyi(order, beta(1, 2), beta(2, 1)),
        lambda: renyi(BETA, order, beta(1, 2), beta(2, 1)),
    ):
        with pytest.raises(ValueError, match="Renyi order"):
            found()
    with pytest.raises(ValueError, match="Renyi order"):
        GAUSS.renyi(order, gauss(0, 1), gauss(1, 1))


def test_divergences_of_improper_laws_are_refused():
    for law, bad in ((BETA, np.array([3.0, 2.0])), (GAUSS, np.array([0.0, -1.0]))):
        with pytest.raises(ValueError, match="normalizable"):
            law.renyi(2, bad, bad)
        assert law.log_partition(bad) == math.inf


@pytest.mark.parametrize("law", [BETA, DirichletCategorical(4), GAUSS], ids=lambda law: law.name)
def test_a_sample_is_rebuilt_from_its_parameters(law):
    theta = np.array([0.3, -0.2, 1.0])[: 3 if law.name == "dirichlet_categorical" else 1]
    sample = ParameterSample(theta, law)
    again = posteriors.load(sample.kind, sample.parameters())
    assert again.law == law
    np.testing.assert_array_equal(again.value, sample.value)
    with pytest.raises(KeyError, match="parameter_sample"):
        load("another", {})
