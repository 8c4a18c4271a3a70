"""What every adapter must do. A new file in methods/ is tested here without a line being added.

A method's own adapter, the first of its file, goes by the method's name here, another by ``<kind>/<method>``.

Tasks are the tiny ones of the kinds of model (``models.kind``); a kind may have several, each for the adapters that
support it.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import inspect
import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
import yaml

import datasets
from methods import contract
from methods.contract import Fit, Leak, LeakKind, Method, MethodError, Role
from models import logistic_regression, logistic_regression_normal_prior, posteriors
from models.kind import kind as kind_of
from models.kind import tiny_cases
from models.task import PublicKnowledge, Task
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Event, Relation
from workflow import faults
from workflow.imports import outside, reached

ROOT = Path(__file__).resolve().parents[2]
#: by file, not by contract.names(): a broken adapter must fail its own tests and not hide the others
FILES = {p.stem: p for p in [*sorted((ROOT / "methods").glob("[!_]*/[!_]*.py")), *outside()]}
OWN = sorted(FILES)
FURTHER = sorted(f"{k}/{n}" for k, n in contract.pairs() if contract.get(n, k) is not contract.get(n))
NAMES = OWN + FURTHER
ROWS = 31  # a prime that is no other size here: an array with this length holds something for each training row
HIDDEN, INPUTS = 3, 2
#: largest network of the suite's five small data sets (protein: 9 inputs, 100 units) over the tiny one, in weights
GROWTH = (100 * 10 + 101) / (HIDDEN * (INPUTS + 1) + HIDDEN + 1)
BUDGET = {"epsilon": 5.0, "delta": 1e-5, "noise_multiplier": 1.0, "renyi": (2.0, 1.0)}


def with_defaults(make):
    return lambda n=ROWS, seed=5: make(n, seed)


#: name of a case -> function of (rows, seed) that gives a tiny task with documented public ranges. The first case of a
#: kind of model has the kind's name.
TINY = {case: with_defaults(make) for case, make in tiny_cases().items()}
#: what an integer setting shrinks to, by its name: enough to run every line, not to learn.
SHRINK = (
    (r"epochs|sweeps|passes|rounds", 2),
    (r"steps|iterations|updates", 3),
    (r"warmup|burn", 10),
    (r"samples", 20),
    (r"draws|networks|probes|particles", 5),
    (r"members|chains", 2),
    (r"depth", 4),
    (r"batch", 8),
    (r"count", 5),
)


@functools.cache
def adapter(name: str) -> Method:
    kind, _, own = name.rpartition("/")
    return contract.get(own, kind or None)


def shrunk(settings):
    """The settings with every loop made short; grids keep their first two points."""
    smaller = {}
    for f in dataclasses.fields(settings):
        value = getattr(settings, f.name)
        if isinstance(value, tuple) and len(value) > 2 and "grid" not in f.name and f.name.endswith("s"):
            smaller[f.name] = value[:2]
        if isinstance(value, int) and not isinstance(value, bool):
            for pattern, most in SHRINK:
                if re.search(pattern, f.name) and value > most:
                    smaller[f.name] = most
                    break
    return dataclasses.replace(settings, **smaller)


#: (adapter, case, seed) -> whole numbers with which a fit seeded generators of its own.
SEEDS: dict[tuple[str, str, int], set[str]] = {}


@contextlib.contextmanager
def noted_seeds(into: set[str]):
    """Notes the whole numbers that ``np.random.default_rng`` is given."""
    make = np.random.default_rng

    def noting(seed=None):
        if isinstance(seed, int | np.integer | list | tuple | np.ndarray):
            into.add(str(seed))
        return make(seed)

    np.random.default_rng = noting
    try:
        yield
    finally:
        np.random.default_rng = make


class _Watched(PublicKnowledge):
    """Public knowledge that notes whether a range is looked at."""

    asked: ClassVar[list[str]] = []

    def __getattribute__(self, name):
        if name in ("x_bounds", "y_bounds"):
            _Watched.asked.append(name)
        return super().__getattribute__(name)


def run(
    name: str, kind: str, *, seed: int = 11, spec: BudgetSpec | None = None, n: int = ROWS, watched: bool = False
) -> tuple[Fit, Task]:
    method, task = adapter(name), TINY[kind](n)
    if watched:
        given = task.public
        told = _Watched(given.n, given.x_bounds, given.y_bounds, given.citation)
        task = dataclasses.replace(task, public=told)
        _Watched.asked.clear()
    settings = shrunk(method.Settings())
    method.prepare(task, settings)
    budget = (spec or BudgetSpec(**BUDGET)).open(np.random.default_rng([seed, 1]))
    rng = np.random.default_rng([seed, 2])
    with noted_seeds(SEEDS.setdefault((name, kind, seed), set())):
        return method.fit(task, settings, budget, rng), task


fitted = functools.cache(run)


def supported(method: Method, kind: str) -> list[str]:
    """The cases of ``TINY`` that the adapter supports, of one kind of model; the kind itself if there is none."""
    tasks = {case: make() for case, make in TINY.items()}
    return [c for c, task in tasks.items() if task.model.kind == kind and method.supports(task) is None] or [kind]


def supported_at_all(method: Method) -> bool:
    """A method may be taught a kind only to say why it does not fit it."""
    return any(method.supports(TINY[kind]()) is None for kind in method.models)


#: methods whose fits are nightly: what NUTS compiles takes seconds; logistic_gaussian/test_methods.py fits it by day
DEAR = ("nuts",)


def cases() -> list:
    """(adapter, case of TINY) for every kind that each adapter names; all but the first of an adapter in the night."""
    out = []
    for name in NAMES:
        try:
            if name in FURTHER and not supported_at_all(adapter(name)):
                continue
            found = [case for kind in adapter(name).models for case in supported(adapter(name), kind)]
        except Exception:  # the broken adapter fails by itself below, the others are tested
            found = ["bnn_regression"]
        by_night = name.rpartition("/")[2] in DEAR
        for k, kind in enumerate(found):
            marks = pytest.mark.nightly if k or by_night else ()
            out.append(pytest.param(name, kind, id=f"{name}-{kind}", marks=marks))
    return out


def predicted(posterior, kind: str) -> dict[str, np.ndarray]:
    """What a posterior says about nine new rows, by name; every array has one entry or row for each of them."""
    rng = np.random.default_rng(0)
    new = TINY[kind](9, seed=6)
    about = kind_of(new.model.kind)
    if about.target == "density" and not about.draws:
        values = {"log density": posterior.log_density(new.x), "predictive": posterior.predictive(new.x, rng)}
        if about.name == "mixture_of_gaussians":
            values["responsibilities"] = posterior.responsibilities(new.x)
        return values
    p = posterior.predictive(new.x, rng)
    values = {"log density": p.log_density(new.y)}
    if about.name == "bnn_classification":
        return values | {"probability of class 1": p.probabilities[:, 1]}
    if about.target == "classification" and not about.draws:
        return values | {"mean": p.mean}
    return values | {"mean": p.mean, "variance": p.variance}


#: what is asked of every fit, and of every adapter: functions of (name, kind), and of a name
OF_FITS: list[Callable[[str, str], None]] = []
OF_ADAPTERS: list[Callable[[str], None]] = []


def of_every_fit(ask):
    """Marks a question to each fit; a subtest of :func:`test_a_fit_keeps_the_contract`."""
    OF_FITS.append(ask)
    return ask


def of_every_adapter(ask):
    """Marks a question to each adapter; a subtest of :func:`test_an_adapter_keeps_the_contract`."""
    OF_ADAPTERS.append(ask)
    return ask


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_keeps_the_contract(subtests, name):
    adapter(name)  # a file that cannot be imported fails once
    for ask in OF_ADAPTERS:
        with subtests.test(ask.__name__):
            ask(name)


@pytest.mark.parametrize(("name", "kind"), cases())
def test_a_fit_keeps_the_contract(subtests, limited, name, kind):
    assert kind in TINY, f"{name} fits {kind}: no file of models/ has a record of that kind (models.kind.Kind)"
    assert adapter(name).supports(TINY[kind]()) is None
    fitted(name, kind)  # a fit that fails, or does not end, fails once
    for ask in OF_FITS:
        limited()  # each question has the seconds of a test
        with subtests.test(ask.__name__):
            ask(name, kind)


def test_some_adapters_are_found():
    assert {"predict_mean", "ridge", "point_estimate"} <= set(NAMES)


def test_the_contract_lists_every_file():
    assert contract.names() == OWN


def test_every_class_of_a_file_is_listed():
    assert {name.partition("/")[0] for name in FURTHER} <= set(TINY)
    for name, path in FILES.items():
        classes = [c for c in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(c, ast.ClassDef)]
        named = {c.name for c in classes if any(ast.unparse(line) == f"name = {name!r}" for line in c.body)}
        assert named == {type(contract.get(n, k)).__name__ for k, n in contract.pairs() if n == name}


def test_an_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(KeyError, match="predict_mean"):
        contract.get("no_such_method")


def test_listing_the_methods_imports_nothing_heavy():
    """In a fresh interpreter: the DAG is parsed often, and torch or jax cost seconds each time."""
    code = (
        "import sys, methods.contract as c; assert c.names(); assert c.pairs(); "
        "heavy = ('torch', 'jax', 'numba', 'numpyro', 'scipy.stats', 'sklearn', 'pandas'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout.strip() == "[]"


@of_every_adapter
def it_says_what_it_is(name):
    method = adapter(name)
    assert method.name == name.rpartition("/")[2]
    assert re.fullmatch(r"[A-Za-z0-9_]+", method.name)
    assert method.title.strip()
    assert method.reference.strip()
    assert method.models
    assert isinstance(method.models, tuple)
    assert all(isinstance(kind, str) for kind in method.models)
    assert method.privacy is None or isinstance(method.privacy, Relation)
    assert isinstance(method.role, Role)
    assert isinstance(method.releases_a_draw, bool)
    assert method.splits_at_once is None or (isinstance(method.splits_at_once, int) and method.splits_at_once >= 1)
    assert isinstance(method.leaks, tuple)
    assert all(isinstance(leak, Leak) for leak in method.leaks)


@of_every_adapter
def its_leaks_are_of_the_closed_list_and_say_where(name):
    method = adapter(name)
    for leak in method.leaks:
        assert isinstance(leak.kind, LeakKind)
        assert isinstance(leak.sentence, str)
        assert leak.sentence.strip()
        assert all(isinstance(scope, tuple) for scope in (leak.models, leak.datasets, leak.scaling))
        assert set(leak.models) <= set(method.models), f"{name} fits none of {leak.models}"
        assert set(leak.datasets) <= set(datasets.names()), f"{name}: no such data set in {leak.datasets}"
        assert set(leak.scaling) <= {*logistic_regression.SCALINGS, *logistic_regression_normal_prior.SCALINGS}
    sentences = [leak.sentence for leak in method.leaks]
    assert len(sentences) == len(set(sentences))


def test_a_leak_applies_where_every_scope_that_it_has_holds():
    everywhere = Leak(LeakKind.TUNED, "x")
    assert everywhere.applies("wine", "bnn_regression", "paid")
    here = Leak(LeakKind.TUNED, "x", models=("bnn_regression",), datasets=("wine", "power"), scaling=("data",))
    assert here.applies("wine", "bnn_regression")
    assert here.applies("wine", "bnn_regression", "data")
    assert not here.applies("wine", "bnn_regression", "public")
    assert not here.applies("naval", "bnn_regression")
    assert not here.applies("wine", "bounded_mixture")


def common_pairs() -> list[tuple[str, str]]:
    """(kind of model, method) of the common tasks: every method of a kind that takes in all, else those named."""
    out = set()
    for path in (ROOT / "common_tasks" / "experiments").glob("*.yaml"):
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        kind = config["model"]["kind"]
        named, left_out = (
            {
                m
                for arm in config["arms"]
                if bool(arm.get("datasets", True)) is on
                for m in arm.get("methods", [arm.get("method")])
            }
            for on in (True, False)
        )
        listed = set(contract.names(kind)) if "include_unlisted_methods" in config else set()
        out |= {(kind, m) for m in named | (listed - left_out)}
    return sorted(out)


@pytest.mark.parametrize(("kind", "name"), common_pairs())
def test_a_method_of_a_common_task_states_where_its_constants_come_from(kind, name):
    stated = contract.get(name, kind).constants
    assert stated, f"{name} on {kind}: give `constants`"
    assert all(isinstance(c, contract.Constants) for c in stated)
    assert len(set(stated)) == len(stated)
    nothing = not dataclasses.fields(contract.get(name, kind).Settings)
    assert (contract.Constants.NONE in stated) <= (nothing and len(stated) == 1)


#: kinds of model that run on data sets with ranges that are their own extremes.
RANGED = ("bnn_regression", "logistic_regression", *(k for k, _ in common_pairs() if k.startswith("bounded")))


@of_every_fit
def it_says_whether_it_takes_printed_ranges_for_public(name, kind):
    """The second fit was watched."""
    if adapter(name).privacy and kind in RANGED:
        assert adapter(name).reads_ranges >= repeated(name, kind).asked_for_ranges


@of_every_adapter
def settings_of_its_grid_are_settings(name):
    method = adapter(name)
    assert isinstance(method.grid, tuple)
    assert len(method.grid) in (0, 6), f"{name}: a method is tuned over six settings, or not at all"
    made = [method.Settings(**change) for change in method.grid]
    assert made[:1] == [method.Settings()][: len(made)], f"{name}: the first setting of a grid is the default, {{}}"
    assert all(made.count(one) == 1 for one in made)


@of_every_adapter
def a_kernel_for_many_fits_is_asked_for_them(name):
    """``fit_many`` is called with several splits only where ``splits_at_once`` says so."""
    method = adapter(name)
    assert type(method).fit_many is Method.fit_many or method.splits_at_once is not None


def other(name: str, wanted: str) -> str:
    """Name here of the adapter of another method that fits the same kind of model as ``name``."""
    kind = name.rpartition("/")[0]
    return f"{kind}/{wanted}" if f"{kind}/{wanted}" in FURTHER else wanted


@of_every_adapter
def the_run_that_it_reads_is_one_that_it_can_read(name):
    method = adapter(name)
    if not method.run_of:
        assert type(method).read is Method.read
        with pytest.raises(TypeError, match="run_of"):
            method.read(None, None, None)
        return
    assert method.run_of in contract.names()
    assert method.seed_name == "", f"{name} takes the seeds of {method.run_of}"
    maker = adapter(other(name, method.run_of))
    assert set(method.models) <= set(maker.models)
    assert maker.run_of in ("", maker.name)
    asked = {f.name for f in dataclasses.fields(method.Settings)}
    assert {f.name for f in dataclasses.fields(maker.Settings)} <= asked
    assert (method.privacy, method.splits_at_once) == (maker.privacy, maker.splits_at_once)


@of_every_adapter
def nobody_else_has_its_seeds(name):
    """What the seeds are hashed from names one method of a kind of model: only these can stand in one experiment."""
    method = adapter(name)
    assert isinstance(method.seed_name, str)
    others = [adapter(n) for n in NAMES if adapter(n).name != method.name]
    others = [m for m in others if set(m.models) & set(method.models)]
    assert (method.seed_name or method.name) not in {m.seed_name or m.name for m in others}


@of_every_adapter
def titles_are_distinct(name):
    """Two columns with one heading could not be told apart in a table."""
    same = {adapter(other).name for other in NAMES if adapter(other).title == adapter(name).title}
    assert same == {adapter(name).name}


@of_every_adapter
def settings_are_frozen_and_have_defaults(name):
    settings = adapter(name).Settings
    assert dataclasses.is_dataclass(settings)
    assert settings.__dataclass_params__.frozen
    default = settings()
    for f in dataclasses.fields(settings):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(default, f.name, getattr(default, f.name))


def documented(settings: type) -> set[str]:
    """Fields with a comment on their line or above it, with metadata, or named in a docstring of the settings."""
    found = {f.name for f in dataclasses.fields(settings) if f.metadata}
    for cls in settings.__mro__[:-1]:
        lines = inspect.getsource(cls).splitlines()
        text = cls.__doc__ or ""
        if not text.startswith(f"{cls.__name__}("):  # a dataclass without a docstring is given its own signature
            found |= {f.name for f in dataclasses.fields(settings) if re.search(rf"\b{f.name}\b", text)}
        for i, line in enumerate(lines):
            field = re.match(r"\s*(\w+)\s*:\s*[^#=]+", line)
            if field and ("#" in line or lines[i - 1].lstrip().startswith("#")):
                found.add(field[1])
    return found


@of_every_adapter
def every_setting_is_documented(name):
    settings = adapter(name).Settings
    missing = {f.name for f in dataclasses.fields(settings)} - documented(settings)
    assert not missing, f"{name}: say unit and source of {sorted(missing)} in a comment beside the field"


def test_a_setting_without_a_word_is_caught():
    @dataclasses.dataclass(frozen=True)
    class Settings:
        told: int = 1  # rows
        #: also told
        above: int = 2

        untold: int = 3

    assert documented(Settings) == {"told", "above"}


@of_every_adapter
def an_unknown_setting_is_refused(name):
    with pytest.raises(TypeError, match="no_such_setting"):
        adapter(name).Settings(no_such_setting=1)


@of_every_adapter
def another_model_is_refused_with_a_reason(name):
    @dataclasses.dataclass(frozen=True)
    class Other:
        kind: str = "no_such_model"

    reason = adapter(name).supports(Task("toy", Other(), np.zeros((5, INPUTS)), np.zeros(5)))
    assert isinstance(reason, str)
    assert "no_such_model" in reason


@of_every_fit
def it_gives_a_fit_with_numbers_for_diagnostics(name, kind):
    fit, _ = fitted(name, kind)
    assert isinstance(fit, Fit)
    assert all(isinstance(k, str) and isinstance(float(v), float) for k, v in fit.diagnostics.items())


@of_every_fit
def predictions_are_proper(name, kind):
    values = predicted(fitted(name, kind)[0].posterior, kind)
    bad = [key for key, v in values.items() if not np.isfinite(v).all()]
    assert not bad, f"{name}: NaN or infinity in the {' and the '.join(bad)} of its predictions; see what fit returns"
    responsibilities = values.pop("responsibilities", None)
    assert all(v.shape == (9,) for v in values.values())
    assert (values.get("variance", np.ones(9)) > 0).all()
    if responsibilities is not None:
        assert responsibilities.shape == (9, TINY[kind]().model.components)
        assert (responsibilities >= 0).all()
        np.testing.assert_allclose(responsibilities.sum(axis=1), 1.0)


def state() -> list:
    """Random state of NumPy and torch, the precision switch of jax, NumPy's error handling."""
    legacy = np.random.get_state()  # noqa: NPY002 - the state that must not move
    out = [legacy[1].tobytes(), legacy[2:], np.geterr()]
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        out += [torch.get_rng_state().numpy().tobytes(), torch.get_default_dtype(), torch.get_num_threads()]
    if "jax" in sys.modules:
        out.append(sys.modules["jax"].config.jax_enable_x64)
    return out


class Repeated(NamedTuple):
    """A second fit, its task, whether global state stayed, and whether it looked at a public range."""

    fit: Fit
    task: Task
    state_stayed: bool
    asked_for_ranges: bool


@functools.cache
def repeated(name: str, kind: str) -> Repeated:
    """A second fit from the same seeds, after whatever ran before."""
    fitted(name, kind)  # whatever it imports is imported now
    np.random.default_rng(3).normal(size=10)
    before = state()
    fit, task = run(name, kind, watched=True)
    return Repeated(fit, task, state() == before, bool(_Watched.asked))


@of_every_fit
def the_same_rng_gives_the_same_fit(name, kind):
    """To the last bit."""
    first, second = fitted(name, kind)[0], repeated(name, kind).fit
    one, two = first.posterior.parameters(), second.posterior.parameters()
    assert set(one) == set(two)
    for key in one:
        np.testing.assert_array_equal(np.asarray(one[key]), np.asarray(two[key]), err_msg=key)
    assert first.ledger.to_json() == second.ledger.to_json()


@of_every_fit
def global_state_is_left_alone(name, kind):
    """Other methods share the process."""
    assert repeated(name, kind).state_stayed


@of_every_fit
def no_generator_of_a_fit_has_a_seed_of_its_own(name, kind):
    """All randomness comes from the given ``rng``: a seed that is the same under another ``rng`` does not."""
    fitted(name, kind)
    if asked := SEEDS[name, kind, 11]:  # few methods make a generator; they are fitted once more
        run(name, kind, seed=12)
        same = asked & SEEDS[name, kind, 12]
        assert not same, (
            f"{name}: np.random.default_rng({same.pop()}) in fit; draw from the given rng, or spawn from it"
        )


def test_a_constant_seed_is_seen():
    seen: set[str] = set()
    with noted_seeds(seen):
        np.random.default_rng(0)
        np.random.default_rng(np.random.default_rng(5).integers(9))
    assert "0" in seen
    assert len(seen) == 3


def test_a_draw_from_global_state_is_seen():
    before = state()
    np.random.random()  # noqa: NPY002 - the misconduct that must be seen
    assert state() != before


@of_every_fit
def inputs_are_left_alone(name, kind):
    untouched, task = TINY[kind](), repeated(name, kind).task
    np.testing.assert_array_equal(task.x, untouched.x)
    assert not task.x.flags.writeable
    if untouched.y is None:
        assert task.y is None
        return
    np.testing.assert_array_equal(task.y, untouched.y)
    assert not task.y.flags.writeable


@of_every_fit
def parameters_round_trip_through_their_archive(name, kind):
    """A new metric re-runs no fit: the stored posterior predicts to the last bit what the fitted one does."""
    fit, task = fitted(name, kind)
    archive = io.BytesIO()
    np.savez(archive, **faults.facts_of(adapter(name), task, fit)[1])  # as a run checks and stores it
    archive.seek(0)
    with np.load(archive) as stored:  # refuses pickled objects
        again = posteriors.load(fit.posterior.kind, dict(stored))
    one, two = predicted(fit.posterior, kind), predicted(again, kind)
    for what in one:
        np.testing.assert_array_equal(one[what], two[what], err_msg=what)


@of_every_fit
def its_posterior_lives_in_a_module_that_it_reaches(name, kind):
    """A cell depends on what its adapter and its model import: a posterior from elsewhere would be missing."""
    fit, task = fitted(name, kind)
    module = type(adapter(name)).__module__
    made = {type(p).__module__ for p in (fit.posterior, getattr(fit.posterior, "posterior", fit.posterior))}
    assert made <= set(reached(module, type(task.model).__module__))


@of_every_fit
def parameters_are_small_and_hold_no_training_row(name, kind):
    """50 MB a cell of 20 splits, at the size of the largest network of the small data sets."""
    parameters = {k: np.asarray(v) for k, v in fitted(name, kind)[0].posterior.parameters().items()}
    assert GROWTH * sum(v.nbytes for v in parameters.values()) < 50e6 / 20
    assert not [k for k, v in parameters.items() if ROWS in v.shape]


@of_every_fit
def no_row_is_refused_clearly(name, kind):
    with pytest.raises((ValueError, MethodError), match=r"(?i)\brows?\b"):
        run(name, kind, n=0)


@of_every_fit
def fit_many_gives_what_single_fits_give(name, kind):
    """Only where an adapter brings its own; the order of summation may differ by a few rounding errors."""
    method = adapter(name)
    if method.splits_at_once is None:
        assert method.fit_many([], method.Settings(), [], []) == []
        return
    settings = shrunk(method.Settings())
    tasks = [TINY[kind](n) for n in (ROWS, ROWS + 4)]

    def streams(k: int):
        return [np.random.default_rng([k, i]) for i in range(2)]

    budgets = [BudgetSpec(**BUDGET).open(r) for r in streams(1)]
    many = method.fit_many(tasks, settings, budgets, streams(2))
    budgets = [BudgetSpec(**BUDGET).open(r) for r in streams(1)]
    single = [method.fit(t, settings, b, r) for t, b, r in zip(tasks, budgets, streams(2), strict=True)]
    for one, two in zip(many, single, strict=True):
        assert one.ledger.to_json() == two.ledger.to_json()
        for key, value in one.posterior.parameters().items():
            np.testing.assert_allclose(value, two.posterior.parameters()[key], rtol=1e-5, atol=1e-7, err_msg=key)


@of_every_fit
def the_ledger_tells_what_the_guarantee_rests_on(name, kind):
    """A guarantee needs events, all for its relation; no event holds an epsilon."""
    method, (fit, _) = adapter(name), fitted(name, kind)
    assert all(isinstance(event, Event) for event in fit.ledger)
    if method.privacy is not None:
        assert len(fit.ledger) > 0, f"{name} claims a guarantee for {method.privacy} and releases nothing"
        assert {event.relation for event in fit.ledger} == {method.privacy}
        for event in fit.ledger:
            assert event.proof.strip(), f"{name}: '{event.what}' names no proof; give proof=\"module.function\""


@of_every_fit
def an_enforced_budget_is_kept(name, kind):
    """Either the ledger costs no more than the budget, or the fit stops.

    A method without a guarantee and without a ledger charges nothing, so there is nothing to enforce.
    """
    if adapter(name).privacy is None and len(fitted(name, kind)[0].ledger) == 0:
        return
    from privacy.accountants import epsilon_of, renyi_divergence

    renyi = {"renyi": BUDGET["renyi"]}
    for limits in ({k: v for k, v in BUDGET.items() if k not in renyi}, renyi):
        spec = BudgetSpec(**limits, mode=Mode.ENFORCE)
        try:
            ledger = run(name, kind, spec=spec)[0].ledger
        except BudgetExceeded:
            continue
        except ValueError as refused:  # a method may be calibrated to the other limit only, and says so
            if "budget" not in str(refused):
                raise
            continue
        if limits is renyi:
            assert renyi_divergence(ledger, spec.renyi[0]) <= spec.renyi[1] * (1 + 1e-9)
        else:
            assert epsilon_of(ledger, spec.delta).epsilon <= spec.epsilon * (1 + 1e-9)
