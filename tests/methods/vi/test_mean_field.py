"""Closed-form gradients of mean-field VI against torch's automatic differentiation, and clipping."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.vi._mean_field import Gradients, Layout, design, kl, kl_gradient, posterior, variance
from models import posteriors
from models.standardise import Standardiser

torch = pytest.importorskip("torch")

#: rounding of float64 through a few thousand additions; observed 1e-14.
RELATIVE = 1e-10


def _problem(seed: int, *, d=5, hidden=7, draws=6, n=11, dtype=np.float64, block=None):
    rng = np.random.default_rng(seed)
    layout = Layout(d, hidden)
    engine = Gradients(layout, draws, dtype)
    if block:  # so that several blocks and a ragged last one occur
        engine.block = block
    theta = layout.standard_normal(rng)
    x1 = np.column_stack([np.ones(n), rng.standard_normal((n, d))]).astype(dtype)
    y = rng.standard_normal(n).astype(dtype)
    return engine, theta, x1, y, engine.draw0(rng), engine.draw1(rng)


def _unpack(theta, layout):
    a, n, h, d1 = layout.first, layout.weights, layout.hidden, layout.inputs + 1
    sd = torch.sqrt(torch.abs(theta[n:]) + 1e-6)
    return theta[:a].reshape(h, d1), theta[a:n], sd[:a].reshape(h, d1), sd[a:]


def _hidden(theta, layout, x, eps0):
    """[1; relu(W0_l x)] for every draw: (L, H+1), for one row x (d+1,)."""
    m0, _, s0, _ = _unpack(theta, layout)
    w0 = m0 + s0 * eps0.permute(1, 2, 0)
    z = torch.relu(w0 @ x)
    return torch.cat([torch.ones(len(z), 1, dtype=z.dtype), z], dim=1)


def _marginal_loss(theta, x, y, gamma, layout, eps0):
    _, m1, _, s1 = _unpack(theta, layout)
    z = _hidden(theta, layout, x, eps0)
    # Trace and quadratic form as printed in equation 122, not the sum of squares that the engine uses.
    inner = y**2 - 2 * y * (z @ m1) + torch.einsum("lh,h,lh->l", z, s1**2, z) + (z @ m1) ** 2
    return 0.5 * gamma * inner.mean()


def _pair_loss(theta, x, y, gamma, layout, eps0, eps1):
    _, m1, _, s1 = _unpack(theta, layout)
    z = _hidden(theta, layout, x, eps0)
    return 0.5 * gamma * ((y - z @ (m1 + s1 * eps1).T) ** 2).mean()


def _per_row(loss, theta, x1, y, *args):
    """Per-example gradients (n, P) by vmap over grad."""
    t = [torch.tensor(np.array(v), dtype=torch.float64) for v in (theta, x1, y)]
    rest = [torch.tensor(a, dtype=torch.float64) if isinstance(a, np.ndarray) else a for a in args]
    grad = torch.func.grad(lambda p, x, v: loss(p, x, v, *rest))
    return torch.func.vmap(grad, in_dims=(None, 0, 0))(*t).numpy()


def _close(got, want):
    assert np.linalg.norm(got - want) <= RELATIVE * np.linalg.norm(want)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("block", [None, 4])
def test_pair_gradient_is_that_of_autograd(seed, block):
    engine, theta, x1, y, e0, e1 = _problem(seed, block=block)
    want = _per_row(_pair_loss, theta, x1, y, 3.0, engine.layout, e0, e1).sum(axis=0)
    _close(engine.pair(theta, x1, y, 3.0, e0, e1), want)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("block", [None, 4])
def test_marginal_gradient_is_that_of_autograd(seed, block):
    engine, theta, x1, y, e0, _ = _problem(seed, block=block)
    want = _per_row(_marginal_loss, theta, x1, y, 3.0, engine.layout, e0).sum(axis=0)
    _close(engine.marginal(theta, x1, y, 3.0, e0), want)


@pytest.mark.parametrize("draws", [1, 4, 6])  # below, at and above the kernel's unrolling
def test_per_example_gradients_are_those_of_vmap(draws):
    engine, theta, x1, y, e0, _ = _problem(5, draws=draws)
    want = _per_row(_marginal_loss, theta, x1, y, 3.0, engine.layout, e0)
    for i in range(len(y)):
        got, norm = engine.clipped_sum(theta, x1[i : i + 1], y[i : i + 1], 3.0, e0, np.inf)
        _close(got, want[i])
        assert norm[0] == pytest.approx(np.linalg.norm(want[i]), rel=RELATIVE)


def test_clipped_sum_is_that_of_the_per_example_gradients():
    engine, theta, x1, y, e0, _ = _problem(6)
    rng = np.random.default_rng(0)
    scale, offset = rng.uniform(0.1, 2, engine.layout.size), rng.standard_normal(engine.layout.size)
    rows = _per_row(_marginal_loss, theta, x1, y, 3.0, engine.layout, e0) * scale + offset
    norms = np.linalg.norm(rows, axis=1)
    clip = float(np.median(norms))  # so that about half of the rows are clipped
    got, seen = engine.clipped_sum(theta, x1, y, 3.0, e0, clip, offset=offset, scale=scale)
    np.testing.assert_allclose(seen, norms, rtol=RELATIVE)
    _close(got, (rows * np.minimum(1, clip / norms)[:, None]).sum(axis=0))


@pytest.mark.parametrize("halved", [False, True])
def test_kl_and_its_gradient(halved):
    rng = np.random.default_rng(1)
    theta, lam = Layout(4, 3).standard_normal(rng), 7.0
    p = torch.tensor(theta, requires_grad=True)
    n = len(theta) // 2
    v = torch.abs(p[n:]) + 1e-6
    if halved:  # the authors' program: logarithm of standard deviations
        want = 0.5 * (v * lam + p[:n] ** 2 * lam - 1 + np.log(lam**-0.5) - torch.log(torch.sqrt(v))).sum()
    else:
        q = torch.distributions.Normal(p[:n], torch.sqrt(v))
        want = torch.distributions.kl_divergence(q, torch.distributions.Normal(0 * p[:n], lam**-0.5 + 0 * v)).sum()
    want.backward()
    assert kl(theta, lam, halved_log=halved) == pytest.approx(want.item(), rel=RELATIVE)
    _close(kl_gradient(theta, lam, halved_log=halved), p.grad.numpy())


def test_kl_is_zero_at_the_prior_and_its_halved_log_is_not_minimal_there():
    lam = 4.0
    n = Layout(2, 3).weights
    theta = np.concatenate([np.zeros(n), np.full(n, 1 / lam - 1e-6)])
    assert abs(kl(theta, lam)) < 1e-12
    assert np.abs(kl_gradient(theta, lam)).max() < 1e-9
    # The halved logarithm is minimal at half the prior's variance.
    theta[n:] = 0.5 / lam - 1e-6
    assert np.abs(kl_gradient(theta, lam, halved_log=True)).max() < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_float32_agrees_with_float64(seed):
    # Products of about 1e2 terms of mixed sign in float32 (6e-8): 1e-6 expected, 1e-4 leaves room for cancellation.
    wide = _problem(seed, d=8, hidden=50, draws=20, n=100)
    engine, theta, x1, y, e0, e1 = wide
    small = Gradients(engine.layout, engine.draws, np.float32)
    x32, y32, a, b = (v.astype(np.float32) for v in (x1, y, e0, e1))
    for got, want in (
        (small.pair(theta, x32, y32, 10.0, a, b), engine.pair(theta, x1, y, 10.0, e0, e1)),
        (small.marginal(theta, x32, y32, 10.0, a), engine.marginal(theta, x1, y, 10.0, e0)),
        (small.clipped_sum(theta, x32, y32, 10.0, a, 1.0)[0], engine.clipped_sum(theta, x1, y, 10.0, e0, 1.0)[0]),
    ):
        assert np.linalg.norm(got - want) <= 1e-4 * np.linalg.norm(want)


def test_pair_mean_over_draws_of_w1_is_the_marginal_gradient():
    # Many draws of w1 against the closed form, with W0 given. The mean over 20,000 draws is off by 1/141 of the
    # spread of one draw; six such standard errors per coordinate bound the false alarms by 1e-6 for 100 coordinates.
    rng = np.random.default_rng(3)
    engine, theta, x1, y, e0, _ = _problem(3, d=2, hidden=3, draws=4, n=5)
    want = engine.marginal(theta, x1, y, 1.0, e0)
    repeats = 5000
    got = np.array([engine.pair(theta, x1, y, 1.0, e0, engine.draw1(rng)) for _ in range(repeats)])
    error = got.std(axis=0, ddof=1) / np.sqrt(repeats) + 1e-12
    assert np.abs((got.mean(axis=0) - want) / error).max() < 6


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 9),
    clip=st.floats(1e-3, 1e3),
    outlier=st.sampled_from([0.0, 1.0, 1e3, 1e8, 1e160, 1e300]),
    duplicate=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_one_row_moves_the_clipped_sum_by_at_most_the_clip(n, clip, outlier, duplicate, seed):
    engine, theta, x1, y, e0, _ = _problem(seed, d=3, hidden=4, draws=3, n=n + 1)
    x1, y = x1.copy(), y.copy()
    x1[-1, 1:] *= outlier
    y[-1] *= outlier
    if duplicate and n:
        x1[:-1], y[:-1] = x1[-1], y[-1]
    everything, norms = engine.clipped_sum(theta, x1, y, 2.0, e0, clip)
    without, _ = engine.clipped_sum(theta, x1[:-1], y[:-1], 2.0, e0, clip)
    assert np.isfinite(everything).all()
    # Only rounding of the sum of n+1 vectors of norm <= clip: 1e-12 of it.
    moved = np.linalg.norm(everything - without)
    assert moved <= clip * (1 + 1e-12 * (n + 1))
    if np.isinf(norms[-1]):
        assert moved == 0  # exactly: the other rows are not touched, not even by rounding


def test_a_row_that_is_not_finite_contributes_nothing():
    engine, theta, x1, y, e0, _ = _problem(0)
    want, _ = engine.clipped_sum(theta, x1[:-1], y[:-1], 1.0, e0, 1.0)
    for bad in (np.nan, np.inf):
        y2 = y.copy()
        y2[-1] = bad
        got, norms = engine.clipped_sum(theta, x1, y2, 1.0, e0, 1.0)
        np.testing.assert_array_equal(got, want)
        assert norms[-1] == np.inf


def test_an_empty_batch_gives_zero():
    engine, theta, x1, y, e0, e1 = _problem(0)
    got, norms = engine.clipped_sum(theta, x1[:0], y[:0], 1.0, e0, 1.0)
    assert not got.any()
    assert len(norms) == 0
    assert not engine.marginal(theta, x1[:0], y[:0], 1.0, e0).any()
    assert not engine.pair(theta, x1[:0], y[:0], 1.0, e0, e1).any()


def test_bad_arguments_are_named():
    engine, theta, x1, y, e0, _ = _problem(0)
    with pytest.raises(ValueError, match="clip = 0"):
        engine.clipped_sum(theta, x1, y, 1.0, e0, 0.0)
    with pytest.raises(ValueError, match="theta has shape"):
        engine.marginal(theta[:-1], x1, y, 1.0, e0)
    with pytest.raises(ValueError, match="draws = 0"):
        Gradients(engine.layout, 0)


def test_posterior_has_the_networks_shapes_and_survives_storage():
    rng = np.random.default_rng(0)
    layout = Layout(3, 4)
    theta = layout.standard_normal(rng)
    x, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
    scale = Standardiser.from_moments(x, y)
    x1, y1 = design(scale, x, y, np.float64)
    assert (x1[:, 0] == 1).all()
    assert abs(y1.mean()) < 1e-12
    q = posterior(layout, theta, 5.0, 3, scale)
    assert (q.v1 >= 1e-6).all()
    np.testing.assert_array_equal(q.v2, variance(layout.split(theta)[3]))
    again = posteriors.load(q.kind, q.parameters())
    a, b = (p.predictive(x, np.random.default_rng(1)) for p in (q, again))
    np.testing.assert_array_equal(a.mean, b.mean)
