"""The toy tasks on which every private adapter is audited.

A method is audited on every kind of model that it fits. A posterior draw adds no noise, so there is nothing to record
or replay. Its bound is checked by brute force in tests/methods/posterior_sampling/, and the audit checks that the fit
releases nothing except the draw. A method's own adapter, the first of its file, has the method's name. Any other is
``<kind>/<method>``.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Iterator, Sequence
from functools import cache, partial

import numpy as np

from datasets.files import ROOT
from methods import contract
from methods.contract import Leak, LeakKind
from models.kind import kind as kind_of
from models.kind import kinds as model_kinds
from models.task import Task
from privacy import audit, mutants
from privacy.budget import BudgetSpec
from privacy.draw_audit import DrawAudit
from privacy.faults import FAULTS, Fault, FaultySpec
from privacy.wrapped import PAIR, WRAPPED, Wrapped


def _without_ranges(make, n: int, seed: int) -> Task:
    """The task of ``make`` without ranges of the inputs. The range of a target that is a class is kept."""
    task = make(n, seed)
    classes = kind_of(task.model.kind).target == "classification"
    public = dataclasses.replace(
        task.public, x_bounds=(None,) * task.x.shape[1], y_bounds=task.public.y_bounds if classes else None
    )
    return dataclasses.replace(task, public=public)


_RECORDS = tuple(kind_of(name) for name in model_kinds())
#: name of a case -> function of (rows, seed) that gives its task; the first case of a kind of model has the kind's name
MADE = {case: make for kind in _RECORDS for case, make in kind.tiny.items() if case not in kind.unaudited}
#: one adapter per code that estimates missing ranges from its budget; its kind of model has a case without ranges
BUYS = {
    "linear_regression": ("adassp",),
    "bnn_regression": ("dp_vi_vinaroz_corrected",),
    "bounded_linear_regression": ("bounded_linear_regression/dp_sgd",),
    "bounded_logistic_regression": ("output_perturbation",),
    "bounded_mixture": ("dp_single_gaussian",),
}
NO_RANGES = " without ranges"
MADE |= {case + NO_RANGES: partial(_without_ranges, MADE[case]) for case in BUYS}
#: name of a case -> model
MODELS = {case: make(2, 0).model for case, make in MADE.items()}
#: settings by field name, large enough to run every line of code several times
TINY = {"epochs": 5, "steps": 60, "batch_size": 4, "batch_rows": 4, "draws": 3, "predictive_draws": 3}
TINY |= {"num_warmup": 5, "num_samples": 5, "stored_draws": 5, "burn_in_sweeps": 3, "sweeps": 5, "grams": 3}
DELTA = 1e-5
SPEC = BudgetSpec(epsilon=1.0, delta=DELTA, noise_multiplier=1.0)
#: a budget from which every draw can be calibrated
DRAW_SPEC = BudgetSpec(epsilon=5.0, delta=DELTA, noise_multiplier=1.0, renyi=(2.0, 1.0))
#: settings of the short runs of the search and of forged replays
SHORT = {"epochs": 3, "steps": 20, "num_warmup": 1, "num_samples": 4, "burn_in_sweeps": 0, "sweeps": 1}
SHORT |= {"iterations": 2}
#: options of the audit in the tests of every commit; the full audit is run as a command
QUICK = {"evaluations": 6, "fits": 30, "long": None}
#: smallest number of steps of a long fit
LONG = 1000


@cache
def further() -> tuple[str, ...]:
    """All adapters except the methods' own ones."""
    return tuple(f"{k}/{n}" for k, n in contract.pairs() if contract.get(n, k) is not contract.get(n))


def get(name: str):
    """The adapter of that name."""
    kind, _, own = name.rpartition("/")
    return contract.get(own, kind or None)


@cache
def of_families(table: str) -> dict:
    """All families' tables ``MUTANTS``, ``CLOSED`` or ``STAY`` of ``_mutants.py``, merged into one."""
    out = {}
    for path in sorted(ROOT.glob("methods/*/_mutants.py")):
        out |= vars(importlib.import_module(f"methods.{path.parent.name}._mutants")).get(table, {})
    return out


@cache
def private() -> tuple[str, ...]:
    """Adapters that claim a guarantee and add noise for it."""
    every = [*contract.names(), *further()]
    return tuple(n for n in every if get(n).privacy is not None and not get(n).releases_a_draw)


@cache
def drawn() -> tuple[tuple[str, str], ...]:
    """(adapter, case) of adapters whose release is one posterior draw; see ``privacy.draw_audit``."""
    every = [n for n in (*contract.names(), *further()) if get(n).privacy is not None and get(n).releases_a_draw]
    return tuple((n, c) for n in every for c in MODELS if NO_RANGES not in c and get(n).supports(tiny_task(c)) is None)


def draw_audit_of(name: str, case: str) -> DrawAudit:
    """The audit of one case of :func:`drawn`."""
    method = get(name)
    return DrawAudit(method, tiny_task(case), tiny_settings(method), DRAW_SPEC, 1)


def may_fail(name: str) -> bool:
    """Whether the adapter declares, among its leaks, that rows decide whether it fails."""
    return any(leak.kind is LeakKind.FAILING for leak in get(name).leaks)


def tiny_task(case: str, n: int = 12) -> Task:
    """The task of a case, with n synthetic rows."""
    return MADE[case](n, 0)


@cache
def cases() -> tuple[tuple[str, str], ...]:
    """(adapter, case) of every private adapter that adds noise, on every model that it fits."""
    return tuple((n, c) for n in private() for c in MODELS if _takes(n, c))


def _takes(name: str, case: str) -> bool:
    kind = case.removesuffix(NO_RANGES)
    return (kind == case or name in BUYS[kind]) and get(name).supports(tiny_task(case)) is None


@cache
def leaky() -> tuple[tuple[str, str], ...]:
    """The cases of adapters that standardise by private numbers, according to their lists of leaks.

    A leak that depends on how the model scales its inputs does not occur here: the toy tasks have public scales.
    """
    return tuple((n, c) for n, c in cases() if any(_standardises(leak, MODELS[c].kind) for leak in get(n).leaks))


def _standardises(leak: Leak, kind: str) -> bool:
    return leak.kind is LeakKind.STANDARDISATION and not leak.scaling and kind in (leak.models or (kind,))


def broken(name: str, case: str) -> tuple[mutants.Mutant, ...]:
    """The mutants of an adapter on a kind of model.

    ``MUTANTS`` of the adapter's own file lists them by kind of model. ``MUTANTS`` of ``methods/<family>/_mutants.py``
    lists them by the method's name for its first kind, otherwise by name:kind.
    """
    kind = MODELS[case].kind
    own = get(name).name
    first = name == own and kind == get(name).models[0]
    here = vars(sys.modules[type(get(name)).__module__]).get("MUTANTS", {}).get(kind, ())
    return (*here, *of_families("MUTANTS").get(own if first else f"{own}:{kind}", ()))


def tiny_settings(method):
    names = {f.name for f in dataclasses.fields(method.Settings)}
    # DPVI: makes six steps certain to read the last row and clip it
    more = {"sampling_rate": 0.5, "clip": 0.2} if "location_step" in names else {}
    # Markov chains: makes every row certain to be clipped, wherever the chain is
    if {"burn_in", "batch_rows"} <= names:
        more |= {key: 0.2 for key in ("clip", "ratio_clip") if key in names}
    return method.Settings(**{k: v for k, v in TINY.items() if k in names}, **more)


#: the checks in the order in which they are run
ORDER = audit.CHECKS
#: adapters that are not run at their default settings, because their chain is slow and their run is another method's
NO_LATE = {"na_dpvi_nuts"}
#: (adapter, check) -> a declared leak of the authors' code, which the check finds
BY_CONSTRUCTION = {
    ("dp_bayes_by_backprop", "enforced"): "the note calibrates its noise to an epsilon below the one that it spends",
}


def short_settings(method):
    """The settings of the search and of forged replays."""
    settings = tiny_settings(method)
    return dataclasses.replace(settings, **{k: v for k, v in SHORT.items() if hasattr(settings, k)})


def long_settings(method):
    """The settings for the check of late steps: the defaults, but at least ``LONG`` steps on a dozen rows."""
    settings = method.Settings()
    if not hasattr(settings, "steps"):
        return settings
    return dataclasses.replace(settings, steps=max(settings.steps or 0, LONG))


def audit_of(name: str, case: str, method=None, spec=SPEC, quick: bool = False) -> audit.Audit:
    """The audit of one case. ``method`` is a patched copy of the adapter, ``spec`` a broken budget.

    ``quick`` means few replays of the search, few fits for the check of secrets, and no check of late steps.
    """
    method = get(name) if method is None else method
    more = {"short": short_settings(method), "long": None if get(name).name in NO_LATE else long_settings(method)}
    more |= QUICK if quick else {}
    return audit.Audit(method, tiny_task(case), tiny_settings(method), spec, 1, **more)


def faults(name: str, case: str, first: bool = False, quick: bool = False):
    """A function that runs the checks of ``privacy.audit`` on a copy of the adapter ``name``: check -> what it found.

    ``first``: stop at the first check that finds something. ``quick``: as for :func:`audit_of`.
    """

    return lambda method: found_by(audit_of(name, case, method, quick=quick), first)


def found_by(made: audit.Audit, first: bool = False) -> dict[str, str]:
    """Run the checks of an audit: check -> what it found; see :func:`faults`."""
    found: dict[str, str] = {}
    for word in ORDER:
        if (first and found) or ("runs" in found and word in audit.WHOLE_FITS):
            continue
        if (text := getattr(made, word)()) and (made.method.name, word) not in BY_CONSTRUCTION:
            found[word] = text
    return found


def broken_budgets(name: str, case: str, among: Sequence[Fault] = FAULTS, method=None) -> tuple[Fault, ...]:
    """The faults of ``among`` under which the fit, or its error message, differs from that under a correct budget.

    ``method`` is a copy of the adapter in which a declared leak is closed. By default it is the adapter itself.
    """
    method = get(name) if method is None else method

    def told(spec):
        fit = audit.run(method, tiny_task(case), tiny_settings(method), spec, 1)
        return audit.flat_parameters(fit), fit.ledger.to_json()

    parameters, ledger = told(SPEC)

    def differs(fault: Fault) -> bool:
        try:
            other, charged = told(FaultySpec(SPEC, fault))
        except (ValueError, RuntimeError):
            return True
        return charged != ledger or not np.array_equal(other, parameters)

    return tuple(f for f in among if differs(f))


def caught(name: str, case: str, fault: Fault, method=None) -> tuple[str, str]:
    """(check, what it found) of the first check that finds the broken budget, or two empty texts.

    The check that is meant for the fault is run first. ``method``: as for :func:`broken_budgets`.
    """
    made = audit_of(name, case, method, FaultySpec(SPEC, fault))
    for word in sorted(ORDER, key=lambda w: w != fault.check):
        try:
            text = getattr(made, word)()
        except (ValueError, RuntimeError) as error:  # the broken budget itself is refused
            text = f"{type(error).__name__}: {error}"
        if text:
            return word, text
    return "", ""


def wrapped_rows(name: str, case: str, method=None) -> Iterator[tuple[Wrapped, str, str]]:
    """(fault, check, what it found) of each copy of ``privacy.wrapped``, with two empty texts if no check finds it.

    A fault is left out if the unbroken adapter fails the same check on that pair too.
    """
    method = get(name) if method is None else method

    def audit_with(one):
        if one.releases_a_draw:
            return DrawAudit(one, tiny_task(case), tiny_settings(one), DRAW_SPEC, 1, only=(PAIR,))
        return audit.Audit(one, tiny_task(case), tiny_settings(one), SPEC, 1, only=(PAIR,))

    sound = audit_with(method)
    for fault in WRAPPED:
        if getattr(sound, fault.check)() or sound.runs():
            continue
        text = getattr(audit_with(fault.of(method)), fault.check)()
        yield fault, fault.check if text else "", text


def closed(name: str, case: str) -> list[mutants.Mutant]:
    """The patch that closes a declared leak of standardisation, so that everything else can be checked."""
    return [of_families("CLOSED")[name]] if (name, case) in leaky() else []
