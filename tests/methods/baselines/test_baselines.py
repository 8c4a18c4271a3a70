"""The controls and yardsticks do what makes them controls and yardsticks."""

import functools
import math

import numpy as np
import pytest
import torch

from methods import contract
from methods.baselines import _network as network
from methods.contract import Diverged
from models.bnn_regression import BNNRegression, NetworkEnsemble
from models.linear_regression import LinearRegression
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import BudgetSpec


def bent(n: int, seed: int, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """A target that no linear map follows: |x0| + x1 / 2, and noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    return x, 10 + 3 * (np.abs(x[:, 0]) + 0.5 * x[:, 1] + noise * rng.standard_normal(n))


def fit(name: str, x, y, seed: int = 0, model=None, **settings):
    method = contract.get(name)
    task = Task("toy", model or BNNRegression(10), x, y)
    budget = BudgetSpec().open(np.random.default_rng([seed, 1]))
    return method.fit(task, method.Settings(**settings), budget, np.random.default_rng([seed, 2]))


def rmse(fitted, x, y) -> float:
    return float(np.sqrt(np.mean((fitted.posterior.predictive(x, np.random.default_rng(0)).mean - y) ** 2)))


@functools.cache
def fitted(name: str):
    x, y = bent(400, 1)
    settings = {"num_warmup": 150, "num_samples": 100, "chains": 2, "max_tree_depth": 7} if name == "nuts" else {}
    return fit(name, x, y, **settings)


CONTROLS = ("predict_mean", "ridge", "point_estimate", "deep_ensemble", "nuts")
NETWORKS = CONTROLS[2:]


def test_predict_mean_is_the_sample_mean_and_variance():
    _, y = bent(400, 1)
    p = fitted("predict_mean").posterior.predictive(np.zeros((3, 2)))
    np.testing.assert_allclose(p.mean, y.mean())
    np.testing.assert_allclose(p.variance, y.var(ddof=1))


@pytest.mark.parametrize("y", [[1.0], [2.0, 2.0, 2.0]])
def test_predict_mean_refuses_targets_without_spread(y):
    with pytest.raises(ValueError, match="different targets"):
        fit("predict_mean", np.zeros((len(y), 2)), np.array(y))


def test_ridge_is_least_squares_where_the_penalty_vanishes():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 3))
    y = x @ [1.0, -2.0, 0.5] + 4 + 0.2 * rng.standard_normal(300)
    p = fit("ridge", x, y, model=LinearRegression(), smallest=1e-9, largest=1e-9, count=1).posterior.predictive(x)
    x1 = np.column_stack([x, np.ones(300)])
    solution, residual, *_ = np.linalg.lstsq(x1, y, rcond=None)
    np.testing.assert_allclose(p.mean, x1 @ solution, rtol=1e-7, atol=1e-7)  # a penalty of 1e-9 beside 300 rows
    noise = residual[0] / (300 - 4)
    leverage = np.einsum("ni,ij,nj->n", x1, np.linalg.inv(x1.T @ x1), x1)
    np.testing.assert_allclose(p.variance, noise * (1 + leverage), rtol=1e-6)  # the textbook prediction variance


def test_ridge_predicts_as_scikit_learn_does():
    from sklearn.linear_model import Ridge

    x, y = bent(60, 3)
    fitted = fit("ridge", x, y, smallest=7.0, largest=7.0, count=1)
    s = Standardiser.from_moments(x, y)
    expected = Ridge(alpha=7.0).fit(s.x(x), s.y(y)).predict(s.x(x)) * s.y_scale + s.y_shift
    np.testing.assert_allclose(fitted.posterior.predictive(x).mean, expected, rtol=1e-9)


def test_ridge_survives_a_constant_column_and_a_copied_one():
    """As in the naval table."""
    x, y = bent(80, 4)
    p = fit("ridge", np.column_stack([x, x[:, 0], np.full(80, 288.0)]), y).posterior.predictive(
        np.column_stack([x, x[:, 0], np.full(80, 288.0)])
    )
    assert np.isfinite(p.mean).all()
    assert (p.variance > 0).all()


def test_ridge_penalty_shrinks_noise_and_spares_signal():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 10))
    noise, signal = rng.standard_normal(40), x.sum(axis=1)
    assert fit("ridge", x, noise).diagnostics["penalty"] > 10 > fit("ridge", x, signal).diagnostics["penalty"]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.nightly if n == "nuts" else ()) for n in NETWORKS])
def test_networks_follow_what_a_line_cannot(name):
    """Noise sd is 0.3. Twice that separates a learned |x| (near 0.3) from the best line (0.58 x 3 = 1.7)."""
    x, y = bent(1000, 6)
    assert rmse(fitted(name), x, y) < 0.6
    assert rmse(fitted("ridge"), x, y) > 1.5


@pytest.mark.parametrize("name", [n for n in CONTROLS if n != "nuts"])
def test_stated_variance_is_that_of_the_errors(name):
    """Mean squared error over mean predictive variance, 1,000 fresh rows: 1 for a calibrated method.

    0.6 to 1.6 allows for the noise estimate from 40 held-out rows (relative sd of a variance: sqrt(2 / 40) = 0.22).
    Not for the exact posterior: with 400 rows its Gamma(6, 6) prior on the noise, centred at the variance of the
    target, still outweighs this small noise.
    """
    x, y = bent(1000, 7)
    p = fitted(name).posterior.predictive(x, np.random.default_rng(0))
    assert 0.6 < np.mean((p.mean - y) ** 2) / np.mean(p.variance) < 1.6


@pytest.mark.nightly
def test_nuts_converges_on_what_is_identified():
    """Single precision: another processor has other chains, so the bounds are those of any seed.

    Largest of 8 seeds: 1.065 for the noise precision, 1.116 for the function, the worst of 50 inputs. The weight
    precision is hardly told by the data: 1.04 to 1.63 in chains so short, and the fewest effective draws are its own.
    """
    d = fitted("nuts").diagnostics
    assert d["rhat_noise_precision"] < 1.1
    assert d["rhat_function_max"] < 1.2
    assert d["rhat_function_max"] >= 1 - 1 / 50  # of half chains of 50 draws, without any difference between them
    assert d["networks_stored"] == 200


@pytest.mark.nightly
def test_nuts_draws_the_noise_from_its_conditional():
    """Given the weights, gamma ~ Gamma(6 + n / 2, 6 + SSE / 2) exactly; the ratio of draw to mean must average 1.

    The ratio has sd sqrt(1 / 206) = 0.07; were only 50 of 200 draws independent, 5 standard errors would be 0.05
    (false alarm below 1e-6). A missing prior would move it by 6 / 206 = 0.03 in shape and by a factor of 2 in rate.
    """
    x, y = bent(400, 1)
    posterior = fitted("nuts").posterior
    means = posterior.scale.y(posterior.predictive(x).means)
    errors = np.sum((means - posterior.scale.y(y)) ** 2, axis=1)
    ratio = (1 / posterior.noise) * (6 + errors / 2) / (6 + 400 / 2)
    assert abs(np.mean(ratio) - 1) < 0.05
    assert 0.04 < np.std(ratio) < 0.11  # 0.07; the sd of 50 independent draws has a relative error of 10 %


def test_nuts_has_the_density_of_the_model():
    """Log joint of the NumPyro program against a sum written with scipy, at random weights."""
    import jax
    from numpyro.infer.util import log_density
    from scipy.stats import gamma as gamma_law
    from scipy.stats import norm

    from methods.mcmc.nuts import _model

    rng = np.random.default_rng(8)
    model = BNNRegression(4)
    x, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    values = {"lambda": 1.7, "gamma": 0.6, "z1": rng.normal(size=(4, 3)), "z2": rng.normal(size=5)}
    with jax.enable_x64(True):
        got = float(log_density(_model(model, 2), (x, y), {}, values)[0])
    w1, w2 = values["z1"] / np.sqrt(1.7), values["z2"] / np.sqrt(1.7)
    scale = Standardiser(np.zeros(2), np.ones(2), 0.0, 1.0)
    mean = NetworkEnsemble(w1[None], w2[None], np.ones(1), scale).predictive(x).mean
    expected = (
        norm.logpdf(y, mean, 0.6**-0.5).sum()
        + norm.logpdf(values["z1"]).sum()
        + norm.logpdf(values["z2"]).sum()
        + gamma_law.logpdf([1.7, 0.6], 6, scale=1 / 6).sum()
    )
    assert got == pytest.approx(expected, rel=1e-10)


def test_deep_ensemble_members_differ_and_their_mean_is_better():
    posterior = fitted("deep_ensemble").posterior
    x, y = bent(1000, 9)
    means = posterior.predictive(x).means
    assert len(means) == 5
    assert np.all(means.std(axis=0) > 0)
    assert np.mean((means.mean(axis=0) - y) ** 2) < np.mean((means - y) ** 2)


def test_point_estimate_never_sees_beyond_its_rows():
    """The choice of the learning rate depends on the training rows alone, so a copy of the task gives a copy."""
    x, y = bent(100, 10)
    one = fit("point_estimate", x, y, epochs=3)
    two = fit("point_estimate", x.copy(), y.copy(), epochs=3)
    np.testing.assert_array_equal(one.posterior.w1, two.posterior.w1)
    assert one.diagnostics == two.diagnostics


def test_point_estimate_takes_the_better_of_its_grid():
    x, y = bent(300, 11)
    chosen = fit("point_estimate", x, y, learning_rates=(1e-7, 0.01), weight_decays=(0.0,))
    assert chosen.diagnostics["learning_rate"] == 0.01  # 1e-7 does not move in 40 epochs


def test_point_estimate_skips_learning_rates_that_diverge_and_says_so():
    x, y = bent(200, 12)
    chosen = fit("point_estimate", x, y, learning_rates=(0.01, 1e6), weight_decays=(0.0,))
    assert chosen.diagnostics["diverged_in_grid"] == 1.0
    with pytest.raises(Diverged, match="add smaller ones"):
        fit("point_estimate", x, y, learning_rates=(1e6,))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ridge", {"smallest": 0.0}),
        ("ridge", {"count": 0}),
        ("point_estimate", {"epochs": 0}),
        ("point_estimate", {"momentum": 1.0}),
        ("point_estimate", {"learning_rates": ()}),
        ("point_estimate", {"learning_rates": (-0.1,)}),
        ("point_estimate", {"weight_decays": (-1.0,)}),
        ("point_estimate", {"validation": 1.0}),
        ("deep_ensemble", {"members": 0}),
        ("deep_ensemble", {"learning_rate": math.inf}),
        ("deep_ensemble", {"validation": 0.0}),
        ("nuts", {"num_samples": 3}),
        ("nuts", {"target_accept": 1.0}),
        ("nuts", {"chains": 0}),
    ],
)
def test_settings_out_of_range_are_refused_by_name(name, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        contract.get(name).Settings(**settings)


class Reference(torch.nn.Module):
    """The same network in torch, from the weights that ``network.train`` starts from."""

    def __init__(self, d: int, hidden: int, seed: int):
        super().__init__()
        rng = np.random.default_rng(seed)
        u1 = (rng.standard_normal((d + 1, hidden)) / np.sqrt(d + 1)).astype(np.float32)
        u2 = (rng.standard_normal(hidden + 1) / np.sqrt(hidden + 1)).astype(np.float32)
        self.u1, self.u2 = torch.nn.Parameter(torch.from_numpy(u1)), torch.nn.Parameter(torch.from_numpy(u2))
        self.rng = rng

    def forward(self, x):
        return torch.relu(x @ self.u1[:-1] + self.u1[-1]) @ self.u2[:-1] + self.u2[-1]


@pytest.mark.parametrize(
    ("optimiser", "build"),
    [
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=0.01)),
        # torch adds the same L2 term to the gradient before the moments
        ("adam", lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.01)),
    ],
)
def test_kernel_trains_as_torch_does(optimiser, build):
    """Three epochs, a last batch of odd size. float32: 1e-3 is ten times what 33 steps of rounding leave behind."""
    x, y = bent(53, 13)
    s = Standardiser.from_moments(x, y)
    x, y = s.x(x).astype(np.float32), s.y(y).astype(np.float32)
    ours = network.train(
        x, y, 6,
        optimiser=optimiser, epochs=3, batch_size=5, learning_rate=0.01, momentum=0.9, weight_decay=0.01,
        rng=np.random.default_rng(14),
    )  # fmt: skip
    reference = Reference(2, 6, 14)
    step = build(reference.parameters())
    for _ in range(3):
        order = reference.rng.permutation(53)
        for start in range(0, 53, 5):
            rows = order[start : start + 5]
            step.zero_grad()
            (0.5 * torch.mean((reference(torch.from_numpy(x[rows])) - torch.from_numpy(y[rows])) ** 2)).backward()
            step.step()
    theirs = reference(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours.output(x), theirs, rtol=1e-3, atol=1e-4)


def test_network_output_is_that_of_the_stored_posterior():
    """Effective weights and the model's division by sqrt(fan-in) give one function (float32: 1e-5)."""
    x, y = bent(50, 15)
    trained = network.train(
        x, y, 5, optimiser="sgd", epochs=1, batch_size=5, learning_rate=1e-4, rng=np.random.default_rng(0)
    )
    scale = Standardiser(np.zeros(2), np.ones(2), 0.0, 1.0)
    stored = NetworkEnsemble(trained.w1[None], trained.w2[None], np.ones(1), scale).predictive(x).mean
    np.testing.assert_allclose(trained.output(x), stored, rtol=1e-5, atol=1e-5)


def test_early_stopping_returns_the_best_epoch():
    x, y = bent(60, 16)
    held = bent(60, 17)
    options = {"optimiser": "adam", "batch_size": 10, "learning_rate": 0.05}
    stopped = network.train(x, y, 8, epochs=300, patience=5, validation=held, rng=np.random.default_rng(1), **options)
    assert stopped.epochs < 295
    same = network.train(x, y, 8, epochs=stopped.epochs, rng=np.random.default_rng(1), **options)
    np.testing.assert_array_equal(stopped.w1, same.w1)
    longer = network.train(x, y, 8, epochs=stopped.epochs + 5, rng=np.random.default_rng(1), **options)
    assert network.mean_square(stopped, *held) < network.mean_square(longer, *held)


@pytest.mark.parametrize("n", [2, 3, 10, 101])
def test_hold_out_parts_the_rows(n):
    kept, held = network.hold_out(n, 0.1, np.random.default_rng(0))
    assert sorted([*kept, *held]) == list(range(n))
    assert len(held) == max(round(0.1 * n), 1)


def test_engine_refuses_what_it_cannot_do():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="at least 2"):
        network.hold_out(1, 0.1, rng)
    with pytest.raises(ValueError, match="share"):
        network.hold_out(10, 1.5, rng)
    options = {"epochs": 1, "batch_size": 1, "learning_rate": 0.1, "rng": rng}
    with pytest.raises(ValueError, match="optimiser"):
        network.train(np.zeros((2, 1)), np.zeros(2), 2, optimiser="lbfgs", **options)
    with pytest.raises(ValueError, match="validation"):
        network.train(np.zeros((2, 1)), np.zeros(2), 2, optimiser="sgd", patience=1, **options)
