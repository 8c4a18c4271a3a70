"""Gradients, clip, sampling, noise and ledger of the private fits."""

import math

import numpy as np
import pytest
from scipy.stats import binom, chisquare, kstest, norm

from papers.jalko2017dpvi import dpvi
from papers.jalko2017dpvi.dpvi import AUTHORS, CORRECTED, Setting
from privacy.budget import BudgetSpec
from privacy.ledger import Relation, Sampling
from privacy.repeats import Repeats

N, D = 60, 3


def rows(seed=0, n=N, d=D):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x, (rng.random(n) < 0.5).astype(float)


def objective(theta, e, x, y, scale, share):
    """What one row's vector is the gradient of, from the model alone (torch)."""
    import torch

    u, r = theta[: len(e)], theta[len(e) :]
    w = u + torch.exp(r) * torch.as_tensor(e)
    p = 1e-6 + (1 - 2e-6) * torch.sigmoid(torch.as_tensor(x) @ w)
    likelihood = torch.log(p) if y == 1 else torch.log(1 - p)
    return -scale * likelihood + share * (w @ w) / 2 - share * r.sum()


def vectors(x, y, state, e, scale, share):
    """v_i of all rows by automatic differentiation, (n, 2 D)."""
    torch = pytest.importorskip("torch")
    out = []
    for xi, yi in zip(x, y, strict=True):
        theta = torch.tensor(state, requires_grad=True)
        objective(theta, e, xi, yi, scale, share).backward()
        out.append(theta.grad.numpy())
    return np.array(out)


@pytest.mark.parametrize("clip", [None, 0.5, 5.0, 1e6])
def test_the_sum_of_clipped_gradients_against_autodiff(clip):
    x, y = rows()
    rng = np.random.default_rng(1)
    state, e = rng.standard_normal(2 * D), rng.standard_normal(D)
    v = vectors(x, y, state, e, 20.0, 0.1)
    length = np.linalg.norm(v, axis=1, keepdims=True)
    expected = (v if clip is None else v * np.minimum(1, clip / length)).sum(axis=0)
    moved = np.exp(state[D:]) * e
    w = state[:D] + moved
    got = dpvi.clipped_sum(x, 2 * y - 1, np.arange(N)[None], None, w[None], moved[None], 20.0, 0.1, clip)
    assert got[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    # every row alone has the norm that the clip leaves it
    each = dpvi.clipped_sum(
        x, 2 * y - 1, np.arange(N)[:, None], None, np.tile(w, (N, 1)), np.tile(moved, (N, 1)), 20.0, 0.1, clip
    )
    lengths = length[:, 0] if clip is None else np.minimum(length[:, 0], clip)
    assert np.linalg.norm(each, axis=1) == pytest.approx(lengths, rel=1e-9)


def test_a_row_more_changes_the_corrected_sum_by_at_most_the_clip():
    """Sensitivity under add/remove, searched over rows and states; the bound is reached."""
    x, y = rows()
    rng, most, clip = np.random.default_rng(2), 0.0, 1.5
    for _ in range(300):
        extra = rng.standard_normal(D) * 10.0 ** rng.uniform(-3, 6)
        longer, sign = np.vstack([x, extra]), np.append(2 * y - 1, rng.choice([-1.0, 1.0]))
        w, moved = rng.standard_normal((1, D)) * 10.0 ** rng.uniform(-2, 3), rng.standard_normal((1, D))
        arguments = (w, moved, 50.0, 0.02, clip)
        batch = np.arange(N + 1)[None]
        inside = np.ones((1, N + 1), dtype=bool)
        without = inside.copy()
        without[0, N] = False
        a = dpvi.clipped_sum(longer, sign, batch, inside, *arguments)
        b = dpvi.clipped_sum(longer, sign, batch, without, *arguments)
        alone = dpvi.clipped_sum(x, sign[:N], batch[:, :N], None, *arguments)
        assert b == pytest.approx(alone, rel=1e-12, abs=1e-12)  # what is not inside is not read
        most = max(most, float(np.linalg.norm(a - b)))
    assert most <= clip * (1 + 1e-9)
    assert most > 0.999 * clip


def test_the_corrected_law_does_not_know_the_number_of_rows():
    """scale and share come from the public n: neighbours get the same."""
    assert dpvi.sizes(1000, 0.01, CORRECTED) == (100.0, 0.1)
    assert dpvi.sizes(1000, 0.0149, AUTHORS) == (1000 / 14, 1 / 14)


def test_the_ledger_says_what_is_done():
    setting = Setting(2.0, 5.0, 0.1, 7)
    for reading in (AUTHORS, CORRECTED):
        budget = BudgetSpec(delta=1e-3, noise_multiplier=2.0).open(np.random.default_rng(0))
        dpvi.repeated(*rows(), setting, reading, budget, np.random.default_rng(0), 4)
        (event,) = budget.ledger
        assert event.steps == 7
        assert event.noise_scale == pytest.approx(20.0)
        if reading == CORRECTED:
            facts = (event.sensitivity, event.relation, event.sampling, event.sampling_rate)
            assert facts == (5.0, Relation.ADD_REMOVE, Sampling.POISSON, 0.1)
        else:  # a row may fill the batch of 6
            assert (event.sensitivity, event.relation, event.sampling) == (
                60.0, Relation.REPLACE_ONE, Sampling.FULL_BATCH,
            )  # fmt: skip


def test_the_noise_has_the_scale_of_the_event_and_is_counted():
    """Kolmogorov-Smirnov on 2 x 4,000 draws: false alarm 1e-6. Noise of 2/3 the scale has p below 1e-40."""
    budget = BudgetSpec(delta=1e-3, noise_multiplier=2.0).open(np.random.default_rng(0))
    mechanism = dpvi.charged(Setting(2.0, 5.0, 0.1, 2), CORRECTED, N, budget)
    release = Repeats(budget, np.random.default_rng(3), 500).steps(mechanism)
    drawn = np.concatenate([release(np.ones((500, 8))) - 1 for _ in range(2)]).ravel()
    assert kstest(drawn, norm(scale=20).cdf).pvalue > 1e-6
    assert len(np.unique(drawn)) == drawn.size
    with pytest.raises(ValueError, match="more releases"):
        release(np.ones((500, 8)))


def test_a_number_that_is_not_finite_is_not_released():
    budget = BudgetSpec(delta=1e-3, noise_multiplier=2.0).open(np.random.default_rng(0))
    mechanism = dpvi.charged(Setting(1.0, 1.0, 0.1, 1), CORRECTED, N, budget)
    release = Repeats(budget, np.random.default_rng(), 1).steps(mechanism)
    with pytest.raises(ValueError, match="NaN"):
        release(np.array([[np.nan]]))


@pytest.mark.parametrize(("n", "rate"), [(50, 0.3), (400, 0.02), (30, 0.9)])
def test_poisson_batches_of_many_repetitions(n, rate):
    """Sizes are binomial and rows enter alike: chi-squared tests, false alarm 1e-6 each; no row twice."""
    count = 20_000
    at, inside = dpvi.PoissonRepeats(n, rate, np.random.default_rng(4), count).draw(0)
    entered = np.zeros((count, n), dtype=int)
    np.add.at(entered, (np.nonzero(inside)[0], at[inside]), 1)
    assert entered.max() == 1
    sizes = entered.sum(axis=1)
    ends = np.unique(binom.ppf([0.1, 0.3, 0.5, 0.7, 0.9], n, rate))
    edges = np.concatenate([[-1], ends, [n]])
    seen, _ = np.histogram(sizes, edges + 0.5)
    assert chisquare(seen, count * np.diff(binom.cdf(edges, n, rate))).pvalue > 1e-6
    z = (entered.sum(axis=0) - count * rate) / math.sqrt(count * rate * (1 - rate))
    assert np.abs(z).max() < norm.isf(1e-6 / n / 2)
    pairs = (entered[:, :-1] * entered[:, 1:]).sum() / (count * (n - 1))
    assert abs(pairs - rate**2) < 5.5 * math.sqrt(rate**2 / (count * (n - 1)))  # neighbours enter independently


def test_consecutive_batches_are_not_the_same():
    batches = dpvi.PoissonRepeats(1000, 0.1, np.random.default_rng(5), 2)
    (a, _), (b, _) = batches.draw(0), batches.draw(1)
    assert not np.array_equal(a[:, :50], b[:, :50])
    assert not np.array_equal(a[0, :50], a[1, :50])


def test_adagrad_forgets_after_ten_steps():
    """Against a plain loop over one repetition, with releases of ones: state and memory by hand."""
    x, y = rows()
    setting = Setting(1.0, 1.0, 0.1, 14)

    class Fixed:
        def draw(self, step):
            return np.arange(5)[None] + step, None

    told = []
    noise = np.random.default_rng(6).standard_normal((14, 2 * D))

    def release(value):
        told.append(value[0] + noise[len(told)])
        return told[-1][None]

    rng = np.random.default_rng(7)
    found = dpvi.fit(x, y, setting, Fixed(), release, rng, 1, (20.0, 0.2))
    state, past = np.zeros(2 * D), []
    for total in told:
        past = [*past, total**2][-10:]
        state = state - 0.1 * total / np.sqrt(sum(past) + 0.1)
    assert found.mean[0] == pytest.approx(state[:D], rel=1e-12)
    assert found.sd[0] == pytest.approx(np.exp(state[D:]), rel=1e-12)


def test_one_fit_goes_through_the_budgets_own_mechanism():
    """Same law as a repetition: mean of 40 single fits against 400 repetitions, in each weight (false alarm 1e-6)."""
    x, y = rows(n=200)
    setting = Setting(0.5, 2.0, 0.1, 25)

    def budget(seed):
        return BudgetSpec(delta=1e-3, noise_multiplier=1.0).open(np.random.default_rng(seed))

    many = dpvi.repeated(x, y, setting, CORRECTED, budget(0), np.random.default_rng(0), 400).mean
    single = np.concatenate(
        [dpvi.one_fit(x, y, setting, budget(k), np.random.default_rng(1000 + k), 200).mean for k in range(40)]
    )
    z = (many.mean(axis=0) - single.mean(axis=0)) / np.sqrt(many.var(axis=0) / 400 + single.var(axis=0) / 40)
    assert np.abs(z).max() < 6.5  # t with 39 degrees of freedom has 1e-7 beyond


def test_without_privacy_the_mean_comes_near_the_posterior():
    """No clip, no noise: mean and standard deviations against the mode and its curvature."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((400, 2))
    y = (rng.random(400) < 1 / (1 + np.exp(-x @ [2.0, -1.0]))).astype(float)
    budget = BudgetSpec(delta=1e-3).open(rng)
    found = dpvi.repeated(x, y, Setting(None, math.inf, 0.1, 2000, 0.01), AUTHORS, budget, rng, 3)
    w = np.zeros(2)
    for _ in range(50):  # Newton
        p = 1 / (1 + np.exp(-x @ w))
        w = w - np.linalg.solve(-(x.T * (p * (1 - p))) @ x - np.eye(2), x.T @ (y - p) - w)
    assert found.mean == pytest.approx(np.tile(w, (3, 1)), abs=0.25)  # a walk about it: sd .05 seen at this rate
    exact = 1 / np.sqrt(np.diag((x.T * (p * (1 - p))) @ x + np.eye(2)))
    assert found.sd == pytest.approx(np.tile(exact, (3, 1)), rel=0.6)
    assert budget.ledger.events[0].noise_scale == 0


def test_only_the_direction_of_the_mean_is_scored():
    x, y = rows()
    rng = np.random.default_rng(9)
    found = dpvi.Posterior(rng.standard_normal((5, D)), np.exp(rng.standard_normal((5, D))))
    other = dpvi.Posterior(7.3 * found.mean, np.exp(rng.standard_normal((5, D))))
    assert np.array_equal(dpvi.right(found, x, y), dpvi.right(other, x, y))
    assert np.array_equal(dpvi.right(found, x, y), (((found.mean @ x.T) >= 0) == (y == 1)).sum(axis=1))
    assert not np.allclose(dpvi.log_likelihood(found, x, y), dpvi.log_likelihood(other, x, y))
