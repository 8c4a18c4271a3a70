"""The classification network: layout of the weights, priors, predictions, stored parameters."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import log_softmax

from models import posteriors
from models.bnn_classification import (
    BNNClassification,
    CategoricalPredictive,
    ClassifierMeanField,
    ClassifierPoint,
    GaussianPrior,
    ScaleMixturePrior,
    Snapshots,
    layers,
    load,
    logits,
    size,
)

WIDTHS = (2, 4, 3, 3)


def test_sizes_of_the_published_network():
    widths = BNNClassification().widths(784)
    assert widths == (784, 400, 400, 10)
    assert size(widths) == 785 * 400 + 401 * 400 + 401 * 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": 0}, "hidden = 0"),
        ({"hidden_layers": 1.5}, "hidden_layers = 1.5"),
        ({"classes": 1}, "classes = 1"),
        ({"input_scale": math.inf}, "input_scale = inf"),
    ],
)
def test_a_model_out_of_range_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        BNNClassification(**changes)


def test_layers_are_views_with_the_bias_last():
    w = np.arange(float(size(WIDTHS)))
    blocks = layers(w, WIDTHS)
    assert [b.shape for b in blocks] == [(3, 4), (5, 3), (4, 3)]
    np.testing.assert_array_equal(np.concatenate([b.ravel() for b in blocks]), w)
    blocks[1][-1] = -1.0
    assert (w[12 + 12 : 12 + 15] == -1).all()


def test_logits_against_a_loop():
    rng = np.random.default_rng(0)
    w, x = rng.standard_normal(size(WIDTHS)), rng.standard_normal((5, 2))
    for row, found in zip(x, logits(w, WIDTHS, x), strict=True):
        a = row
        for k, block in enumerate(layers(w, WIDTHS)):
            z = [sum(a[i] * block[i, j] for i in range(len(a))) + block[-1, j] for j in range(block.shape[1])]
            a = np.array([max(v, 0.0) for v in z] if k < 2 else z)
        np.testing.assert_allclose(found, a, rtol=1e-12)


def test_priors_are_the_stated_densities():
    w = np.array([-2.0, 0.0, 1e-3, 0.7])
    np.testing.assert_allclose(GaussianPrior(0.5).log_density(w), stats.norm.logpdf(w, scale=0.5), rtol=1e-12)
    prior = ScaleMixturePrior(0.25, 1.0, 0.05)
    mixture = 0.25 * stats.norm.pdf(w) + 0.75 * stats.norm.pdf(w, scale=0.05)
    np.testing.assert_allclose(prior.log_density(w), np.log(mixture), rtol=1e-12)
    total = integrate.quad(lambda v: math.exp(prior.log_density(v)), -9, 9, points=[0.0], limit=200)[0]
    assert total == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianPrior(0.0), "sd = 0"),
        (lambda: ScaleMixturePrior(share=1.0), "share = 1"),
        (lambda: ScaleMixturePrior(sd_wide=0.1, sd_narrow=0.1), "sd_narrow < sd_wide"),
    ],
)
def test_a_prior_out_of_range_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def mean_field(draws: int = 4, sd: float = 0.5) -> ClassifierMeanField:
    rng = np.random.default_rng(1)
    mean = rng.standard_normal(size(WIDTHS)).astype(np.float32)
    return ClassifierMeanField(mean, np.full_like(mean, sd), WIDTHS, 2.0, draws)


def test_predictions_average_the_softmax_of_the_draws():
    q, x = mean_field(), np.random.default_rng(2).uniform(-2, 2, (6, 2))
    found = q.predictive(x, np.random.default_rng(3))
    rng, parts = np.random.default_rng(3), []
    for _ in range(q.draws):
        w = q.mean + q.sd * rng.standard_normal(len(q.mean), dtype=np.float32)
        parts.append(np.exp(log_softmax(logits(w.astype(float), WIDTHS, x / 2.0), axis=1)))
    np.testing.assert_allclose(found.probabilities, np.mean(parts, axis=0), atol=1e-6)  # forward in single precision
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_array_equal(found.log_density(np.full(6, 2.0)), found.log_probabilities[:, 2])


def test_without_spread_it_is_the_point_estimate():
    q, x = mean_field(sd=0.0), np.random.default_rng(2).uniform(-2, 2, (6, 2))
    point = ClassifierPoint(q.mean, WIDTHS, 2.0).predictive(x)
    np.testing.assert_allclose(
        q.predictive(x, np.random.default_rng(0)).log_probabilities, point.log_probabilities, atol=1e-12
    )


def test_large_logits_stay_finite():
    point = ClassifierPoint(1e6 * mean_field().mean, WIDTHS, 2.0).predictive(np.full((1, 2), 1e3))
    assert np.isfinite(point.log_probabilities).all()
    assert point.probabilities.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("posterior", [mean_field(), ClassifierPoint(mean_field().mean, WIDTHS, 2.0)])
def test_round_trip(posterior):
    again = posteriors.load(posterior.kind, posterior.parameters())
    assert type(again) is type(posterior)
    x = np.ones((3, 2))
    one, two = (q.predictive(x, np.random.default_rng(0)).log_probabilities for q in (posterior, again))
    np.testing.assert_array_equal(one, two)
    with pytest.raises(KeyError, match="not 'linear'"):
        load("linear", {})


@pytest.mark.parametrize("label", [-1.0, 3.0, 0.5])
def test_a_label_that_is_no_class_is_refused(label):
    with pytest.raises(ValueError, match="whole numbers from 0 to 2"):
        CategoricalPredictive(np.zeros((1, 3))).log_density(np.array([label]))


def test_snapshots_are_stored_with_the_posterior():
    w = np.linspace(-1, 1, size(WIDTHS)).astype(np.float32)
    kept = Snapshots.of([(1, w.astype(np.float16)), (5, (2 * w).astype(np.float16))])
    for posterior in (ClassifierPoint(w, WIDTHS, 2.0, kept), ClassifierMeanField(w, w**2 + 0.1, WIDTHS, 2.0, 3, kept)):
        again = load(posterior.kind, posterior.parameters()).snapshots
        np.testing.assert_array_equal(again.epochs, [1, 5])
        np.testing.assert_array_equal(again.weights, kept.weights)
    bare = ClassifierPoint(w, WIDTHS, 2.0)
    assert set(bare.parameters()) == {"weights", "widths", "input_scale"}
    assert len(load(bare.kind, bare.parameters()).snapshots.epochs) == 0
