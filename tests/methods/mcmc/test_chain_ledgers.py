"""What the chains cost, read from their ledgers; and that a run next to without noise is the run without privacy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from methods.contract import get
from methods.mcmc import _kernels
from methods.mcmc._network import Network
from methods.mcmc._plans import Langevin, hamiltonian, langevin, thermostat, walk
from methods.mcmc._release import GRADIENTS, RATIOS, Purse, scaled_target
from methods.mcmc._targets import Size
from models import tiny
from models.bnn_regression import BNNRegression
from models.bounded import BoundedLinearRegression, BoundedLogisticRegression, Frame
from privacy.accountants import epsilon_of, gdp_epsilon, gdp_mu
from privacy.budget import Budget, BudgetSpec, Mode
from privacy.ledger import Event, Mechanism, Relation, Sampling

DELTA = 1e-5
RELATION = Relation.ADD_REMOVE
CHAINS = ["dp_sgld", "dp_sgnht", "dp_penalty", "dp_hmc"]


def task(kind: str = "linear", n: int = 300):
    if kind == "logistic":
        return tiny.two_classes(BoundedLogisticRegression(), n, 0)
    return tiny.regression(BoundedLinearRegression(), n, 0)


def fit(name: str, epsilon: float = 1.0, kind: str = "linear", n: int = 300, **settings):
    method = get(name)
    budget = BudgetSpec(epsilon=epsilon, delta=DELTA, mode=Mode.ENFORCE).open(np.random.default_rng(1))
    return method.fit(task(kind, n), method.Settings(**settings), budget, np.random.default_rng(2))


def spent(ledger, what: str | None = None) -> float:
    """mu^2 of the full-batch Gaussian events (with that text)."""
    return sum(e.steps / e.noise_multiplier**2 for e in ledger if what in (None, e.what))


@pytest.mark.parametrize("kind", ["linear", "logistic"])
@pytest.mark.parametrize("name", CHAINS)
def test_the_whole_budget_is_spent_and_no_more(name, kind):
    assert spent(fit(name, kind=kind).ledger) == pytest.approx(gdp_mu(1.0, DELTA) ** 2, rel=1e-6)


def langevin_law(event, clip: float) -> float:
    """h T C^2 / (4 mu^2) of an event, h from its noise alone; 1 where temperature and privacy are the same noise."""
    step_size = (2.0 * event.sampling_rate / event.noise_scale) ** 2
    return step_size * event.steps * clip**2 / (4.0 * event.steps / event.noise_multiplier**2)


def test_the_noise_of_a_langevin_step_is_its_temperature():
    """From the ledger alone; an accountant that is told 2 C for C gives 1/4, one that is told C / 2 gives 4."""
    made = fit("dp_sgld")
    (event,) = [e for e in made.ledger if e.what == GRADIENTS]
    clip = made.diagnostics["clip"]
    assert made.diagnostics["step_size"] == pytest.approx((2.0 / event.noise_scale) ** 2)
    assert langevin_law(event, clip) == pytest.approx(1.0)
    doubled = Event(
        GRADIENTS, Mechanism.GAUSSIAN, RELATION, 2.0 * clip, event.noise_scale, Sampling.FULL_BATCH, 1.0, event.steps
    )
    assert langevin_law(doubled, clip) == pytest.approx(0.25)


def test_the_noise_of_a_thermostat_step_is_its_temperature():
    made = fit("dp_sgnht")
    (event,) = [e for e in made.ledger if e.what == GRADIENTS]
    told = made.diagnostics
    assert event.noise_scale == pytest.approx(math.sqrt(2.0 * told["friction"] / told["step_size"]))
    assert event.sensitivity == told["clip"]


def test_poisson_batches_are_charged_as_drawn():
    made = fit("dp_sgld", steps=20, batch_rows=60)
    (event,) = [e for e in made.ledger if e.what == GRADIENTS]
    assert (event.sampling, event.sampling_rate, event.steps) == (Sampling.POISSON, 0.2, 20)
    assert event.noise_scale == pytest.approx(2 * 0.2 / math.sqrt(made.diagnostics["step_size"]))


def test_every_accept_step_and_every_gradient_is_in_the_ledger():
    penalty, hmc = fit("dp_penalty", steps=60, start_share=0.3), fit("dp_hmc", steps=60, start_share=0.3)
    whole = gdp_mu(1.0, DELTA) ** 2
    for made in (penalty, hmc):
        left = whole - spent([e for e in made.ledger if e.what not in (GRADIENTS, RATIOS)])
        (ratio,) = [e for e in made.ledger if e.what == RATIOS]
        assert (ratio.steps, ratio.sensitivity, ratio.sampling) == (60, 1.0, Sampling.FULL_BATCH)
        start = next(e for e in made.ledger if e.what == GRADIENTS)
        assert spent([start]) == pytest.approx(0.3 * left, rel=1e-6)
    of_hmc = [e for e in hmc.ledger if e.what == GRADIENTS][1:]
    assert sum(e.steps for e in of_hmc) == 60 * (hmc.diagnostics["leapfrog"] + 1)
    assert len([e for e in penalty.ledger if e.what == GRADIENTS]) == 1


def test_the_last_draw_costs_what_all_of_them_cost():
    one, every = (fit("dp_sgld", steps=40, burn_in=0.0, draws=k) for k in (1, 40))
    assert one.ledger.to_json() == every.ledger.to_json()
    last, path = (f.posterior.posterior.draws for f in (one, every))
    assert (len(last), len(path)) == (1, 40)
    np.testing.assert_array_equal(last[0], path[-1])


@pytest.mark.parametrize(
    ("epsilon", "penalty", "hmc"), [(1, 56, 33), (2, 201, 119), (3, 419, 248), (4, 702, 416), (5, 1041, 616)]
)
def test_the_accountant_allows_the_published_numbers_of_steps(epsilon, penalty, hmc):
    """Raisa 2021 (thesis), tau = .1 (penalty), (.1, .4) with L = 10 (HMC), n = 1e5, delta = 1e-6: the counts of its
    accountant, and one step more costs too much."""
    n = 1e5

    def cost(k: int, *parts: tuple[float, int]) -> float:
        mu2 = sum(k * times / (tau**2 * n) for tau, times in parts)
        return gdp_epsilon(math.sqrt(mu2), 1e-6)

    assert cost(penalty, (0.1, 1)) <= epsilon < cost(penalty + 1, (0.1, 1))
    assert cost(hmc, (0.1, 1), (0.4, 11)) <= epsilon < cost(hmc + 1, (0.1, 1), (0.4, 11))
    purse = Purse(BudgetSpec(epsilon=epsilon, delta=1e-6).open(np.random.default_rng(0)), RELATION)
    assert purse.multiplier(penalty) <= 0.1 * math.sqrt(n) < purse.multiplier(penalty + 1)


# --------------------------------------------------------------------------------------------------- the plans

SIZE = Size(rows=10_000, coordinates=10, trace=10.0, prior=0.0, norm=2 * math.sqrt(10.0))


def of(mu: float, size: Size = SIZE):
    """Plans at a budget of mu."""

    def multiplier(steps: int) -> float:
        return math.sqrt(steps) / mu

    told = {"steps": None, "clip": 1.0, "rate": 1.0}
    test = {"steps": None, "noise": 1.0}
    return (
        langevin(size, mu, multiplier, **told),
        thermostat(size, mu, multiplier, **told, friction=1.0),
        walk(size, mu, multiplier, clip=4.0, **test),
        hamiltonian(size, mu, multiplier, clip=1.0, ratio_clip=4.0, **test),
    )


def cost(plan: Langevin) -> float:
    return math.sqrt(plan.steps) / plan.noise_multiplier


@pytest.mark.parametrize("mu", [0.03, 0.3, 2.0, 40.0, 1400.0])
def test_plans_keep_the_budget_and_stay_stable(mu):
    first, second, third, fourth = of(mu)
    assert cost(first) == pytest.approx(mu)
    assert cost(second) == pytest.approx(mu)
    assert first.step_size * SIZE.stiffness <= 2.0 + 1e-9
    assert second.step_size * math.sqrt(SIZE.stiffness) <= 0.5 + 1e-9
    assert second.step_size * second.friction <= 0.25 + 1e-9
    assert first.clip >= SIZE.norm * (1 - 1e-9)
    assert math.sqrt(third.steps) / third.noise_multiplier == pytest.approx(mu)
    parts = fourth.steps / fourth.ratio_multiplier**2
    parts += fourth.steps * (fourth.leapfrog + 1) / fourth.gradient_multiplier**2
    assert math.sqrt(parts) == pytest.approx(mu)
    assert third.width <= 2.38 / math.sqrt(SIZE.rows * SIZE.trace) * (1 + 1e-9)
    assert fourth.step_size * math.sqrt(SIZE.stiffness) <= 0.7 + 1e-9


def test_where_no_row_reaches_the_clip_the_rest_of_the_budget_is_not_spent():
    bounded = Size(SIZE.rows, SIZE.coordinates, SIZE.trace, 0.0, SIZE.norm, 1.5 * SIZE.norm)
    plan = of(1400.0, bounded)[0]
    assert plan.clip == bounded.bound
    assert cost(plan) < 100.0


# -------------------------------------------------------------------------------------------------- the twins


def twin(name: str, target, plan, rng, noise) -> np.ndarray:
    """The chain without clip and without the noise of its releases, but for the temperature, which ``noise`` draws."""

    def gradient(theta, scale, step):
        return target.clipped_gradients(theta, scale, None, 1e300) + noise(len(theta))

    def ratio(energy, other, c):
        return float((other - energy).sum()) / c

    told = {"steps": plan.steps, "burn_in": 0, "draws": plan.steps}
    theta, scale = target.start, target.unit(target.start)
    if name == "dp_sgld":
        return _kernels.sgld(target, theta, gradient, step_size=plan.step_size, **told).draws
    if name == "dp_sgnht":
        return _kernels.sgnht(
            target, theta, gradient, rng, step_size=plan.step_size, friction=plan.friction, **told
        ).draws
    wide = {"bound": _kernels.Bound(1e9), "noise_multiplier": 0.0}
    if name == "dp_penalty":
        return _kernels.penalty(target, theta, scale, ratio, rng, width=plan.width, **wide, **told).draws
    return _kernels.hmc(
        target, theta, scale, gradient, ratio, rng, step_size=plan.step_size, leapfrog=plan.leapfrog, **wide, **told
    ).draws


def run(name: str, kind: str, multiplier: float):
    """(draws, target, diagnostics, method) of 60 steps at that noise multiplier, everything kept."""
    made = task(kind, 100)
    unit = Frame(np.zeros(2), np.full(2, 2.0), 0.0, 5.0 if kind == "linear" else 1.0).task(made)
    budget: Budget = BudgetSpec(noise_multiplier=multiplier).open(np.random.default_rng(3))
    target, method = scaled_target(unit, budget), get(name)
    more = {"start_share": 0.0} if name in ("dp_penalty", "dp_hmc") else {}
    settings = method.Settings(steps=60, burn_in=0.0, draws=60, **more)
    path, told = method.run(target, settings, Purse(budget, RELATION), 1.0, np.random.default_rng(4))
    return path.draws, target, told


@pytest.mark.parametrize("kind", ["linear", "logistic"])
@pytest.mark.parametrize("name", CHAINS)
def test_at_next_to_no_privacy_a_chain_is_its_twin(name, kind):
    """Step by step. The temperature of Langevin chains stays: the twin gets the same normal numbers for it."""
    multiplier = 1e-9
    draws, target, told = run(name, kind, multiplier)
    plan = type("Plan", (), {k: int(v) if k in ("steps", "leapfrog") else v for k, v in told.items()})
    stream = np.random.default_rng(3)
    stream.normal(size=(2, 2))  # of the column means
    sd = {
        "dp_sgld": lambda: 2.0 / math.sqrt(plan.step_size),
        "dp_sgnht": lambda: math.sqrt(2.0 * plan.friction / plan.step_size),
    }.get(name, lambda: 0.0)()
    same = twin(name, target, plan, np.random.default_rng(4), lambda d: sd * stream.normal(size=d))
    np.testing.assert_allclose(draws, same, rtol=1e-4, atol=1e-4)
    assert np.ptp(draws, axis=0).min() > 0


@pytest.mark.parametrize(("rows", "hidden", "inputs"), [(1439, 50, 11), (8000, 50, 8), (41_157, 100, 9)])
def test_accept_steps_lead_nowhere_on_a_network(rows, hidden, inputs):
    """The reason that both methods give: all proposals taken, under a third of a posterior deviation at epsilon = 1."""
    made = tiny.regression(BNNRegression(hidden), 4, 0)
    size = Network(np.zeros((4, inputs)), made.y, made.model, rows, np.random.default_rng(0)).size
    mu = gdp_mu(1.0, DELTA) * math.sqrt(0.9 * 0.5)  # after the moments and the start
    given = {"steps": None, "noise": 1.0}
    walked = walk(size, mu, lambda t: math.sqrt(t) / mu, clip=4.0, **given)
    paths = hamiltonian(size, mu, lambda t: math.sqrt(t) / mu, clip=1.0, ratio_clip=4.0, **given)
    deviation = math.sqrt(size.coordinates / (size.rows * size.trace))
    assert math.sqrt(walked.steps) * walked.width < deviation / 3.0
    assert math.sqrt(paths.steps) * paths.leapfrog * paths.step_size < deviation / 3.0
    for name in ("dp_penalty", "dp_hmc"):
        assert "stays where it starts" in get(name).supports(made)
    for name in ("dp_sgld", "dp_sgnht"):
        assert get(name, "bnn_regression").supports(made) is None


@pytest.mark.parametrize("name", ["dp_sgld", "dp_sgnht"])
def test_a_network_is_fitted_within_the_budget_and_from_poisson_batches(name):
    made = tiny.regression(BNNRegression(3), 300, 0)
    method = get(name, "bnn_regression")
    budget = BudgetSpec(epsilon=1.0, delta=DELTA, mode=Mode.ENFORCE).open(np.random.default_rng(1))
    found = method.fit(made, method.Settings(steps=20, batch_rows=60), budget, np.random.default_rng(2))
    (event,) = [e for e in found.ledger if e.what == GRADIENTS]
    assert (event.sampling, event.sampling_rate, event.steps) == (Sampling.POISSON, 0.2, 20)
    assert epsilon_of(found.ledger, DELTA).epsilon == pytest.approx(1.0, rel=2e-3)
    assert len(found.posterior.noise) == 10  # half of the steps are burn-in
    assert found.diagnostics["rhat_max"] > 0
    assert found.diagnostics["ess_min"] > 0
