"""What every private adapter must pass, with no line added here when a new one appears in methods/.

Each adapter is also broken on purpose, one line at a time: a check that passes on the adapter and on its mutant alike
measures nothing.
"""

from __future__ import annotations

import dataclasses
import importlib
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from methods import contract
from models.bnn_regression import BNNRegression
from models.linear_regression import LinearRegression
from models.task import PublicKnowledge, Task
from privacy import audit, mutants
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec

PRIVATE = [name for name in contract.names() if contract.get(name).privacy is not None]
#: adapters whose word for standardisation is a leak, by their own list of leaks
OPEN = [name for name in PRIVATE if any("standardise" in leak for leak in contract.get(name).leaks)]
MODELS = {"bnn_regression": BNNRegression(3), "linear_regression": LinearRegression()}
#: settings by field name: enough to run every line several times
TINY = {"epochs": 2, "steps": 6, "batch_size": 4, "batch_rows": 6, "draws": 3, "predictive_draws": 3}
DELTA = 1e-5
SPEC = BudgetSpec(epsilon=1.0, delta=DELTA, noise_multiplier=1.0)


def tiny_task(method, n: int = 12) -> Task:
    kind = next(k for k in MODELS if k in method.models)
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (n, 2))
    y = np.clip(x[:, 0] + 0.2 * rng.standard_normal(n), -5, 5)
    public = PublicKnowledge(n, ((-2.0, 2.0),) * 2, (-5.0, 5.0), "the law that draws these rows")
    return Task("tiny", MODELS[kind], x, y, public)


def tiny_settings(method):
    names = {f.name for f in dataclasses.fields(method.Settings)}
    return method.Settings(**{k: v for k, v in TINY.items() if k in names})


def faults(method) -> dict[str, str]:
    found = audit.checks(method, tiny_task(method), tiny_settings(method), SPEC, 1)
    return {name: text for name, text in found.items() if text}


def closed(name: str) -> list[mutants.Mutant]:
    """The patch that closes a declared leak of standardisation, so that everything else can be checked."""
    return [mutants.CLOSED[name]] if name in OPEN else []


def test_there_are_private_methods():
    assert PRIVATE


@pytest.mark.parametrize("name", PRIVATE)
def test_passes_every_check(name):
    """Where the adapter declares private standardisation, with that leak closed (see the next test)."""
    if name in OPEN and name not in mutants.CLOSED:
        pytest.fail(f"{name} declares private standardisation; give privacy.mutants.CLOSED the patch that closes it")
    assert mutants.kills(f"methods.{name}", closed(name), faults) == {}


@pytest.mark.parametrize("name", OPEN)
def test_declared_leak_of_standardisation_is_measured(name):
    """Equal releases, yet the posterior tells the neighbours apart: the leak is real and the check sees it."""
    assert "posterior" in faults(contract.get(name))


@pytest.mark.parametrize("name", [n for n in PRIVATE if n not in OPEN])
@given(data=st.data(), seed=st.integers(0, 50))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_pair_of_neighbours_breaks_the_declared_sensitivity(name, data, seed):
    method = contract.get(name)
    pair = data.draw(audit.neighbour_pairs(tiny_task(method), method.privacy))
    r = audit.replay(method, *pair, tiny_settings(method), SPEC, seed)
    assert r.ratio <= 1 + audit.ROUNDING
    assert r.posterior_change == 0
    assert not r.events_differ


@pytest.mark.parametrize("name", PRIVATE)
def test_ledger_is_complete_and_costs_something_finite(name):
    method = contract.get(name)
    fit = audit.run(method, tiny_task(method), tiny_settings(method), SPEC, 1)
    assert len(fit.ledger) > 0
    cost = epsilon_of(fit.ledger, DELTA)
    assert 0 < cost.epsilon < math.inf
    assert cost.relation is method.privacy
    for event in fit.ledger:
        assert event.generator, event.what
        module, _, attribute = event.proof.rpartition(".")
        owner = importlib.import_module(module) if _importable(module) else None
        if owner is None:  # a method of a class: module.Class.method
            module, _, cls = module.rpartition(".")
            owner = getattr(importlib.import_module(module), cls)
        assert getattr(owner, attribute).__doc__, f"'{event.what}': the proof at {event.proof} is empty"


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("name", PRIVATE)
def test_noise_reaches_the_output_and_a_thousand_times_more_drowns_it(name):
    """Spread of the parameters over noise seeds; the adapter's own stream is held fixed.

    From little noise to a thousand times as much and more (budgets of epsilon 1000 and 0.001 where the adapter
    calibrates): some parameter moves by more than 3 times what the little noise moves any. Full batches, because
    their noise is calibrated without a search.
    """
    method = contract.get(name)
    task, tiny = tiny_task(method), tiny_settings(method)
    full = {"sampling_rate": 1.0, "batch_rows": 12, "batch_size": 12}
    tiny = dataclasses.replace(tiny, **{k: v for k, v in full.items() if hasattr(tiny, k)})

    def fits(spec):
        out = []
        for seed in range(6):
            budget = spec.open(np.random.default_rng(seed))
            out.append(audit.flat_parameters(method.fit(task, tiny, budget, np.random.default_rng(0))))
        return np.array(out)

    quiet = fits(BudgetSpec(epsilon=1e3, delta=DELTA, noise_multiplier=0.05))
    loud = fits(BudgetSpec(epsilon=1e-3, delta=DELTA, noise_multiplier=1e3))
    spread = np.ptp(quiet, axis=0).max()
    assert spread > 0
    assert np.abs(loud - quiet).max() > 3 * spread


# ---------------------------------------------------------------------------------------------------- mutants

BROKEN = [(name, m) for name in PRIVATE for m in mutants.MUTANTS.get(name, ())]


@pytest.mark.parametrize("name", PRIVATE)
def test_every_private_method_has_its_mutants(name):
    kinds = {m.name for m in mutants.MUTANTS.get(name, ())}
    wanted = {"no noise", "half noise", "no clipping"}
    method = contract.get(name)
    if "steps" in {f.name for f in dataclasses.fields(method.Settings)} | {"epochs"}:
        steps = audit.run(method, tiny_task(method), tiny_settings(method), SPEC, 1).ledger
        if any(e.steps > 1 for e in steps):
            wanted.add("wrong count of steps")
    if name not in OPEN:
        wanted.add("data-dependent standardisation")
    assert wanted <= kinds, f"{name}: add {sorted(wanted - kinds)} to privacy.mutants.MUTANTS"


@pytest.mark.parametrize(("name", "mutant"), BROKEN, ids=[f"{n}-{m.name.replace(' ', '_')}" for n, m in BROKEN])
def test_mutant_is_killed(name, mutant):
    """The unpatched adapter passes the same checks at the same size (``test_passes_every_check``)."""
    assert mutants.kills(f"methods.{name}", [*closed(name), mutant], faults)
