"""The slow oracle against automatic differentiation, quadrature and a second formulation of PBP."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from methods.ep._pbp import training
from methods.ep._pbp.state import Naturals
from models.bnn_regression import relu_moments
from tests.methods.ep import pbp_oracle as oracle
from tests.methods.ep.pbp_cases import problem


def log_z_of(noise, x, y):
    """log Z as a function of the moments, in the hazard form of the published program (all in JAX)."""

    def log_z(m1, v1, m2, v2):
        n1, n2 = m1.shape[1], len(m2)
        mean, variance = m1 @ x / math.sqrt(n1), v1 @ x**2 / n1
        alpha = mean / jnp.sqrt(variance)
        cdf = jax.scipy.stats.norm.cdf(alpha)
        hazard = jnp.exp(jax.scipy.stats.norm.logpdf(alpha) - jax.scipy.stats.norm.logcdf(alpha))
        first = mean + jnp.sqrt(variance) * hazard
        z = jnp.append(cdf * first, 1.0)
        zv = cdf * first * first * (1 - cdf) + cdf * variance * (1 - hazard * (hazard + alpha))
        zv = jnp.append(zv, 0.0)
        out = z @ m2 / math.sqrt(n2)
        total = (v2 @ zv + m2**2 @ zv + v2 @ z**2) / n2 + noise
        return -0.5 * (jnp.log(total) + (y - out) ** 2 / total)

    return log_z


#: of (row, target, m1, v1, m2, v2); compiled once
slopes = jax.jit(jax.grad(lambda x, y, *q: log_z_of(0.7, x, y)(*q), argnums=(2, 3, 4, 5)))


@pytest.mark.parametrize("seed", range(5))
def test_derivatives_are_those_of_automatic_differentiation(seed):
    """1e-12: both sides are float64 and of order one; the sums have a few dozen terms."""
    x, y, state, _, _ = problem(3, 4, 7, seed)
    q = (state.m1, state.v1, state.m2, state.v2)
    ours = oracle.gradients(*q, 0.7, x[0], y[0])
    with jax.enable_x64(True):
        theirs = slopes(x[0], y[0], *map(jnp.asarray, q))
        theirs = [np.asarray(t) for t in theirs]
    for a, b in zip((ours.m1, ours.v1, ours.m2, ours.v2), theirs, strict=True):
        assert b.dtype == np.float64
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("mean", "sd"), [(0.3, 1.0), (-2.0, 0.5), (4.0, 1.3), (-1.0, 0.2)])
def test_moments_of_a_rectified_gaussian_are_those_of_quadrature(mean, sd):
    """1e-8: what quad promises here."""
    raw = [
        integrate.quad(lambda a, k=k: a**k * stats.norm.pdf(a, mean, sd), 0, mean + 12 * sd, epsabs=1e-14)[0]
        for k in (1, 2)
    ]
    m, v = relu_moments(np.array(mean), np.array(sd**2))
    assert m == pytest.approx(raw[0], rel=1e-8)
    assert v == pytest.approx(raw[1] - raw[0] ** 2, rel=1e-8)


@given(a=st.floats(2, 50), b=st.floats(0.1, 50), variance=st.floats(0.01, 5), residual=st.floats(-3, 3))
@settings(deadline=None, max_examples=60)
def test_the_gamma_keeps_two_moments(a, b, variance, residual):
    """Mean Z1/Z0 a/b and second moment Z2/Z0 a(a+1)/b^2 (1e-6: a' is a difference of two numbers near one)."""
    log_z = np.array([oracle.log_normaliser(0.0, variance, b / (a - 1 + k), residual) for k in range(3)])
    new_a, new_b = oracle.gamma_update(a, b, log_z)
    assert new_a / new_b == pytest.approx(np.exp(log_z[1] - log_z[0]) * a / b, rel=1e-6)
    second = np.exp(log_z[2] - log_z[0]) * a * (a + 1) / b**2
    assert new_a * (new_a + 1) / new_b**2 == pytest.approx(second, rel=1e-6)


def independent_pbp(x, y, state, orders):
    """Plain PBP in moments, derivatives by JAX, Gammas in logarithms: shares no line with the engine."""
    n_h = state.hidden
    m = np.concatenate([state.m1.ravel(), state.m2])
    v = np.concatenate([state.v1.ravel(), state.v2])
    a, b, a_w, b_w = 6.0, 6.0, 6.0, 6.0
    factor = {"eta": np.zeros_like(m), "lam": np.full_like(m, 5 / 6), "a": np.zeros_like(m), "b": np.zeros_like(m)}

    def split(w):
        return w[: state.m1.size].reshape(n_h, -1), w[state.m1.size :]

    def log_z(m, v, noise, x, y):
        (m1, m2), (v1, v2) = split(m), split(v)
        return log_z_of(noise, x, y)(m1, v1, m2, v2)

    value_and_gradients = jax.jit(jax.value_and_grad(log_z, argnums=(0, 1)))

    def matched(a, b, l0, l1, l2):
        return (
            1 / math.expm1(l2 - 2 * l1 + l0 + math.log1p(1 / a)),
            1 / (math.exp(l2 - l1) * (a + 1) / b - math.exp(l1 - l0) * a / b),
        )

    for order in orders:
        for i in order:
            logs = []
            for k in (-1, 0, 1):
                value, g = value_and_gradients(m, v, b / (a + k), x[i], y[i])
                logs.append(float(value))
                if k == -1:
                    g_m, g_v = np.asarray(g[0]), np.asarray(g[1])
            m, v = m + v * g_m, v - v * v * (g_m**2 - 2 * g_v)
            a, b = matched(a, b, *logs)
        for i in range(len(m)):
            v_c = 1 / (1 / v[i] - factor["lam"][i])
            m_c = v_c * (m[i] / v[i] - factor["eta"][i])
            a_c, b_c = a_w - factor["a"][i], b_w + factor["b"][i]
            if not (0 < v_c < 1e6 and b_c > 0 and a_c > 1):
                continue
            logs = [stats.norm.logpdf(m_c, 0, math.sqrt(v_c + b_c / (a_c + k))) for k in (-1, 0, 1)]
            prior = b_c / (a_c - 1)
            v[i] = 1 / (1 / v_c + 1 / prior)  # product of two Gaussians
            m[i] = v[i] * m_c / v_c
            a_w, b_w = matched(a_c, b_c, *logs)
            factor["eta"][i], factor["lam"][i] = m[i] / v[i] - m_c / v_c, 1 / v[i] - 1 / v_c
            factor["a"][i], factor["b"][i] = a_w - a_c, b_c - b_w
    return m, v, np.array([a, b, a_w, b_w])


def test_plain_pbp_agrees_with_an_independent_formulation_over_two_epochs():
    """1e-8 relative: two epochs of 25 rows with prior refinement amplify the rounding of both sides."""
    x, y, state, prior, _ = problem(25, 3, 6, 3)
    rng = np.random.default_rng(11)
    orders = [np.random.default_rng(11).permutation(25)]
    replay = np.random.default_rng(11)
    orders = [replay.permutation(25) for _ in range(2)]
    with jax.enable_x64(True):
        m, v, gammas = independent_pbp(x, y, state, orders)
    ours, _, _ = training.train_moments(
        x, y, state, prior, rng, method="adf", epochs=2, power=0.0, noise_prior=(6.0, 6.0), reject_noise=False,
        variance_range=training.ADF_RANGE,
    )  # fmt: skip
    np.testing.assert_allclose(np.concatenate([ours.m1.ravel(), ours.m2]), m, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(np.concatenate([ours.v1.ravel(), ours.v2]), v, rtol=1e-8)
    np.testing.assert_allclose([ours.a, ours.b, ours.a_w, ours.b_w], gammas, rtol=1e-8)


def test_naturals_are_a_vector_space_and_go_to_a_vector_and_back():
    _, _, state, prior, _ = problem(2, 3, 5)
    q, p = state.naturals(), prior.naturals(6.0, 6.0)
    np.testing.assert_allclose((q + p - p * 2.0).vector(), q.vector() - p.vector(), rtol=1e-14, atol=1e-14)
    back = Naturals.from_vector(q.vector(), 5, 4)
    for a, b in zip(q.parts(), back.parts(), strict=True):
        np.testing.assert_array_equal(a, b)
    again = state.with_naturals(q)
    np.testing.assert_allclose(again.m1, state.m1, rtol=1e-14)
    assert (again.a, again.b) == (state.a, state.b)


def test_clipping_scales_down_only_and_drops_what_is_not_finite():
    _, _, state, _, _ = problem(2, 3, 5)
    q = state.naturals()
    assert q.clipped(1.0).norm() == pytest.approx(1.0, rel=1e-14)
    assert q.clipped(1e6) is q
    np.testing.assert_allclose(q.clipped(1.0).vector() * q.norm(), q.vector(), rtol=1e-14)
    assert (q + Naturals(q.eta1 * np.nan, *q.parts()[1:])).clipped(1.0).norm() == 0.0
    blocks = q.clipped_per_block(0.5).parts()
    assert [np.linalg.norm(b) <= 0.5 * (1 + 1e-14) for b in blocks[:4]] == [True] * 4
    assert blocks[4:] == (q.shape, q.rate)
