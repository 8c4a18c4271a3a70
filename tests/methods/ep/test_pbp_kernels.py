"""The fast kernels against the slow oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.special import erfcx

from methods._shared import compiled, lanes
from methods.ep._pbp import ep_kernel, natural_training, training
from methods.ep._pbp import hidden as hl
from methods.ep._pbp.natural_kernel import (
    CHECK_NONE,
    CHECK_REJECT,
    CHECK_ZERO,
    CLIP_BLOCKS,
    CLIP_JOINT,
    CLIP_NONE,
    GAMMA_FREE,
    GAMMA_FROZEN,
    GAMMA_JOINT,
)
from methods.ep._pbp.state import Naturals
from tests.methods.ep import pbp_oracle as oracle
from tests.methods.ep.pbp_cases import EP, moment_epoch, natural_steps, noise_as_naturals, problem, relative

#: kernel against oracle over an epoch of a few dozen rows. Both are float64; training amplifies rounding.
EPOCH = 1e-9
SHAPES = st.tuples(st.integers(1, 5), st.sampled_from([1, 3, 7, 8, 9, 16, 21]), st.integers(0, 10**6))


@njit
def _apply_mills(x, out):
    for i in range(0, len(x), 8):
        lanes.store(out, i, hl.mills(lanes.load(x, i)))


def test_mills_ratio_of_the_lanes():
    """8e-15: 2e-15 from the degree (found with mpmath), 21 coefficients of size up to 2 rounded to 1.1e-16 each, and
    the errors of Horner's rule and of SciPy's erfcx of a unit in the last place."""
    a = np.concatenate([np.linspace(0, 40, 40_000), np.geomspace(40, 1e8, 8_000)])
    out = np.empty_like(a)
    _apply_mills(a, out)
    np.testing.assert_allclose(out, np.sqrt(np.pi / 2) * erfcx(a / np.sqrt(2)), rtol=8e-15)


@pytest.mark.parametrize("hidden", [1, 7, 8, 13, 16])
def test_packing_goes_there_and_back(hidden):
    w, u = np.random.default_rng(0).standard_normal((hidden, 5)), np.arange(hidden + 1.0)
    np.testing.assert_array_equal(hl.unpack1(hl.pack1(w), hidden, 5), w)
    np.testing.assert_array_equal(hl.unpack2(hl.pack2(u), hidden), u)


@given(SHAPES, st.booleans())
@settings(deadline=None, max_examples=25)
def test_sep_kernel_is_the_oracle(shape, freeze):
    d, hidden, seed = shape
    x, y, state, prior, order = problem(30, d, hidden, seed)
    theta_0 = prior.naturals(6.0, 6.0)
    ours, bad_w, bad_g = moment_epoch(x, y, order, state, theta_0, 1 / 30, freeze=freeze)
    q, rejected = state.naturals(), 0
    for i in order:
        q, bad = oracle.sep_step(q, theta_0, x[i], y[i], 30, freeze_noise=freeze)
        rejected += bad
    assert relative(ours.naturals(), q) < EPOCH
    assert bad_w + bad_g == rejected


@given(SHAPES)
@settings(deadline=None, max_examples=15)
def test_adf_kernel_is_the_oracle(shape):
    d, hidden, seed = shape
    x, y, state, prior, order = problem(30, d, hidden, seed)
    ours, _, _ = moment_epoch(x, y, order, state, prior.naturals(6, 6), 0.0, training.ADF_RANGE, reject=False)
    q = state.naturals()
    for i in order:
        q = oracle.adf_step(q, x[i], y[i])
    assert relative(ours.naturals(), q) < EPOCH


@pytest.mark.parametrize("where", [0, 3, 9])
def test_a_row_that_gives_nan_is_rejected_whole_and_changes_nothing(where):
    """Also as the first and the last row of an epoch, where the fused kernel enters and leaves its cavity form."""
    x, y, state, prior, _ = problem(10, 3, 9)
    order = np.arange(10)
    theta_0 = prior.naturals(6.0, 6.0)
    broken = y.copy()
    broken[where] = np.nan
    ours, bad_w, bad_g = moment_epoch(x, broken, order, state, theta_0, 0.1)
    q = state.naturals()
    for i in order[order != where]:
        q, _ = oracle.sep_step(q, theta_0, x[i], y[i], 10)
    assert (bad_w, bad_g) == (state.weights, 1)
    assert relative(ours.naturals(), q) < EPOCH
    with np.errstate(invalid="ignore"):
        same, rejected = oracle.sep_step(state.naturals(), theta_0, x[0], np.nan, 10)
    assert rejected == state.weights + 1
    assert relative(same, state.naturals()) == 0.0


def test_single_weights_are_rejected_alike():
    """A range of variances narrower than the program's, so that some weights of some rows are rejected."""
    x, y, state, prior, order = problem(40, 3, 9)
    theta_0 = prior.naturals(6.0, 6.0)
    low = 0.8
    ours, bad_w, _ = moment_epoch(x, y, order, state, theta_0, 1 / 40, (low, 1e20))
    old = oracle.PRECISION_RANGE
    try:
        oracle.PRECISION_RANGE = (1e-20, 1 / low)
        q, rejected = state.naturals(), 0
        for i in order:
            q, bad = oracle.sep_step(q, theta_0, x[i], y[i], 40)
            rejected += bad
    finally:
        oracle.PRECISION_RANGE = old
    assert 0 < bad_w < state.weights * 40
    assert bad_w == rejected
    assert relative(ours.naturals(), q) < EPOCH


def test_prior_refinement_is_the_oracle():
    x, y, state, prior, order = problem(60, 4, 9)
    state, _, _ = moment_epoch(x, y, order, state, prior.naturals(6.0, 6.0), 1 / 60)
    slow_state, slow_prior = state, prior
    for _ in range(3):
        state, prior = training.refined(state, prior)
        slow_state, slow_prior = oracle.refine_prior(slow_state, slow_prior)
    for name in ("m1", "v1", "m2", "v2", "a_w", "b_w"):
        np.testing.assert_allclose(getattr(state, name), getattr(slow_state, name), rtol=EPOCH)
    np.testing.assert_allclose(prior.lam1, slow_prior.lam1, rtol=EPOCH)
    np.testing.assert_allclose(prior.shape2, slow_prior.shape2, rtol=1e-6, atol=1e-9)  # a difference of near equals


@given(SHAPES)
@settings(deadline=None, max_examples=12)
def test_ep_kernel_is_the_oracle_and_its_factors_multiply_to_q(shape):
    """Products to 1e-12: q and the sum of its factors round in different order, nothing else."""
    d, hidden, seed = shape
    x, y, state, _, order = problem(20, d, hidden, seed)
    ep = EP(x, y, state, "float64")
    start = state.naturals()
    q, sites = start, [Naturals.zeros(hidden, d + 1) for _ in y]
    for _ in range(2):
        ep.epoch(order)
        for i in order:
            q, sites[i], _ = oracle.ep_step(q, sites[i], x[i], y[i])
        assert relative(ep.naturals(), q) < EPOCH
        assert relative(ep.sum_of_sites() + start, ep.naturals()) < 1e-12


def test_ep_counts_what_it_rejects():
    """A row that is no number: all its weights and its Gamma, and q stays as it was."""
    x, _, state, _, _ = problem(5, 3, 9)
    ep = EP(x, np.full(5, np.nan), state, "float64")
    assert ep.epoch(np.arange(5)) == (5 * state.weights, 5)
    assert relative(ep.naturals(), state.naturals()) == 0.0


@pytest.mark.parametrize("storage", ["float32", "int8"])
def test_compact_sites_multiply_to_q_and_learn_as_well(storage):
    """The rounded site is what q is moved by, so the product stays exact; scores agree statistically.

    Tolerance of the scores: the paired difference over 20 problems, against 4 of its standard errors (false alarm
    below 1 in 10,000), plus 1 % of the error itself.
    """
    differences, errors = [], []
    for seed in range(20):
        x, y, state, _, _ = problem(120, 3, 8, seed)
        start = state.naturals()
        fits = [EP(x[:80], y[:80], state, s) for s in ("float64", storage)]
        for fit in fits:
            rng = np.random.default_rng(seed)
            for _ in range(4):
                fit.epoch(rng.permutation(80))
        assert relative(fits[1].sum_of_sites() + start, fits[1].naturals()) < 1e-12
        error = []
        for fit in fits:
            q = state.with_naturals(fit.naturals())
            out = [oracle.output_moments(q.m1, q.v1, q.m2, q.v2, row)[0] for row in x[80:]]
            error.append(np.mean((np.array(out) - y[80:]) ** 2))
        differences.append(error[1] - error[0])
        errors.append(error[0])
    margin = 4 * np.std(differences, ddof=1) / np.sqrt(20) + 0.01 * np.mean(errors)
    assert abs(np.mean(differences)) < margin
    assert any(d != 0 for d in differences)


def test_int8_sites_of_the_largest_data_set_fit_into_ten_gigabytes():
    rows = 463_715
    assert rows * ep_kernel.Sites.bytes_per_row(100, 91, "int8") < 10e9
    sites = ep_kernel.Sites(7, 13, 4, "int8")
    arrays = [v for v in vars(sites).values() if isinstance(v, np.ndarray)]
    assert sum(a.nbytes for a in arrays) == 7 * ep_kernel.Sites.bytes_per_row(13, 4, "int8")
    with pytest.raises(ValueError, match="int4"):
        ep_kernel.Sites(7, 13, 4, "int4")


@pytest.mark.parametrize(
    ("options", "rules", "k"),
    [
        ({}, (CLIP_NONE, GAMMA_FREE, CHECK_REJECT, 0), 1.0),
        ({"damping": 0.6}, (CLIP_NONE, GAMMA_FREE, CHECK_REJECT, 0), 0.6),
        ({"clip_blocks_at": 0.3}, (CLIP_BLOCKS, GAMMA_FREE, CHECK_REJECT, 0), 1.0),
        ({"clip_blocks_at": 0.3, "freeze_noise": True}, (CLIP_BLOCKS, GAMMA_FROZEN, CHECK_REJECT, 0), 1.0),
    ],
)
@pytest.mark.parametrize("hidden", [5, 8, 19])
def test_natural_kernel_is_the_oracle_of_sep(options, rules, k, hidden):
    x, y, state, prior, order = problem(40, 3, hidden)
    theta_0 = prior.naturals(6.0, 6.0)
    bound = options.get("clip_blocks_at", np.inf)
    ours, counts = natural_steps(x, y, order, state.naturals(), theta_0, k, bound, np.inf, rules)
    q, rejected = state.naturals(), 0
    for i in order:
        q, bad = oracle.sep_step(q, theta_0, x[i], y[i], 40, **options)
        rejected += bad
    assert relative(ours, q) < EPOCH
    assert counts["rejected_weights"] + counts["rejected_noise"] == rejected
    assert (counts["clipped_sites"] > 0) == ("clip_blocks_at" in options)


ALGORITHM3 = (CLIP_JOINT, GAMMA_JOINT, CHECK_NONE, 1)


@pytest.mark.parametrize("bound", [0.2, 3.0])
@pytest.mark.parametrize("gamma", [1.0, 40.0])
@pytest.mark.parametrize("deviation", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("hidden", [5, 8, 11])
def test_natural_kernel_is_the_oracle_of_algorithm_3(bound, gamma, deviation, hidden):
    """Noise of 1 floors precisions and makes theta_f hit its bound, so both post-processings are met."""
    x, y, state, prior, order = problem(40, 3, hidden)
    theta_0 = prior.naturals(6.0, 6.0).clipped(bound)
    start = theta_0 + ((state.naturals() - theta_0) * (1 / 40)).clipped(bound) * 40
    noise = deviation * np.random.default_rng(1).standard_normal((40, 2 * state.weights + 2))
    ours, counts = natural_steps(
        x, y, order, start, theta_0, gamma / 40, bound, bound, ALGORITHM3, noise if deviation else None
    )
    theta = start
    for t, i in enumerate(order):
        theta = oracle.propose(theta, theta_0, x[i], y[i], 40, gamma, bound)
        theta = natural_training.absorb(theta + noise_as_naturals(noise[t], hidden, 4), theta_0, 40, bound, 1e-4)
    assert relative(ours, theta) < EPOCH
    if deviation == 1.0:
        assert counts["floored"] > 0
    if deviation == 1.0 and bound == 0.2:
        assert counts["clipped_factors"] > 0


TARGETS = st.one_of(st.floats(-5, 5), st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -1e160, 1e8]))


@given(TARGETS, TARGETS, st.lists(st.floats(-1e200, 1e200), min_size=3, max_size=3), st.integers(0, 50))
@settings(deadline=None, max_examples=80)
def test_replacing_a_row_moves_algorithm_3_by_at_most_its_sensitivity(y0, y1, features, seed):
    """Proposition 1 with any row at all: 2 gamma C / N, up to rounding of theta (1e-12 of its norm)."""
    x, y, state, prior, _ = problem(10, 3, 6, seed)
    theta_0 = prior.naturals(6.0, 6.0).clipped(1.0)
    moved = []
    for target, row in ((y0, x[4]), (y1, np.array([*features, 1.0]))):
        rows, targets = x.copy(), y.copy()
        rows[4], targets[4] = row, target
        one = natural_steps(
            rows, targets, np.array([4]), state.naturals(), theta_0, 2.0 / 10, 1.0, np.inf, (*ALGORITHM3[:3], 0)
        )[0]
        moved.append(one.vector())
    assert np.isfinite(moved).all()
    assert np.linalg.norm(moved[0] - moved[1]) <= 2 * 2.0 * 1.0 / 10 + 1e-12 * np.linalg.norm(moved[0])


@given(TARGETS, TARGETS, st.integers(0, 50))
@settings(deadline=None, max_examples=40)
def test_replacing_a_row_moves_four_clipped_blocks_by_at_most_four_bounds(y0, y1, seed):
    x, y, state, prior, _ = problem(10, 3, 6, seed)
    moved = []
    for target in (y0, y1):
        targets = y.copy()
        targets[4] = target
        rules = (CLIP_BLOCKS, GAMMA_FROZEN, CHECK_ZERO, 0)
        one = natural_steps(
            x, targets, np.array([4]), state.naturals(), prior.naturals(6.0, 6.0), 1.0, 0.5, np.inf, rules
        )[0]
        moved.append(one.vector())
    assert np.isfinite(moved).all()
    assert np.linalg.norm(moved[0] - moved[1]) <= 4 * 0.5 + 1e-12 * np.linalg.norm(moved[0])


def test_the_cache_of_machine_code_knows_the_inlined_sources():
    from methods.ep._pbp import moment_kernel

    key = moment_kernel.moment_epoch._cache._cache_file._source_stamp
    assert key[-1] == compiled.stamp(lanes, hl)
    assert compiled.stamp(lanes) != compiled.stamp(hl)
