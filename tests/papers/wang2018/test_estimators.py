"""AdaSSP, SSP, objective perturbation, OPS and AdaOPS: closed forms on small moments, laws, calibration.

Numbers with ten digits were worked out from the formulas of the source by other code; tolerances are half a unit of
their last digit unless said.
"""

import math

import numpy as np
import pytest
from scipy.stats import norm

from methods._shared import adassp as single
from methods._shared import linear_draw_guarantee as guarantee
from papers.wang2018.estimators import objective_perturbation as objective
from papers.wang2018.estimators import perturbed_moments as perturbed
from papers.wang2018.estimators import posterior_sampling as sampling
from papers.wang2018.estimators.moments import AUTHORS, CORRECTED, PRINTED, Moments
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec, Mode
from privacy.ledger import Ledger
from privacy.repeats import OneFit, Repeats

DELTA = 1e-6
X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0], [0.8, -0.6]])
Y = np.array([1.0, 0.5, -0.5, 0.25])
TINY = Moments.of(X, Y)
LARGE = Moments(np.diag([300.0, 200.0]), np.array([60.0, -20.0]), 500)
BOUND = Moments(np.diag([30.0, 20.0]), np.array([90.0, -20.0]), 500)
ENGINES = {
    "ssp": perturbed.ssp,
    "adassp": perturbed.adassp,
    "objpert": objective.objective_perturbation,
    "adaops": sampling.adaops,
    **{
        rule: (lambda *a, rule=rule: sampling.ops(a[0], rule, *a[1:]))
        for rule in sampling.RULES
    },
}  # fmt: skip


class Silent:
    """A noise source without noise that keeps what it was asked for."""

    count = 1

    def __init__(self):
        self.multipliers, self.events = [], []

    def gaussian(self, what, value, *, sensitivity, noise_multiplier, relation, proof, batched=False):
        self.multipliers.append(noise_multiplier)
        return np.asarray(value) if batched else np.asarray(value)[None]

    def draw(self, event, size, make):
        self.events.append(event)
        return make(np.zeros((1, size)))


def near(expected, digits=10):
    return pytest.approx(expected, rel=0.51 * 10 ** (1 - digits))


def made_up(n=900, d=4):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, np.clip(x @ np.linspace(-0.4, 0.6, d) + 0.1 * rng.standard_normal(n), -1, 1)


# ---------------------------------------------------------------------------------------------- oracles without noise


def test_moments():
    assert pytest.approx(2 * np.eye(2)) == TINY.gram
    assert pytest.approx([1.5, 0.75]) == TINY.cross
    assert TINY.ridge(np.array([1.0]))[0] == pytest.approx([0.5, 0.25])
    with pytest.raises(ValueError, match="norm"):
        Moments.of(1.01 * X, Y)
    with pytest.raises(ValueError, match="norm"):
        Moments.of(X, 2 * Y)


def test_adassp_as_run():
    told = Silent()
    assert perturbed.adassp(TINY, 1.0, DELTA, AUTHORS, told)[0] == near([0.0368013189, 0.0184006595], 9)
    assert told.multipliers == near([11.85181126] * 3)
    assert perturbed.adassp(LARGE, 1.0, DELTA, AUTHORS, Silent())[0] == near([0.1993355482, -0.0995024876], 9)
    penalty = perturbed.adaptive_penalty(np.zeros(1), 11.851811264, 2, math.log(6 / DELTA))
    assert penalty == near([37.75940872])


def test_ssp_as_run():
    told = Silent()
    assert perturbed.ssp(TINY, 1.0, DELTA, AUTHORS, told)[0] == pytest.approx([0.5, 0.25])
    assert told.multipliers == near([3.898949207] * 2)


@pytest.mark.parametrize(
    ("rule", "moments", "penalty", "root"),
    [
        ("concentrated", TINY, 56.01677916, 1.0),
        ("diffused", TINY, 15.50865774, 0.3984443422),
        ("balanced", TINY, 15.50865774, 0.3984443422),
        ("worstcase", TINY, 19.3376558, 0.5521285138),
        ("concentrated", LARGE, 135.5818378, 1.0),
        ("balanced", LARGE, 45.38537067, 0.4160555621),
        ("diffused", LARGE, 15.50865774, 0.09994291848),
        ("worstcase", LARGE, 19.3376558, 0.1449953005),
    ],
)
def test_rules(rule, moments, penalty, root):
    found = sampling.tempered(rule, moments.n, 2, 1.0, DELTA, AUTHORS)
    assert (found.penalty, math.sqrt(found.power)) == (near(penalty, 9), near(root, 9))


def test_the_logical_and_of_the_concentrated_rule():
    """Root of epsilon s^2 - 2 sqrt(l) s + c = 0, c = 1 as run and -(2 + (1 + l) / 2) as meant, where lambda > n / 2."""
    tail = math.log(2 / DELTA)
    for epsilon in (0.01, 0.1, 1.0):
        for reading, c in ((AUTHORS, 1.0), (PRINTED, -(2 + (1 + tail) / 2))):
            s = math.sqrt(sampling.tempered("concentrated", 10, 2, epsilon, DELTA, reading).penalty)
            assert epsilon * s**2 - 2 * math.sqrt(tail) * s + c == pytest.approx(0, abs=1e-9 * epsilon * s**2)
    many = [sampling.tempered("concentrated", 10**6, 2, 1.0, DELTA, r).penalty for r in (AUTHORS, PRINTED)]
    assert many[0] == many[1]


@pytest.mark.parametrize(
    ("moments", "epsilon", "penalty", "centre", "length", "root"),
    [
        (TINY, 1.0, 157.7696794, (0.0093301175, 0.0046650588), 1.159227554, 1.210007595),
        (TINY, 10.0, 29.12594292, None, 1.299045621, 4.390469183),
        (LARGE, 1.0, 19.19875948, (0.1873836117, -0.090827033), 1.532409416, 0.9153390279),
        (BOUND, 10.0, 14.36885093, None, 2.239131798, None),
    ],
)
def test_adaops_as_run(monkeypatch, moments, epsilon, penalty, centre, length, root):
    seen = {}
    keep = sampling.power_of

    def spy(found, h, tail, cost):
        seen.update(length=found[0], root=math.sqrt(keep(found, h, tail, cost)[0]))
        return keep(found, h, tail, cost)

    monkeypatch.setattr(sampling, "power_of", spy)
    drawn = sampling.adaops(moments, epsilon, DELTA, AUTHORS, Silent())[0]
    tail = math.log(6 / DELTA)
    least = max(0.0, moments.values[0] + 1 - 4 * tail / epsilon)
    assert sampling.chosen_penalty(2, epsilon, tail, np.array([least])) == near([penalty], 9)
    assert seen["length"] == near(length, 9)
    if centre is not None:
        assert drawn == near(list(centre), 8)
    if root is not None:
        assert seen["root"] == near(root, 9)


def test_the_penalty_of_adaops_is_the_minimum():
    """Against a grid: no point of it is lower by more than rounding."""
    c1, c2 = 6330.702534, 62.42908011
    h = sampling.best_h(c1, c2)

    def objective_at(v):
        return c1 * (1 + 1 / v) ** (2 * c2) / v + v

    assert objective_at(h) <= np.min(objective_at(h * np.geomspace(0.2, 5, 2001))) * (1 + 1e-12)


def test_objective_perturbation_solves_for_half():
    whole = objective.objective_perturbation(TINY, 1.0, DELTA, PRINTED, Silent())[0]
    half = objective.objective_perturbation(TINY, 1.0, DELTA, AUTHORS, Silent())[0]
    assert whole == pytest.approx([0.375, 0.1875])
    assert half == pytest.approx(whole / 2)
    assert objective.objective_perturbation(LARGE, 1.0, DELTA, AUTHORS, Silent())[0] == near(
        [0.0993377483, -0.0495049505], 9
    )


def test_objective_perturbation_on_the_sphere():
    found = objective.objective_perturbation(BOUND, 10.0, DELTA, AUTHORS, Silent())[0]
    assert found == near([0.9622941976, -0.2720108034], 9)
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_minimiser_obeys_its_conditions(seed):
    """Stationarity with a multiplier of the ball: H w + m w = r, m >= 0, and m > 0 only on the sphere."""
    x, y = made_up()
    moments, ridge = Moments.of(x, y), 0.5
    right = np.random.default_rng(seed).standard_normal((50, 4)) * 10 ** np.random.default_rng(seed).uniform(
        0, 3, (50, 1)
    )
    w = objective.minimiser(moments, ridge, right)
    norm_ = np.linalg.norm(w, axis=1)
    residual = right - w @ (moments.gram + ridge * np.eye(4))
    multiplier = np.sum(residual * w, axis=1) / norm_**2
    assert residual == pytest.approx(multiplier[:, None] * w, abs=1e-8 * np.abs(right).max())
    assert (norm_ <= 1 + 1e-12).all()
    assert (multiplier >= -1e-8).all()
    assert multiplier[norm_ < 1 - 1e-9] == pytest.approx(0, abs=1e-8)
    assert 0 < np.sum(norm_ < 1 - 1e-9) < 50


# ------------------------------------------------------------------------------------------------------ law of a draw


def factor(reading):
    """Columns: what a draw adds for z = (1, 0) and (0, 1)."""
    h = np.array([[4.0, 2.0], [2.0, 3.0]])
    moments = Moments(h - np.eye(2), np.zeros(2), 9)
    zero, one = np.zeros(2), np.ones(2)
    return sampling.draw(moments, zero, one, np.eye(2), reading).T


def test_the_programs_factor_and_the_posteriors():
    as_run, stated = factor(AUTHORS), factor(PRINTED)
    assert pytest.approx(np.array([[0.5, -0.3535533906], [0.0, 0.7071067812]])) == as_run.T
    assert as_run @ as_run.T == pytest.approx(np.array([[0.25, -0.1767766953], [-0.1767766953, 0.625]]))
    assert stated @ stated.T == pytest.approx(np.linalg.inv([[4.0, 2.0], [2.0, 3.0]]))
    assert as_run @ as_run.T != pytest.approx(stated @ stated.T, rel=0.1)
    assert np.linalg.eigvalsh(as_run @ as_run.T) == pytest.approx(np.linalg.eigvalsh(stated @ stated.T))


def test_one_penalty_and_one_a_repetition_give_the_same_draws():
    x, y = made_up()
    moments, z = Moments.of(x, y), np.random.default_rng(0).standard_normal((3, 4))
    for reading in (AUTHORS, PRINTED):
        together = sampling.draw(moments, np.full(3, 7.0), np.full(3, 0.3), z, reading)
        apart = sampling.draw(moments, np.array([7.0, 7.0, 8.0]), np.full(3, 0.3), z, reading)
        assert together[:2] == pytest.approx(apart[:2], rel=1e-12)


@pytest.mark.parametrize("reading", [AUTHORS, PRINTED])
def test_a_draw_does_not_depend_on_the_choice_of_eigenvectors(reading):
    """One library gives an eigenvector, another its negative; a rotation of those of equal eigenvalues is as good."""
    x, y = made_up()
    x[:, 2:] = 0.0  # X'X has the eigenvalue 0 twice
    one, other = Moments.of(x, y), Moments.of(x, y)
    turn = np.diag([1.0, 1.0, -1.0, 1.0])
    turn[:2, :2] = [[0.6, -0.8], [0.8, 0.6]]
    assert other.values[:2] == pytest.approx(0.0, abs=1e-12)
    other.__dict__["_eigen"] = one.values, one.vectors @ turn
    z = np.random.default_rng(0).standard_normal((3, 4))
    draws = [sampling.draw(m, np.full(3, 7.0), np.full(3, 0.3), z, reading) for m in (one, other)]
    assert draws[0] == pytest.approx(draws[1], rel=1e-12)


# ----------------------------------------------------------------------------------------------------- noise and budget


def readings_of(name):
    return (AUTHORS, CORRECTED) if name == "ssp" else (AUTHORS, PRINTED, CORRECTED)


@pytest.mark.parametrize("name", ENGINES)
def test_many_repetitions_begin_like_one_fit(name):
    """A single repetition reads the stream as a fit through the budget's mechanisms does: bit for bit."""
    moments = Moments.of(*made_up())
    for reading in readings_of(name):
        a, b = np.random.default_rng(1), np.random.default_rng(1)
        spec = BudgetSpec(epsilon=1.0, delta=DELTA)
        one, many = OneFit(spec.open(a), a), Repeats(spec.open(b), b, 1)
        found = [ENGINES[name](moments, 1.0, DELTA, reading, source) for source in (one, many)]
        assert np.array_equal(*found)
        assert one.budget.ledger == many.budget.ledger


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", ENGINES)
def test_the_corrected_reading_keeps_its_budget(name, epsilon):
    """In mode ``enforce``, and without waste: what is left is below 1 % (5 % where a search is by Renyi orders)."""
    moments = Moments.of(*made_up())
    spec = BudgetSpec(epsilon=epsilon, delta=DELTA, mode=Mode.ENFORCE)
    source = OneFit(spec.open(np.random.default_rng(0)), np.random.default_rng(0))
    ENGINES[name](moments, epsilon, DELTA, CORRECTED, source)
    kept = sampling.constants(epsilon, DELTA)[2] if name == "adaops" else DELTA
    cost = epsilon_of(source.budget.ledger, kept).epsilon
    assert cost <= epsilon * (1 + 1e-9)
    assert cost >= 0.95 * epsilon


def gaussian_delta(mu, epsilon):
    """Balle & Wang 2018, written out here."""
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("name", "releases", "k", "share"), [("ssp", 2, 4, 1), ("adassp", 3, 6, 3)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_epsilon_of_the_programs_noise(name, releases, k, share, epsilon):
    """The accountants against the closed form of Gaussian DP: sqrt(releases) / multiplier. 1e-6: their root search."""
    budget = BudgetSpec(epsilon=epsilon, delta=DELTA).open(np.random.default_rng(0))
    ENGINES[name](TINY, epsilon, DELTA, AUTHORS, OneFit(budget, np.random.default_rng(0)))
    mu = math.sqrt(releases) * epsilon / share / math.sqrt(math.log(k / DELTA))
    real = epsilon_of(budget.ledger, DELTA).epsilon
    assert gaussian_delta(mu, real) == pytest.approx(DELTA, rel=1e-4)
    assert (real > epsilon) == (name == "ssp")


def test_the_programs_draws_have_no_bound():
    for name in (*sampling.RULES, "adaops"):
        budget = BudgetSpec(epsilon=1.0, delta=DELTA).open(np.random.default_rng(0))
        ENGINES[name](LARGE, 1.0, DELTA, AUTHORS, OneFit(budget, np.random.default_rng(0)))
        assert epsilon_of(budget.ledger, DELTA).epsilon == math.inf


def test_the_triangle_is_the_one_of_the_single_fit():
    """``methods._shared.adassp`` releases the same numbers of the same rows."""
    x, _ = made_up()
    rows, columns = np.triu_indices(4)
    packed = single.second_moments(x, 1.0)
    weights = np.where(rows == columns, 1.0, math.sqrt(2))
    assert packed == pytest.approx((x.T @ x)[rows, columns] * weights)
    assert perturbed.released_triangle(Silent(), x.T @ x, 1.0)[0] == pytest.approx(single.unpacked(packed, 4))


@pytest.mark.parametrize("reading", [AUTHORS, PRINTED])
def test_the_law_of_adassps_noise(reading):
    """4,000 matrices: variance s^2 on the diagonal; beside it s^2 / 2 as run, s^2 as printed; 6 standard errors
    each."""
    source = Repeats(
        BudgetSpec(epsilon=1.0, delta=DELTA).open(np.random.default_rng(0)), np.random.default_rng(4), 4000
    )
    found = perturbed.released_triangle(source, np.zeros((3, 3)), 2.0, weighted=reading == AUTHORS)
    assert np.array_equal(found, np.swapaxes(found, 1, 2))
    beside = 2.0 if reading == AUTHORS else 4.0
    assert found[:, 0, 0].var() == pytest.approx(4.0, rel=6 * math.sqrt(2 / 4000))
    assert found[:, 0, 1].var() == pytest.approx(beside, rel=6 * math.sqrt(2 / 4000))


# ---------------------------------------------------------------------------------------------------- sensitivities


@pytest.mark.parametrize("seed", range(20))
def test_sensitivities_on_random_neighbours(seed):
    """Steps 1 to 3 of the proof of the corrected AdaOPS on a row more: eigenvalue, norm, and both bounds on the
    norm."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 60)), int(rng.integers(1, 5))
    x = rng.standard_normal((n + 1, d)) * 10 ** rng.uniform(-2, 1, (n + 1, 1))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    y = np.sign(rng.standard_normal(n + 1))
    less, more = Moments.of(x[:-1], y[:-1]), Moments.of(x, y)
    assert 0 <= more.values[0] - less.values[0] + 1e-9 <= 1 + 2e-9
    penalty = 10 ** rng.uniform(-1, 2)
    for given in (less, more):  # l is the eigenvalue of either data set
        h = penalty + max(0.0, given.values[0])
        norms = [math.log1p(np.linalg.norm(m.ridge(np.array([1 + penalty]))[0])) for m in (less, more)]
        assert abs(norms[0] - norms[1]) <= math.log1p(1 / h) * (1 + 1e-9)
        assert math.exp(norms[0]) <= (1 + 1 / h) * math.exp(norms[1]) * (1 + 1e-9)
    assert math.exp(max(norms)) <= sampling.true_cap(n + 1, penalty + 1)


def normal_divergence(order, p, q):
    """Renyi divergence of two normal laws (mean, precision) by Gil, Alajaji & Linder 2013."""
    (m0, a0), (m1, a1) = p, q
    s0, s1 = np.linalg.inv(a0), np.linalg.inv(a1)
    mixed = (1 - order) * s0 + order * s1
    if np.linalg.eigvalsh(mixed)[0] <= 0:
        return math.inf
    shift = m0 - m1
    logs = np.linalg.slogdet(mixed)[1] - (1 - order) * np.linalg.slogdet(s0)[1] - order * np.linalg.slogdet(s1)[1]
    return 0.5 * order * shift @ np.linalg.solve(mixed, shift) - 0.5 / (order - 1) * logs


@pytest.mark.parametrize("seed", range(10))
def test_the_curve_of_the_draw_covers_random_neighbours(seed):
    """Step 4: both directions, at the h and L of the pair itself."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 40)), int(rng.integers(1, 4))
    x = rng.standard_normal((n + 1, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = rng.uniform(-1, 1, n + 1)
    penalty, power = 10 ** rng.uniform(0, 2), 10 ** rng.uniform(-1, 1)
    laws = []
    for m in (Moments.of(x[:-1], y[:-1]), Moments.of(x, y)):
        h_matrix = m.gram + (1 + penalty) * np.eye(d)
        laws.append((np.linalg.solve(h_matrix, m.cross), power * h_matrix))
    h = float(np.linalg.eigvalsh(laws[0][1] / power)[0])
    length = 1 + np.linalg.norm(laws[0][0])
    for order in 1 + h * np.array([0.01, 0.1, 0.5, 0.9]):
        bound = float(sampling.draw_curve(order, h, power * length**2))
        assert normal_divergence(order, laws[0], laws[1]) <= bound + 1e-9
        assert normal_divergence(order, laws[1], laws[0]) <= bound + 1e-9


def test_the_bound_of_objective_perturbation_in_one_dimension():
    """d = 1: the density of the release is known; its Renyi divergence by quadrature is below the bound and near it.

    Rows x = 1; without the ball (the release stays inside it) w = (b - z) / (g + ridge).
    """
    ridge, sd, g, b = 4.0, 6.0, 40.0, 3.0
    bound = {o: float(objective.renyi_bound(o, 1.0, ridge, sd)) for o in (2.0, 8.0)}
    for y in (1.0, -1.0):
        laws = [(b / (g + ridge), sd / (g + ridge)), ((b + y) / (g + 1 + ridge), sd / (g + 1 + ridge))]
        for p, q in (laws, laws[::-1]):
            w = p[0] + p[1] * np.linspace(-12, 12, 20001)
            log_p, log_q = (norm.logpdf(w, *law) for law in (p, q))
            for order, limit in bound.items():
                with np.errstate(over="ignore"):
                    moment = np.sum(np.exp(order * log_p - (order - 1) * log_q)) * (w[1] - w[0])
                assert math.log(moment) / (order - 1) <= limit


@pytest.mark.parametrize("rule", sampling.RULES)
def test_the_search_for_gamma(rule):
    """What is found fits, and 1 % more does not."""
    penalty = sampling.tempered(rule, 900, 4, 1.0, DELTA, CORRECTED).penalty
    power = sampling.largest_power(penalty, 1.0, DELTA, 900)
    events = [guarantee.draw_event(p, p * (penalty + 1), 1.0, 900) for p in (power, 1.01 * power)]
    cost = [guarantee.cost((), event, DELTA) for event in events]
    assert cost[0] <= 1.0 < cost[1]


@pytest.mark.parametrize(("n", "expected"), [(7, 7), (999, 999), (1001, 1010), (41_157, 41_200), (1440, 1440)])
def test_rounding_up(n, expected):
    assert sampling.rounded_up(n) == expected


@pytest.mark.parametrize("name", ENGINES)
def test_an_unknown_reading_is_refused(name):
    with pytest.raises(ValueError, match="reading"):
        ENGINES[name](TINY, 1.0, DELTA, "guessed", Silent())


def test_written_events_are_one_release():
    event = objective.event(1.0, 2.0, 15.0)
    assert Ledger([event]).events[0].steps == 1
