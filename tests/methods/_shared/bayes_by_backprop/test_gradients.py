"""Clipped sums of gradients of rows: against autograd, against a loop over rows, and on neighbours."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from methods._shared.bayes_by_backprop import gradients, training, variational
from models.bnn_classification import layers, size
from privacy.audit import Recorder
from privacy.budget import BudgetSpec
from privacy.ledger import Relation

WIDTHS = (5, 7, 6, 4)


def problem(rows: int = 9, seed: int = 0, widths=WIDTHS, scale: float = 1.0):
    rng = np.random.default_rng(seed)
    w = torch.from_numpy(scale * rng.standard_normal(size(widths)))
    x = torch.from_numpy(rng.standard_normal((rows, widths[0])))
    return w, x, torch.from_numpy(rng.integers(0, widths[-1], rows))


def loss(w, x, labels, widths=WIDTHS):
    """Sum of -log p over rows, by torch's own functions."""
    *hidden, last = layers(w, widths)
    for block in hidden:
        x = torch.relu(x @ block[:-1] + block[-1])
    return torch.nn.functional.cross_entropy(x @ last[:-1] + last[-1], labels, reduction="sum")


def row_gradients(w, x, labels, widths=WIDTHS):
    """Autograd, one row at a time, (B, D)."""
    v = w.clone().requires_grad_(True)
    rows = [torch.autograd.grad(loss(v, x[i : i + 1], labels[i : i + 1], widths), v)[0] for i in range(len(x))]
    return torch.stack(rows) if rows else w.new_zeros((0, len(w)))


@pytest.mark.parametrize("widths", [WIDTHS, (5, 3, 4), (2, 3, 3, 3, 2)])
def test_norms_and_sums_are_those_of_a_loop_over_rows(widths):
    w, x, labels = problem(widths=widths)
    g = row_gradients(w, x, labels, widths)
    inputs, errors, _ = gradients.passes(w, widths, x, labels)
    np.testing.assert_allclose(gradients.squared_norms(inputs, errors).sqrt(), g.norm(dim=1), rtol=1e-12)
    np.testing.assert_allclose(gradients.weighted_sum(inputs, errors), g.sum(0), rtol=1e-10, atol=1e-12)
    clip = float(g.norm(dim=1).median())  # about half of the rows are clipped
    expected = (g * (clip / g.norm(dim=1)).clamp(max=1.0)[:, None]).sum(0)
    np.testing.assert_allclose(gradients.clipped_sum(w, widths, x, labels, clip), expected, rtol=1e-10, atol=1e-12)


def test_gradient_agrees_with_finite_differences():
    """Central differences with step h = 1e-6: error about 1e-16 / h + h^2, 1e-9 relative to a gradient of order 1.

    No pre-activation is within 1e-4 of the kink of the rectifier, which is checked.
    """
    w, x, labels = problem()
    inputs, _, _ = gradients.passes(w, WIDTHS, x, labels)
    for a, block in zip(inputs[:-1], layers(w, WIDTHS), strict=False):
        assert (a @ block[:-1] + block[-1]).abs().min() > 1e-4
    found, mean_loss = gradients.mean_gradient(w, WIDTHS, x, labels)
    assert mean_loss == pytest.approx(float(loss(w, x, labels)) / len(x), rel=1e-12)
    h = 1e-6
    for k in range(0, len(w), 7):
        up, down = w.clone(), w.clone()
        up[k] += h
        down[k] -= h
        slope = float(loss(up, x, labels) - loss(down, x, labels)) / (2 * h * len(x))
        assert float(found[k]) == pytest.approx(slope, abs=1e-8)


def test_an_empty_batch_gives_zeros():
    w, x, labels = problem(0)
    total = gradients.clipped_sum(w, WIDTHS, x, labels, 1.0)
    assert total.shape == (size(WIDTHS),)
    assert (total == 0).all()


def test_a_row_without_a_class_or_beyond_floating_point_adds_nothing():
    w, x, labels = problem()
    clean = gradients.clipped_sum(w, WIDTHS, x, labels, 1.0)
    odd = torch.cat([x, x[:1], torch.full((2, WIDTHS[0]), 1e200, dtype=torch.float64)])
    odd[-1] = torch.inf
    total = gradients.clipped_sum(w, WIDTHS, odd, torch.cat([labels, torch.tensor([-1, 0, 1])]), 1.0)
    np.testing.assert_allclose(total, clean, rtol=0, atol=1e-13)


def test_weights_that_are_not_numbers_release_zero_and_not_nan():
    w, x, labels = problem()
    w[0] = torch.nan
    assert (gradients.clipped_sum(w, WIDTHS, x, labels, 1.0) == 0).all()


def test_single_precision_is_refused():
    w, x, labels = problem()
    with pytest.raises(TypeError, match="float64"):
        gradients.clipped_sum(w.float(), WIDTHS, x.float(), labels, 1.0)


numbers = st.floats(-1e9, 1e9, allow_nan=False, width=32)
row = hnp.arrays(np.float64, (WIDTHS[0],), elements=numbers)


@settings(max_examples=60, deadline=None)
@given(row, row, st.integers(-1, 3), st.integers(-1, 3), st.floats(1e-3, 1e3), st.floats(1e-3, 1e2), st.integers(0, 99))
def test_sensitivity_on_neighbours(one, two, label, other, clip, scale, seed):
    """``clip`` where a row comes or goes, 2 ``clip`` where it is replaced; 1e-9 for rounding."""
    w, x, labels = problem(seed=seed, scale=scale)

    def total(extra):
        rows = torch.cat([x, *(torch.from_numpy(r)[None] for r, _ in extra)])
        return gradients.clipped_sum(w, WIDTHS, rows, torch.cat([labels, torch.tensor([k for _, k in extra])]), clip)

    without, first, second = (total(e) if e else gradients.clipped_sum(w, WIDTHS, x, labels, clip) for e in
                              ([], [(one, label)], [(two, other)]))  # fmt: skip
    assert float((first - without).norm()) <= clip * (1 + 1e-9)
    assert float((first - second).norm()) <= 2 * clip * (1 + 1e-9)


def test_the_bound_is_reached():
    """A clipped row moves the sum by exactly the clip, so the declared sensitivity cannot be lowered."""
    w, x, labels = problem()
    clip = 0.5 * float(row_gradients(w, x, labels).norm(dim=1)[-1])
    both = [gradients.clipped_sum(w, WIDTHS, x[:n], labels[:n], clip) for n in (len(x), len(x) - 1)]
    assert float((both[0] - both[1]).norm()) == pytest.approx(clip, rel=1e-12)


@pytest.mark.parametrize("audited", [False, True])
def test_noise_of_the_stated_size_is_added(audited):
    """20,000 coordinates: the relative error of a standard deviation is 1/sqrt(2 n) = 0.5 %; 2.5 % is 5 of them."""
    budget = BudgetSpec().open(np.random.default_rng(0), Recorder() if audited else None)
    mechanism = budget.gaussian("x", sensitivity=2.0, noise_multiplier=1.5, relation=Relation.ADD_REMOVE, proof="x")
    total = torch.full((20_000,), 7.0, dtype=torch.float64)
    released = training.noisy(total.clone(), mechanism)
    assert float((released - total).std()) == pytest.approx(3.0, rel=0.025)
    assert float(released.mean()) == pytest.approx(7.0, abs=5 * 3.0 / np.sqrt(20_000))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_gpu_and_cpu_agree():
    w, x, labels = problem()
    here = gradients.clipped_sum(w, WIDTHS, x, labels, 1.0)
    there = gradients.clipped_sum(w.cuda(), WIDTHS, x.cuda(), labels.cuda(), 1.0).cpu()
    np.testing.assert_allclose(there, here, rtol=1e-10, atol=1e-12)


def test_start_has_the_stated_spread():
    """Second layer of 300 x 200 weights: 5 standard errors of the standard deviation are 1.5 %."""
    w = variational.start((300, 200, 10), np.random.default_rng(0))
    first, last = layers(w, (300, 200, 10))
    assert float(first[:-1].std()) == pytest.approx(np.sqrt(2 / 300), rel=0.015)
    assert (first[-1] == 0).all()
    assert (last[-1] == 0).all()
