"""DP-EM: the program's compositions and sensitivities to the last digit, and the joint release that repairs it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from methods import contract
from methods.em import _dp_em as engine
from methods.em import _em as em
from methods.em._mutants import MUTANTS
from methods.em.dp_em_corrected import (
    clipped,
    column_scales,
    joint_moments,
    joint_sensitivity,
    m_step,
    prior_radius,
)
from models.mixture_of_gaussians import MixtureOfGaussians, MixtureParameters, posterior_given_labels
from models.task import PublicKnowledge, Task
from privacy import audit, mutants
from privacy.accountants import epsilon_of, gdp_mu
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.faults import FaultySpec
from privacy.faults import of as fault_of
from privacy.ledger import Mechanism, Relation
from privacy.scaling import private_ranges

PROGRAM, JOINT = contract.get("dp_em_authors"), contract.get("dp_em_corrected")
CENTRES = np.array([[-3.0, 0.0, 0.0], [2.0, 3.0, -1.0], [2.0, -3.0, 1.0]])
SPEC = BudgetSpec(epsilon=1.0, delta=1e-5)


def rho(epsilon: float, delta: float) -> float:
    """The zCDP parameter with epsilon = rho + 2 sqrt(rho ln(1 / delta)), by Newton's method on its root."""
    root = 0.1
    for _ in range(100):
        root -= (root**2 + 2 * root * math.sqrt(math.log(1 / delta)) - epsilon) / (
            2 * root + 2 * math.sqrt(math.log(1 / delta))
        )
    return root**2


def some_task(n: int = 600, seed: int = 0, noise_sd: float | None = 0.5, **public) -> Task:
    rng = np.random.default_rng(seed)
    x = CENTRES[np.arange(n) % 3] + 0.5 * rng.standard_normal((n, 3))
    return Task("toy", MixtureOfGaussians(3, noise_sd), x, None, PublicKnowledge(n, **public))


def fit(method, task, spec, seed=1, noise_seed=None, **changes):
    stream = np.random.default_rng(seed if noise_seed is None else noise_seed)
    return method.fit(task, method.Settings(**changes), spec.open(stream), np.random.default_rng(seed))


# ----------------------------------------------------------------------------------------------- the compositions
@pytest.mark.parametrize(
    ("epsilon", "expected_rho", "zcdp", "z", "grid"),
    [
        (0.1, 2.6997045e-4, 0.014716, 360.0609, 0.006015),
        (0.5, 6.6076814e-3, 0.072806, 72.77957, 0.071211),
        (1.0, 2.57628385e-2, 0.143761, 36.85846, 0.141422),
        (5.0, 5.39940229e-1, 0.658137, 8.051210, 0.652960),
    ],
)
def test_compositions_at_three_components(epsilon, expected_rho, zcdp, z, grid):
    """delta = 1e-4, J = 10. Digits: an independent computation, rounded as given (half of the last digit: 2e-8)."""
    assert rho(epsilon, 1e-4) == pytest.approx(expected_rho, rel=2e-8)
    exact = engine.per_release_epsilon(epsilon, 1e-4, 3, 10, "GGG", "zcdp", as_authors=False)
    assert exact.epsilon == pytest.approx(zcdp, abs=6e-7)  # half of the last digit given, and a little
    assert exact.noise_multiplier == pytest.approx(z, rel=2e-7)
    assert 70 / (2 * exact.noise_multiplier**2) == pytest.approx(expected_rho, rel=2e-8)
    assert engine.per_release_epsilon(epsilon, 1e-4, 3, 10, "GGG", "moments").epsilon == pytest.approx(grid, abs=6e-7)


@pytest.mark.parametrize(
    ("epsilon", "zcdp", "grid"), [(1.0, 0.113975, 0.111332), (5.0, 0.529659, 0.527583), (50.0, 3.515008, 0.999)]
)
def test_compositions_at_four_components(epsilon, zcdp, grid):
    """delta = 1e-5, J = 10: the setting of Vinaroz & Park 2023. At epsilon = 50 every point of the grid qualifies."""
    exact = engine.per_release_epsilon(epsilon, 1e-5, 4, 10, "GGG", "zcdp", as_authors=False)
    assert exact.epsilon == pytest.approx(zcdp, abs=6e-7)
    assert engine.per_release_epsilon(epsilon, 1e-5, 4, 10, "GGG", "moments").epsilon == pytest.approx(grid, abs=6e-7)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_moments_accountant_and_zcdp_agree_where_all_noise_is_gaussian(epsilon):
    """Both minimise the same quadratic; only whole moments tell them apart: under 0.1 percent."""
    found = [
        engine.per_release_epsilon(epsilon, 1e-4, 3, 10, "GGG", c, as_authors=False).epsilon
        for c in ("zcdp", "moments")
    ]
    assert found[1] <= found[0]
    assert found[1] == pytest.approx(found[0], rel=1e-3)


@pytest.mark.parametrize("release", engine.RELEASES)
def test_linear_and_advanced_composition_spend_what_they_say(release):
    total, gaussian = 70, 30 if release == "LLG" else 70
    linear = engine.per_release_epsilon(1.0, 1e-4, 3, 10, release, "linear", as_authors=False)
    assert linear.epsilon == pytest.approx(1.0 / total)
    assert gaussian * linear.delta == pytest.approx(1e-4)
    slip = engine.per_release_epsilon(1.0, 1e-4, 3, 10, release, "linear")
    assert gaussian * slip.delta == pytest.approx(1e-4 if release == "LLG" else 1.75e-4)  # 40 are counted, 70 made
    e = engine.per_release_epsilon(1.0, 1e-4, 3, 10, release, "advanced", as_authors=False).epsilon
    rest = 1e-4 - gaussian * 1e-6
    assert total * e * math.expm1(e) + math.sqrt(2 * total * math.log(1 / rest)) * e == pytest.approx(1.0, rel=1e-10)


def test_slips_of_the_zcdp_composition():
    """As written in the program: LLG forgets the covariances, GGG takes one group for pure, eps' stays below 1."""
    c2 = 2 * math.log(1.25 / 1e-6)
    r = rho(1.0, 1e-4)
    llg, ggg = (engine.per_release_epsilon(1.0, 1e-4, 3, 10, k, "zcdp").epsilon for k in engine.RELEASES)
    assert 10 * 4 * llg**2 / 2 == pytest.approx(r, rel=1e-9)
    assert 10 * 4 * ggg**2 / (2 * c2) + 10 * 3 * ggg**2 / 2 == pytest.approx(r, rel=1e-9)
    full = engine.per_release_epsilon(1.0, 1e-4, 3, 10, "LLG", "zcdp", as_authors=False).epsilon
    assert 10 * 4 * full**2 / 2 + 10 * 3 * full**2 / (2 * c2) == pytest.approx(r, rel=1e-9)
    assert engine.per_release_epsilon(500.0, 1e-4, 3, 10, "LLG", "zcdp").epsilon == 1.0


def test_laplace_moments_meet_the_constraint_and_the_next_grid_point_does_not():
    def slack(e: float) -> float:
        lam = np.arange(1, 101)
        alpha = 30 * (lam**2 + lam) * e**2 / (4 * math.log(1.25 / 1e-6))
        alpha = alpha + 40 * np.log(
            (lam + 1) / (2 * lam + 1) * np.exp(lam * e) + lam / (2 * lam + 1) * np.exp(-(lam + 1) * e)
        )
        return float((alpha - lam * 1.0).min()) - math.log(1e-4)

    grid = np.linspace(0.001, 0.999, 200)
    e = engine.per_release_epsilon(1.0, 1e-4, 3, 10, "LLG", "moments").epsilon
    i = int(np.argmin(np.abs(grid - e)))
    assert grid[i] == e
    assert slack(grid[i]) < 0 <= slack(grid[i + 1])
    exact = engine.per_release_epsilon(1.0, 1e-4, 3, 10, "LLG", "moments", as_authors=False).epsilon
    assert slack(exact) == pytest.approx(0.0, abs=1e-6)


def test_where_no_grid_point_qualifies():
    """epsilon = 0.01: the program's index is 0; LLG takes the first point all the same, GGG stops."""
    assert engine.per_release_epsilon(0.01, 1e-4, 3, 10, "LLG", "moments").epsilon == 0.001
    with pytest.raises(ValueError, match="grid"):
        engine.per_release_epsilon(0.01, 1e-4, 3, 10, "GGG", "moments")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"release": "GLG"}, "release"),
        ({"composition": "pld"}, "composition"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1e-6, "composition": "advanced"}, "delta_i"),
        ({"components": 0}, "components"),
    ],
)
def test_bad_compositions_are_refused(change, word):
    args = {"epsilon": 1.0, "delta": 1e-4, "components": 3, "iterations": 10, "release": "GGG", "composition": "zcdp"}
    with pytest.raises(ValueError, match=word):
        engine.per_release_epsilon(**{**args, **change})


# --------------------------------------------------------------------------------- sensitivities of the program
@pytest.mark.parametrize(("n", "ratio"), [(20, 3.62), (100, 3.92), (1000, 3.99)])
@pytest.mark.parametrize("release", engine.RELEASES)
def test_the_covariance_moves_four_times_as_much_as_declared(n, ratio, release):
    one = MixtureParameters(np.ones(1), np.zeros((1, 4)), np.eye(4)[None])
    rows = {r.statistic: r for r in engine.sensitivity_replay(*engine.worst_case(n, 4), one, release)}
    assert rows["covariance"].ratio == pytest.approx(ratio, abs=0.005)
    # the scatter moves by 4 - 4 / n, the prior's pull by kappa0 n / (kappa0 + n) times 4 / n - 4 / n^2
    moved = 4 - 4 / n - 1.01 * n / (1.01 + n) * (4 / n - 4 / n**2)
    assert rows["covariance"].ratio == pytest.approx(moved, rel=1e-9)
    assert rows["mean"].ratio == pytest.approx(1.0 if release == "GGG" else 0.5, rel=1e-9)  # L1 allows for sqrt(d)
    assert rows["weights"].measured == 0.0  # one component


@settings(deadline=None, max_examples=60)
@given(arrays(np.float64, (8, 2), elements=st.floats(-0.7, 0.7)), arrays(np.float64, 2, elements=st.floats(-0.7, 0.7)))
def test_the_weights_move_by_no_more_than_declared(x, other):
    p = em.initial(2, 3, np.random.default_rng(0))
    neighbour = np.vstack([x[:-1], other])
    for release in engine.RELEASES:
        assert engine.sensitivity_replay(x, neighbour, p, release)[0].ratio <= 1 + 1e-9


def test_repairs():
    prior = em.Prior()
    np.testing.assert_allclose(
        engine.repaired_weights(np.array([-0.2, 1.5, 0.5]), 10, prior), [1 / 13, 23 / 39, 13 / 39]
    )
    np.testing.assert_allclose(engine.repaired_weights(np.array([-0.2, -1.5]), 10, prior), [0.5, 0.5])
    np.testing.assert_allclose(engine.repaired_mean(np.array([3.0, 4.0])), [0.6, 0.8])
    np.testing.assert_array_equal(engine.repaired_mean(np.array([0.3, 0.4])), [0.3, 0.4])
    matrix = engine.symmetric(np.array([1.0, 2.0, 1.0]), 2)
    np.testing.assert_array_equal(matrix, [[1.0, 2.0], [2.0, 1.0]])
    np.testing.assert_allclose(np.linalg.eigvalsh(engine.repaired_covariance(matrix)), [1e-3, 3.0])


# -------------------------------------------------------------------------------------------- the program's run
@pytest.mark.parametrize("release", engine.RELEASES)
def test_the_program_adds_the_noise_it_declares_and_charges_infinity(release):
    """The recorded noise has the program's law, entry by entry (false-alarm rate 1e-6)."""
    recorder = audit.Recorder()
    changes = {"release": release, "early_stop": 0.0}
    found = audit.run(PROGRAM, some_task(), PROGRAM.Settings(**changes), SPEC, 3, recorder)
    assert len(recorder.values) == 11 * 7  # J + 1 M-steps of 2 K + 1 releases
    assert found.diagnostics["m_steps"] == 11
    assert epsilon_of(found.ledger, 1e-5).epsilon == math.inf
    kinds = {e.what.split()[0]: e.mechanism for e in found.ledger}
    other = Mechanism.LAPLACE if release == "LLG" else Mechanism.GAUSSIAN
    assert kinds == {"mean": other, "weights": other, "covariance": Mechanism.GAUSSIAN}
    listener = audit.Listener()
    audit.run(PROGRAM, some_task(), PROGRAM.Settings(**changes), SPEC, 3, listener)
    z = listener.standardised()
    assert z.size == 11 * (3 * 3 + 3 * 6 + 3)
    assert audit.noise_law(z, 1.0, 1e-6).accepted
    each = engine.per_release_epsilon(1.0, 1e-5, 3, 10, release, "moments")
    scale = 2.0 / 600 * (1 / each.epsilon if release == "LLG" else each.noise_multiplier)
    assert recorder.events[6].noise_scale == pytest.approx(scale, rel=1e-12)
    assert found.diagnostics["epsilon_per_release"] == each.epsilon


def test_the_programs_first_release_is_the_released_statistic():
    task, recorder = some_task(), audit.Recorder()
    audit.run(PROGRAM, task, PROGRAM.Settings(), SPEC, 3, recorder)
    scale = np.linalg.norm(task.x, axis=1).max()
    start = em.initial(3, 3, np.random.default_rng(np.random.SeedSequence(3).spawn(2)[0]), 1 / scale)
    before = engine.released_statistics(task.x / scale, start)
    np.testing.assert_allclose(recorder.values[0], before.means[0], rtol=1e-12)
    np.testing.assert_allclose(recorder.values[1], before.covariances[0][np.triu_indices(3)], rtol=1e-12)
    np.testing.assert_allclose(recorder.values[6], before.weights, rtol=1e-12)
    each = engine.per_release_epsilon(1.0, 1e-5, 3, 10, "GGG", "moments")
    declared = before.sensitivities.covariances[0] * each.noise_multiplier
    assert recorder.events[1].noise_scale == pytest.approx(declared, rel=1e-12)


def test_with_a_huge_budget_the_program_is_em():
    """Consistent formulas have no cap on eps': at epsilon = 1e12 the noise is below 1e-6 of anything.

    Without Dirichlet pseudo-rows: the private run adds them twice.
    """
    task = some_task()
    spec = BudgetSpec(epsilon=1e12, delta=1e-5)
    noisy = fit(
        PROGRAM, task, spec, composition="zcdp", as_released=False, early_stop=0.0, dirichlet=1.0
    ).posterior  # fmt: skip
    plain = fit(contract.get("em"), task, BudgetSpec(), tolerance=0.0, dirichlet=1.0).posterior
    for name in ("weights", "means", "covariances"):
        np.testing.assert_allclose(getattr(noisy, name), getattr(plain, name), rtol=0, atol=1e-4, err_msg=name)


def test_in_the_ball_means_and_eigenvalues_keep_the_programs_limits():
    p = fit(PROGRAM, some_task(), SPEC, scale_back=False).posterior
    assert np.linalg.norm(p.means, axis=1).max() <= 1 + 1e-12
    assert np.linalg.eigvalsh(p.covariances).min() >= 1e-3 * (1 - 1e-9)


@pytest.mark.parametrize("method", [PROGRAM, JOINT])
def test_budgets_that_state_nothing_are_refused(method):
    with pytest.raises(ValueError, match="epsilon"):
        fit(method, some_task(30), BudgetSpec())


def test_the_program_cannot_be_run_under_an_enforced_budget():
    with pytest.raises(BudgetExceeded):
        fit(PROGRAM, some_task(30), dataclasses.replace(SPEC, mode=Mode.ENFORCE))


@pytest.mark.parametrize(
    ("method", "change"),
    [
        (PROGRAM, {"iterations": 0}),
        (PROGRAM, {"uncharged": -1}),
        (PROGRAM, {"early_stop": -1.0}),
        (PROGRAM, {"kappa0": 0.0}),
        (JOINT, {"iterations": 0}),
        (JOINT, {"scaling_share": 1.0}),
        (JOINT, {"radius": 0.0}),
        (JOINT, {"start_variance": math.inf}),
        (JOINT, {"eigenvalue_floor": 0.0}),
    ],
)
def test_settings_out_of_range_are_refused(method, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        method.Settings(**change)


# ----------------------------------------------------------------------------------------------- the joint release
@settings(deadline=None, max_examples=150)
@given(
    d=st.integers(1, 5),
    k=st.integers(1, 5),
    size=st.sampled_from([1e-9, 0.1, 1.0, 1e6, 1e200]),
    one_component=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_one_row_moves_the_joint_moments_by_no_more_than_declared(d, k, size, one_component, seed):
    rng = np.random.default_rng(seed)
    u = clipped(size * rng.standard_normal((5, d)), 1.0)
    g = rng.dirichlet(np.full(k, 0.3), 5)
    if one_component:
        g[-1] = np.eye(k)[rng.integers(k)]
    change = np.linalg.norm(joint_moments(u, g) - joint_moments(u[:-1], g[:-1]))
    assert change <= joint_sensitivity(d, k) * (1 + 1e-9)  # rounding of sums of five terms
    r = float(u[-1] @ u[-1])  # the closed form of the proof
    h = 1 + r + r * r - 2 * r / d + 1 / d
    assert change == pytest.approx(math.sqrt(max((g[-1] ** 2).sum() * h - 1 / k, 0.0)), abs=1e-7)


@pytest.mark.parametrize(("d", "k"), [(1, 1), (1, 2), (4, 4), (10, 3)])
def test_the_joint_sensitivity_is_reached(d, k):
    u, g = np.eye(d)[:1], np.eye(k)[:1]
    assert np.linalg.norm(joint_moments(u, g)) == pytest.approx(joint_sensitivity(d, k), rel=1e-12)
    assert joint_sensitivity(d, k) < math.sqrt(3.0)  # what the raw moments would need


def test_noise_multiplier_of_the_joint_release():
    """delta = 1e-4, J = 10, epsilon = 1, by zCDP: noise sd 13.93 times the L2 sensitivity of a whole M-step.

    rho = J / (2 z^2) for J releases of any sensitivity with the noise z x sensitivity; the separate releases of the
    program, 70 at K = 3, need z = 36.86 each. The suite converts exactly and needs less than zCDP does.
    """
    z = math.sqrt(10 / (2 * rho(1.0, 1e-4)))
    assert z == pytest.approx(13.931188, abs=6e-7)
    found = fit(JOINT, some_task(), BudgetSpec(epsilon=1.0, delta=1e-4, mode=Mode.ENFORCE)).diagnostics
    assert found["noise_multiplier"] == pytest.approx(math.sqrt(10) / gdp_mu(1.0, 1e-4), rel=1e-6)
    assert found["noise_multiplier"] < z
    assert found["noise_scale"] == pytest.approx(found["noise_multiplier"] * joint_sensitivity(3, 3), rel=1e-12)


@given(arrays(np.float64, (4, 3), elements=st.floats(allow_nan=True, allow_infinity=True, width=64)))
@settings(deadline=None, max_examples=100)
def test_clipped_rows_are_short_whatever_they_were(rows):
    out = clipped(rows, 1.0)
    assert np.isfinite(out).all()
    assert np.linalg.norm(out, axis=1).max() <= 1 + 1e-12
    inside = np.isfinite(rows).all(axis=1) & (np.abs(rows).max(axis=1, initial=0.0) < 0.5)
    np.testing.assert_allclose(out[inside], rows[inside], rtol=1e-12, atol=1e-320)


def test_without_noise_the_joint_step_is_maximum_likelihood():
    """Oracle: the M-step of EM on the same responsibilities, where no floor is active."""
    u = clipped(some_task().x / 8.0, 1.0)
    start = MixtureParameters(np.full(3, 1 / 3), CENTRES / 8.0, np.repeat(0.01 * np.eye(3)[None], 3, axis=0))
    g, _ = em.e_step(u, start.weights, start.means, start.covariances)
    expected = em.map_m_step(em.moments(u, g), None)
    found = m_step(joint_moments(u, g), len(u), 3, 3, 0.0, 1e-6)
    np.testing.assert_allclose(found.means, expected.means, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.covariances, expected.covariances, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.weights, (expected.weights * 600 + 1) / 603, rtol=1e-10)


def test_the_radius_from_the_prior():
    model = MixtureOfGaussians(2, 0.5, prior_variance=10.0)
    largest = (model.prior_means(4) ** 2).sum(axis=1).max()
    assert prior_radius(model, 4) == pytest.approx(math.sqrt(41.0 + largest), rel=1e-12)


PUBLIC = {
    "known noise": {"noise_sd": 0.5},
    "bought ranges": {"noise_sd": None},
    "documented ranges": {
        "noise_sd": None,
        "x_bounds": ((-8.0, 8.0),) * 3,
        "citation": "the law that draws these rows",
    },
}


@pytest.mark.parametrize("kind", PUBLIC)
def test_the_budget_is_kept_and_used(kind):
    fitted = fit(JOINT, some_task(**PUBLIC[kind]), dataclasses.replace(SPEC, mode=Mode.ENFORCE))
    cost = epsilon_of(fitted.ledger, 1e-5).epsilon
    assert 0.999 < cost <= 1.0  # the composition is exact: nothing but rounding is left over
    assert len(fitted.ledger) == {"known noise": 1, "bought ranges": 3, "documented ranges": 2}[kind]
    assert {e.relation for e in fitted.ledger} == {Relation.ADD_REMOVE}
    share = sum(e.steps / e.noise_multiplier**2 for e in fitted.ledger if e.steps == 1) / gdp_mu(1.0, 1e-5) ** 2
    assert share == pytest.approx(0.0 if kind == "known noise" else 0.1, rel=1e-9)
    alone = fit(JOINT, some_task(**PUBLIC[kind]), BudgetSpec(noise_multiplier=2.0)).ledger
    costs = [e.steps / e.noise_multiplier**2 for e in alone]
    assert costs[-1] == pytest.approx(10 / 4.0)
    assert sum(costs[:-1]) / sum(costs) == pytest.approx(share, abs=1e-9)


def checks_of_the_joint_release(kind, method=JOINT, spec=SPEC):
    task = audit.first_rows(some_task(**PUBLIC[kind]), 12)
    task = dataclasses.replace(task, public=dataclasses.replace(task.public, n=12))
    found = audit.checks(method, task, method.Settings(iterations=3), spec, 1)
    return {k: v for k, v in found.items() if v}


@pytest.mark.parametrize("kind", PUBLIC)
def test_privacy_of_the_joint_release_is_measured(kind):
    """Record and replay, steps, noise law and the rest; noise law with false-alarm rate 1e-6."""
    assert checks_of_the_joint_release(kind) == {}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["known noise", "bought ranges"])
@pytest.mark.parametrize("mutant", MUTANTS["dp_em_corrected"], ids=lambda m: m.name.replace(" ", "_"))
def test_every_mutant_of_the_joint_release_is_killed(kind, mutant):
    assert mutants.kills(JOINT, mutant, lambda method: checks_of_the_joint_release(kind, method))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["known noise", "bought ranges"])
@pytest.mark.parametrize("name", ["release thrown away", "half the sensitivity", "a third of the steps announced"])
def test_a_broken_budget_of_the_joint_release_is_caught(kind, name):
    assert checks_of_the_joint_release(kind, spec=FaultySpec(SPEC, fault_of(name)))


def test_a_range_hidden_by_noise_is_borrowed_from_the_other_columns():
    """The second column has about 50 rows in each bin, under noise of 140 a count; the others have one full bin."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(4.0, 8.0, 4000), 2.0 ** rng.uniform(-20, 20, 4000), rng.uniform(4.0, 8.0, 4000)])

    def budget():
        return BudgetSpec().open(np.random.default_rng(1))

    bought = private_ranges(x, 4000, budget(), 40.0 * math.sqrt(2.0), True)
    assert max(bought[1]) > 1e6  # what it would be without the rule
    mean, sd = column_scales(x, PublicKnowledge(4000), budget(), 40.0)
    assert (np.abs(mean) <= 8.0).all()
    assert (sd <= 8.0).all()


def test_documented_ranges_are_checked():
    for bounds in (((0.0, 1.0),), ((0.0, 1.0), (1.0, 1.0), None)):
        with pytest.raises(ValueError, match="x_bounds"):
            fit(JOINT, some_task(30, noise_sd=None, x_bounds=bounds), SPEC)


@pytest.mark.parametrize("kind", PUBLIC)
def test_at_epsilon_five_it_finds_the_clusters(kind):
    """n = 6000, noise of about 5 on counts of 2000, best of five starts (half end elsewhere): to 0.3; measured 0.03."""
    task = some_task(6000, **PUBLIC[kind])
    truth = posterior_given_labels(MixtureOfGaussians(3, 0.5), task.x, np.arange(6000) % 3).means
    errors = []
    for seed in range(5):
        means = fit(JOINT, task, BudgetSpec(epsilon=5.0, delta=1e-5, mode=Mode.ENFORCE), seed).posterior.means
        errors.append(max(np.linalg.norm(means - m, axis=1).min() for m in truth))
    assert min(errors) < 0.3


def test_noise_a_thousand_times_larger_destroys_it():
    task = some_task(3000)

    def log_density(multiplier: float) -> float:
        fits = [fit(JOINT, task, BudgetSpec(noise_multiplier=multiplier), s, noise_seed=s) for s in range(4)]
        return float(np.median([f.posterior.log_density(task.x).mean() for f in fits]))

    # the covariance of the whole ball, radius about 6, costs some 3 nats a row; a factor e is far outside of chance
    assert log_density(1.0) > log_density(1000.0) + 1.0
