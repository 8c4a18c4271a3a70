"""Lower bounds on epsilon by a named pair, compared with integrals, simulations and upper bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, norm

from privacy.accountants import epsilon_of, gdp_epsilon, lower_bound
from privacy.accountants.lower import Lower, of_event, repeated, sampled, secret_permutation
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling


def event(sampling: Sampling, *, multiplier=1.0, rate=1.0, steps=1, mechanism=Mechanism.GAUSSIAN) -> Event:
    relation = Relation.REPLACE_ONE
    return Event("a sum", mechanism, relation, 1.0, multiplier, sampling=sampling, sampling_rate=rate, steps=steps)


def two_slots(epsilon: float, s: float, swap: bool) -> float:
    """delta(epsilon) of one epoch of two slots: an integral over the two released numbers."""
    edges = np.linspace(-9 * s, 9 * s + 1, 1601)
    x = (edges[1:] + edges[:-1]) / 2
    far, near = norm.pdf(x, scale=s), norm.pdf(x, 1, s)
    null, mixed = np.outer(far, far), (np.outer(near, far) + np.outer(far, near)) / 2
    top, bottom = (null, mixed) if swap else (mixed, null)
    return float(np.maximum(top - math.exp(epsilon) * bottom, 0.0).sum()) * (x[1] - x[0]) ** 2


def excess_of(s: float, swap: bool, delta: float) -> Callable[[float], float]:
    return lambda epsilon: two_slots(epsilon, s, swap) - delta


@pytest.mark.parametrize("s", [0.7, 1.0, 2.0])
def test_two_slots_are_below_the_integral_and_near_it(s):
    delta = 0.01
    exact = max(brentq(excess_of(s, swap, delta), 0.0, 6.0, xtol=1e-4) for swap in (False, True))
    # the sum of two scores loses a part of what the two numbers say
    assert exact * 0.85 < secret_permutation(s, 2, 1, delta) <= exact + 1e-3


def losses(s: float, slots: int, epochs: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    """log P / Q of whole fits on the data set with the row at its opposite, from all released numbers."""
    total = np.zeros(runs)
    for _ in range(epochs):
        x = s * rng.standard_normal((runs, slots))
        x[:, 0] += 1.0  # slots are exchangeable
        total += np.log(np.mean(np.exp(x / s**2 - 0.5 / s**2), axis=1))
    return total


@pytest.mark.parametrize(("s", "slots", "epochs"), [(0.8, 50, 5), (1.5, 20, 10)])
def test_a_simulation_of_all_releases_agrees(s, slots, epochs):
    """False-alarm rate 1e-6: delta of the bound lies within 4.9 standard errors of a mean of numbers in [0, 1]."""
    delta = 0.01
    bound = secret_permutation(s, slots, epochs, delta)
    drawn = losses(s, slots, epochs, 100_000, np.random.default_rng(1))
    share = np.maximum(1 - np.exp(bound - drawn), 0.0)
    assert share.mean() + 4.9 * share.std() / math.sqrt(len(share)) >= delta
    above = np.maximum(1 - np.exp(1.1 * bound - drawn), 0.0)
    assert above.mean() - 4.9 * above.std() / math.sqrt(len(above)) <= delta  # near it: 10 % more is too much


@pytest.mark.parametrize(
    ("multiplier", "slots", "bound"), [(1.0388, 10_741, 0.25), (2.4398, 1439, 0.24), (0.8392, 41_157, 0.18)]
)
def test_known_values_of_forty_permutations(multiplier, slots, bound):
    """Monte Carlo values of an independent computation, at two digits."""
    assert secret_permutation(multiplier, slots, 40, 1e-5) == pytest.approx(bound, abs=0.006)


@pytest.mark.parametrize(
    ("multiplier", "rate", "steps", "bound"),
    [(0.65, 100 / 10_740, 10_700, 17.1), (0.85, 100 / 7372, 7300, 10.4), (15.0, 100 / 1439, 560, 0.38)],
)
def test_known_values_of_sampled_batches(multiplier, rate, steps, bound):
    """Values of an independent privacy loss distribution, at three digits."""
    assert sampled(multiplier, rate, steps, 1e-5) == pytest.approx(bound, rel=0.006)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.4, 5.0), st.integers(1, 300), st.integers(1, 20), st.sampled_from([1e-6, 1e-4, 1e-2]))
def test_a_secret_order_costs_at_most_a_public_one(multiplier, slots, epochs, delta):
    bound = secret_permutation(multiplier, slots, epochs, delta)
    assert 0.0 <= bound <= gdp_epsilon(math.sqrt(epochs) / multiplier, delta) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("multiplier", "rate", "steps"), [(0.75, 0.03125, 1), (0.6, 0.1, 20), (2.0, 0.2, 300), (4.0, 0.005, 500)]
)
def test_sampled_batches_are_below_the_upper_bound_and_near_it(multiplier, rate, steps):
    """Poisson batches under add/remove have this pair as their worst one, so dp-accounting's bound is just above."""
    poisson = Event(
        "a sum", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 1.0, multiplier,
        sampling=Sampling.POISSON, sampling_rate=rate, steps=steps,
    )  # fmt: skip
    upper = epsilon_of(Ledger([poisson]), 1e-4).epsilon
    assert upper * 0.97 - 0.005 < sampled(multiplier, rate, steps, 1e-4) <= upper * (1 + 1e-6)


def test_full_batches_and_public_orders_are_exact():
    for scheme in (Sampling.FULL_BATCH, Sampling.FIXED_PARTITION):
        found = of_event(event(scheme, multiplier=2.0, steps=9), 1e-5)
        assert found.epsilon == gdp_epsilon(1.5, 1e-5)


def test_a_ledger_has_the_bound_of_its_dearest_release():
    one, two = event(Sampling.FULL_BATCH, multiplier=3.0), event(Sampling.SHUFFLED_EPOCHS, rate=0.01, steps=2)
    assert lower_bound(Ledger([one, two]), 1e-5) == max(
        (of_event(e, 1e-5) for e in (one, two)), key=lambda lower: lower.epsilon
    )
    silent = [event(Sampling.FULL_BATCH, mechanism=Mechanism.LAPLACE), event(Sampling.FULL_BATCH, steps=0)]
    assert lower_bound(Ledger(silent), 1e-5) == Lower(0.0)


@pytest.mark.parametrize("arguments", [(0.0, 10, 1, 1e-5), (1.0, 10, 1, 0.0), (1.0, 10, 1, 1.0)])
def test_arguments_out_of_range_are_refused(arguments):
    with pytest.raises(ValueError, match="give"):
        secret_permutation(*arguments)


@pytest.mark.parametrize(("multiplier", "rate", "size"), [(0.8, 0.02, 30), (0.4, 0.05, 12), (2.0, 0.01, 50)])
def test_one_step_of_rows_read_several_times_is_below_the_exact_value_and_near_it(multiplier, rate, size):
    """Exact: delta of one step by quadrature, and epsilon by bisection, with the mixture in both roles."""
    times = binom.pmf(np.arange(13), size, rate)
    x = np.linspace(-12 * multiplier, 12 + 12 * multiplier, 400_001)
    null, mixture = norm.pdf(x, 0, multiplier), sum(p * norm.pdf(x, m, multiplier) for m, p in enumerate(times))
    delta = 1e-3

    def exact(p, q):
        return brentq(lambda e: np.trapezoid(np.maximum(p - math.exp(e) * q, 0), x) - delta, 0, 200)

    upper = max(exact(null, mixture), exact(mixture, null))
    assert upper * 0.9 < repeated(multiplier, times, 1, delta) <= upper * (1 + 1e-4)


def test_rows_read_at_most_once_are_those_of_sampled_batches():
    assert repeated(1.5, (0.99, 0.01), 50, 1e-5) == sampled(1.5, 0.01, 50, 1e-5)
    assert repeated(1.5, (0.98, 0.01, 0.01), 50, 1e-5) > sampled(1.5, 0.02, 50, 1e-5)
