"""The exact suprema: published digits, brute force over all neighbours, the convex hull, calibration, ledger event."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evaluation.posterior_sampling import brute_force
from methods._shared.exponential_family import guarantee as g
from models.exponential_family import BetaBernoulli, DirichletCategorical, GaussianMean
from privacy.accountants import epsilon_of, renyi_divergence
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Ledger, Mechanism, Relation

BETA = BetaBernoulli()
PRIOR, N = (6.0, 18.0), 100
GAUSS, GAUSS_PRIOR = GaussianMean(variance=1.0, clip=1.0), (0.0, 1.0)


def dirichlet(*a):
    law = DirichletCategorical(len(a))
    return law, tuple(law.natural(np.array(a, dtype=float)))


@pytest.mark.parametrize(
    ("order", "value"),
    [
        (1, 0.0901395418353741),
        (1.5, 0.139140453441213),
        (2, math.log(672 / 555)),
        (2, 0.19129022677671503),
        (3, 0.5 * math.log(632.8) + math.log(6 / 111)),
        (3, 0.30730647614244292),
        (5, 0.617110648911505),
        (6, 0.860852410933621),
        (6.5, 1.05413822293328),
        (6.9, 1.39263617155684),
        (6.99, 1.79126191231567),
        (7, math.inf),
        (20, math.inf),
    ],
)
def test_direct_sampling_to_the_published_digits(order, value):
    assert g.supremum(BETA, PRIOR, N, order) == pytest.approx(value, rel=5e-14)


@pytest.mark.parametrize(
    ("r", "order", "value"),
    [
        (0.1, 2, 0.002278362302930),
        (0.1, 5, 0.005775623790189),
        (0.1, 15, 0.018244467097603),
        (0.3, 2, 0.018495647761246),
        (0.3, 5, 0.048691870802993),
        (0.3, 15, 0.188589313482664),
        (0.5, 5, 0.136218437075500),
        (0.5, 10, 0.349606331383604),
        (0.7, 5, 0.276324106283429),
        (0.9, 5, 0.482371616453329),
    ],
)
def test_diffused_sampling_to_the_published_digits(r, order, value):
    assert g.supremum(BETA, PRIOR, N, order, data_weight=r) == pytest.approx(value, abs=1e-15, rel=5e-14)


#: epsilon at each order for r = .1, .3, .5, .7, .9, 1; "-": not printed after an infinite one.
FIGURE_1 = """
1.5 0.001704924 0.013761406 0.036571774 0.069871418 0.113497269 0.139140453
2   0.002278362 0.018495648 0.049457538 0.095098682 0.155505475 0.191290227
3   0.003433166 0.028204393 0.076432464 0.149117596 0.247720094 0.307306476
4   0.004598808 0.038258456 0.105238384 0.208928181 0.354322550 0.444809460
5   0.005775624 0.048691871 0.136218437 0.276324106 0.482371616 0.617110649
6   0.006963963 0.059544287 0.169832109 0.354214889 0.647261992 0.860852411
6.5 0.007562569 0.065141878 0.187816716 0.398593094 0.755516596 1.054138223
7   0.008164194 0.070862350 0.206718833 0.447928730 0.901238775 inf
9   0.010601882 0.095128752 0.294590193 0.764621245 inf -
12  0.014357832 0.136863693 0.515634051 inf - -
15  0.018244467 0.188589313 inf - - -
20  0.025054043 0.346356557 inf - - -
30  0.040269605 inf - - - -
50  0.083639032 inf - - - -
60  0.141395582 inf - - - -
"""


def test_table_of_figure_1():
    weights = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    lines = [line.split() for line in FIGURE_1.strip().splitlines()]
    orders = np.array([float(line[0]) for line in lines])
    for r, column in zip(weights, zip(*(line[1:] for line in lines), strict=True), strict=True):
        found = g.supremum(BETA, PRIOR, N, orders, data_weight=r)
        printed = np.array([math.inf if v == "-" else float(v) for v in column])
        np.testing.assert_allclose(found, printed, rtol=0, atol=5.1e-10)  # nine decimals


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_asymptotes_of_figure_1(weight):
    """lambda* = 1 + min(a, b) / r, and likewise with m: finite below, infinite at it."""
    for tempered in ({"data_weight": weight}, {"prior_weight": 1 / weight}):
        top = g.critical_order(BETA, PRIOR, **tempered)
        assert top == pytest.approx(1 + 6 / weight)
        assert g.supremum(BETA, PRIOR, N, top, **tempered) == math.inf
        assert g.supremum(BETA, PRIOR, N, top * (1 - 1e-9), **tempered) < math.inf
        assert g.supremum(BETA, PRIOR, N, top * (1 + 1e-9), **tempered) == math.inf


@pytest.mark.parametrize(("order", "value"), [(1.3, 0.572714), (2, 0.980829), (2.5, 1.420148)])
def test_three_categories_to_the_published_digits(order, value):
    law, prior = dirichlet(2, 3, 4)
    assert g.supremum(law, prior, 20, order) == pytest.approx(value, abs=6e-7)


@pytest.mark.parametrize(
    ("concentrations", "n"),
    [
        ((6, 12), 100),
        ((1, 1), 9),
        ((0.3, 5), 12),
        ((2, 3, 4), 20),
        ((1, 1, 1), 8),
        ((9, 0.7, 2), 10),
        ((2, 3, 4, 5), 12),
    ],
)
@pytest.mark.parametrize("tempered", [{}, {"data_weight": 0.4}, {"prior_weight": 1 / 0.3}], ids=str)
def test_brute_force_over_all_neighbours(concentrations, n, tempered):
    law, prior = dirichlet(*concentrations)
    top = min(g.critical_order(law, prior, **tempered), 40.0)
    for order in (1.0, 1 + 0.2 * (top - 1), 1 + 0.9 * (top - 1), 1 + 1.1 * (top - 1)):
        exact, tried = g.supremum(law, prior, n, order, **tempered), brute_force(law, prior, n, order, **tempered)
        # the closed form divides an error of 1e-13 by order - 1
        assert exact == tried or exact == pytest.approx(tried, rel=1e-8, abs=1e-11)


@given(
    a=st.lists(st.floats(0.2, 30), min_size=2, max_size=4),
    n=st.integers(1, 30),
    weights=st.tuples(st.floats(0.05, 1), st.floats(1, 20)),
    order=st.floats(1.01, 12),
    data=st.data(),
)
@settings(deadline=None, max_examples=300)
def test_no_pair_in_the_convex_hull_beats_the_supremum(a, n, weights, order, data):
    """Counts that are no whole numbers, and (two categories) records between the two: algorithm 4."""
    law, prior = dirichlet(*a)
    r, w = weights
    assume(abs(order - g.critical_order(law, prior, r, w)) > 1e-6)  # where one is infinite by rounding alone
    d = len(a)
    shares = np.array(data.draw(st.lists(st.floats(0, 1), min_size=d, max_size=d))) + 1e-9
    others = (n - 1) * shares / shares.sum()
    unit = np.eye(d)
    i, j = data.draw(st.permutations(range(d)))[:2]
    mine, other = unit[i], unit[j]
    if d == 2:
        s, t = data.draw(st.tuples(st.floats(0, 1), st.floats(0, 1)))
        mine, other = s * unit[0] + (1 - s) * unit[1], t * unit[0] + (1 - t) * unit[1]
    p, q = (law.natural(w * np.array(a) + r * (others + one)) for one in (mine, other))
    found = float(law.renyi(order, p, q))
    assert found <= g.supremum(law, prior, n, order, r, w) * (1 + 1e-9) + 1e-10


@given(
    a=st.tuples(st.floats(0.2, 30), st.floats(0.2, 30)),
    n=st.integers(1, 300),
    r=st.floats(0.05, 1),
    order=st.floats(1, 10),
)
@settings(deadline=None, max_examples=300)
def test_the_rarer_outcome_alone_sets_the_price(a, n, r, order):
    """Observed on all cases: for a <= b the pair (a, b + rn) -> (a + r, b + rn - r) is the worst."""
    law, prior = dirichlet(*sorted(a))
    low, high = sorted(a)
    first = g.coordinate_divergence(order, low, r) + g.coordinate_divergence(order, high + r * n, -r)
    assert g.supremum(law, prior, n, order, data_weight=r) in (
        pytest.approx(float(first), rel=1e-10),
        float(first),  # infinite
    )


def test_one_coordinate_to_sixty_digits():
    """Relative error below 1e-12 over small and large parameters, steps and orders, down to 1e-17 nats."""
    rng = np.random.default_rng(0)
    for _ in range(250):
        p = float(np.exp(rng.uniform(math.log(1e-3), math.log(1e5))))
        b = float(min(1.0, 0.999 * p) * np.exp(rng.uniform(-15, 0))) * rng.choice([-1, 1])
        order = 1 + float(np.exp(rng.uniform(-12, 5)))
        if b > 0 and p - (order - 1) * b <= 1e-4 * p:
            order = 1 + p / b * rng.uniform(0, 0.999)
        with mpmath.workdps(60):
            x, step, t = mpmath.mpf(p), mpmath.mpf(b), mpmath.mpf(order) - 1
            lower = mpmath.loggamma(x - t * step)
            exact = float((lower - (t + 1) * mpmath.loggamma(x) + t * mpmath.loggamma(x + step)) / t)
        assert float(g.coordinate_divergence(order, p, b)) == pytest.approx(exact, rel=1e-12)


def test_one_coordinate_at_order_one():
    with mpmath.workdps(40):
        x, b = mpmath.mpf(6), mpmath.mpf("0.25")
        exact = float(mpmath.loggamma(x + b) - mpmath.loggamma(x) - b * mpmath.digamma(x))
    assert float(g.coordinate_divergence(1.0, 6.0, 0.25)) == pytest.approx(exact, rel=1e-13)
    assert float(g.coordinate_divergence(1.0 + 1e-13, 6.0, 0.25)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(("r", "value"), [(1.0, 0.0396039604), (0.5, 0.0196078431)])
def test_gaussian_mean_to_the_published_digits(r, value):
    assert g.supremum(GAUSS, GAUSS_PRIOR, 100, 2, data_weight=r) == pytest.approx(value, abs=6e-11)


@given(
    shape=st.tuples(st.floats(0.1, 10), st.floats(0.1, 5), st.floats(0.01, 50)),
    n=st.integers(1, 20),
    weights=st.tuples(st.floats(0.05, 1), st.floats(1, 20)),
    order=st.floats(1, 30),
    rows=st.lists(st.floats(-20, 20), min_size=20, max_size=20),
    other=st.floats(-20, 20),
)
@settings(deadline=None, max_examples=200)
def test_gaussian_neighbours_stay_below_the_supremum(shape, n, weights, order, rows, other):
    """Any rows, clipped by the model; the extreme pair reaches the bound."""
    law = GaussianMean(*shape[:2])
    prior = np.array([0.3, shape[2]])
    r, w = weights
    bound = g.supremum(law, prior, n, order, r, w)

    def natural(x):
        return w * prior + r * np.array([law.statistic(np.array(x)[:, None]).sum(), n])

    mine = rows[:n]
    assert law.renyi(order, natural(mine), natural([*mine[:-1], other])) <= bound * (1 + 1e-9) + 1e-12
    worst = law.renyi(order, natural([*mine[:-1], -1e9]), natural([*mine[:-1], 1e9]))
    assert worst == pytest.approx(bound, rel=1e-7)


# ------------------------------------------------------------------------------------------------------ calibration


@given(
    a=st.lists(st.floats(0.2, 30), min_size=2, max_size=3),
    n=st.integers(1, 200),
    order=st.floats(1, 40),
    log_epsilon=st.floats(-14, 3),
)
@settings(deadline=None, max_examples=40)
def test_weights_are_feasible_and_the_next_ones_are_not(a, n, order, log_epsilon):
    law, prior = dirichlet(*a)
    epsilon = math.exp(log_epsilon)
    r = g.diffused_weight(law, prior, n, order, epsilon)
    m = g.concentrated_weight(law, prior, n, order, epsilon)
    assert g.supremum(law, prior, n, order, data_weight=r) <= epsilon
    assert g.supremum(law, prior, n, order, prior_weight=1 / m) <= epsilon
    # a millionth more costs more than epsilon
    assert r == 1 or g.supremum(law, prior, n, order, data_weight=min(1.0, r * (1 + 1e-6))) > epsilon
    assert m == 1 or g.supremum(law, prior, n, order, prior_weight=1 / min(1.0, m * (1 + 1e-6))) > epsilon


def test_the_posterior_itself_where_it_is_cheap_enough():
    price = g.supremum(BETA, PRIOR, N, 2)
    for weight in (g.diffused_weight, g.concentrated_weight):
        assert weight(BETA, PRIOR, N, 2, price) == 1.0
        assert weight(BETA, PRIOR, N, 2, 50.0) == 1.0
        assert weight(BETA, PRIOR, N, 2, price * (1 - 1e-9)) < 1.0
        # beyond the asymptote no epsilon is enough: min(a, b) / (order - 1)
        assert weight(BETA, PRIOR, N, 15, 1e9) == pytest.approx(6 / 14, rel=1e-12)
        assert weight(BETA, (1.0, 2.0), N, 15, 1e9) == pytest.approx(1 / 14, rel=1e-12)


@pytest.mark.parametrize("tempered", ["data_weight", "prior_weight"])
@pytest.mark.parametrize("order", [1.1, 2, 5, 15, 50])
def test_price_rises_with_the_weight(tempered, order):
    weights = np.linspace(0.002, 1, 500)
    given_ = (weights if tempered == "data_weight" else 1 / weights).tolist()
    found = np.array([g.supremum(BETA, PRIOR, N, order, **{tempered: v}) for v in given_])
    finite = np.isfinite(found)
    assert (np.diff(found[finite]) > 0).all()
    assert not finite[np.argmin(finite) :].any() or finite.all()


def test_tiny_budgets_lose_no_digits():
    """epsilon = 1e-12, where a difference of log-Gamma functions has no digit left: half r costs a quarter."""
    r = g.diffused_weight(BETA, PRIOR, N, 2.0, 1e-12)
    assert g.supremum(BETA, PRIOR, N, 2.0, data_weight=r / 2) == pytest.approx(0.25e-12, rel=1e-4)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.01, 0.03, 0.039, 0.05])
@pytest.mark.parametrize("order", [1.0, 2.0, 30.0])
def test_gaussian_closed_forms_are_the_bisection(order, epsilon):
    """epsilon = order (2 r clip)^2 / (2 v (k + r n)), and k / m = order (2 clip)^2 / (2 epsilon v) - n."""
    law, prior = GaussianMean(variance=1.7, clip=0.8), (0.2, 3.0)
    ev, spread = epsilon * law.variance, order * law.diameter**2
    for n in (1, 100):
        r = min(1.0, (ev * n + math.sqrt((ev * n) ** 2 + 2 * ev * spread * prior[1])) / spread)
        m = prior[1] / max(prior[1], spread / (2 * ev) - n)
        assert g.diffused_weight(law, prior, n, order, epsilon) == pytest.approx(r, rel=1e-12)
        assert g.concentrated_weight(law, prior, n, order, epsilon) == pytest.approx(m, rel=1e-12)


@pytest.mark.parametrize(
    ("order", "epsilon", "message"),
    [(0.9, 1.0, "order 0.9"), (math.nan, 1.0, "order nan"), (math.inf, 1.0, "order inf"), (2.0, 0.0, "epsilon 0.0"),
     (2.0, -1.0, "epsilon -1.0"), (2.0, math.inf, "epsilon inf")],
)  # fmt: skip
def test_budgets_out_of_range_are_refused(order, epsilon, message):
    for weight in (g.diffused_weight, g.concentrated_weight):
        with pytest.raises(ValueError, match=message):
            weight(BETA, PRIOR, N, order, epsilon)


def test_weights_out_of_range_are_refused():
    for bad in ({"data_weight": 0.0}, {"data_weight": 1.5}, {"prior_weight": 0.5}, {"prior_weight": math.inf}):
        with pytest.raises(ValueError, match="weight"):
            g.supremum(BETA, PRIOR, N, 2, **bad)
    with pytest.raises(ValueError, match="n = 0"):
        g.supremum(BETA, PRIOR, 0, 2)
    with pytest.raises(ValueError, match=r"Renyi order 0\.5"):
        g.supremum(BETA, PRIOR, N, np.array([2.0, 0.5]))


# ---------------------------------------------------------------------------------------------------- ledger event


def test_the_event_holds_the_curve_and_leaves_out_what_is_infinite():
    event = g.draw_event(BETA, PRIOR, N, order=2.25)
    assert event.mechanism is Mechanism.WRITTEN_BOUND
    assert event.relation is Relation.REPLACE_ONE
    assert event.sensitivity == 1.0
    curve = dict(event.renyi_curve)
    assert max(curve) < 7
    assert {1.0, 2.25, 6.9, 6.94} <= {round(a, 9) for a in curve}
    assert all(math.isfinite(b) for b in curve.values())
    for order, bound in curve.items():
        assert bound == g.supremum(BETA, PRIOR, N, order)
    # at an order without a bound nothing stands, and nothing is promised
    assert 9.0 not in dict(g.draw_event(BETA, PRIOR, N, order=9.0).renyi_curve)
    assert renyi_divergence(Ledger([g.draw_event(BETA, PRIOR, N, order=9.0)]), 9.0) == math.inf


def test_the_event_is_converted_by_the_accountants():
    ledger = Ledger([g.draw_event(BETA, PRIOR, N)])
    cost = epsilon_of(ledger, 1e-5)
    assert cost.relation is Relation.REPLACE_ONE
    # (order, e)-Renyi gives e + log(1 / delta) / (order - 1): every order of the curve, and the sharper conversion
    curve = [(a, b) for a, b in ledger.events[0].renyi_curve if a > 1.01]
    plain = min(b + math.log(1e5) / (a - 1) for a, b in curve)
    sharp = min(b + math.log((a - 1) / a) - (math.log(1e-5) + math.log(a)) / (a - 1) for a, b in curve)
    assert cost.epsilon == pytest.approx(sharp, rel=1e-9)
    assert cost.epsilon < plain


def test_a_prior_close_to_its_boundary_still_converts():
    """lambda* = 1.05: none of the usual orders has a bound, the shares of lambda* do."""
    law, prior = dirichlet(0.05, 3.0)
    assert math.isfinite(epsilon_of(Ledger([g.draw_event(law, prior, 50)]), 1e-5).epsilon)


def test_composition_with_a_gaussian_release_under_a_renyi_budget():
    """A draw and a Gaussian release add up at the order; the budget refuses what is too much, and tells."""
    order = 3.0
    draw = g.draw_event(BETA, PRIOR, N, data_weight=0.5, order=order)
    price = g.supremum(BETA, PRIOR, N, order, data_weight=0.5)
    noise = order / (2 * 4.0**2)

    def spend(allowed):
        budget = BudgetSpec(renyi=(order, allowed), mode=Mode.ENFORCE).open(np.random.default_rng(0))
        budget.spend(draw)
        budget.gaussian("a sum", sensitivity=1.0, noise_multiplier=4.0, relation=Relation.REPLACE_ONE, proof="none")
        return budget

    budget = spend(price + noise)
    assert renyi_divergence(budget.ledger, order) == pytest.approx(price + noise, rel=1e-12)
    assert math.isfinite(epsilon_of(budget.ledger, 1e-5).epsilon)
    with pytest.raises(BudgetExceeded, match="a sum"):
        spend((price + noise) * (1 - 1e-6))
    with pytest.raises(BudgetExceeded, match="one draw from the posterior"):
        spend(price * (1 - 1e-6))


def test_two_draws_add_up():
    event = g.draw_event(BETA, PRIOR, N, data_weight=0.3, order=4.0)
    ledger = Ledger()
    ledger.record(event)
    ledger.record(event)
    assert [e.steps for e in ledger] == [2]
    assert renyi_divergence(ledger, 4.0) == pytest.approx(2 * dict(event.renyi_curve)[4.0], rel=1e-12)


def test_the_orders_include_those_of_the_accountant():
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    assert set(rdp.DEFAULT_RDP_ORDERS) <= set(g.ORDERS)
