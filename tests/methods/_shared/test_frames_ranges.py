"""A fit with ranges over all doubles: large scales, offsets, and columns that the noise hides. 20 CPU seconds."""

from __future__ import annotations

import numpy as np
import pytest

from methods import contract
from methods._shared import frames
from models import bounded, draws, posteriors
from models.bounded import BoundedLinearRegression, BoundedMixture, Frame, FramedPosterior
from models.task import PublicKnowledge, Task
from privacy.budget import BudgetSpec, Mode, Ranges
from privacy.ranges import HiddenRange

ALL = BudgetSpec(epsilon=5.0, delta=1e-5, mode=Mode.ENFORCE, ranges=Ranges.ALL)


def fitted(x, y, spec=ALL, method="adassp", seed=0):
    task = Task("own", BoundedLinearRegression(), x, y, PublicKnowledge(len(y)))
    adapter = contract.get(method, "bounded_linear_regression")
    return adapter.fit(task, adapter.Settings(), spec.open(np.random.default_rng(seed)), np.random.default_rng(1))


def r2(fit, x, y):
    mean = np.asarray(fit.posterior.predictive(x, np.random.default_rng(0)).mean)
    return 1 - ((y - mean) ** 2).mean() / y.var()


@pytest.mark.parametrize("method", ["adassp", "whitened_ssp"])
def test_units_do_not_decide_how_good_a_fit_is(method):
    """House prices in full units, concentrations in moles, unix times, and dates as yyyymmdd."""
    rng = np.random.default_rng(0)
    area = rng.uniform(30, 200, 2000)
    price = 2e6 + 5e4 * area + 2e5 * rng.standard_normal(2000)
    for x in (area, 1e-9 * area, 1.6e9 + 1e5 * area, 20_200_101 + 100.0 * area):
        for unit in (1e-9, 1.0, 1e9):
            assert r2(fitted(x[:, None], unit * price, method=method), x[:, None], unit * price) > 0.9


def test_a_hidden_column_has_no_part_in_the_fit_and_is_known_from_the_posterior():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(0, 1, 2000), rng.choice([-1, 1], 2000) * 2.0 ** rng.uniform(-900, 900, 2000)])
    y = 3 * x[:, 0] + rng.standard_normal(2000)
    fit = fitted(x, y)
    frame = fit.posterior.frame
    assert frame.kept.tolist() == [True, False]
    assert r2(fit, x, y) > 0.8
    other = x.copy()
    other[:, 1] = 7.0
    rows = [np.asarray(fit.posterior.predictive(v, np.random.default_rng(0)).mean) for v in (x, other)]
    np.testing.assert_array_equal(*rows)
    coef = draws.point(fit.posterior)["coef"]
    assert coef.shape == (2,)
    assert coef[1] == 0.0
    assert coef[0] == pytest.approx(3, rel=0.2)
    saved = posteriors.load(fit.posterior.kind, fit.posterior.parameters())
    assert saved.frame.kept.tolist() == [True, False]


def test_if_every_input_is_hidden_the_target_is_predicted_by_its_mean():
    rng = np.random.default_rng(0)
    x = rng.choice([-1, 1], (2000, 2)) * 2.0 ** rng.uniform(-900, 900, (2000, 2))
    y = rng.normal(5, 1, 2000)
    fit = fitted(x, y)
    assert not fit.posterior.frame.kept.any()
    np.testing.assert_allclose(fit.posterior.predictive(x, rng).mean, 5, atol=0.5)
    assert draws.point(fit.posterior)["coef"].tolist() == [0.0, 0.0]


def test_a_hidden_target_stops_the_fit_and_a_density_needs_every_column():
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (60, 3))
    with pytest.raises(HiddenRange, match="state ranges"):
        fitted(x, rng.normal(0, 1, 60), BudgetSpec(epsilon=0.5, delta=1e-5, mode=Mode.ENFORCE, ranges=Ranges.ALL))
    wide = np.column_stack([x, 2.0 ** rng.uniform(-900, 900, 60)])
    task = Task("own", BoundedMixture(2), wide, None, PublicKnowledge(60))
    spec = BudgetSpec(epsilon=50.0, delta=1e-5, ranges=Ranges.ALL)
    with pytest.raises(HiddenRange):
        frames.make_frame(task, spec.open(rng))


def test_the_means_of_a_mixture_have_nan_for_a_column_that_is_left_out():
    frame = Frame(np.array([1.0, 0.0, 2.0]), np.array([3.0, np.inf, 6.0]), stretch=3.0)

    class Inner:
        kind = "inner"

        def parameters(self):
            return {"means": np.ones((2, 2)), "covariances": np.tile(np.eye(2), (2, 1, 1))}

    found = draws.draws(FramedPosterior(Inner(), frame), 1, np.random.default_rng(0))
    np.testing.assert_array_equal(found["means"][0, 0], [2.0, np.nan, 4.0])
    np.testing.assert_array_equal(found["covariances"][0, 0], [[1, np.nan, 0], [np.nan] * 3, [0, np.nan, 4]])


def test_the_default_budget_keeps_the_old_histogram():
    """The price of row 1 in full units: the committed experiments' range ends at 2^20, which this test documents."""
    rng = np.random.default_rng(0)
    area = rng.uniform(30, 200, 2000)[:, None]
    price = 2e6 + 5e4 * area[:, 0]
    old = fitted(area, price, BudgetSpec(epsilon=5.0, delta=1e-5, mode=Mode.ENFORCE))
    assert [e.proof for e in old.ledger][:2] == ["privacy.scaling.range_counts", "privacy.scaling.moment_sums"]
    assert r2(old, area, price) < 0


def test_the_forecast_is_for_the_share_of_the_method():
    few = frames.forecast(442, 10, True, 1.0, 1e-5)
    more = frames.forecast(442, 10, True, 1.0, 1e-5, share=0.4)
    assert more.expected < few.expected
    assert bounded.DEVIATIONS == 3.0
