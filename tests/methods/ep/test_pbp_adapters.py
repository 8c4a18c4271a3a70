"""The EP family as methods: what the settings switch, what the ledger says, and what noise does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from methods.contract import Method
from methods.ep.adf import ADF
from methods.ep.clipped_sep import ClippedSEP
from methods.ep.clipped_sep_authors import ClippedSEPAuthors
from methods.ep.dp_sep import DPSEP
from methods.ep.dp_sep_authors import DPSEPAuthors
from methods.ep.ep import EP
from methods.ep.sep import SEP
from models.bnn_regression import BNNRegression
from models.task import Task
from privacy import audit
from privacy.budget import BudgetSpec
from privacy.ledger import Mechanism, Relation, Sampling

CONSTANTS = {"noise_shape": 150.0, "noise_rate": 15.0}
SEP_FROM_PROGRAM = {
    "freeze_noise": False,
    "broad_prior": False,
    "clip_initial": False,
    "refine_prior": True,
    **CONSTANTS,
}


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    return x, 10 + 3 * (np.sin(2 * x[:, 0]) + 0.5 * x[:, 1]) + 0.3 * rng.standard_normal(n)


def toy(n: int = 120, seed: int = 0) -> Task:
    return Task("toy", BNNRegression(11), *rows(n, seed))


def fit(method: type[Method], task: Task | None = None, sigma: float | None = None, seed: int = 1, **settings):
    budget = BudgetSpec(noise_multiplier=sigma).open(np.random.default_rng(seed + 1000))
    m = method()
    return m.fit(task or toy(), m.Settings(**settings), budget, np.random.default_rng(seed))


def error(result, seed: int = 99) -> float:
    x, y = rows(400, seed)
    return float(np.sqrt(np.mean((result.posterior.predictive(x).mean - y) ** 2)))


def same(a, b, rtol: float = 0.0) -> None:
    for key, value in a.posterior.parameters().items():
        np.testing.assert_allclose(value, b.posterior.parameters()[key], rtol=rtol, err_msg=key)


@pytest.mark.parametrize("method", [ADF, EP, SEP, ClippedSEPAuthors])
def test_non_private_methods_beat_the_mean(method):
    """Half the spread of the target: far below what predicting the mean gives, far above the noise of 0.3."""
    settings = {"noise_shape": 60.0, "noise_rate": 6.0} if method is ClippedSEPAuthors else {}
    result = fit(method, toy(1000), epochs=40, **settings)
    assert error(result) < 0.5 * rows(400, 99)[1].std()
    assert len(result.ledger) == 0
    assert result.diagnostics["rejected_weights"] == 0


def test_sep_at_any_damping_follows_the_same_law():
    """Damping 1 runs the fused kernel, others the natural-parameter one; at 1 - 1e-12 both must agree to 1e-8."""
    same(fit(SEP, epochs=3), fit(SEP, epochs=3, damping=1 - 1e-12), rtol=1e-8)
    other = fit(SEP, epochs=3, damping=0.5).posterior.m1
    assert np.abs(other - fit(SEP, epochs=3).posterior.m1).max() > 1e-3


@pytest.mark.parametrize("storage", ["float64", "float32", "int8"])
def test_ep_takes_each_storage(storage):
    result = fit(EP, toy(300), epochs=20, site_storage=storage)
    assert error(result) < 0.8 * rows(400, 99)[1].std()


def test_ep_chooses_a_storage_that_fits():
    from methods.ep._pbp.natural_training import storage_for

    assert storage_for(7372, 50, 9, "auto") == "float64"
    assert storage_for(463_715, 100, 91, "auto") == "int8"
    assert storage_for(463_715, 100, 91, "float32") == "float32"


@pytest.mark.parametrize("method", [ClippedSEPAuthors, DPSEPAuthors])
def test_the_program_without_its_changes_is_sep(method):
    """One epoch for DP-SEP: from the second on, the random numbers that it drops give it other permutations."""
    epochs = 3 if method is ClippedSEPAuthors else 1
    same(fit(method, epochs=epochs, **SEP_FROM_PROGRAM), fit(SEP, epochs=epochs))


@pytest.mark.parametrize(
    "change", [{"freeze_noise": True}, {"broad_prior": True}, {"clip_initial": True}, {"refine_prior": False}]
)
def test_each_change_of_the_program_acts_by_itself(change):
    base = fit(ClippedSEPAuthors, epochs=2, **SEP_FROM_PROGRAM)
    other = fit(ClippedSEPAuthors, epochs=2, **{**SEP_FROM_PROGRAM, **change})
    assert np.abs(base.posterior.m1 - other.posterior.m1).max() > 1e-3
    frozen = other.posterior.noise_shape == CONSTANTS["noise_shape"]
    assert frozen == change.get("freeze_noise", False)


def test_the_programs_start_and_prior_are_scaled_to_norm_c():
    """Before any row counts: prior N(0, sqrt(n_l) / C), precision C / sqrt(n_l), means m sqrt(n_l) / |m|."""
    from methods.ep._dpsep_program import Settings
    from methods.ep._pbp import natural_training, training
    from methods.ep._pbp.state import initial

    seen = {}

    def spy(x, y, q, prior, rng, **options):
        seen.update(q=q, prior=prior, **options)
        return q, prior, {}

    original = training.train_moments
    training.train_moments = spy
    try:
        x, y, _ = training.standardised(toy())
        natural_training.released(
            x, y, BNNRegression(11), np.random.default_rng(4), Settings(), (150.0, 15.0), method="test"
        )
    finally:
        training.train_moments = original
    start, _ = initial(BNNRegression(11), 3, np.random.default_rng(4))
    q, prior = seen["q"], seen["prior"]
    for m, v, eta, lam, raw in (
        (q.m1, q.v1, prior.eta1, prior.lam1, start.m1),
        (q.m2, q.v2, prior.eta2, prior.lam2, start.m2),
    ):
        n = m.size
        np.testing.assert_allclose(1 / v, 1 / np.sqrt(n), rtol=1e-14)
        np.testing.assert_allclose(lam, 1 / np.sqrt(n), rtol=1e-14)
        assert not eta.any()
        np.testing.assert_allclose(m, raw * np.sqrt(n) / np.linalg.norm(raw), rtol=1e-13)
    assert (q.a, q.b) == (150.0, 15.0)
    assert (seen["freeze_noise"], seen["refine_prior"]) == (True, False)


def test_the_two_released_programs_differ_in_their_permutations_only():
    settings = CONSTANTS
    same(fit(DPSEPAuthors, epochs=1, **settings), fit(ClippedSEPAuthors, epochs=1, **settings))
    two = [fit(m, epochs=2, **settings).posterior.m1 for m in (DPSEPAuthors, ClippedSEPAuthors)]
    assert np.abs(two[0] - two[1]).max() > 1e-6


def test_real_clipping_and_real_noise_are_switched_on_by_settings():
    free = fit(ClippedSEPAuthors, epochs=2, **CONSTANTS)
    loose = fit(ClippedSEPAuthors, epochs=2, clip_sites="per_block", **CONSTANTS)
    assert "clipped_sites" not in free.diagnostics
    assert loose.diagnostics["clipped_sites"] > 0
    assert np.abs(free.posterior.m1 - loose.posterior.m1).max() > 1e-3
    noisy = fit(DPSEPAuthors, sigma=1.0, epochs=2, clip_sites="per_block", add_noise="needed", **CONSTANTS)
    assert noisy.diagnostics["floored"] > 0
    assert noisy.posterior.v1.max() <= 1 / 1e-4 * (1 + 1e-12)
    (event,) = noisy.ledger
    assert event.mechanism is Mechanism.GAUSSIAN
    # standard deviation 2 C sigma; sensitivity of four blocks 4 C
    assert (event.noise_scale, event.sensitivity, event.steps) == (2.0, 4.0, 2)
    printed = fit(DPSEPAuthors, sigma=1.0, epochs=2, clip_sites="per_block", add_noise="printed", **CONSTANTS)
    assert next(iter(printed.ledger)).noise_scale == pytest.approx(2.0 / 120, rel=1e-12)


def test_a_large_bound_clips_nothing():
    """The natural-parameter kernel with a bound that no site reaches is the fused kernel (1e-8: other arithmetic)."""
    free = fit(ClippedSEPAuthors, epochs=2, clip=1e9, clip_initial=False, broad_prior=False, **CONSTANTS)
    loose = fit(
        ClippedSEPAuthors, epochs=2, clip=1e9, clip_initial=False, broad_prior=False, clip_sites="per_block",
        **CONSTANTS,
    )  # fmt: skip
    same(free, loose, rtol=1e-8)
    assert loose.diagnostics["clipped_sites"] == 0


def test_the_released_program_writes_an_infinite_epsilon_into_its_ledger():
    (event,) = fit(DPSEPAuthors, epochs=3, **CONSTANTS).ledger
    assert event.mechanism is Mechanism.NO_NOISE
    assert event.noise_multiplier == 0.0
    noisy = fit(
        DPSEPAuthors, sigma=1.0, epochs=3, freeze_noise=False, clip_sites="per_block", add_noise="needed", **CONSTANTS
    )
    assert {e.mechanism for e in noisy.ledger} == {Mechanism.NO_NOISE, Mechanism.GAUSSIAN}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"clip_sites": "all"}, "clip_sites"),
        ({"add_noise": "some"}, "add_noise"),
        ({"add_noise": "needed"}, "clip_sites"),
        ({"add_noise": "needed", "clip_sites": "per_block"}, "noise multiplier"),
        ({"clip": 0.0}, "clip"),
        ({"noise_shape": 1.0}, "noise_shape"),
        ({"epochs": 0}, "epochs"),
    ],
)
def test_the_program_refuses_settings_that_make_no_sense(settings, words):
    with pytest.raises(ValueError, match=words):
        fit(DPSEPAuthors, **settings)


def test_algorithm_3_records_what_really_happens():
    result = fit(DPSEP, sigma=1.5, epochs=4, clip=2.0, gamma=3.0)
    (event,) = result.ledger
    assert event.mechanism is Mechanism.GAUSSIAN
    assert event.sensitivity == pytest.approx(2 * 3.0 * 2.0 / 120, rel=1e-15)
    assert event.noise_scale == pytest.approx(1.5 * event.sensitivity, rel=1e-15)
    assert (event.steps, event.sampling, event.relation) == (4, Sampling.SHUFFLED_EPOCHS, Relation.REPLACE_ONE)
    k = 4 * 120
    assert result.diagnostics["fraction_absorbed"] == pytest.approx(1 - (1 - 3 / 120**2) ** k, rel=1e-9)


def test_algorithm_3_needs_a_noise_multiplier():
    with pytest.raises(ValueError, match="noise_multiplier"):
        fit(DPSEP)


def test_algorithm_3_with_vanishing_noise_is_clipped_sep():
    """1e-6: noise of 1e-12 sensitivities in each of 360 steps; nothing else differs."""
    same(fit(DPSEP, sigma=1e-12, epochs=3, gamma=20.0), fit(ClippedSEP, epochs=3, gamma=20.0), rtol=1e-6)


class Recorder(audit.Recorder):
    """Sees every value before its noise, and adds none."""

    def release(self, event, value, noise):
        self.values.append(value.copy())
        return value


def test_the_audited_road_is_the_same_algorithm():
    """Step by step through ``release``, without noise, it is clipped SEP to rounding, and every step is seen."""
    recorder = Recorder()
    budget = BudgetSpec(noise_multiplier=1.0).open(np.random.default_rng(0), recorder)
    method, settings = DPSEP(), DPSEP.Settings(epochs=2, gamma=20.0)
    audited = method.fit(toy(), settings, budget, np.random.default_rng(1))
    same(audited, fit(ClippedSEP, epochs=2, gamma=20.0), rtol=1e-9)
    assert len(recorder.values) == 2 * 120
    assert {v.shape for v in recorder.values} == {(2 * (11 * 3 + 12) + 2,)}


def test_what_an_audited_release_returns_is_what_goes_on():
    """A mechanism that adds a known vector, against the oracle's algorithm 3 with the same vector."""
    from methods.ep._pbp import natural_training, training
    from methods.ep._pbp.state import Naturals, initial
    from tests.methods.ep import pbp_oracle as oracle

    shift = np.random.default_rng(3).normal(0, 0.02, 2 * (11 * 3 + 12) + 2)

    class Shifter(Recorder):
        def release(self, event, value, noise):
            return value + shift[np.append(natural_training.kernel_order(11, 3), [-2, -1])]

    budget = BudgetSpec(noise_multiplier=1.0).open(np.random.default_rng(0), Shifter())
    result = DPSEP().fit(toy(), DPSEP.Settings(epochs=1, gamma=20.0), budget, np.random.default_rng(1))
    x, y, _ = training.standardised(toy())
    rng, n = np.random.default_rng(1), 120
    q, prior = initial(BNNRegression(11), 3, rng)
    theta_0 = prior.naturals(6.0, 6.0).clipped(1.0)
    theta = theta_0 + ((q.naturals() - theta_0) * (1 / n)).clipped(1.0) * n
    added = Naturals.from_vector(shift, 11, 3)
    for i in rng.permutation(n):
        theta = oracle.propose(theta, theta_0, x[i], y[i], n, 20.0, 1.0) + added
        theta = natural_training.absorb(theta, theta_0, n, 1.0, 1e-4)
    assert result.posterior.v2 == pytest.approx(1 / theta.lam2, rel=1e-8)
    np.testing.assert_allclose(result.posterior.m1, theta.eta1 / theta.lam1, rtol=1e-7)
    assert result.posterior.noise_rate == pytest.approx(-theta.rate, rel=1e-8)


def test_the_audited_road_of_the_programs_noise_leaves_the_gamma_out():
    recorder = Recorder()
    budget = BudgetSpec(noise_multiplier=1.0).open(np.random.default_rng(0), recorder)
    settings = DPSEPAuthors.Settings(epochs=1, clip_sites="per_block", add_noise="needed", **CONSTANTS)
    DPSEPAuthors().fit(toy(), settings, budget, np.random.default_rng(1))
    assert {v.shape for v in recorder.values} == {(2 * (11 * 3 + 12),)}
    assert len(recorder.values) == 120


def test_a_thousand_times_the_noise_ruins_the_fit():
    """Negative control: the noise reaches the posterior. Ten seeds; the noisy errors must exceed the others tenfold.

    False alarm: the worst quiet error would have to reach a tenth of the median noisy one, which is a factor of
    thousands away.
    """
    quiet = [error(fit(DPSEP, sigma=1.0, epochs=3, seed=s)) for s in range(10)]
    noisy = [error(fit(DPSEP, sigma=1000.0, epochs=3, seed=s)) for s in range(10)]
    assert max(quiet) * 10 < np.median(noisy)


def test_settings_are_frozen_and_hold_the_papers_defaults():
    assert (SEP.Settings().epochs, EP.Settings().damping, DPSEP.Settings().gamma) == (40, 0.4, 1.0)
    assert DPSEP.Settings() == DPSEP.Settings(epochs=40, clip=1.0, gamma=1.0, floor=1e-4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        SEP.Settings().epochs = 3


@pytest.mark.parametrize("start", ["printed", "program"])
def test_equation_5_ends_where_it_starts(start):
    """40 epochs absorb 40 / N of the data, so q keeps the width of its start: the program's is the broader one."""
    from methods.ep._pbp.state import initial

    task = toy()
    result = fit(ClippedSEP, task, start=start, epochs=1, clip=1.0)
    q, _ = initial(task.model, 3, np.random.default_rng(1))
    expected = q.naturals().clipped_per_block(1.0) if start == "program" else q.naturals()
    found = result.posterior.parameters()
    variances = next(v for k, v in found.items() if v.shape == expected.lam1.shape and np.all(v > 0))
    np.testing.assert_allclose(variances, 1.0 / expected.lam1, rtol=0.1)


def test_a_start_is_one_of_two():
    for method in (ClippedSEP, DPSEP):
        with pytest.raises(ValueError, match="start = 'elsewhere'"):
            method.Settings(start="elsewhere")
