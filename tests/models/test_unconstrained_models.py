"""The models in unconstrained parameters: densities against scipy, gradients against autodiff, exact posteriors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from models import posteriors
from models.conjugate_simulators import ConjugateSimulator
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise
from models.logistic_regression_normal_prior import LogisticRegressionNormalPrior
from models.task import PublicKnowledge
from models.unconstrained import (
    Likelihood,
    MonteCarloPredictive,
    UnconstrainedDraws,
    UnconstrainedGaussian,
    inverse_softplus,
    moments,
    softplus,
)

MODELS = {
    "gamma_exponential": ConjugateSimulator("gamma_exponential"),
    "beta_bernoulli": ConjugateSimulator("beta_bernoulli", (3.0, 5.0)),
    "dirichlet_categorical": ConjugateSimulator("dirichlet_categorical", (5.0, 2.0, 4.0)),
    "linear": LinearRegressionUnknownNoise(),
    "logistic": LogisticRegressionNormalPrior(prior_sd=2.0),
}
INPUTS = {"linear": 3, "logistic": 3}


def rows(name, n, rng):
    """(theta (K, D), x, y) of one model."""
    model, inputs = MODELS[name], INPUTS.get(name, 1)
    d = model.dimension(inputs)
    theta = 0.7 * rng.standard_normal((4, d))
    if name == "linear":
        return theta, *model.simulate(theta[0], n, rng)
    if name == "logistic":
        return theta, rng.standard_normal((n, inputs)), rng.integers(0, 2, n).astype(float)
    return theta, model.simulate(theta[0], n, rng), None


def log_density_in_jax(name, theta, row, y):
    """The log-likelihood of one row and the log prior, written anew in jax from the natural parameters."""
    import jax
    import jax.numpy as jnp
    from jax.scipy import stats as js

    model = MODELS[name]
    if name == "gamma_exponential":
        rate = jax.nn.softplus(theta[0])
        prior = js.gamma.logpdf(rate, model.prior[0], scale=1 / model.prior[1]) + jnp.log(jax.nn.sigmoid(theta[0]))
        return js.expon.logpdf(row[0], scale=1 / rate), prior
    if name == "beta_bernoulli":
        p = jax.nn.sigmoid(theta[0])
        return js.bernoulli.logpmf(row[0], p), js.beta.logpdf(p, *model.prior) + jnp.log(p) + jnp.log(1 - p)
    if name == "dirichlet_categorical":
        p = jax.nn.softmax(jnp.append(theta, 0.0))
        prior = js.dirichlet.logpdf(p, jnp.array(model.prior)) + jnp.log(p).sum()
        return jnp.log(p)[row[0].astype(int)], prior
    if name == "linear":
        w, v = theta[:-1], jax.nn.softplus(theta[-1])
        noise = js.gamma.logpdf(1 / v, model.shape, scale=1 / model.scale) - 2 * jnp.log(v)
        weights = js.norm.logpdf(w, 0.0, jnp.sqrt(v / model.precision)).sum()
        likelihood = js.norm.logpdf(y, row @ w[:-1] + w[-1], jnp.sqrt(v))
        return likelihood, noise + weights + jnp.log(jax.nn.sigmoid(theta[-1]))
    margin = row @ theta[:-1] + theta[-1]
    return js.bernoulli.logpmf(y, jax.nn.sigmoid(margin)), js.norm.logpdf(theta, 0.0, model.prior_sd).sum()


@pytest.mark.parametrize("name", MODELS)
def test_densities_and_gradients_agree_with_autodiff(name):
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(1)
    theta, x, y = rows(name, 6, rng)
    model = MODELS[name]
    likelihood = model.likelihood
    design = likelihood.design(x)
    with jax.enable_x64(True):
        targets = np.zeros(6) if y is None else y
        for part, value, gradient in (
            (0, likelihood.log_density(theta, design, y), likelihood.gradient(theta, design, y).transpose(1, 0, 2)),
            (1, *(np.repeat(a[:, None], 6, 1) for a in (model.log_prior(theta), model.prior_gradient(theta)))),
        ):

            def one(t, row, target, part=part):
                return log_density_in_jax(name, t, row, target)[part]

            both = jax.jit(jax.vmap(jax.vmap(jax.value_and_grad(one), (None, 0, 0)), (0, None, None)))
            expected, slope = both(jnp.asarray(theta), jnp.asarray(x), jnp.asarray(targets))
            np.testing.assert_allclose(value, np.asarray(expected), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(gradient, -np.asarray(slope), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["gamma_exponential", "beta_bernoulli", "dirichlet_categorical", "linear"])
def test_exact_posterior_is_proportional_to_prior_times_likelihood(name):
    """The ratio of two points' densities under the exact posterior, from its conjugate parameters."""
    rng = np.random.default_rng(2)
    _, x, y = rows(name, 40, rng)
    model = MODELS[name]
    exact = model.exact_posterior(x) if y is None else model.exact_posterior(x, y)
    theta = exact.sample(5, rng)
    joint = model.log_prior(theta) + model.likelihood.log_density(theta, model.likelihood.design(x), y).sum(axis=1)
    if name == "linear":
        w, v = theta[:, :-1], softplus(theta[:, -1])
        factor = exact.factor @ exact.factor.T
        q = np.einsum("ki,ij,kj->k", w - exact.mean, factor, w - exact.mean)
        density = -(exact.shape + 1 + w.shape[1] / 2) * np.log(v) - (exact.scale + q / 2) / v
        density += np.log1p(-np.exp(-v))  # Jacobian: dv / dtheta = 1 - exp(-v)
    else:
        density = ConjugateSimulator(name, tuple(exact.natural)).log_prior(theta)
    np.testing.assert_allclose(joint - joint[0], density - density[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("family", "law"),
    [
        ("gamma_exponential", lambda t: stats.gamma(8, scale=0.5).cdf(softplus(t[:, 0]))),
        ("beta_bernoulli", lambda t: stats.beta(10, 10).cdf(1 / (1 + np.exp(-t[:, 0])))),
        ("dirichlet_categorical", lambda t: stats.beta(5, 10).cdf(np.exp(t[:, 0]) / (1 + np.exp(t).sum(axis=1)))),
    ],
)
def test_prior_draws_follow_the_prior(family, law):
    """False-alarm rate 1e-4 each."""
    theta = ConjugateSimulator(family).sample_prior(5000, np.random.default_rng(3))
    assert stats.kstest(law(theta), "uniform").pvalue > 1e-4


def test_regression_prior_and_simulator_follow_their_law():
    """False-alarm rate 1e-4 each."""
    rng, model = np.random.default_rng(4), LinearRegressionUnknownNoise()
    theta = model.sample_prior(5000, rng, 10)
    v = softplus(theta[:, -1])
    assert theta.shape == (5000, 12)
    assert stats.kstest(v, stats.invgamma(20, scale=0.5).cdf).pvalue > 1e-4
    assert stats.kstest(theta[:, 3] / (2 * np.sqrt(v)), "norm").pvalue > 1e-4
    x, y = model.simulate(theta[0], 4000, rng)
    residual = (y - np.column_stack([x, np.ones(4000)]) @ theta[0, :-1]) / np.sqrt(v[0])
    assert stats.kstest(residual, "norm").pvalue > 1e-4


def test_simulated_rows_follow_the_likelihood():
    """Means within 5 standard errors."""
    rng = np.random.default_rng(5)
    x = ConjugateSimulator("gamma_exponential").simulate(inverse_softplus(np.array([4.0])), 40_000, rng)
    assert abs(x.mean() - 0.25) < 5 * 0.25 / 200
    x = ConjugateSimulator("dirichlet_categorical").simulate(np.log([2.0, 3.0]), 60_000, rng)
    share = np.bincount(x[:, 0].astype(int)) / 60_000
    np.testing.assert_allclose(share, np.array([2, 3, 1]) / 6, atol=5 * np.sqrt(0.25 / 60_000))


@given(st.floats(1e-8, 500))
def test_softplus_and_its_inverse(v):
    assert softplus(inverse_softplus(np.array([v])))[0] == pytest.approx(v, rel=1e-7)


@pytest.mark.parametrize(
    "posterior",
    [
        UnconstrainedGaussian(np.zeros(4), np.ones(4), Likelihood("logistic", np.array([1.0]), np.array([2.0]), True)),
        UnconstrainedDraws(np.arange(12.0).reshape(6, 2), Likelihood("categorical"), 0.1 * np.ones((6, 2)), np.ones(2)),
        ConjugateSimulator("beta_bernoulli").exact_posterior(np.ones((3, 1))),
        LinearRegressionUnknownNoise().exact_posterior(np.ones((3, 2)), np.ones(3)),
    ],
    ids=lambda p: p.kind,
)
def test_posteriors_round_trip(posterior):
    again = posteriors.load(posterior.kind, posterior.parameters())
    one, two = (p.sample(50, np.random.default_rng(0)) for p in (posterior, again))
    np.testing.assert_array_equal(one, two)
    assert again.likelihood.name == posterior.likelihood.name
    assert all(np.isfinite(np.asarray(v, dtype=float)).all() for v in posterior.parameters().values())


def test_stored_draws_come_back_as_they_are():
    draws = np.random.default_rng(0).standard_normal((7, 2))
    plain = UnconstrainedDraws(draws, Likelihood("categorical"))
    np.testing.assert_array_equal(plain.sample(7, np.random.default_rng(1)), draws)
    assert {tuple(r) for r in plain.sample(30, np.random.default_rng(1))} <= {tuple(r) for r in draws}


def test_predictions_average_over_the_posterior():
    """Beta-bernoulli: P(x = 1) is the posterior mean of p; normal-inverse-gamma: a t density. 5 standard errors."""
    rng = np.random.default_rng(6)
    exact = ConjugateSimulator("beta_bernoulli").exact_posterior(np.array([[1.0], [1.0], [0.0]]))
    p = exact.predictive(np.array([[1.0], [0.0]]), rng)
    assert np.exp(p.log_density())[0] == pytest.approx(12 / 23, abs=5 * 0.1 / np.sqrt(1000))
    assert np.exp(p.log_density()).sum() == pytest.approx(1.0, abs=1e-12)
    assert p.mean[0] == pytest.approx(np.exp(p.log_density())[0], abs=1e-12)
    x, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    nig = LinearRegressionUnknownNoise(2.0, 1.0, 1.0).exact_posterior(x, y)
    p = nig.predictive(x[:1], rng)
    row = np.append(x[0], 1.0)
    scale = nig.scale / nig.shape * (1 + row @ np.linalg.solve(nig.factor @ nig.factor.T, row))
    t = stats.t(2 * nig.shape, row @ nig.mean, np.sqrt(scale))
    assert p.log_density(y[:1])[0] == pytest.approx(t.logpdf(y[0]), abs=0.05)
    assert p.mean[0] == pytest.approx(t.mean(), abs=5 * t.std() / np.sqrt(1000))
    assert p.variance[0] == pytest.approx(t.var(), rel=0.2)


@pytest.mark.parametrize("name", ["gamma_exponential", "beta_bernoulli", "dirichlet_categorical"])
def test_predictive_moments_are_those_of_the_mixture_over_the_draws(name):
    """E x and E x^2 of each draw's distribution, averaged; of a category its number."""
    theta, _, _ = rows(name, 3, np.random.default_rng(7))
    p = MonteCarloPredictive(MODELS[name].likelihood, theta, np.zeros((3, 1)))
    if name == "gamma_exponential":
        first, second = 1 / softplus(theta[:, 0]), 2 / softplus(theta[:, 0]) ** 2
    else:
        weights = np.exp(np.column_stack([theta, np.zeros(len(theta))]) if theta.shape[1] > 1 else theta * [[0.0, 1.0]])
        weights /= weights.sum(axis=1, keepdims=True)
        number = np.arange(weights.shape[1])
        first, second = weights @ number, weights @ number**2
    np.testing.assert_allclose(p.mean, np.full(3, first.mean()), rtol=1e-12)
    np.testing.assert_allclose(p.variance, np.full(3, second.mean() - first.mean() ** 2), rtol=1e-12)


def test_scalings_of_logistic_regression():
    rng = np.random.default_rng(7)
    x = np.column_stack([rng.uniform(0, 10, 50), rng.integers(0, 2, 50)])
    public = PublicKnowledge(50, ((0.0, 10.0), (0.0, 1.0)), None, "the law that draws these rows")
    own = LogisticRegressionNormalPrior(continuous=1, scaling="moments").scaled_likelihood(x, public)
    design = own.design(x)
    assert design.shape == (50, 3)
    np.testing.assert_allclose(moments(design[:, :1]), ([0.0], [1.0]), atol=1e-12)
    np.testing.assert_array_equal(design[:, 1:], np.column_stack([x[:, 1], np.ones(50)]))
    # rows to predict are standardised by their own moments, as published
    np.testing.assert_allclose(own.design(3 * x + 1, own=True)[:, 0], design[:, 0], atol=1e-12)
    known = LogisticRegressionNormalPrior(continuous=1, scaling="public").scaled_likelihood(x, public)
    np.testing.assert_allclose(known.design(np.array([[5.0, 1.0], [10.0, 1.0]]))[:, 0], [0.0, np.sqrt(3.0)])
    declared = LogisticRegressionNormalPrior(continuous=1, scaling="public", declared_bounds=((0, -10, 10),))
    assert declared.scaled_likelihood(x, public).shift[0] == 0.0
    with pytest.raises(ValueError, match="declared_bounds"):
        LogisticRegressionNormalPrior(continuous=1, scaling="public").scaled_likelihood(x, PublicKnowledge(50))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConjugateSimulator("poisson"), "family = 'poisson'"),
        (lambda: ConjugateSimulator("beta_bernoulli", (1.0, -1.0)), "above 0"),
        (lambda: ConjugateSimulator("dirichlet_categorical", (1.0,)), "2 or more"),
        (lambda: ConjugateSimulator("beta_bernoulli").dimension(2), "2 columns"),
        (lambda: ConjugateSimulator("beta_bernoulli").exact_posterior(np.array([[0.5]])), "row 0"),
        (lambda: ConjugateSimulator("gamma_exponential").exact_posterior(np.array([[1.0], [-1.0]])), "row 1"),
        (lambda: LinearRegressionUnknownNoise(shape=0.0), "shape = 0"),
        (lambda: LogisticRegressionNormalPrior(prior_sd=-1.0), "prior_sd"),
        (lambda: LogisticRegressionNormalPrior(scaling="minmax"), "scaling = 'minmax'"),
        (lambda: LogisticRegressionNormalPrior(continuous=2), "scaling is 'none'"),
        (lambda: LogisticRegressionNormalPrior(continuous=3, scaling="moments").dimension(2), "2 inputs"),
        (
            lambda: LogisticRegressionNormalPrior(continuous=1, scaling="public", declared_bounds=((1, 0, 1),)),
            "declared_bounds",
        ),
        (lambda: Likelihood("poisson"), "poisson"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_gradient_is_that_of_the_density(seed):
    """By central differences, any model: the two halves of a likelihood cannot drift apart."""
    rng = np.random.default_rng(seed)
    name = list(MODELS)[seed % len(MODELS)]
    theta, x, y = rows(name, 3, rng)
    likelihood, h = MODELS[name].likelihood, 1e-5
    design = likelihood.design(x)
    for j in range(theta.shape[1]):
        step = h * np.eye(theta.shape[1])[j]
        up, down = (likelihood.log_density(theta + sign * step, design, y) for sign in (1, -1))
        numeric = -(up - down).T / (2 * h)
        analytic = likelihood.gradient(theta, design, y)[:, :, j]
        np.testing.assert_allclose(analytic, numeric, atol=1e-5 * (1 + np.abs(analytic).max()))
