"""The map to the box and back: densities, predictions, storage."""

import io

import numpy as np
import pytest

from models import posteriors
from models.bounded import (
    BoundedLinearRegression,
    BoundedLogisticRegression,
    BoundedMixture,
    Frame,
    FramedPosterior,
)
from models.mixture_of_gaussians import MixtureMeans
from models.task import Task

FRAME = Frame(np.array([1.0, -2.0]), np.array([2.0, 0.5]), 3.0, 4.0)
RNG = np.random.default_rng(0)
X, Y = FRAME.x_shift + 3 * RNG.normal(size=(40, 2)), RNG.normal(3.0, 6.0, 40)


def exact():
    box = FRAME.task(Task("made up", BoundedLinearRegression(), X, Y))
    return FramedPosterior(box.model.exact_posterior(box.x, box.y), FRAME)


def test_rows_reach_the_method_scaled():
    box = FRAME.task(Task("made up", BoundedLinearRegression(), X, Y))
    assert box.model.kind == "linear_regression_unknown_noise"
    assert np.abs(box.x).max() == 1.0  # some of these rows lie outside and are clipped
    assert np.abs(box.y).max() == 1.0
    inside = np.abs((X - FRAME.x_shift) / FRAME.x_scale).max(axis=1) < 1
    np.testing.assert_allclose(FRAME.x_shift + FRAME.x_scale * box.x[inside], X[inside])
    assert not box.public.x_bounds


def test_classes_stay_and_the_mixture_is_stretched():
    labels = (Y > 3).astype(float)
    box = FRAME.task(Task("made up", BoundedLogisticRegression(), X, labels))
    np.testing.assert_array_equal(box.y, labels)
    wide = Frame(FRAME.x_shift, FRAME.x_scale, stretch=3.0)
    assert np.abs(wide.task(Task("made up", BoundedMixture(2), X)).x).max() == 3.0


def test_a_prediction_in_original_units_integrates_to_one():
    predictive = exact().predictive(X[:3], np.random.default_rng(1))
    y = np.linspace(-60, 60, 3_001)
    mass = [np.exp([predictive.log_density(np.full(3, v)) for v in y])]
    np.testing.assert_allclose(np.trapezoid(mass[0], y, axis=0), 1.0, atol=1e-6)
    np.testing.assert_allclose(np.trapezoid(mass[0] * y[:, None], y, axis=0), predictive.mean, atol=1e-5)
    spread = np.trapezoid(mass[0] * (y[:, None] - predictive.mean) ** 2, y, axis=0)
    np.testing.assert_allclose(spread, predictive.variance, rtol=1e-4)


def test_a_density_in_original_units_integrates_to_one():
    frame = Frame(np.array([5.0]), np.array([0.2]), stretch=3.0)
    inner = MixtureMeans(np.array([[-1.0], [2.0]]), np.full((2, 1, 1), 0.1), 0.5)
    x = np.linspace(3, 7, 40_001)
    mass = np.exp(FramedPosterior(inner, frame).log_density(x[:, None]))
    assert np.trapezoid(mass, x) == pytest.approx(1.0, abs=1e-6)


def test_the_archive_gives_the_same_posterior():
    one, archive = exact(), io.BytesIO()
    np.savez(archive, **one.parameters())
    archive.seek(0)
    with np.load(archive) as stored:
        again = posteriors.load("framed", dict(stored))
    np.testing.assert_array_equal(again.posterior.mean, one.posterior.mean)
    draws = [p.sample(5, np.random.default_rng(2)) for p in (one, again)]
    np.testing.assert_array_equal(*draws)
    assert again.frame.y_scale == 4.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BoundedLinearRegression(shape=0),
        lambda: BoundedLogisticRegression(prior_sd=-1),
        lambda: BoundedMixture(components=0),
    ],
)
def test_a_prior_out_of_range_is_refused(wrong):
    with pytest.raises(ValueError, match="give a"):
        wrong()
