"""Compiled parts of a step, against NumPy and SciPy."""

import numpy as np
import pytest
import torch
from scipy.special import expit

from methods._shared.bayes_by_backprop import gradients, variational
from methods._shared.bayes_by_backprop.kernels import draw, sparse_product


def pixels(rng, rows, inputs):
    """A fifth of the entries above 0; one row has none."""
    x = rng.random((rows, inputs)) * (rng.random((rows, inputs)) < 0.2)
    x[:1] = 0.0
    return x


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-14), (np.float32, 1e-6)])
@pytest.mark.parametrize("inputs", [1, 3, 4, 31, 200])
@pytest.mark.parametrize("rows", [0, 1, 17])
def test_a_product_with_pixels_is_the_product(rows, inputs, dtype, rounding):
    rng = np.random.default_rng(1)
    x = pixels(rng, rows, inputs)
    for a, b in ((x, rng.standard_normal((inputs, 7))), (x.T, rng.standard_normal((rows, 7)))):
        out = np.full((len(a), 7), np.nan, dtype)
        sparse_product(a.astype(dtype), b.astype(dtype), out)
        np.testing.assert_allclose(out, a @ b, rtol=0, atol=rounding * max(inputs, 1))


def test_a_row_of_a_product_does_not_depend_on_the_others():
    """Exactly: the first layer makes the same of a row in any batch."""
    rng = np.random.default_rng(2)
    x, b = pixels(rng, 9, 60), rng.standard_normal((60, 8))
    whole, one = np.empty((9, 8)), np.empty((1, 8))
    sparse_product(x, b, whole)
    for i in range(9):
        sparse_product(x[i : i + 1], b, one)
        np.testing.assert_array_equal(one[0], whole[i])


def test_an_entry_that_is_no_number_is_not_left_out():
    out = np.empty((1, 2))
    sparse_product(np.array([[0.0, np.nan, 1.0]]), np.ones((3, 2)), out)
    assert np.isnan(out).all()


def test_the_draw_of_the_weights():
    rho = np.concatenate([np.linspace(-40.0, 40.0, 4001), [-700.0, -300.0, 0.0, 300.0, 700.0]])
    mean, xi = np.random.default_rng(4).standard_normal((2, len(rho)))
    s, slope, w = (np.empty_like(rho) for _ in range(3))
    draw(mean, rho, xi, s, slope, w)
    np.testing.assert_allclose(s, np.logaddexp(0.0, rho), rtol=2e-15)
    np.testing.assert_allclose(slope, expit(rho), rtol=2e-15)
    np.testing.assert_allclose(w, mean + s * xi, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("prior", [variational.GaussianPrior(0.7), variational.ScaleMixturePrior(0.5, 1.0, 0.1)])
def test_ten_steps_are_those_of_torch(monkeypatch, prior):
    """Dense products, and torch's draw and gradients: the weights differ by rounding, 1e-15 of the largest one."""

    def trained():
        rng, widths = np.random.default_rng(3), (50, 20, 20, 4)
        q = variational.MeanField(variational.start(widths, rng), -5.0)
        normals = variational.Normals(len(q.mean), rng)
        x, labels = torch.from_numpy(pixels(rng, 30, 50)), torch.from_numpy(rng.integers(0, 4, 30))
        for _ in range(10):
            total = gradients.clipped_sum(q.draw(normals), widths, x, labels, 0.5)
            q.step(total, 0.9, 1e-3, prior, 0.1, 1.5)
        return torch.cat([q.mean, q.rho]).numpy()

    ours = trained()
    monkeypatch.setattr(gradients, "product_of_rows", gradients.product)
    monkeypatch.setattr(variational, "in_double_precision_on_a_cpu", lambda v: False)
    np.testing.assert_allclose(ours, trained(), rtol=0, atol=1e-15 * np.abs(ours).max())
