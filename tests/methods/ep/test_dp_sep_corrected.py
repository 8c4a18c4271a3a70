"""Corrected DP-SEP: the kernel against the oracle, sensitivity, the schedule, and its limits in noise and clipping."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods import contract
from methods.ep import dp_sep_corrected
from methods.ep._pbp import sites
from methods.ep._pbp.layout import Layout
from methods.ep._pbp.state import Naturals
from methods.ep.dp_sep_corrected import schedule
from models.bnn_regression import BNNRegression
from models.standardise import Standardiser
from models.task import PublicKnowledge, Task
from privacy import audit
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec, Mode
from privacy.ledger import Relation, Sampling
from tests.methods.ep import pbp_oracle as oracle

METHOD = contract.get("dp_sep_corrected")
HUGE = np.full(4, 1e12)
BUDGET = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
HIDDEN, INPUTS = 6, 3


def some_task(n=80, hidden=HIDDEN, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, INPUTS))
    y = 2 * np.abs(x[:, 0]) - x[:, 1] + noise * rng.standard_normal(n)
    public = PublicKnowledge(n, ((-1.0, 1.0),) * INPUTS, (-3.0, 4.0), "the law that draws these rows")
    return Task("wine", BNNRegression(hidden), x, y, public)


def fit(task, spec=BUDGET, seed=1, **change):
    budget = spec.open(np.random.default_rng([seed, 1]))
    return METHOD.fit(task, METHOD.Settings(**change), budget, np.random.default_rng([seed, 2]))


def some_cavity(seed, hidden=HIDDEN, inputs=INPUTS + 1):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(0, 1, (hidden, inputs)),
        rng.uniform(0.01, 1.2, (hidden, inputs)),
        rng.normal(0, 1, hidden + 1),
        rng.uniform(0.01, 1.2, hidden + 1),
        6.0 + 50 * rng.random(),
        6.0 + 20 * rng.random(),
    )


def one_site(x, y, cavity, caps=HUGE, scale=1.0):
    x1 = np.append(np.asarray(x, float), 1.0)[None, :]
    return sites.clipped_site_sum(x1, np.array([float(y)]), np.zeros(1, dtype=np.int64), *cavity, caps, scale)


def split_parts(site, hidden=HIDDEN, inputs=INPUTS + 1):
    """(layer 1, layer 2, noise), each with mean naturals and precisions together."""
    a, b = 2 * hidden * inputs, 2 * hidden * inputs + 2 * (hidden + 1)
    return site[:a], site[a:b], site[b:]


# ------------------------------------------------------------------------------------------------------ the kernel


@pytest.mark.parametrize("seed", range(5))
def test_a_site_is_the_oracles_tilted_over_its_cavity(seed):
    """Cancellation of naturals of size 100 in the oracle's difference: 1e-9 is far above rounding."""
    m1, v1, m2, v2, a, b = cavity = some_cavity(seed)
    x, y = np.random.default_rng(seed).normal(size=INPUTS), 0.7
    q = Naturals(m1 / v1, 1 / v1, m2 / v2, 1 / v2, a - 1, -b)
    expected = (oracle.tilted(q, np.append(x, 1.0), y) - q).vector()
    np.testing.assert_allclose(one_site(x, y, cavity), expected, rtol=1e-7, atol=1e-9)


def test_the_sum_is_the_sum_of_its_rows_and_of_no_row_zero():
    task, cavity = some_task(9), some_cavity(3)
    x1 = np.column_stack([task.x, np.ones(9)])
    caps = np.array([0.3, 0.2, 0.31, 0.5])
    rows = np.array([0, 4, 8])
    y = np.array(task.y)  # as a fit's: for read-only targets the kernel compiles again
    total = sites.clipped_site_sum(x1, y, rows, *cavity, caps, 0.1)
    parts = [one_site(task.x[i], task.y[i], cavity, caps, 0.1) for i in rows]
    np.testing.assert_allclose(total, np.sum(parts, axis=0), rtol=1e-12, atol=1e-15)
    empty = sites.clipped_site_sum(x1, y, rows[:0], *cavity, caps, 0.1)
    np.testing.assert_array_equal(empty, np.zeros(sites.size(INPUTS, HIDDEN)))


any_number = st.floats(allow_nan=True, allow_infinity=True, width=64)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(any_number, min_size=INPUTS, max_size=INPUTS), any_number, st.integers(0, 50), st.booleans(), st.booleans()
)
def test_no_row_exceeds_the_sensitivity(x, y, seed, tight, joint):
    """NaN, infinities and numbers whose squares overflow included."""
    caps = np.array([0.2, 0.1, 0.15 if joint else 1.0, 2.0]) * (1.0 if tight else 100.0)
    site = one_site(x, y, some_cavity(seed), caps, 0.05)
    assert np.isfinite(site).all()
    assert np.linalg.norm(site) <= sites.sensitivity(caps, 0.05) * (1 + 1e-12)  # rounding of a norm of 60 numbers


def test_the_sensitivity_is_reached():
    """Each cap binds for a row that fits badly: the declared number is not loose."""
    caps = np.array([0.2, 0.1, 1.0, 0.5])
    site = one_site([1.0, 0.5, -1.0], 5.0, some_cavity(3), caps, 0.3)
    assert np.linalg.norm(site) == pytest.approx(sites.sensitivity(caps, 0.3), rel=1e-12)


def test_clipping_keeps_the_mean_that_a_layer_implies():
    """Mean naturals and precisions of a layer shrink together."""
    cavity = some_cavity(2)
    free = one_site([1.0, 0.5, -1.0], 5.0, cavity)
    clipped = one_site([1.0, 0.5, -1.0], 5.0, cavity, np.full(4, 0.01))
    for whole, part in zip(split_parts(free), split_parts(clipped), strict=True):
        factor = np.linalg.norm(part) / np.linalg.norm(whole)
        assert factor < 1
        np.testing.assert_allclose(part, factor * whole, rtol=1e-10, atol=1e-16)


# ---------------------------------------------------------------------------------------------------- the schedule


def test_the_schedule_takes_no_data():
    """Numbers only; a row, a task or a ledger has no way in."""
    parameters = inspect.signature(schedule).parameters
    assert set(parameters) == {"steps", "rate", "noise_multiplier", "prior_variance", "rows", "damping", "clip"}
    source = inspect.getsource(METHOD.fit)
    assert "schedule(settings.steps, rate, sigma, prior_variance, n, damping" in source


def test_it_absorbs_the_stated_share_and_leaves_the_stated_noise():
    """Oracle: the recursion of the noise variance, step by step."""
    for steps, rate, sigma in ((120, 1.0, 43.0), (240, 0.3, 17.0), (500, 1.0, 20.0)):
        plan = schedule(steps, rate, sigma, 1.2, 1000)
        left, variance = 1.0, 0.0
        for _ in range(steps):
            left *= 1 - plan.damping
            variance = (1 - plan.damping) ** 2 * variance + (plan.damping * plan.clip * sigma / rate) ** 2
        assert 1 - left == pytest.approx(1 - math.exp(-dp_sep_corrected.E_FOLDS), rel=1e-9)
        assert math.sqrt(variance) == pytest.approx(dp_sep_corrected.NOISE_OVER_PRIOR / 1.2, rel=1e-9)
        assert sites.sensitivity(plan.caps, plan.gamma_scale) == pytest.approx(plan.clip, rel=1e-12)


def test_more_steps_at_the_same_cost_leave_the_clip_alone():
    """sigma grows like sqrt(K): the clip settles."""
    clips = [schedule(k, 1.0, 4 * math.sqrt(k), 1.2, 1000).clip for k in (50, 200, 800)]
    assert max(clips) / min(clips) < 1.03


def test_a_clip_for_little_noise_stays_where_parallel_updates_are_stable():
    plan = schedule(120, 1.0, 1e-6, 1.2, 1000)
    assert plan.clip * plan.damping == pytest.approx(dp_sep_corrected.LARGEST_MOVE, rel=1e-12)


def test_the_stable_step_falls_with_the_root_of_the_rows():
    few, many = (schedule(120, 1.0, 1e-6, 1.2, n) for n in (10_000, 90_000))
    assert few.clip * few.damping == pytest.approx(dp_sep_corrected.LARGEST_MOVE, rel=1e-12)
    assert many.clip * many.damping * 300 == pytest.approx(dp_sep_corrected.LARGEST_ROOT_MOVE, rel=1e-12)


def test_overrides_reach_the_plan():
    plan = schedule(10, 1.0, 5.0, 1.2, 1000, damping=0.07, clip=0.5)
    assert (plan.damping, plan.clip) == (0.07, 0.5)
    assert sites.sensitivity(plan.caps, plan.gamma_scale) == pytest.approx(0.5, rel=1e-12)


# ---------------------------------------------------------------------------------------------------- the algorithm


def test_without_noise_and_clipping_it_is_batch_sep():
    """Oracle: the same recursion in plain NumPy with the sites of ``pbp_oracle``.

    Noise of 1e-12 x 1e3 in naturals of up to 1e3, and 12 damped steps: 1e-6 is above what that leaves.
    """
    task, n, steps, rho = some_task(40), 40, 12, 0.02
    spec = BudgetSpec(noise_multiplier=1e-12)
    fitted = fit(task, spec, steps=steps, clip=1e4, damping=rho)
    scale = Standardiser.from_moments(task.x, task.y)
    layout = Layout(INPUTS + 1, HIDDEN, 1.2, 6.0, 6.0)
    absorbed, prior = layout.start(np.random.default_rng([1, 2])), layout.prior()
    x1, y = np.column_stack([scale.x(task.x), np.ones(n)]), scale.y(task.y)
    rho = np.append(np.full(len(prior) - 2, rho), [2 * rho, 2 * rho])  # the noise Gamma moves twice as fast
    for _ in range(steps):
        m1, v1, m2, v2, a, b = layout.read(prior + absorbed * (1 - 1 / n))
        q = Naturals(m1 / v1, 1 / v1, m2 / v2, 1 / v2, a - 1, -b)
        total = np.sum([(oracle.tilted(q, x, t) - q).vector() for x, t in zip(x1, y, strict=True)], axis=0)
        absorbed = (1 - rho) * absorbed + rho * total
    expected = layout.read(prior + absorbed)
    p = fitted.posterior
    for mine, theirs in zip((p.m1, p.v1, p.m2, p.v2, p.noise_shape, p.noise_rate), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


@pytest.fixture(scope="module")
def learnable():
    return some_task(3000, hidden=20, seed=4)


def rmse(fitted, seed=9):
    test = some_task(1000, seed=seed, noise=0.0)
    return float(np.sqrt(np.mean((fitted.posterior.predictive(test.x).mean - test.y) ** 2)))


def test_at_epsilon_one_it_beats_the_best_linear_function(learnable):
    """The target is 2 |x0| - x1: a network must find the kink. The best linear function is fitted without privacy."""
    test = some_task(1000, seed=9, noise=0.0)
    design = np.column_stack([learnable.x, np.ones(3000)])
    weights = np.linalg.lstsq(design, learnable.y, rcond=None)[0]
    linear = float(np.sqrt(np.mean((np.column_stack([test.x, np.ones(1000)]) @ weights - test.y) ** 2)))
    assert rmse(fit(learnable)) < 0.8 * linear


def test_noise_a_thousand_times_larger_destroys_it(learnable):
    """The noise is really added: at the clip of epsilon = 1, sigma x 1000 leaves nothing."""
    good = fit(learnable)
    sigma, clip = good.diagnostics["noise_multiplier"], good.diagnostics["clip"]
    bad = fit(learnable, BudgetSpec(noise_multiplier=1000 * sigma), clip=clip)
    assert rmse(bad) > 10 * rmse(good)


# ------------------------------------------------------------------------------------------------------ its privacy


@pytest.mark.parametrize("batch_rows", [20000, 20])
def test_the_audit_finds_nothing(batch_rows):
    """Record and replay over all hard pairs (outliers, n = 1, empty batches), the noise's law, counts of steps.

    False-alarm rate 1e-6 for the law and 1e-9 for the counts, as stated in privacy.audit.checks.
    """
    change = METHOD.Settings(steps=5, batch_rows=batch_rows)
    found = audit.checks(METHOD, some_task(60), change, BudgetSpec(noise_multiplier=2.0), seed=3)
    assert {name: what for name, what in found.items() if what} == {}


def test_a_loose_clip_is_caught(monkeypatch):
    """The audit has power: a kernel that clips at twice the declared norm is found out."""
    true = sites.clipped_site_sum
    monkeypatch.setattr(sites, "clipped_site_sum", lambda *a: true(*a[:-2], 2 * a[-2], a[-1]))
    task = some_task(60)
    neighbour = audit.first_rows(task, 59)
    task = audit.with_last_row(task, np.array([1.0, 1.0, -1.0]), 4.0)
    gaps = audit.replay_gap(METHOD, task, neighbour, METHOD.Settings(steps=5), BudgetSpec(noise_multiplier=2.0), 3)
    assert max(g.ratio for g in gaps) > 1.5


@pytest.mark.parametrize("bounds", [True, False])
def test_the_budget_is_kept_and_used(bounds):
    task = some_task(100)
    if not bounds:
        task = replace(task, public=PublicKnowledge(100))
    fitted = fit(task)
    assert 0.999 < epsilon_of(fitted.ledger, 1e-5).epsilon <= 1.0  # full batches: nothing but rounding is left
    assert len(fitted.ledger) == (2 if bounds else 3)
    assert {e.relation for e in fitted.ledger} == {Relation.ADD_REMOVE}
    assert max(e.steps for e in fitted.ledger) == METHOD.Settings().steps


def test_small_batches_are_declared_as_poisson():
    fitted = fit(some_task(100), BudgetSpec(noise_multiplier=2.0), steps=5, batch_rows=25)
    training = fitted.ledger.events[-1]
    assert (training.sampling, training.sampling_rate, training.steps) == (Sampling.POISSON, 0.25, 5)


def test_the_number_of_rows_comes_from_what_is_public():
    """Removing a row changes neither noise nor clip nor rate."""
    task = some_task(100)
    one, two = fit(task), fit(replace(task, x=task.x[:-1], y=task.y[:-1]))
    assert dict(one.diagnostics) == dict(two.diagnostics)
    assert one.ledger.to_json() == two.ledger.to_json()


@pytest.mark.parametrize(
    "change",
    [{"steps": 0}, {"batch_rows": 0}, {"scaling_share": 0.0}, {"clip": -1.0}, {"damping": 0.0}, {"damping": 1.5}],
)
def test_settings_out_of_range_are_refused_by_name(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        METHOD.Settings(**change)


def test_a_budget_that_states_nothing_is_refused():
    with pytest.raises(ValueError, match="epsilon"):
        fit(some_task(30), BudgetSpec())
