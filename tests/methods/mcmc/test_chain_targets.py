"""Gradients, bounds and clips of the targets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_expit

from methods._shared import row_blocks
from methods._shared.logistic_gaussian.centred import Centre
from methods.mcmc._network import Network
from methods.mcmc._targets import Linear, Logistic, clipped_ratio_sum
from models.bnn_regression import BNNRegression, NetworkEnsemble
from models.bounded import BoundedLinearRegression
from models.bounded_logistic import LogisticPoint
from models.standardise import Standardiser
from models.unconstrained import inverse_softplus

D = 3
CENTRE = Centre(np.array([0.3, -0.2, 0.1]), np.array([0.4, 0.5, 0.3]))


def made(name: str, n: int = 30, corners: bool = False):
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], (n, D)) if corners else rng.uniform(-1, 1, (n, D))
    y = rng.choice([-1.0, 1.0], n) if corners else np.clip(x[:, 0] * 0.5 + 0.2 * rng.standard_normal(n), -1, 1)
    if name == "linear":
        return Linear(x, y, CENTRE, BoundedLinearRegression().inner, n)
    if name == "network":
        return Network(x, y, BNNRegression(4), n, rng)
    z = np.column_stack([x - CENTRE.mean, np.ones(n)]) * np.where(y > 0, 1.0, -1.0)[:, None]
    return Logistic(z, CENTRE, 1.0, n)


NAMES = ["linear", "logistic", "network"]


@pytest.fixture
def blocks(monkeypatch):
    """Passes over 30 rows take several blocks."""
    monkeypatch.setattr(row_blocks, "CACHED", 7)


def somewhere(target, seed: int = 1) -> np.ndarray:
    """A point off the start, with v near 1/4."""
    theta = target.start + 0.3 * np.random.default_rng(seed).standard_normal(len(target.start))
    if hasattr(target, "rate"):
        theta[-1] = -1.4
    return theta


def slope(f, theta: np.ndarray, step: float = 1e-5) -> np.ndarray:
    return np.array([(f(theta + step * e) - f(theta - step * e)) / (2 * step) for e in np.eye(len(theta))])


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_log_posterior(name):
    target = made(name)
    theta = somewhere(target)
    scale = target.unit(theta)
    numeric = slope(lambda t: float(target.energy(t).sum()) + target.public_log_density(t), theta)
    whole = target.clipped_gradients(theta, scale, None, 1e12) / scale + target.public_gradient(theta)
    np.testing.assert_allclose(whole, numeric, rtol=1e-5, atol=1e-5)
    parts = [target.clipped_gradients(theta, scale, np.array(rows), 1e12) for rows in (range(10), range(10, 30))]
    np.testing.assert_allclose(sum(parts) / scale + target.public_gradient(theta), numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("name", NAMES)
def test_no_row_is_longer_than_the_clip_and_long_ones_reach_it(name):
    target = made(name)
    theta = somewhere(target)
    scale = target.unit(theta)
    rows = [target.clipped_gradients(theta, scale, np.array([i]), 1e12) for i in range(30)]
    clip = float(np.median([np.linalg.norm(r) for r in rows]))
    cut = [target.clipped_gradients(theta, scale, np.array([i]), clip) for i in range(30)]
    for whole, clipped in zip(rows, cut, strict=True):
        long = np.linalg.norm(whole)
        assert np.linalg.norm(clipped) == pytest.approx(min(long, clip), rel=1e-9)
        np.testing.assert_allclose(clipped, whole * min(1.0, clip / long), rtol=1e-9)
    np.testing.assert_allclose(target.clipped_gradients(theta, scale, None, clip), np.sum(cut, axis=0), atol=1e-9)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("name", ["linear", "network"])
def test_a_row_that_overflows_contributes_nothing(name):
    target, theta = made(name), somewhere(made(name))
    before = target.clipped_gradients(theta, target.unit(theta), np.arange(1, 30), 2.0)
    target.y[0] = 1e300
    after = target.clipped_gradients(theta, target.unit(theta), None, 2.0)
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_logistic_rows_are_no_longer_than_their_bound():
    target = made("logistic", 400, corners=True)
    assert np.linalg.norm(target.z, axis=1).max() <= target.size.bound * (1 + 1e-12)
    assert np.linalg.norm(target.z, axis=1).max() > 0.9 * target.size.bound


@pytest.mark.parametrize("name", ["linear", "logistic"])
def test_no_row_of_the_box_moves_a_ratio_by_more_than_its_bound(name):
    """Searched over the corners of the box, for 200 pairs of points near and far; symmetric, and not idle."""
    target, rng, most = made(name, 2000, corners=True), np.random.default_rng(2), 0.0
    for _ in range(200):
        width = 10.0 ** rng.uniform(-3, 0.5)
        theta = target.start + rng.standard_normal(len(target.start)) * width
        other = theta + rng.standard_normal(len(theta)) * 10.0 ** rng.uniform(-3, 0)
        bound = target.ratio_bound(theta, other)
        assert bound == pytest.approx(target.ratio_bound(other, theta))
        share = np.abs(target.energy(other) - target.energy(theta)).max() / bound
        most = max(most, share)
        assert share <= 1 + 1e-9
    assert most > 0.5


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e12])
def test_the_logistic_energy_is_the_log_likelihood_near_and_far(scale):
    target, theta = made("logistic"), scale * somewhere(made("logistic"))
    np.testing.assert_allclose(target.energy(theta), log_expit(target.z @ theta), rtol=1e-15, atol=3e-16)


@pytest.mark.usefixtures("blocks")
def test_ratios_are_cut_and_counted_in_bounds():
    energy, proposed = np.zeros(15), np.repeat([0.5, -3.0, 9.0, np.nan, np.inf], 3)
    assert clipped_ratio_sum(energy, proposed, 2.0) == pytest.approx(3 * (0.5 - 2.0 + 2.0 + 0.0 + 2.0) / 2.0)


def test_centred_parameters_come_back_to_scaled_rows():
    linear, logistic = made("linear"), made("logistic")
    theta = somewhere(linear)
    back = linear.on_scaled_rows(theta[None])[0]
    x = np.random.default_rng(3).uniform(-1, 1, (9, D))
    f = np.column_stack([x - CENTRE.mean, np.ones(9)]) @ theta[:-1]
    np.testing.assert_allclose(np.column_stack([x, np.ones(9)]) @ back[:-1], f)
    assert back[-1] == pytest.approx(float(inverse_softplus(np.exp(theta[-1]))))
    w = somewhere(logistic)
    margin = np.column_stack([x - CENTRE.mean, np.ones(9)]) @ w
    p = LogisticPoint(logistic.on_scaled_rows(w[None])[0]).predictive(x).mean
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-margin)))


def test_the_network_is_that_of_the_model():
    target = made("network")
    theta = somewhere(target)
    first, second = target.layers(theta[None])
    scale = Standardiser(np.zeros(D), np.ones(D), 0.0, 1.0)
    mean = NetworkEnsemble(first, second, np.ones(1), scale).predictive(target.x[:, :-1]).means[0]
    np.testing.assert_allclose(target.y - mean, target.residuals(theta), atol=1e-12)
    np.testing.assert_allclose(mean, target.function(theta[None], target.x[:, :-1])[0], atol=1e-12)
