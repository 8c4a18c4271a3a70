"""Gradients of the variational parameters: against finite differences, and what the note's update loses."""

import numpy as np
import pytest
import torch

from methods._shared.bayes_by_backprop import variational
from models.bnn_classification import GaussianPrior, ScaleMixturePrior

D, WEIGHT = 40, 0.3
PRIORS = [GaussianPrior(0.7), ScaleMixturePrior(0.25, 0.9, 0.05)]


def state(seed: int = 0, size: int = D, rho: float | None = None) -> variational.MeanField:
    rng = np.random.default_rng(seed)
    q = variational.MeanField(torch.from_numpy(0.3 * rng.standard_normal(size)), -1.0)
    q.rho = torch.from_numpy(rng.uniform(-4, 2, size)) if rho is None else torch.full_like(q.mean, rho)
    q.draw(variational.Normals(size, rng))
    return q


def data_loss(w: np.ndarray) -> np.ndarray:
    """Any smooth function stands for the data term; elementwise, so that one difference serves all coordinates."""
    return np.sin(3.0 * w) + 0.5 * w**2


def data_gradient(w: torch.Tensor) -> torch.Tensor:
    return 3.0 * torch.cos(3.0 * w) + w


def softplus(rho: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, rho)


def test_the_draw_is_mean_plus_sd_times_xi():
    q = state()
    np.testing.assert_allclose(q.w, q.mean + torch.log1p(q.rho.exp()) * q.xi, rtol=1e-12)


@pytest.mark.parametrize("count", [5, 5000])
def test_normals_are_normal_and_follow_the_generator(count):
    """Mean and standard deviation of 50,000 within 5 standard errors; both the small and the fast stream."""
    draws, again = [], []
    for out in (draws, again):
        normals = variational.Normals(count, np.random.default_rng(3))
        out += [normals.draw(torch.empty(count, dtype=torch.float64)).clone() for _ in range(50_000 // count)]
    z = torch.cat(draws)
    assert torch.equal(z, torch.cat(again))
    assert abs(float(z.mean())) < 5 / np.sqrt(50_000)
    assert float(z.std()) == pytest.approx(1.0, abs=5 / np.sqrt(100_000))


@pytest.mark.parametrize("prior", PRIORS)
def test_score_of_the_prior_agrees_with_finite_differences(prior):
    w = np.linspace(-1.5, 1.5, 61)
    h = 1e-6
    slope = (prior.log_density(w + h) - prior.log_density(w - h)) / (2 * h)
    np.testing.assert_allclose(variational.minus_score(prior, torch.from_numpy(w)), -slope, atol=1e-6, rtol=1e-7)


def objective(q, prior, mean, rho):
    """Data loss plus weight times KL at fixed xi; KL as log q - log P at the draw, or in closed form."""
    s, xi = softplus(rho), q.xi.numpy()
    w = mean + s * xi
    if isinstance(prior, GaussianPrior):
        kl = np.log(prior.sd / s) + 0.5 * (s**2 + mean**2) / prior.sd**2 - 0.5
    else:
        kl = -np.log(s) - 0.5 * xi**2 - prior.log_density(w)
    return data_loss(w) + WEIGHT * kl


@pytest.mark.parametrize("prior", PRIORS)
def test_gradients_agree_with_finite_differences(prior):
    """With xi fixed the objective is a function of (mean, rho), and the gradient is its derivative, term by term.

    h = 1e-6, values of order 1 to 100: rounding 1e-8, the cube of the narrow component's curvature 1e-6.
    """
    q = state()
    mean, rho = q.mean.numpy().copy(), q.rho.numpy().copy()
    found = q.gradients(data_gradient(q.w), WEIGHT, prior)
    h = 1e-6
    by_mean = (objective(q, prior, mean + h, rho) - objective(q, prior, mean - h, rho)) / (2 * h)
    by_rho = (objective(q, prior, mean, rho + h) - objective(q, prior, mean, rho - h)) / (2 * h)
    np.testing.assert_allclose(found[0], by_mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[1], by_rho, rtol=1e-6, atol=1e-6)


def test_both_forms_of_a_gaussian_prior_have_one_expectation():
    """The closed form of the KL against the sampled one (a mixture of nearly equal components), over 200,000 draws.

    5 standard errors for 4 numbers: false-alarm rate 2e-6.
    """
    size = 200_000
    means = []
    for prior in (GaussianPrior(0.7), ScaleMixturePrior(0.5, 0.7, 0.7 * (1 - 1e-9))):
        q = state(5, size, rho=-0.5)
        q.mean.fill_(0.2)
        torch.addcmul(q.mean, q.s, q.xi, out=q.w)
        means.append([(float(g.mean()), float(g.std()) / np.sqrt(size)) for g in
                      q.gradients(torch.zeros(size, dtype=torch.float64), 1.0, prior)])  # fmt: skip
    for (closed, se), (sampled, other) in zip(*means, strict=True):
        assert abs(closed - sampled) < 5 * np.hypot(se, other) + 1e-12


def drift(update: str, rho: float, size: int = 400_000) -> tuple[float, float, float]:
    """Mean of Delta_rho without data and with a flat prior, its standard error, and -s'/s, the entropy's gradient."""
    q = state(7, size, rho=rho)
    step = getattr(q, update)(torch.zeros(size, dtype=torch.float64), 1.0, GaussianPrior(1e6))[1]
    s = softplus(np.array(rho))
    return float(step.mean()), float(step.std()) / np.sqrt(size), float(-(1 - np.exp(-s)) / s)


@pytest.mark.parametrize("rho", [-5.0, -3.0, 0.0])
def test_the_notes_update_of_rho_loses_the_gradient_of_the_entropy(rho):
    """Expectation 0 where it should be -s'/s, between -0.997 and -0.72: 4.5 standard errors (false-alarm rate 7e-6 a
    case), which are 0.01 and so tell 0 from -s'/s with certainty. The corrected update has the expectation exactly."""
    mean, se, entropy = drift("printed_gradients", rho)
    assert abs(mean) < 4.5 * se < 0.02
    assert entropy < -0.7
    corrected, spread, _ = drift("gradients", rho)
    assert corrected == pytest.approx(entropy, abs=4.5 * spread + 1e-9)


def test_the_notes_update_is_what_it_prints():
    """g + m_b and g xi / (1 + exp(-rho)) + r_b, with m_b, r_b the derivatives of log q(w | mu, rho) at fixed w."""
    q, prior, h = state(), PRIORS[1], 1e-6
    mean, rho, w = (v.numpy().copy() for v in (q.mean, q.rho, q.w))

    def log_q(mean, rho):
        s = softplus(rho)
        return -np.log(s) - 0.5 * ((w - mean) / s) ** 2

    m = (log_q(mean + h, rho) - log_q(mean - h, rho)) / (2 * h)
    r = (log_q(mean, rho + h) - log_q(mean, rho - h)) / (2 * h)
    data = data_gradient(q.w)
    g = (data + WEIGHT * variational.minus_score(prior, q.w)).numpy()
    found = q.printed_gradients(data, WEIGHT, prior)
    np.testing.assert_allclose(found[0], g + WEIGHT * m, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[1], g * q.xi.numpy() / (1 + np.exp(-rho)) + WEIGHT * r, rtol=1e-6, atol=1e-6)


def test_the_notes_update_of_the_mean_has_noise_of_one_over_sd():
    """Standard deviation 1/s; 100,000 numbers, 5 standard errors = 1.1 %."""
    s = 0.04
    q = state(9, 100_000, rho=float(np.log(np.expm1(s))))
    step = q.printed_gradients(torch.zeros(100_000, dtype=torch.float64), 1.0, GaussianPrior(1e6))[0]
    assert float(step.std()) == pytest.approx(1 / s, rel=0.011)
