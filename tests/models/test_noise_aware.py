"""The collapse of the T-term likelihood, exact draws of the noise-aware posterior, the Laplace approximation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from models import noise_aware as na
from models import posteriors
from models.noise_aware import Priors, Statistics, TracePosterior
from models.unconstrained import Likelihood, softplus


def explicit(phi, g, slope, noise, optimum):
    """sum_t log N(g_t; slope (phi_t - optimum), noise), term by term."""
    return math.fsum(stats.multivariate_normal.logpdf(g - (phi - optimum) @ slope.T, np.zeros(g.shape[1]), noise))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from([2, 30, 8000]))
def test_collapse_is_exact_for_general_slope_and_noise(seed, d, n):
    """Relative difference to the explicit sum of n terms at most 1e-12; any A, not symmetric; any covariance."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(3.0, 0.3, (n, d))
    g = rng.normal(0.0, 2.0, (n, d)) + 0.5 * phi
    slope, root = rng.standard_normal((d, d)), rng.standard_normal((d, d))
    noise, optimum = root @ root.T + 0.5 * np.eye(d), rng.standard_normal(d)
    collapsed = na.log_likelihood(na.statistics(phi, g), slope, noise, optimum)
    assert collapsed == pytest.approx(explicit(phi, g, slope, noise, optimum), rel=1e-12)


def test_collapse_at_the_scale_of_the_experiments():
    """n = 8000, V0 = 1e10 and a trace that hardly moves: where a sum that is not centred would lose its digits."""
    rng = np.random.default_rng(1)
    phi = 1e-3 * rng.standard_normal((8000, 2)).cumsum(axis=0) + 50.0
    slope, noise = np.diag([300.0, 20.0]), 1e10 * np.array([[1.0, 0.3], [0.3, 2.0]])
    g = (phi - 49.0) @ slope.T + rng.multivariate_normal([0, 0], noise, 8000)
    collapsed = na.log_likelihood(na.statistics(phi, g), slope, noise, np.array([49.0, 49.5]))
    assert collapsed == pytest.approx(explicit(phi, g, slope, noise, np.array([49.0, 49.5])), rel=1e-12)


def trace(seed=0, n=8000, slope=100.0, v0=700.0**2, optimum=1.5, rate=0.1):
    """Statistics of one coordinate's descent with the model's own law, as numbers, and V0."""
    rng = np.random.default_rng(seed)
    phi, points, gradients = 0.0, np.empty(n), np.empty(n)
    step = 0.02 / math.sqrt(v0)
    for t in range(n):
        g = rate * slope * (phi - optimum) + math.sqrt(v0) * rng.standard_normal()
        points[t], gradients[t] = phi, g
        phi -= step * g
    s = na.statistics(points[:, None], gradients[:, None])
    return Statistics(float(n), *(float(np.ravel(a)[0]) for a in s[1:])), v0


def joint_log_density(h, s, delta, stat, v0, rate, priors):
    """Log of the three-parameter density that the published program hands to NUTS, up to a constant."""
    hm, hs = na.slope_prior(stat, v0, rate)
    k, v = rate * softplus(h), v0 + s**2
    likelihood = na.log_likelihood(
        Statistics(stat.n, *(np.atleast_1d(a) for a in stat[1:3]), *(np.atleast_2d(a) for a in stat[3:])),
        np.array([[k]]), np.array([[v]]), np.array([stat.phi + delta]),
    )  # fmt: skip
    prior = -0.5 * ((h - hm) / (priors.slope_widening * hs)) ** 2 - 0.5 * (s / priors.noise_sd) ** 2
    return likelihood + prior - 0.5 * (delta / priors.optimum_sd) ** 2


@pytest.mark.parametrize(("h", "s"), [(60.0, 0.0), (150.0, 2.0), (5.0, 0.5), (-3.0, 1.0)])
@pytest.mark.parametrize("priors", [Priors(), Priors(0.3, 3.0, 2.0)])
def test_optimum_is_integrated_out_exactly(h, s, priors):
    """Against quadrature over delta of the three-parameter density, and mean and variance given (h, s)."""
    stat, v0 = trace()
    rate = 0.1
    hm, hs = na.slope_prior(stat, v0, rate)
    mean, variance = na.optimum_given(h, s, stat, v0, rate, priors)
    top = joint_log_density(h, s, mean, stat, v0, rate, priors)

    def moment(power):
        def density(d):
            return (d - mean) ** power * math.exp(joint_log_density(h, s, d, stat, v0, rate, priors) - top)

        sd = math.sqrt(variance)
        return integrate.quad(
            density, mean - 12 * sd, mean + 12 * sd, epsabs=0, epsrel=1e-10, limit=200, points=[mean]
        )[0]

    mass = moment(0)
    assert moment(2) / mass == pytest.approx(variance, rel=1e-6)
    base = joint_log_density(hm, 0.0, 0.0, stat, v0, rate, priors)
    m0, v_0 = na.optimum_given(hm, 0.0, stat, v0, rate, priors)
    reference = joint_log_density(hm, 0.0, m0, stat, v0, rate, priors) + 0.5 * math.log(2 * math.pi * v_0)
    found = na.log_density(h, s, stat, v0, hm, hs, rate, priors) - na.log_density(
        hm, 0.0, stat, v0, hm, hs, rate, priors
    )
    assert found == pytest.approx(top + math.log(mass) - reference, abs=1e-6)
    assert math.isfinite(base)


def test_exact_draws_follow_the_density():
    """Marginal of h by quadrature over (h, s) against the draws' law of delta: Kolmogorov-Smirnov, alarm rate 1e-4."""
    stat, v0 = trace(3, n=4000)
    rate, priors = 0.1, Priors()
    draws = na.draw_optimum(20_000, stat, v0, rate, priors, np.random.default_rng(5)) - stat.phi
    hm, hs = na.slope_prior(stat, v0, rate)
    h = np.linspace(hm - 8 * hs, hm + 8 * hs, 601)[:, None]
    s = np.linspace(0, 6, 61)
    log_p = na.log_density(h, s, stat, v0, hm, hs, rate, priors)
    p = np.exp(log_p - log_p.max())
    p[:, [0, -1]] *= 0.5
    mean, variance = na.optimum_given(h, s, stat, v0, rate, priors)
    x = np.linspace(draws.min(), draws.max(), 150)
    cdf = np.array([(p * stats.norm.cdf((v - mean) / np.sqrt(variance))).sum() for v in x]) / p.sum()
    assert stats.kstest(draws, lambda v: np.interp(v, x, cdf)).pvalue > 1e-4
    m, v = na.optimum_moments(stat, v0, rate, priors)
    assert m - stat.phi == pytest.approx((p * mean).sum() / p.sum(), abs=2e-3 * math.sqrt(v))
    assert v == pytest.approx((p * (variance + mean**2)).sum() / p.sum() - (m - stat.phi) ** 2, rel=5e-3)


@pytest.mark.parametrize("z", [0.03, 0.5, 2.0])
def test_grid_resolves_a_slope_near_zero(z):
    """A slope of z standard errors bends the density within a small part of one: against a grid 10 times as fine.

    Mean within 2e-3 standard deviations, variance within 5e-3.
    """
    n, v0, rate, trace_sd = 8000.0, 1e10, 0.1, 0.05
    pp = n * trace_sd**2
    stat = Statistics(n, 1.0, 3.0 * math.sqrt(v0 / n), pp, z * math.sqrt(v0 * pp), n * v0)
    hm, hs = na.slope_prior(stat, v0, rate)
    h, s = np.linspace(hm - 8 * hs, hm + 8 * hs, 8001)[:, None], np.linspace(0, 6, 31)
    log_p = na.log_density(h, s, stat, v0, hm, hs, rate, Priors())
    p = np.exp(log_p - log_p.max())
    p[:, 0] *= 0.5
    p /= p.sum()
    mean, variance = na.optimum_given(h, s, stat, v0, rate, Priors())
    m = float((p * mean).sum())
    v = float((p * (variance + (mean - m) ** 2)).sum())
    found = na.optimum_moments(stat, v0, rate, Priors())
    assert found[0] - stat.phi == pytest.approx(m, abs=2e-3 * math.sqrt(v))
    assert found[1] == pytest.approx(v, rel=5e-3)


@pytest.mark.parametrize("v0", [0.3, 3.0])
def test_variance_of_the_batches_is_learnt_where_it_shows(v0):
    """Gradients with s = 1.5 beyond the privacy noise: the grid's mean of s^2 within 15 % of it."""
    rng = np.random.default_rng(7)
    phi = rng.normal(0, 0.5, 8000)
    g = 0.1 * 3.0 * (phi - 0.4) + math.sqrt(v0 + 1.5**2) * rng.standard_normal(8000)
    s = na.statistics(phi[:, None], g[:, None])
    stat = Statistics(8000.0, *(float(np.ravel(a)[0]) for a in s[1:]))
    cells = na.grid(stat, v0, 0.1, Priors())
    assert cells.probability.sum() == pytest.approx(1.0)
    assert (cells.probability * cells.s**2).sum() == pytest.approx(1.5**2, rel=0.15)
    mean, variance = na.optimum_moments(stat, v0, 0.1, Priors())
    assert abs(mean - 0.4) < 5 * math.sqrt(variance)


def test_a_wider_prior_of_the_optimum_reaches_further():
    """A trace that stays far from its optimum: the posterior of phi* follows its prior's width."""
    stat, v0 = trace(2, n=500, slope=2.0, optimum=4.0)
    variances = [na.optimum_moments(stat, v0, 0.1, Priors(optimum_sd=t))[1] for t in (0.3, 1.0, 3.0)]
    assert variances[0] < variances[1] < variances[2]
    flat = na.optimum_moments(stat, v0, 0.1, Priors(slope_widening=math.inf))
    assert np.isfinite(flat).all()


def arrays(stats_list):
    return Statistics(stats_list[0].n, *(np.array([getattr(s, f) for s in stats_list]) for f in Statistics._fields[1:]))


@pytest.mark.parametrize("extra", [True, False])
def test_laplace_is_at_the_mode_with_the_inverse_hessian(extra):
    """Against autodiff of the density (s = 0): zero gradient at the mode, variance from the 2 x 2 Hessian."""
    import jax
    import jax.numpy as jnp

    cases = [trace(seed, slope=slope) for seed, slope in ((0, 100.0), (1, 30.0), (2, 400.0))]
    cases.append(trace(3, slope=3.0, v0=10.0**2))
    s = arrays([c[0] for c in cases])
    v0, rate = np.array([c[1] for c in cases]), 0.1
    fit = na.laplace(s, v0, rate, Priors(), extra)
    hm, hs = na.slope_prior(s, v0, rate)

    def negative(z, j):  # of case j
        delta, h = z
        a = jax.nn.softplus(h)
        k = rate * a
        residual = s.gg[j] - 2 * k * s.gp[j] + k**2 * s.pp[j] + s.n * (s.g[j] + k * delta) ** 2
        out = residual / (2 * v0[j]) + delta**2 / 2 + (h - hm[j]) ** 2 / (2 * hs[j] ** 2)
        return out - (s.n * jax.nn.log_sigmoid(a) if extra else 0.0)

    with jax.enable_x64(True):
        s, v0, hm, hs = jax.tree.map(jnp.asarray, (s, v0, hm, hs))
        at = jnp.stack([fit.optimum - s.phi, fit.h], axis=1)
        both = jax.jit(jax.vmap(lambda z, j: (jax.grad(negative)(z, j), jax.hessian(negative)(z, j))))
        for j, (gradient, hessian) in enumerate(zip(*map(np.asarray, both(at, jnp.arange(len(cases)))), strict=True)):
            inverse = np.linalg.inv(hessian)
            # the Newton step from the mode is far below the approximation's own width
            assert (np.abs(inverse @ gradient) < 1e-4 * np.sqrt(np.diag(inverse))).all()
            assert fit.variance[j] == pytest.approx(inverse[0, 0], rel=1e-4)


def make_posterior(reading="noise_aware", **more):
    cases = [trace(seed, n=2000) for seed in range(4)]
    s = arrays([c[0] for c in cases])
    likelihood = Likelihood("categorical")
    last = np.array([1.4, 1.6, -4.0, -5.0])
    return TracePosterior(s, last, np.array([c[1] for c in cases]), 0.1, likelihood, reading, **more)


@pytest.mark.parametrize("reading", na.READINGS)
def test_readings_round_trip_and_sample(reading):
    posterior = make_posterior(reading, priors=Priors(0.5, math.inf if reading == "noise_aware" else 2.0, 1.0))
    again = posteriors.load(posterior.kind, posterior.parameters())
    assert again.reading == reading
    assert again.priors == posterior.priors
    one, two = (p.sample(40, np.random.default_rng(0)) for p in (posterior, again))
    assert one.shape == (40, 2)
    np.testing.assert_array_equal(one, two)
    # a few hundred numbers whatever the length of the trace
    assert sum(np.asarray(v).nbytes for v in posterior.parameters().values()) < 500


def test_sampled_trace_round_trips():
    exact = make_posterior()
    phi = exact.sample_parameters(30, np.random.default_rng(0)).astype(np.float32)
    again = posteriors.load("sampled_trace", na.SampledTrace(phi, exact).parameters())
    np.testing.assert_array_equal(again.phi, phi)
    assert again.exact.reading == "noise_aware"
    theta = again.sample(40_000, np.random.default_rng(1))
    for j in range(2):  # mixture of the 30 components, within 5 standard errors
        sd = math.sqrt(phi[:, j].astype(float).var() + np.mean(softplus(phi[:, 2 + j].astype(float)) ** 2))
        assert theta[:, j].mean() == pytest.approx(phi[:, j].astype(float).mean(), abs=5 * sd / 200)
        assert theta[:, j].std() == pytest.approx(sd, rel=0.05)


def test_readings_are_what_they_say():
    posterior = make_posterior()
    t = posterior.trace
    mean, sd = posterior.read("last_iterate").gaussian()
    np.testing.assert_allclose(mean, [1.4, 1.6])
    np.testing.assert_allclose(sd, softplus(np.array([-4.0, -5.0])))
    mean, sd = posterior.read("trace_mean").gaussian()
    np.testing.assert_allclose(mean, t.phi[:2])
    np.testing.assert_allclose(sd, softplus(t.phi[2:]))
    wider = posterior.read("trace_average").gaussian()[1]
    np.testing.assert_allclose(wider**2, sd**2 + t.pp[:2] / t.n)
    np.testing.assert_array_equal(posterior.centre, t.phi[:2])
    theta = posterior.sample(20_000, np.random.default_rng(1))
    for j in range(2):  # law of total variance, within 5 standard errors and the grid
        star = posterior.sample_parameters(20_000, np.random.default_rng(2))
        m, v = na.optimum_moments(*posterior.coordinate(j), 0.1, Priors())
        total = v + np.mean(softplus(star[:, 2 + j]) ** 2)
        assert theta[:, j].mean() == pytest.approx(m, abs=5 * math.sqrt(total / 20_000))
        assert theta[:, j].var() == pytest.approx(total, rel=0.06)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Priors(optimum_sd=0.0), "optimum_sd"),
        (lambda: Priors(noise_sd=math.inf), "noise_sd"),
        (lambda: Priors(slope_widening=-1.0), "slope_widening"),
        (lambda: make_posterior("mean"), "reading 'mean'"),
        (lambda: make_posterior().gaussian(), "mixture"),
        (lambda: make_posterior("laplace", priors=Priors(slope_widening=math.inf)).gaussian(), "slope_widening"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
