"""What every private adapter must pass, with no line added here when a new one appears in methods/.

Each adapter is also broken on purpose, one line at a time: a check that passes on the adapter and on its mutant alike
measures nothing.
"""

from __future__ import annotations

import dataclasses
import importlib
import math

import numpy as np
import pandas as pd
import pytest

from audit.cases import (
    DELTA,
    MODELS,
    NO_LATE,
    SPEC,
    broken,
    broken_budgets,
    cases,
    caught,
    closed,
    draw_audit_of,
    drawn,
    faults,
    further,
    get,
    leaky,
    may_fail,
    of_families,
    private,
    tiny_settings,
    tiny_task,
    wrapped_rows,
)
from audit.remedies import advice
from datasets.files import ROOT
from privacy import audit, draw_audit, mutants
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec
from privacy.faults import of as fault_of
from privacy.wrapped import WRAPPED
from workflow.imports import path_of

PRIVATE, CASES, OPEN = private(), cases(), leaky()
#: the first case of each adapter is audited by every run of the tests, the others by that of the night
FIRST = set({name: (name, case) for name, case in reversed((*CASES, *drawn()))}.values())


def param(name, case, *more, words=()):
    """A case of a test, with a readable name."""
    marks = () if (name, case) in FIRST else pytest.mark.nightly
    return pytest.param(name, case, *more, id="-".join((name, case, *words)), marks=marks)


def each(cases):
    """Parametrise a test over cases (name, case)."""
    return pytest.mark.parametrize(("name", "case"), [param(*one) for one in cases])


def test_there_are_private_methods_and_each_is_audited_by_default():
    """An adapter without a case refuses every toy task of its own kinds of model, and says why."""
    assert PRIVATE
    audited = {name for name, _ in FIRST}
    assert audited <= {*PRIVATE, *(name for name, _ in drawn())}
    for name in {*PRIVATE, *(name for name, _ in drawn())} - audited:
        assert all(get(name).supports(tiny_task(kind)) for kind in get(name).models), name


@pytest.mark.parametrize("name", PRIVATE)
def test_every_kind_of_model_that_an_adapter_names_is_checked(name):
    """A kind without a case in ``MODELS`` would go unchecked."""
    fitted = {MODELS[case].kind for n, case in CASES if n == name}
    reasons = [get(name).supports(tiny_task(kind)) for kind in set(get(name).models) - fitted]
    assert all(reasons) if name in further() else not reasons


@pytest.mark.parametrize(  # a chain that takes seconds per fit is checked in the night; another method makes its run
    ("name", "case"),
    [
        pytest.param(*one, id="-".join(one), marks=pytest.mark.nightly if one[0] in NO_LATE or one not in FIRST else ())
        for one in CASES
    ],
)
def test_passes_every_check(name, case):
    """Where the adapter declares private standardisation, with that leak closed (see the next test)."""
    if (name, case) in OPEN and name not in of_families("CLOSED"):
        pytest.fail(f"{name} declares private standardisation; give CLOSED of its family's _mutants.py what closes it")
    found = mutants.kills(get(name), closed(name, case), faults(name, case, quick=True))
    assert not found, advice(get(name), found)


@each(OPEN)
def test_declared_leak_of_standardisation_is_measured(name, case):
    """Equal releases, yet the posterior tells the neighbours apart: the leak is real and the check sees it."""
    assert "posterior" in faults(name, case)(get(name))


@each(CASES)
def test_ledger_is_complete_and_costs_something_finite(name, case):
    method = get(name)
    fit = audit.run(method, tiny_task(case), tiny_settings(method), SPEC, 1)
    assert len(fit.ledger) > 0
    cost = epsilon_of(fit.ledger, DELTA)
    assert 0 < cost.epsilon < math.inf
    assert cost.relation is method.privacy
    for event in fit.ledger:
        assert event.generator, event.what
        assert proof_text(event.proof), (
            f"{name}: no proof for '{event.what}' at '{event.proof}'; name module.function, with it in the docstring"
        )


def proof_text(place: str) -> str:
    """The docstring at ``module.function`` or ``module.Class.method``; empty where there is none."""
    words = place.split(".")
    for cut in (1, 2):
        module = ".".join(words[:-cut])
        if module and _importable(module):
            place = importlib.import_module(module)
            for word in words[-cut:]:
                place = vars(place).get(word) if place is not None else None
            return (place is not None and place.__doc__) or ""
    return ""


@pytest.mark.parametrize("place", ["", ".", "nowhere", "privacy.audit.nothing", "privacy.no_module.function"])
def test_a_proof_that_is_nowhere_is_said_to_be(place):
    assert proof_text(place) == ""


def test_a_proof_is_found_at_a_function_and_at_a_method():
    assert "Raise ValueError" in proof_text("privacy.budget.check_renyi")
    assert proof_text("privacy.budget.BudgetSpec.open")


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def numbers(fit) -> np.ndarray:
    """All parameters of a fit, (k,); of a sampler's draws the quartiles of each coordinate, (3, k).

    The extremes of a few draws from a law with heavy tails are the sampler's own noise.
    """
    draws = getattr(getattr(fit.posterior, "posterior", fit.posterior), "draws", None)
    return np.quantile(draws, (0.25, 0.5, 0.75), axis=0) if np.ndim(draws) == 2 else audit.flat_parameters(fit)


@each(CASES)
def test_noise_reaches_the_output_and_a_thousand_times_more_drowns_it(name, case):
    """Spread of the parameters over noise seeds; the adapter's own stream is held fixed.

    From little noise to a thousand times as much and more (budgets of epsilon 1000 and 0.001 where the adapter
    calibrates): some parameter moves by more than 3 times what the little noise moves any. Quartiles of draws are in
    units of the interquartile range of their coordinate. Full batches, because their noise is calibrated without a
    search. What takes the smaller steps the louder its noise is, and says so (``STAY`` of its family), stays where it
    starts instead: of it the data must be drowned, so that other targets make less than a hundredth of the difference
    that they make under little noise.
    """
    method = get(name)
    task, tiny = tiny_task(case), tiny_settings(method)
    # few steps: over many the little noise adds up, and the loud one leaves the range of the stored numbers
    full = {"sampling_rate": 1.0, "batch_rows": 12, "batch_size": 12, "steps": 6, "epochs": 2}
    tiny = dataclasses.replace(tiny, **{k: v for k, v in full.items() if hasattr(tiny, k)})

    def fits(spec, task=task):
        budgets = [spec.open(np.random.default_rng(seed)) for seed in range(6)]
        return np.array([numbers(method.fit(task, tiny, b, np.random.default_rng(0))) for b in budgets])

    little = BudgetSpec(epsilon=1e3, delta=DELTA, noise_multiplier=0.05)
    much = BudgetSpec(epsilon=1e-3, delta=DELTA, noise_multiplier=1e3)
    quiet, loud = fits(little), fits(much)
    unit = (quiet[:, 2] - quiet[:, 0]).mean(axis=0) if quiet.ndim == 3 else 1.0
    spread = np.ptp(quiet / unit, axis=0).max()
    assert spread > 0
    if method.name in of_families("STAY"):
        other = dataclasses.replace(task, y=task.y.max() + task.y.min() - task.y)
        told, drowned = (np.abs(fits(spec, other) - seen).max() for spec, seen in ((little, quiet), (much, loud)))
        assert drowned < 0.01 * told
        return
    assert np.abs((loud - quiet) / unit).max() > 3 * spread


# ---------------------------------------------------------------------------------------------------- mutants

BROKEN = [(name, case, m) for name, case in CASES for m in broken(name, case)]


@each(CASES)
def test_every_private_method_has_its_mutants(name, case):
    """No noise, a release thrown away, half the sensitivity and wrong counts come with the budget, without a line.

    One of the committed audit also has patches of what no budget wraps: the clipping, and a data-dependent constant
    that goes unpaid, of the standardisation or else of the clipping.
    """
    method = get(name)
    wanted = ["no noise", "release thrown away", "half the sensitivity"]
    if any(e.steps > 1 for e in audit.run(method, tiny_task(case), tiny_settings(method), SPEC, 1).ledger):
        wanted += ["a third of the steps", "a third of the steps announced"]
    assert {f.name for f in broken_budgets(name, case, [fault_of(word) for word in wanted])} == set(wanted)
    if method.name not in set(pd.read_csv(ROOT / "reports/reference/mutants.csv", usecols=["method"])["method"]):
        return
    patches = {m.name for m in broken(name, case)}
    wanted = {"no clipping"}
    if (name, case) not in OPEN:
        standardises = tiny_task(case).y is not None or "data-dependent standardisation" in patches
        wanted.add("data-dependent standardisation" if standardises else "data-dependent clip")
    assert wanted <= patches, what_to_add(method, MODELS[case].kind, wanted - patches)


def what_to_add(method, kind: str, missing: set[str]) -> str:
    """The lines of an adapter's own file that declare the broken copies which are missing."""
    path = path_of(type(method).__module__).relative_to(ROOT)
    lines = [f'{path}: add "from privacy.mutants import Mutant" and', "MUTANTS = {", f'    "{kind}": (']
    for word in sorted(missing):
        lines.append(f'        Mutant("{word}", r"<a pattern of this file>", "<what breaks it>", what="<in words>"),')
    return "\n".join([*lines, "    ),", "}"])


def test_the_message_of_a_missing_mutant_has_the_lines_to_add():
    said = what_to_add(get("adassp"), "linear_regression", {"no clipping"})
    assert said.startswith("methods/sufficient_statistics/adassp.py: add")
    made: dict = {"Mutant": mutants.Mutant}
    exec(said.split("\n", 1)[1], made)
    assert [m.name for m in made["MUTANTS"]["linear_regression"]] == ["no clipping"]


@pytest.mark.parametrize(
    ("name", "case", "mutant"), [param(n, c, m, words=[m.name.replace(" ", "_")]) for n, c, m in BROKEN]
)
def test_mutant_is_killed(name, case, mutant):
    """The unpatched adapter passes the same checks at the same size (``test_passes_every_check``)."""
    assert mutants.kills(get(name), [*closed(name, case), mutant], faults(name, case, first=True))


#: a broken budget for every case in turn; ``./bench audit`` tries all of them on all.
@pytest.mark.parametrize(("name", "case", "turn"), [param(*c, k) for k, c in enumerate(CASES)])
def test_broken_budget_is_caught(name, case, turn):
    with mutants.loaded(get(name), closed(name, case)) as method:
        tried = broken_budgets(name, case, method=method)
        fault = tried[turn % len(tried)]
        check, _ = caught(name, case, fault, method)
    assert check, f"{name} on {case}: no check sees a budget with {fault.what}"


@pytest.mark.parametrize(("name", "case", "turn"), [param(*c, k) for k, c in enumerate((*CASES, *drawn()))])
def test_a_copy_that_is_broken_outside_of_its_budget_is_caught(name, case, turn):
    """One a case in turn, too."""
    with mutants.loaded(get(name), closed(name, case)) as method:
        found = list(wrapped_rows(name, case, method))
    assert len(found) == len(WRAPPED)
    fault, check, _ = found[turn % len(found)]
    assert check, f"{name} on {case}: no check sees that {fault.what}"


@each(drawn())
def test_nothing_but_the_draw_leaves_a_fit(name, case):
    made = draw_audit_of(name, case)
    found = {check: getattr(made, check)() for check in draw_audit.CHECKS}
    if may_fail(name):
        found["runs"] = ""
    assert not any(found.values()), found
