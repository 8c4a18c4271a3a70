"""Discrete noise: what is refused, what is charged, how far rounding moves a sum, and OpenDP itself where it is."""

from __future__ import annotations

import importlib
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit import cases
from methods._shared import adassp
from methods._shared.conjugate_linear import release
from methods.em.dp_em_corrected import expected_moments, joint_sensitivity
from methods.sufficient_statistics._bernstein_sheldon import box, families, regression
from methods.sufficient_statistics.sufficient_statistics_perturbation import statistic_sum
from models.mixture_of_gaussians import MixtureParameters
from privacy import audit, discrete, floating_point, ranges, replaced, scaling
from privacy.accountants import epsilon_of
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.calibration import gaussian_noise_multiplier
from privacy.discrete import DiscreteSpec, NotDiscrete
from privacy.ledger import Event, Mechanism, Relation, Sampling

ROOT = Path(__file__).resolve().parents[2]
SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
PROOF = "privacy.scaling.moment_sums"
EVENT = Event("sum", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 2.0, 6.0, proof=PROOF)
needs_opendp = pytest.mark.skipif(not discrete.available(), reason=f"no OpenDP; {discrete.REMEDY}")


@pytest.fixture
def stand_in(monkeypatch):
    """In the place of OpenDP: noise in double precision, which is enough for all that is around it."""
    rng = np.random.default_rng(0)

    def adder(mechanism, scale):
        draw = rng.laplace if mechanism is Mechanism.LAPLACE else rng.normal
        return lambda numbers: [v + float(draw(0.0, scale)) for v in numbers]

    monkeypatch.setattr(discrete, "available", lambda: True)
    monkeypatch.setattr(discrete, "generator", lambda: "stand-in")
    monkeypatch.setattr(discrete, "adder", adder)


def opened(spec=SPEC, recorder=None):
    return DiscreteSpec(spec, 100).open(np.random.default_rng(0), recorder)


def gaussian(budget, **more):
    args = {"sensitivity": 2.0, "noise_multiplier": 4.0, "relation": Relation.ADD_REMOVE, "proof": PROOF} | more
    return budget.gaussian("sum", **args)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"mechanism": Mechanism.LAPLACE}, ""),
        ({"sampling": Sampling.POISSON, "sampling_rate": 0.5}, "sampled"),
        ({"mechanism": Mechanism.EXPONENTIAL}, "noisy scores"),
        ({"mechanism": Mechanism.WRITTEN_BOUND}, "draw from a posterior"),
        ({"mechanism": Mechanism.NO_NOISE, "sensitivity": math.inf}, "without noise"),
        ({"sensitivity": math.inf}, "nothing bounds"),
        ({"proof": "methods.baselines._logistic_minimiser.sensitivity"}, "_logistic_minimiser"),
        ({"noise_scale": 1e-300}, "at least"),
    ],
)
def test_which_releases_are_refused_and_why(changes, words):
    why = discrete.refusal(replace(EVENT, **changes))
    assert words in why
    assert bool(why) == bool(words)


def test_a_refused_release_is_not_made_and_not_charged(stand_in):
    budget = opened()
    with pytest.raises(NotDiscrete, match="'sum' cannot have discrete noise: its rows are sampled"):
        gaussian(budget, sampling=Sampling.POISSON, sampling_rate=0.5)
    drawn = replace(EVENT, mechanism=Mechanism.WRITTEN_BOUND, renyi_curve=((2.0, 0.1),))
    with pytest.raises(NotDiscrete, match="draw from a posterior"):
        budget.draw(drawn, lambda: pytest.fail("the draw was made"))
    with pytest.raises(NotDiscrete, match="leave without noise"):
        budget.no_noise("sum", relation=Relation.ADD_REMOVE)
    assert not len(budget.ledger)


def test_sensitivity_and_noise_grow_alike_so_a_calibrated_budget_is_kept(stand_in):
    sigma = gaussian_noise_multiplier(1.0, 1e-5)
    budget = opened()
    mechanism = gaussian(budget, noise_multiplier=sigma)
    (event,) = budget.ledger
    assert event.sensitivity == 2.0 * (1 + discrete.SLACK)
    assert mechanism.noise_scale == event.noise_scale == pytest.approx(2.0 * sigma * (1 + discrete.SLACK), rel=1e-15)
    assert event.generator == "stand-in"
    assert epsilon_of(budget.ledger, 1e-5).epsilon == pytest.approx(1.0, rel=1e-9)
    with pytest.raises(BudgetExceeded):
        gaussian(budget, noise_multiplier=sigma)
    view = opened().stating(3.0)
    gaussian(view, noise_multiplier=view.noise_multiplier * 2)
    assert view._whole.ledger.events[0].generator == "stand-in"


def test_pure_epsilon_is_kept_too(stand_in):
    budget = opened(BudgetSpec(epsilon=0.5, delta=0.0, mode=Mode.ENFORCE))
    budget.laplace("sum", sensitivity=1.0, noise_scale=2.0, relation=Relation.REPLACE_ONE, proof=PROOF)
    assert epsilon_of(budget.ledger, 0.0).epsilon == pytest.approx(0.5, rel=1e-12)


def test_what_leaves_is_what_opendp_gave(monkeypatch, stand_in):
    """Not a value plus a difference, which would be rounded again by a rule that the value decides."""
    monkeypatch.setattr(discrete, "adder", lambda *_: lambda numbers: [1e-300] * len(numbers))
    mechanism = gaussian(opened(), noise_multiplier=8.0, steps=2)
    np.testing.assert_array_equal(mechanism.release(np.full((2, 3), 7.0)), np.full((2, 3), 1e-300))
    with pytest.raises(ValueError, match="NaN or infinity"):
        mechanism.release(np.array([np.nan]))
    with pytest.raises(NotDiscrete, match="release by release"):
        mechanism.noise(1, 5)
    mechanism.release(np.zeros(1))
    with pytest.raises(BudgetExceeded, match="0 left"):
        mechanism.release(np.zeros(1))


def test_an_audit_records_and_hears_it(stand_in):
    for recorder in (audit.Recorder(), audit.Listener()):
        noisy = gaussian(opened(recorder=recorder)).release(np.arange(3.0))
        assert np.all(noisy != np.arange(3.0))
    np.testing.assert_allclose(recorder.heard[0][1], [noisy - np.arange(3.0)])


def test_too_many_rows_and_no_opendp_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(discrete, "available", lambda: True)
    with pytest.raises(NotDiscrete, match="1,000,001 rows"):
        DiscreteSpec(SPEC, discrete.MOST_ROWS + 1)
    monkeypatch.setattr(discrete, "available", lambda: False)
    with pytest.raises(NotDiscrete, match="pip install"):
        DiscreteSpec(SPEC, 10)
    with pytest.raises(NotDiscrete, match="pip install"):
        discrete.adder(Mechanism.LAPLACE, 1.0)


#: the methods whose releases all can, as docs/explanation/epsilon.md names them
METHODS = {
    "adassp", "bernstein_sheldon_2018", "bernstein_sheldon_2019_corrected", "dp_em_corrected",
    "sufficient_statistics_perturbation", "whitened_ssp",
}  # fmt: skip


def fitted(name, case):
    """Does a toy fit of this adapter go through with discrete noise?"""
    method, task = cases.get(name), cases.tiny_task(case)
    try:
        audit.run(method, task, cases.tiny_settings(method), DiscreteSpec(cases.SPEC, task.n), 1)
    except NotDiscrete:
        return False
    return True


@pytest.mark.parametrize("name", sorted(METHODS))
def test_these_methods_run(stand_in, name):
    mine = [c for c in cases.cases() if cases.get(c[0]).name == name]
    assert mine
    assert all(fitted(*c) for c in mine)


@pytest.mark.nightly
def test_no_other_method_runs(stand_in):
    """12 CPU seconds, for a list that changes with a method's proof only."""
    assert {cases.get(n).name for n, c in cases.cases() if fitted(n, c)} == METHODS


def test_the_page_names_these_methods():
    page = (ROOT / "docs/explanation/epsilon.md").read_text(encoding="utf-8")
    listed = re.search(r"^Discrete noise is for (.*?)\.$", page, re.DOTALL | re.MULTILINE)[1]
    assert set(re.findall(r"`(\w+)`", listed)) == METHODS


# ------------------------------------------------------------------------------------- rounding of what is released
_K, _D = 3, 4
_TRIALS = cases.tiny_task("exponential_family")
_MIXTURE = MixtureParameters(
    np.array([0.2, 0.3, 0.5]), 0.5 * np.eye(_K, _D), np.stack([(0.01 + k) * np.eye(_D) for k in range(_K)])
)
_LOW, _HIGH, _BOUNDS = -np.ones(_D), np.full(_D, 2.0), np.array([1.0, 2.0, 0.5, 3.0])
_STRETCH = (
    np.linalg.qr(np.random.default_rng(0).standard_normal((_D, _D)))[0] * np.array([1e-3, 1.0, 10.0, 1e4])[:, None]
)


def _statistics(rows):
    task, n = _TRIALS, len(rows)
    return statistic_sum(replace(task, x=1.0 * (rows[:, :1] > 0), public=replace(task.public, n=n)))


def _ball(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)


#: proof -> (sum over rows (n, _D), its sensitivity, norm); the proof of ``discrete`` is about each of them
_WEIGHTS = np.array([math.sqrt(10.0)] + [1.0] * (_D - 1))
_SHELDON = "methods.sufficient_statistics._bernstein_sheldon"
SUMS = {
    "privacy.scaling.range_counts": (scaling.range_counts, math.sqrt(_D), 2),
    "privacy.ranges.interval_counts": (
        lambda r: ranges.interval_counts(r.T, [np.array([-1.0, 0.0, 1.0])] * _D, _WEIGHTS), math.sqrt(10 + _D - 1), 2,
    ),
    "privacy.ranges.moment_sums": (
        lambda r: ranges.moment_sums(r, _LOW, _HIGH, _WEIGHTS), math.sqrt(1.25 * (10 + _D - 1) + 0.25), 2,
    ),
    "privacy.scaling.moment_sums": (lambda r: scaling.moment_sums(r, _LOW, _HIGH), math.sqrt(1.25 * _D), 2),
    "privacy.replaced.counts": (lambda r: replaced.counts(r > 0), math.sqrt(_D), 2),
    "methods._shared.adassp.second_moments": (lambda r: adassp.second_moments(r, 0.7, _STRETCH), 0.49, 2),
    "methods._shared.conjugate_linear.release.clipped_site_sum": (
        lambda r: release.clipped_site_sum(r[:, 1:], r[:, 0], 1.5), math.sqrt(1.25), 2,
    ),
    "methods.sufficient_statistics.sufficient_statistics_perturbation.statistic_sum": (_statistics, 1.0, 2),
    "methods.em.dp_em_corrected.joint_moments": (
        lambda r: expected_moments(_MIXTURE, _ball(r)), joint_sensitivity(_D, _K), 2,
    ),
    f"{_SHELDON}.families.inside_sum": (lambda r: families.inside_sum(r[:, :1], 0.0, 1.5), 1.5, 1),
    f"{_SHELDON}.families.bounded_sum": (lambda r: families.bounded_sum(r[:, :1], 0.0, 1.0), 1.0, 1),
    f"{_SHELDON}.families.category_counts": (lambda r: families.category_counts(np.round(r[:, :1]), 3), 2.0, 1),
    f"{_SHELDON}.regression.clipped_moments": (
        lambda r: regression.clipped_moments(r[:, 1:], r[:, 0], _BOUNDS), (_BOUNDS.sum() + 1) ** 2 - 1, 1,
    ),
    f"{_SHELDON}.box.moments": (lambda r: box.moments(r[:, 1:], r[:, 0]), 1.0, math.inf),
}  # fmt: skip


def test_every_proof_is_a_function_and_is_tried_here():
    assert set(SUMS) == discrete.SUMS
    for name in discrete.SUMS:
        module, _, function = name.rpartition(".")
        assert "ensitivity" in getattr(importlib.import_module(module), function).__doc__


@pytest.mark.parametrize("proof", sorted(SUMS))
@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), scale=st.floats(-6.0, 6.0), n=st.integers(2, 40), offset=st.sampled_from([0.0, 1e4]))
def test_a_sum_is_as_near_to_the_exact_sum_of_its_terms_as_the_proof_says(proof, seed, scale, n, offset):
    """Each row alone gives its term, and ``math.fsum`` their exact sum, rounded once.

    The computed sum may differ by n 2^-32 of the sensitivity, for terms that depend on the rows around them, and by
    n u x 2 n of it for the additions. Neighbours then differ by at most 1 + SLACK times the sensitivity.
    """
    total, sensitivity, norm = SUMS[proof]
    rows = 10.0**scale * np.random.default_rng(seed).standard_normal((n, _D)) + offset
    terms = np.array([total(rows[i : i + 1]).ravel() for i in range(n)])
    exact = np.array([math.fsum(column) for column in terms.T])
    computed = total(rows).ravel()
    allowed = (n * 2.0**-32 + 2 * n**2 * 2.0**-53) * sensitivity
    assert np.linalg.norm(computed - exact, norm) <= allowed
    without = total(rows[np.random.default_rng(seed).permutation(n)[1:]]).ravel()
    if "bernstein" not in proof or "box" in proof:  # add/remove; the others are for replacement
        assert np.linalg.norm(computed - without, norm) <= sensitivity * (1 + discrete.SLACK)


def test_the_slack_covers_both_neighbours_at_the_largest_number_of_rows():
    n = discrete.MOST_ROWS
    summed = n * 2.0**-53 / (1 - n * 2.0**-53) * 2 * n
    assert 2 * (summed + n * 2.0**-32) <= discrete.SLACK


# ------------------------------------------------------------------------------------------------------ OpenDP itself
@needs_opendp
@pytest.mark.parametrize("mechanism", [Mechanism.GAUSSIAN, Mechanism.LAPLACE])
def test_opendps_own_guarantee_is_that_of_the_ledger(mechanism):
    """Its map of a distance to zCDP (Gaussian) or pure epsilon (Laplace), at the charged sensitivity."""
    for sensitivity, multiplier in ((1.0, 3.7), (1e-3, 0.2), (4.5e5, 12.0)):
        charged = sensitivity * (1 + discrete.SLACK)
        cost = discrete.adder(mechanism, charged * multiplier).map(charged)
        ours = 1 / multiplier if mechanism is Mechanism.LAPLACE else 1 / (2 * multiplier**2)
        assert cost == pytest.approx(ours, rel=1e-12)


@needs_opendp
@pytest.mark.parametrize("mechanism", [Mechanism.GAUSSIAN, Mechanism.LAPLACE])
def test_the_noise_has_the_law_of_the_event(mechanism):
    """2,000 numbers, false alarm 1e-6; the seeds are those of the operating system."""
    event = replace(EVENT, mechanism=mechanism, noise_scale=3.7)
    noise = np.array(discrete.adder(mechanism, 3.7)([0.3] * 2000)) - 0.3
    assert audit.noise_law(audit.noise.standardised(event, noise), 1.0, 1e-6).accepted


@needs_opendp
def test_last_digits_rule_a_neighbour_out_in_double_precision_and_not_with_discrete_noise():
    """Values 0 and 1, noise of deviation 2, 2,000 numbers each. The rule: no double added to 1 gives the number.

    With discrete noise, what the value 1 gives says what 0 gives, by the ratio of the two normal densities. The two
    shares then differ by less than 6 deviations: false alarm below 1e-8.
    """
    n, rng = 2000, np.random.default_rng(6)
    for add, tells in ((lambda v: v + rng.normal(0, 2, n), True), (discrete.adder(Mechanism.GAUSSIAN, 2.0), False)):
        of_0, of_1 = (np.array(add(np.full(n, v).tolist())) for v in (0.0, 1.0))
        ruled_0, ruled_1 = (~floating_point.reachable(o, 1.0) for o in (of_0, of_1))
        assert ruled_0.mean() > 0.1
        if tells:
            assert not ruled_1.any()
        else:
            weighted = ruled_1 * np.exp((1 - 2 * of_1) / (2 * 2.0**2))
            deviation = math.sqrt((ruled_0.var() + weighted.var()) / n)
            assert abs(ruled_0.mean() - weighted.mean()) < 6 * deviation


@needs_opendp
def test_a_fit_with_opendp_says_so_and_follows_from_no_seed():
    method, task = cases.get("adassp"), cases.tiny_task("linear_regression")
    one, two = (audit.run(method, task, method.Settings(), DiscreteSpec(SPEC, task.n), 1) for _ in range(2))
    assert all("OpenDP" in e.generator for e in one.ledger)
    assert np.isfinite(one.posterior.parameters()["weights"]).all()
    assert np.any(one.posterior.parameters()["weights"] != two.posterior.parameters()["weights"])
