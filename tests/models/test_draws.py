"""Every posterior has draws, a point and a prediction, and its draws are those of the prediction."""

import numpy as np
import pytest

from models import kind as registry
from models import posteriors
from models.bnn_classification import ClassifierMeanField, ClassifierPoint
from models.bnn_regression import NetworkEnsemble, NetworkMoments, NetworkMonteCarlo
from models.bounded import Frame, FramedPosterior
from models.bounded_logistic import LogisticGaussian, LogisticPoint
from models.conjugate_simulators import ConjugatePosterior
from models.draws import draws, is_point, point
from models.exponential_family import BetaBernoulli, ParameterSample
from models.linear_posteriors import NormalTimesInverseGamma, NormalTimesLogNormal
from models.linear_regression import ConstantGaussian, LinearGaussian
from models.linear_regression_unknown_noise import NormalInverseGamma
from models.logistic_regression import LogisticSample, RowScaling
from models.mixture_of_gaussians import MixtureMeans, MixtureParameters
from models.mixture_regression import MixtureRegression
from models.noise_aware import SampledTrace, Statistics, TracePosterior
from models.standardise import Standardiser
from models.unconstrained import Likelihood, UnconstrainedDraws, UnconstrainedGaussian

W = np.array([0.3, -0.2, 0.1])
ROOT = np.linalg.cholesky(np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]))
SCALE = Standardiser(np.array([1.0, -2.0]), np.array([2.0, 0.5]), 3.0, 4.0)
SMALL = (np.zeros((2, 3)), np.full((2, 3), 0.1), np.zeros(3), np.full(3, 0.1))
LINEAR, LOGISTIC = Likelihood("linear"), Likelihood("logistic")
TRACE = TracePosterior(
    Statistics(50.0, *(np.full(6, v) for v in (0.1, 0.0, 2.0, 1.0, 60.0))), np.full(6, 0.1), np.ones(6), 1.0, LOGISTIC,
    "trace_average",
)  # fmt: skip
#: an example of each kind of posterior, unframed.
EXAMPLES = [
    NormalInverseGamma(W, ROOT, 12.0, 0.4),
    NormalTimesInverseGamma(W, ROOT, 12.0, 0.4),
    NormalTimesLogNormal(W, np.full(3, 0.1), -3.0, 0.1),
    LinearGaussian(W, ROOT @ ROOT.T / 100, 0.05, SCALE),
    ConstantGaussian(1.0, 0.2),
    LogisticGaussian(W, ROOT / 10),
    LogisticPoint(W),
    LogisticSample(W[:2], RowScaling(np.zeros(2), np.ones(2), 1.0)),
    UnconstrainedGaussian(W, np.full(3, 0.1), LOGISTIC),
    UnconstrainedDraws(np.tile(W, (5, 1)), LOGISTIC),
    TRACE,
    SampledTrace(np.full((4, 6), 0.1), TRACE),
    MixtureRegression(np.ones(1), np.zeros((1, 3)), np.eye(3)[None]),
    MixtureMeans(np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1)), 0.5),
    MixtureParameters(np.full(2, 0.5), np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1))),
    NetworkMoments(*SMALL, 6.0, 6.0, SCALE),
    NetworkMonteCarlo(*SMALL, 4.0, 3, SCALE),
    NetworkEnsemble(np.zeros((4, 2, 3)), np.zeros((4, 3)), np.ones(4), SCALE),
    ClassifierMeanField(np.zeros(9), np.full(9, 0.1), (2, 3), 1.0, 2),
    ClassifierPoint(np.zeros(9), (2, 3), 1.0),
    ConjugatePosterior("gamma_exponential", np.array([3.0, 2.0])),
    ParameterSample(np.array([0.3]), BetaBernoulli()),
]


def framed(posterior) -> FramedPosterior:
    y = (0.0, 1.0) if posterior.kind.startswith("logistic") else (50.0, 20.0)
    return FramedPosterior(posterior, Frame(np.array([5.0, -1.0]), np.array([2.0, 4.0]), *y))


def test_no_kind_of_posterior_is_left_out():
    assert {p.kind for p in EXAMPLES} | {"framed"} == set(registry.posteriors())


@pytest.mark.parametrize("posterior", EXAMPLES, ids=lambda p: p.kind)
def test_draws_a_point_and_a_prediction(posterior):
    found, one = draws(posterior, 7, np.random.default_rng(1)), point(posterior)
    assert found.keys() == one.keys() != set()
    for name, values in found.items():
        assert values.shape == (7, *np.shape(one[name]))
        assert np.isfinite(values).all()
        assert not is_point(posterior) or (values == one[name]).all()
    assert is_point(posterior) or any(np.ptp(v, axis=0).any() for v in found.values()) or posterior.kind in (
        "unconstrained_draws", "network_ensemble",  # of which these examples hold equal ones
    )  # fmt: skip
    assert callable(posterior.predictive)


@pytest.mark.parametrize("posterior", EXAMPLES[:4], ids=lambda p: p.kind)
@pytest.mark.parametrize("boxed", [False, True])
def test_draws_of_a_linear_model_predict_in_original_units(posterior, boxed):
    """Mean and variance of the prediction are those of the draws; 20,000 of them: five standard errors."""
    posterior = framed(posterior) if boxed else posterior
    x = np.array([[5.5, 0.0], [4.0, -3.0]]) if boxed else np.array([[0.5, 0.2], [-0.4, 0.8]])
    d = draws(posterior, 20_000, np.random.default_rng(2))
    lines = d["coef"] @ x.T + d["intercept"][:, None]
    told = posterior.predictive(x, np.random.default_rng(3))
    sd = np.sqrt(told.variance)
    assert np.abs(lines.mean(axis=0) - told.mean).max() < 5 * (sd / np.sqrt(1000)).max()
    variance = lines.var(axis=0) + d["noise_variance"].mean()
    assert variance == pytest.approx(told.variance, rel=0.3)
    assert point(posterior)["coef"] == pytest.approx(d["coef"].mean(axis=0), abs=5 * d["coef"].std() / np.sqrt(4000))


@pytest.mark.parametrize("posterior", [EXAMPLES[5], EXAMPLES[6]], ids=lambda p: p.kind)
def test_draws_of_a_logistic_model_predict_in_original_units(posterior):
    posterior, x = framed(posterior), np.array([[5.5, 0.0], [4.0, -3.0]])
    d = draws(posterior, 20_000, np.random.default_rng(2))
    p = 1 / (1 + np.exp(-(d["coef"] @ x.T + d["intercept"][:, None])))
    assert p.mean(axis=0) == pytest.approx(posterior.predictive(x, np.random.default_rng(3)).mean, abs=0.02)


def test_a_mixture_regression_is_mapped_with_its_target():
    joint = MixtureRegression(np.ones(1), np.array([[0.5, 0.0, -0.5]]), np.diag([0.1, 0.2, 0.3])[None])
    one = point(framed(joint))
    assert one["means"] == pytest.approx(np.array([[6.0, -1.0, 40.0]]))
    assert np.diag(one["covariances"][0]) == pytest.approx([0.4, 3.2, 120.0])


def test_inputs_that_the_likelihood_scales_are_in_original_units():
    scaled = UnconstrainedGaussian(W, np.full(3, 1e-9), Likelihood("logistic", np.array([4.0]), np.array([2.0])))
    d, x = draws(scaled, 2, np.random.default_rng(0)), np.array([[5.0, 1.0]])
    wanted = scaled.likelihood.design(x, own=True) @ W
    assert d["coef"][0] @ x[0] + d["intercept"][0] == pytest.approx(wanted[0], abs=1e-6)


def test_a_posterior_that_nobody_knows_is_its_parameters():
    class Other:
        kind = "other"

        def parameters(self):
            return {"rate": np.float64(2.0)}

    assert is_point(Other())
    assert draws(Other(), 3, np.random.default_rng(0))["rate"].tolist() == [2.0] * 3


def test_stored_posteriors_draw_the_same():
    made = framed(EXAMPLES[0])
    again = posteriors.load(made.kind, made.parameters())
    a, b = (draws(p, 3, np.random.default_rng(5)) for p in (made, again))
    assert all((a[name] == b[name]).all() for name in a)
