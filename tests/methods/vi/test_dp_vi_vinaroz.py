"""DP-VI, printed, released and corrected: what is charged, what one row can move, and what noise and clipping do."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from methods.contract import Diverged, LeakKind, MethodError
from methods.vi import _mean_field_training as training
from methods.vi._mean_field import Layout
from methods.vi.dp_vi_vinaroz import VinarozDPVI
from methods.vi.dp_vi_vinaroz_authors import VinarozDPVIAuthors as DPVIAuthors
from methods.vi.dp_vi_vinaroz_corrected import VinarozDPVICorrected as DPVICorrected
from methods.vi.vi_authors import VIAuthors
from models.bnn_regression import BNNRegression
from models.standardise import Standardiser
from models.task import PublicKnowledge, Task
from privacy.accountants import epsilon_of
from privacy.audit import neighbour_pairs, replay, run
from privacy.budget import BudgetSpec, Mode
from privacy.ledger import Mechanism, Relation, Sampling

FIXED = Standardiser(np.zeros(2), np.ones(2), 0.0, 1.0)


def _rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    return x, np.clip(np.abs(x[:, 0]) - 0.5 * x[:, 1] + 0.1 * rng.standard_normal(n), -5, 5)


def _task(n: int = 31, hidden: int = 4) -> Task:
    public = PublicKnowledge(n, ((-2.0, 2.0),) * 2, (-5.0, 5.0), "the law that draws these rows")
    return Task("made up", BNNRegression(hidden), *_rows(n), public)


def _rmse(fit, n: int = 500) -> float:
    x, y = _rows(n, seed=1)
    return float(np.sqrt(np.mean((fit.posterior.predictive(x, np.random.default_rng(0)).mean - y) ** 2)))


@pytest.fixture
def fixed_scale(monkeypatch):
    """Takes the leak of private standardisation away, so that the gradient steps can be judged by themselves."""
    monkeypatch.setattr(Standardiser, "from_moments", classmethod(lambda cls, x, y: FIXED))


# ------------------------------------------------------------------------------------------------------- printed
SMALL = VinarozDPVI.Settings(epochs=3, batch_size=8, draws=3, clip=2.0)
SIGMA = BudgetSpec(noise_multiplier=1.5)


def test_dp_vi_charges_what_happens():
    task = _task(31)
    event = next(iter(run(VinarozDPVI(), task, SMALL, SIGMA, 1).ledger))
    assert (event.mechanism, event.relation) == (Mechanism.GAUSSIAN, Relation.REPLACE_ONE)
    assert event.sampling is Sampling.WITHOUT_REPLACEMENT
    assert event.sampling_rate == pytest.approx(8 / 31)
    assert event.steps == 3 * (31 // 8)
    assert event.noise_scale == pytest.approx(1.5 * 2.0)  # sigma C, as printed
    assert event.sensitivity == pytest.approx(2 * 2.0)


def test_dp_vi_needs_sigma():
    for method in (VinarozDPVI(), DPVIAuthors()):
        with pytest.raises(ValueError, match="noise_multiplier"):
            run(method, _task(), method.Settings(epochs=1), BudgetSpec(), 1)


@pytest.mark.usefixtures("fixed_scale")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pair=neighbour_pairs(_task(11), Relation.REPLACE_ONE), inside=st.booleans())
def test_a_replaced_row_moves_dp_vi_by_at_most_the_declared_sensitivity(pair, inside):
    found = replay(VinarozDPVI(), *pair, dataclasses.replace(SMALL, kl_inside=inside), SIGMA, 1)
    assert found.ratio <= 1 + 1e-12
    assert found.posterior_change == 0
    assert not found.events_differ


@pytest.mark.usefixtures("fixed_scale")
def test_the_bound_of_two_clip_norms_is_attained():
    """So the declared sensitivity is not merely large: opposite outliers, one in place of the other."""
    # The residual, and with it the whole data term's gradient, changes sign with such a target.
    x, y = _rows(8)
    up, down = y.copy(), y.copy()
    up[-1], down[-1] = 1e8, -1e8
    a, b = (Task("made up", BNNRegression(4), x, v, PublicKnowledge(8)) for v in (up, down))
    found = replay(VinarozDPVI(), a, b, dataclasses.replace(SMALL, epochs=1), SIGMA, 1)
    assert found.ratio > 0.9


def test_private_standardisation_of_dp_vi_is_a_leak_that_shows():
    task = _task(31)
    y = task.y.copy()
    y[-1] = 1e6
    found = replay(VinarozDPVI(), task, dataclasses.replace(task, y=y), SMALL, SIGMA, 1)
    assert found.posterior_change > 0  # equal releases, another posterior
    assert LeakKind.STANDARDISATION in {leak.kind for leak in VinarozDPVI.leaks}


@pytest.mark.usefixtures("fixed_scale")
def test_noise_of_dp_vi_is_noise_and_its_gradient_is_a_gradient():
    task = _task(400)
    s = VinarozDPVI.Settings(epochs=60, batch_size=40, draws=4, clip=1.0, learning_rate=0.05, start_scale=0.3)
    spread = float(np.std(_rows(500, seed=1)[1]))
    quiet = _rmse(run(VinarozDPVI(), task, s, BudgetSpec(noise_multiplier=1e-3), 1))
    assert quiet < 0.5 * spread
    try:
        loud = _rmse(run(VinarozDPVI(), task, s, BudgetSpec(noise_multiplier=1e3), 1))
    except Diverged:
        return
    assert loud > 10 * spread


@pytest.mark.usefixtures("fixed_scale")
def test_the_kl_may_stand_inside_or_outside_where_nothing_is_clipped():
    """clip above every norm; the noise, 1e-15 times the clip of 1e6, is below rounding of the parameters."""
    s = dataclasses.replace(SMALL, clip=1e6, start_scale=0.3)
    quiet = BudgetSpec(noise_multiplier=1e-15)
    a, b = (run(VinarozDPVI(), _task(), dataclasses.replace(s, kl_inside=k), quiet, 1).posterior for k in (True, False))
    np.testing.assert_allclose(a.m1, b.m1, rtol=0, atol=1e-8)
    np.testing.assert_allclose(a.v2, b.v2, rtol=0, atol=1e-8)


# ------------------------------------------------------------------------------------------------------ released
def test_the_released_program_has_no_finite_epsilon():
    ledger = run(DPVIAuthors(), _task(), DPVIAuthors.Settings(epochs=2, batch_size=8, draws=2), SIGMA, 1).ledger
    (event,) = ledger  # its noise is on the record, and so is that nothing bounds what it should cover
    assert event.mechanism is Mechanism.GAUSSIAN
    assert np.isinf(event.sensitivity)
    assert np.isinf(epsilon_of(ledger, 1e-5).epsilon)
    assert DPVIAuthors.privacy is None


def test_clip_of_the_released_program_only_scales_its_noise():
    s = DPVIAuthors.Settings(epochs=2, batch_size=8, draws=2)
    a = run(DPVIAuthors(), _task(), dataclasses.replace(s, clip=2.0), BudgetSpec(noise_multiplier=1.0), 1).posterior
    b = run(DPVIAuthors(), _task(), dataclasses.replace(s, clip=1.0), BudgetSpec(noise_multiplier=2.0), 1).posterior
    c = run(DPVIAuthors(), _task(), dataclasses.replace(s, clip=1.0), BudgetSpec(noise_multiplier=1.0), 1).posterior
    np.testing.assert_array_equal(a.m1, b.m1)
    assert np.abs(a.m1 - c.m1).max() > 0


def test_released_dp_vi_without_noise_is_released_vi_without_momentum():
    """One step on one batch, so that both have read the same draws."""
    common = {"epochs": 1, "batch_size": 31, "draws": 3}
    a = run(VIAuthors(), _task(), VIAuthors.Settings(**common, momentum=0.0), BudgetSpec(), 1).posterior
    b = run(DPVIAuthors(), _task(), DPVIAuthors.Settings(**common), BudgetSpec(noise_multiplier=1e-12), 1).posterior
    np.testing.assert_allclose(a.m1, b.m1, rtol=0, atol=1e-10)
    np.testing.assert_allclose(a.v1, b.v1, rtol=0, atol=1e-10)


# ----------------------------------------------------------------------------------------------------- corrected
#: most batches of 11 rows are empty at this rate; one calibration serves every test that uses it.
FEW = DPVICorrected.Settings(steps=12, sampling_rate=0.05)
ENFORCED = BudgetSpec(epsilon=5.0, delta=1e-5, mode=Mode.ENFORCE)


def test_the_corrected_method_spends_the_budget_and_no_more():
    fit = run(DPVICorrected(), _task(), FEW, ENFORCED, 1)
    cost = epsilon_of(fit.ledger, 1e-5)
    assert 0.95 * 5.0 < cost.epsilon <= 5.0
    assert cost.relation is Relation.ADD_REMOVE
    steps = [e for e in fit.ledger if e.sampling is Sampling.POISSON]
    assert [(e.steps, e.sampling_rate, e.sensitivity) for e in steps] == [(12, 0.05, FEW.clip)]
    assert len(fit.ledger) == 3  # standardisation with documented ranges, steps, residuals
    assert LeakKind.STANDARDISATION not in {leak.kind for leak in DPVICorrected.leaks}


@settings(max_examples=25, deadline=None)
@given(pair=neighbour_pairs(_task(11), Relation.ADD_REMOVE))
def test_a_row_more_moves_the_corrected_method_by_at_most_the_declared_sensitivity(pair):
    found = replay(DPVICorrected(), *pair, FEW, ENFORCED, 1)
    assert found.ratio <= 1 + 1e-7  # the audit's allowance: the moments of privacy.scaling are rounded sums
    assert found.posterior_change == 0
    assert not found.events_differ


def test_one_row_and_empty_batches_are_enough():
    task = _task(1)
    none = dataclasses.replace(task, x=task.x[:0], y=task.y[:0])  # the neighbour without it; `public` unchanged
    found = replay(DPVICorrected(), task, none, FEW, ENFORCED, 1)
    assert found.ratio <= 1 + 1e-7
    assert found.posterior_change == 0
    # The row enters a batch with chance 0.05: most of the twelve batches were empty and released noise alone.
    assert sum(g.moved for g in found.gaps if "gradients" in g.what) < 12


def test_the_corrected_method_needs_a_budget():
    with pytest.raises(ValueError, match="epsilon and delta"):
        run(DPVICorrected(), _task(), FEW, BudgetSpec(noise_multiplier=1.0), 1)
    with pytest.raises((ValueError, MethodError), match="no training rows"):
        run(DPVICorrected(), _task(0), FEW, ENFORCED, 1)


def test_the_corrected_method_beats_linear_regression_at_epsilon_one():
    """A target that no line fits (absolute value), 4,000 rows; one fit, all randomness seeded."""
    task = _task(4000, hidden=20)
    fit = run(DPVICorrected(), task, DPVICorrected.Settings(), BudgetSpec(1.0, 1e-5, mode=Mode.ENFORCE), 1)
    assert epsilon_of(fit.ledger, 1e-5).epsilon <= 1.0
    design = np.column_stack([np.ones(task.n), task.x])
    x, y = _rows(500, seed=1)
    line = np.column_stack([np.ones(500), x]) @ np.linalg.lstsq(design, task.y, rcond=None)[0]
    assert _rmse(fit) < 0.6 * np.sqrt(np.mean((line - y) ** 2))
    # The predictive spread is that of the errors: within a factor of 2 in variance.
    predicted = fit.posterior.predictive(x, np.random.default_rng(0))
    assert 0.5 < np.mean(predicted.variance) / np.mean((predicted.mean - y) ** 2) < 2.0
    # A thousand times less budget, and nothing is left of it: worse than the spread of the target itself.
    # (Full batches, whose noise multiplier is cheap to find.)
    full = DPVICorrected.Settings(steps=100, sampling_rate=1.0)
    drowned = run(DPVICorrected(), task, full, BudgetSpec(1e-3, 1e-5, mode=Mode.ENFORCE), 1)
    assert _rmse(drowned) > np.std(y)


def test_the_paired_start_is_the_zero_function():
    for hidden in (1, 2, 5):
        layout = Layout(3, hidden)
        m0, m1, rho0, rho1 = layout.split(training.paired_start(layout, 0.05, np.random.default_rng(0)))
        x1 = np.column_stack([np.ones(20), np.random.default_rng(1).standard_normal((20, 3))])
        assert np.abs(np.maximum(x1 @ m0.T, 0) @ m1[1:] + m1[0]).max() < 1e-12
        assert (rho0 > 0).all()
        assert (rho1 > 0).all()


@pytest.mark.parametrize("v", [0.003, 0.1, 0.6, 1.0, 3.0])
def test_noise_variance_undoes_the_clipping(v):
    density = stats.norm(scale=np.sqrt(v)).pdf
    inside = 2 * integrate.quad(lambda r: r**2 * density(r), 0, 1, epsabs=1e-13, points=[min(1, 4 * np.sqrt(v))])[0]
    clipped = inside + 2 * stats.norm.sf(1, scale=np.sqrt(v))
    assert training.noise_variance(clipped, 1e-4) == pytest.approx(v, rel=1e-6)


def test_noise_variance_stays_in_its_range():
    assert training.noise_variance(-0.3, 0.02) == 0.02
    assert training.noise_variance(1.5, 0.02) == 10.0
    assert training.noise_variance(0.5, 7.0) >= 1.0


@settings(max_examples=50, deadline=None)
@given(target=st.floats(-1e300, 1e300), size=st.sampled_from([0.0, 1.0, 1e10, 1e200]))
def test_one_row_moves_the_residual_sum_by_at_most_one(target, size):
    layout = Layout(2, 3)
    theta = layout.standard_normal(np.random.default_rng(0))
    x1 = np.column_stack([np.ones(5), size * np.random.default_rng(1).standard_normal((5, 2))])
    y = np.full(5, target)
    whole, less = (training.residual_sum(layout, theta, x1[:k], y[:k])[0] for k in (5, 4))
    assert 0 <= whole - less <= 1 + 1e-12


# ----------------------------------------------------------------------------------------------------- settings
@pytest.mark.parametrize(
    ("method", "change"),
    [
        (method, change)
        for method in (VinarozDPVI, DPVIAuthors, DPVICorrected, VIAuthors)
        for change in ({"draws": 0}, {"draws": 1.5}, {"clip": -1.0}, {"learning_rate": np.nan}, {"sampling_rate": 1.5})
        if change.keys() <= {f.name for f in dataclasses.fields(method.Settings)}
    ],
)
def test_a_setting_out_of_range_is_named(method, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        method.Settings(**change)
