"""The contract of a method: the class that it provides, and the rules that it keeps.

A method is one file, ``methods/<family>/<name>.py``. It has one subclass of :class:`Method`, an adapter, for each way
in which it fits a kind of model. All adapters have the ``name`` of the file and disjoint ``models``. Settings, leaks
and relation may differ. The first one is the method's own, as in its source. Files are found by scanning, so a new
method needs no other change, and becomes a column of every table whose task it can fit. Names that begin with ``_`` are
not scanned. They hold numerics: of one method or family next to it (``_name.py``, ``_name/``), of several families in
``_shared/``.

The fields of :class:`Method` are everything that the suite reads about a method. Nothing is guessed from its text, and
there is no other list of methods.

An adapter keeps these rules.

- It opens no file, uses no network and prints nothing.
- It uses no global random state. All randomness comes from its ``rng`` or from the budget.
- It gets no test row, and does not change its inputs, which are read-only.
- It adds no noise itself. Every noisy release goes through ``budget`` (see ``privacy/``), which writes the ledger. A
  release that is a draw from a posterior is charged, before it is made, as an event with a written bound.
- It does not state its own epsilon. The suite computes epsilon from the ledger.
- Nothing that its accountant does not count reaches a private release. Examples are moments of the private data,
  starting values or priors from a non-private fit, and hyper-parameters chosen on the private data.
- It hides no hyper-parameter. Each one is a field of ``Settings`` with its unit and source, and the values of a
  published experiment are in ``papers/<key>/experiments/``.
- It does not import torch, jax or numba at module level, so that listing the methods stays fast. Heavy imports go
  inside ``prepare`` and ``fit``, or into numerics (``_name.py``) that are imported there.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
import importlib
import importlib.util
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, ClassVar, Protocol

import numpy as np

from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Ledger, Relation


class Posterior(Protocol):
    """The posterior that a fit returns, as parameters and not as draws (at most 50 MB over all splits of a cell).

    ``kind`` names the class in ``models.posteriors`` that rebuilds it from ``parameters()``, so that a new metric needs
    no new fit. Kinds of model add further methods, such as ``predictive`` for regression.
    """

    kind: str

    def parameters(self) -> dict[str, np.ndarray]: ...

    def predictive(self, x: np.ndarray, rng: np.random.Generator): ...


@dataclass(frozen=True)
class Fit:
    """Posterior, privacy ledger and diagnostics of one fit."""

    posterior: Posterior
    ledger: Ledger
    diagnostics: Mapping[str, float] = field(default_factory=dict)


class MethodError(RuntimeError):
    """A fit cannot continue. The message says why and what to do. It becomes a row with status ``failed``."""


class Diverged(MethodError):
    """A fit has numbers that are not finite. It becomes a row with status ``diverged``."""


class Role(enum.StrEnum):
    """The part of a method in comparisons of methods."""

    METHOD = "method"  #: a method that the suite compares
    YARDSTICK = "yardstick"  #: a baseline that a Bayesian method has to beat: a point estimate, a single Gaussian
    CONTROL = "control"  #: a reference: the exact posterior, or a trivial baseline such as the training mean


class Constants(enum.StrEnum):
    """The origin of a method's default settings and of the constants in its code."""

    PRINTED = "printed in the source"
    PROGRAM = "authors' code"
    FORMULA = "formula of n, d, epsilon"  #: computed from public numbers and the noise
    DEVELOPED = "developed here"  #: tried on synthetic problems by this suite
    GUESSED = "guessed here"  #: a choice of this suite, without a record that others were tried
    NONE = "nothing to set"


class Rerun(enum.StrEnum):
    """How much a second run may differ from the first. ``config/gates.yaml`` has the tolerances of its scores."""

    CLOSED_FORM = "closed form"  #: no training, so only rounding differs
    TRAINING = "training"  #: depends on the experiment: training is chaotic unless ``config/gates.yaml`` lists it
    CHAOTIC = "chaotic"  #: rounding errors grow for every model, so another processor gives another result
    CHAIN = "chain"  #: a Markov chain gives another result even on processors with the same instructions


class LeakKind(enum.StrEnum):
    """Kinds of leak."""

    STANDARDISATION = "standardisation"  #: rows are centred or scaled by their own mean, spread or norm
    PRIVATE_MOMENTS = "private moments"  #: other averages of the private rows
    RANGES = "ranges"  #: the range of the private rows, or numbers computed from it
    STARTING_VALUES = "starting values"  #: starting values from a fit that is not private
    PRIORS = "priors"  #: an unpublished prior, distribution of the inputs or fixed parameter
    TUNED = "tuned hyper-parameters"  #: settings or code chosen with scores or rows of the data in view
    BATCHES = "batch scheme"  #: batches are not drawn as the accountant assumes
    PUBLIC_N = "public n"  #: the number of rows is taken as public under a relation that changes it
    FAILING = "failing"  #: rows decide, without noise, whether a step is taken, a run stops or a fit fails
    SENSITIVITY = "sensitivity"  #: noise is scaled by a bound that is too small, or that is itself private
    NO_NOISE = "no noise or no bound"  #: a private number is released without noise, or is not bounded
    ACCOUNTING = "accounting"  #: releases are charged at less than they cost
    SAMPLER = "inexact sampler"  #: the guarantee is for an exact draw
    FLOATING_POINT = "floating point"  #: rounding that the proof leaves out


@dataclass(frozen=True)
class Leak:
    """Something that the ledger does not count: its kind, the sentence that tables show, and where it applies.

    An empty scope means everywhere.
    """

    kind: LeakKind
    sentence: str
    #: kinds of model to which it applies, among those that the method fits.
    models: tuple[str, ...] = ()
    #: names of data sets.
    datasets: tuple[str, ...] = ()
    #: values of the model's field ``scaling``.
    scaling: tuple[str, ...] = ()

    def applies(self, dataset: str, model: str, scaling: str | None = None) -> bool:
        """Whether the leak applies to this data set and kind of model. ``scaling``: of the model; None: any."""
        wanted = ((self.models, model), (self.datasets, dataset), (self.scaling, scaling))
        return all(not scope or value is None or value in scope for scope, value in wanted)


class Apart(enum.StrEnum):
    """Why a private method has no non-private limit, however large its budget is."""

    CLIPPING = "clipping"  #: rows are clipped to a norm, or numbers to a bound, that does not grow with the budget
    NOISE = "noise"  #: the noise, or the part of it that matters here, does not depend on epsilon
    STEPS = "steps"  #: steps or step sizes are fixed, so it does not converge to the method without privacy
    GUARANTEE = "guarantee"  #: beyond some point its proof can use no more of the budget
    MODES = "modes"  #: the objective has several optima, and other starts or batches lead to other ones
    REFUSED = "refused"  #: it fits no task of this kind, and says why in ``supports``
    NO_TWIN = "no twin"  #: the suite has no non-private method that fits this kind of model in this way


@dataclass(frozen=True)
class Counterpart:
    """The non-private limit: the method that a private one should match at a very large budget (epsilon = 1e6).

    ``method``: its name. It fits the same kind of model and gives no guarantee.
    ``band``: the largest mean difference of the log-densities of new rows, nats per row.
    ``reason``: a sentence on what causes the difference, or on why there is no limit.
    ``apart``: the kind of reason why there is no limit, instead of a method and a band.
    ``settings``: settings of the private method in that test, besides its defaults.
    ``models``: the kinds of model for which this holds; if empty, all that the class fits.

    Raises ValueError if it states neither a method with its band nor a kind of reason, or both, or no sentence.
    """

    method: str = ""
    band: float = 0.0
    reason: str = ""
    apart: Apart | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.method) == (self.apart is not None) or bool(self.method) != (self.band > 0):
            raise ValueError("counterpart: give a method and its band above 0, or the kind of reason why there is none")
        if self.apart is not None and not isinstance(self.apart, Apart):
            raise ValueError(f"counterpart: apart = {self.apart!r}; give one of {', '.join(map(str, Apart))}")
        if len(self.reason.split()) < _WORDS:
            raise ValueError(f"counterpart: give the reason in a sentence, at least {_WORDS} words")


#: smallest number of words of the reason of a counterpart.
_WORDS = 5


#: value of ``splits_at_once`` for all missing splits.
ALL_SPLITS = sys.maxsize


class Method(abc.ABC):
    """One published (or corrected) algorithm behind the common interface."""

    #: name in configs, cells, files and scores, equal to the file's name: letters, digits and underscores.
    name: ClassVar[str]
    #: column heading; no two methods have the same.
    title: ClassVar[str]
    #: bibliography key, with the place in the paper, e.g. ``"vinaroz2023dpsep, algorithm 3"``. It is for readers only.
    reference: ClassVar[str]
    #: kinds of model it can fit, e.g. ``("bnn_regression",)``. A config of such a kind may name it. Experiments that
    #: include unlisted methods use it by themselves.
    models: ClassVar[tuple[str, ...]]
    #: the neighbouring relation of its guarantee, or None if it gives no guarantee. Private methods get the budgets of
    #: a grid and are audited, and the conformance suite tests this relation.
    privacy: ClassVar[Relation | None] = None
    #: whether tables, ranks and the page of advice list it among the methods, as a baseline or as a reference.
    role: ClassVar[Role] = Role.METHOD
    #: the leaks that the ledger does not count. They are shown in the leak table and next to each epsilon they concern.
    leaks: ClassVar[tuple[Leak, ...]] = ()
    #: every origin of its default settings; empty if not stated. A method of a common task has to state it, because
    #: a method that was tuned here has an advantage that no epsilon shows.
    constants: ClassVar[tuple[Constants, ...]] = ()
    #: whether it takes the printed ranges of columns (``task.public``) for public knowledge. If they are the extremes
    #: of the table itself (``datasets.base.DataSet.extremes``), its guarantee is conditional on them.
    reads_ranges: ClassVar[bool] = False
    #: the non-private limits of a private method, or why it has none, for each kind of model that it fits
    #: (:func:`counterpart`). The conformance suite tests them.
    counterparts: ClassVar[tuple[Counterpart, ...]] = ()
    #: whether its intervals account for the noise of its releases, so that they cover at a small budget, as measured in
    #: tests/methods/test_noise_aware.py. False also for a point estimate, which has no intervals.
    noise_aware: ClassVar[bool] = False
    #: whether the release itself is a draw from a posterior. Then there is no noise to record and replay, and the
    #: brute-force tests of its proof replace that part of the audit.
    releases_a_draw: ClassVar[bool] = False
    #: the method whose run :meth:`read` turns into this method's posterior; empty if it makes its own run. Methods of
    #: one run are fitted together, with the seeds of that run.
    run_of: ClassVar[str] = ""
    #: number of splits in one request to ``fit_many``, which is the most that a killed cell loses; None: one by one.
    splits_at_once: ClassVar[int | None] = None
    #: settings that ``common_tasks.tuning`` tries on surrogates, the default ``{}`` first; empty: it is not tuned.
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    #: how close a second run is to the first, and whether it computes in single precision. The gate compares runs by
    #: that. The method's own class states both for every kind of model.
    rerun: ClassVar[Rerun] = Rerun.TRAINING
    single_precision: ClassVar[bool] = False
    #: the name from which its seeds are hashed; empty: ``name``. A renamed method keeps its old name here, and so its
    #: random numbers.
    seed_name: ClassVar[str] = ""

    @dataclass(frozen=True)
    class Settings:
        """Every hyper-parameter, with unit, default and source. Subclasses declare their own."""

    def supports(self, task: Task) -> str | None:
        """None, or the reason why this task cannot be fitted, which the report shows."""
        if task.model.kind not in self.models:
            return f"{self.name} {fits(self)}, not {task.model.kind}"
        return None

    def prepare(self, task: Task, settings: Any) -> None:  # noqa: B027 - optional, empty by default
        """Optional: compile what ``fit`` needs. It is called once before the timed fit and must not learn from data."""

    @abc.abstractmethod
    def fit(self, task: Task, settings: Any, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        It is deterministic given ``rng``. Raises ValueError for a setting out of range, :class:`Diverged` if numbers
        are not finite, ``privacy.budget.BudgetExceeded`` if a release would overspend.
        """

    def fit_many(
        self,
        tasks: Sequence[Task],
        settings: Any,
        budgets: Sequence[Budget],
        rngs: Sequence[np.random.Generator],
    ) -> list[Fit]:
        """Several fits at one setting in one call, for kernels that are faster then. Each has its own budget and rng.

        The fits are of different splits, or of one split at several budgets, with the same task object.
        """
        return [self.fit(t, settings, b, r) for t, b, r in zip(tasks, budgets, rngs, strict=True)]

    def read(self, run: Fit, settings: Any, rng: np.random.Generator) -> Fit:
        """The fit of this method from a fit of the method ``run_of`` for the same task. It spends no budget.

        ``rng`` has the state in which the run left it. Raises TypeError if ``run_of`` is not set.
        """
        raise TypeError(f"{self.name} reads no run: give it `run_of`, the name of the method that makes it, and `read`")


def counterpart(method: Method, kind: str) -> Counterpart | None:
    """The non-private limit that a private method states for this kind of model; None if it states none."""
    return next((c for c in method.counterparts if not c.models or kind in c.models), None)


def fits(method: Method) -> str:
    """The kinds of model that a method fits, in words."""
    return f"fits {', '.join(method.models)}"


_HERE = Path(__file__).parent
#: methods from outside of this folder: the environment variable with their files, separated as in PATH, and the group
#: of entry points of installed packages. A file is like one of this folder. An entry point names a method's module.
OUTSIDE, GROUP = "DPBAYES_METHODS", "dpbayes_bench.methods"
#: environment variable of a run with the files whose import has ended its plan.
ENDED = "DPBAYES_ENDED"
#: called with each file before its import, and with "" after it. The plan of a run sets it.
on_import: Callable[[str], object] = bool


#: fields of every method that are read when a run is planned, and their types.
_FIELDS: Mapping[str, Any] = {
    **dict.fromkeys(("name", "title", "reference", "run_of", "seed_name"), str),
    **dict.fromkeys(("models", "leaks", "constants", "counterparts", "grid"), tuple),
    **dict.fromkeys(("reads_ranges", "noise_aware", "releases_a_draw", "single_precision"), bool),
    **{"privacy": Relation | None, "role": Role, "rerun": Rerun, "splits_at_once": int | None, "Settings": type},
}


#: the fields that are tuples, and the types of their entries.
_ENTRIES: Mapping[str, Any] = {
    "models": str,
    "leaks": Leak,
    "constants": Constants,
    "counterparts": Counterpart,
    "grid": Mapping,
}


class _Wrong(TypeError):
    """A file of a method does not fulfil the contract."""


class BrokenAdapter(KeyError):
    """The file of a method is left out. The message names it and says why."""


@dataclass(frozen=True)
class _Scan:
    """The result of a scan: name -> its adapters, the method's own first; name -> why it is left out."""

    found: Mapping[str, tuple[Method, ...]]
    broken: Mapping[str, str]


@cache
def _scan() -> _Scan:
    """Every method by name. An error in one file only leaves out that file."""
    found: dict[str, tuple[Method, ...]] = {}
    broken: dict[str, str] = {}
    paths: dict[str, str] = {}
    titles: dict[str, str] = {}
    ended = os.environ.get(ENDED, "").split(os.pathsep)
    for name, file, load in [*_ours(), *_outside()]:
        if name in paths:  # the first keeps the name, so that no file can replace another one's method
            broken[f"{name} of {file}"] = f"{file} and {paths[name]} are both '{name}'; rename the first"
            continue
        paths[name] = file
        if file in ended:
            broken[name] = f"{file} cannot be imported: it ends the process that does"
            continue
        with _interrupts() as asked, _told(file):
            try:
                adapters = _adapters(load(), name, file)
                for title in {m.title for m in adapters}:
                    if (owner := titles.setdefault(title, name)) != name:
                        raise _Wrong(f"{file}: its title '{title}' is that of {owner}; give another")
                found[name] = adapters
            except _Wrong as error:
                broken[name] = str(error)
            except BaseException as error:  # also sys.exit, and a KeyboardInterrupt that is not the user's
                if asked:
                    raise
                broken[name] = f"{file} cannot be imported: {_in_words(error)}"
    return _Scan(found, broken)


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Yield a list that is filled if the user presses Ctrl-C, to distinguish it from a KeyboardInterrupt of a file."""
    asked: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield asked  # no KeyboardInterrupt is raised here
        return

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _told(file: str) -> Iterator[None]:
    """Call ``on_import`` with the file, and with "" after the block, unless the process ends in the block."""
    on_import(file)
    try:
        yield
    finally:
        on_import("")


def _in_words(error: BaseException) -> str:
    """The class and text of an error, on one line."""
    try:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    except BaseException:  # computing the text raises
        return type(error).__name__


def _ours() -> list[tuple[str, str, Callable[[], ModuleType]]]:
    """(name, file, function that imports it) for the files of this folder."""
    out = []
    for path in sorted(_HERE.glob("[!_]*/[!_]*.py")):
        family, name = path.parent.name, path.stem
        load = partial(importlib.import_module, f"{__package__}.{family}.{name}")
        out.append((name, f"methods/{family}/{path.name}", load))
    return out


def _outside() -> list[tuple[str, str, Callable[[], ModuleType]]]:
    """(name, file, function that imports it) for the files that ``OUTSIDE`` names, and for installed packages."""
    paths = [Path(p) for p in os.environ.get(OUTSIDE, "").split(os.pathsep) if p]
    out = [(p.stem, str(p), partial(_load, p)) for p in paths]
    return out + [(e.name, f"the installed package's {e.value}", e.load) for e in entry_points(group=GROUP)]


def _load(path: Path) -> ModuleType:
    """Import a file elsewhere as the module ``methods.outside.<name>``."""
    spec = importlib.util.spec_from_file_location(f"methods.outside.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module there
    spec.loader.exec_module(module)
    return module


def _adapters(module: ModuleType, name: str, file: str) -> tuple[Method, ...]:
    """The adapters of a file, in its order. Raises _Wrong unless they fulfil the contract."""
    classes = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, Method) and c.__module__ == module.__name__ and "name" in vars(c)
    ]
    if not classes or any(c.name != name for c in classes):
        raise _Wrong(
            f"{file} must hold subclasses of Method with their own `name` = '{name}'; found "
            f"{[f'{c.__name__}: {c.name}' for c in classes]}. Shared numerics belong in files that begin with '_'."
        )
    by_kind: dict[str, type] = {}
    for c in classes:
        for word, kinds in _FIELDS.items():
            if not isinstance(value := getattr(c, word, None), kinds):
                raise _Wrong(f"{file}: {c.__name__}.{word} is a {type(value).__name__}; see methods/contract.py")
        for word, kind in _ENTRIES.items():
            if odd := [value for value in getattr(c, word) if not isinstance(value, kind)]:
                raise _Wrong(f"{file}: {c.__name__}.{word} holds a {type(odd[0]).__name__}; see methods/contract.py")
        if not c.models:
            raise _Wrong(f"{file}: {c.__name__}.models is empty; name the kinds of model that it fits")
        if not dataclasses.is_dataclass(c.Settings):
            raise _Wrong(f"{file}: {c.__name__}.Settings is no dataclass; see methods/contract.py")
        try:
            json.dumps(dataclasses.asdict(c.Settings()))
        except Exception as error:
            words = f"{c.__name__}.Settings() has to give numbers and texts: {_in_words(error)}"
            raise _Wrong(f"{file}: {words}") from error
        for kind in c.models:
            if by_kind.setdefault(kind, c) is not c:
                raise _Wrong(f"{file}: {by_kind[kind].__name__} and {c.__name__} both fit {kind}; take it out of one")
    return tuple(c() for c in classes)


def broken() -> list[str]:
    """The files of methods that cannot be imported, and why, one sentence each. Names, pairs and runs omit them."""
    return sorted(_scan().broken.values())


def left_out(name: str, kind: str | None = None) -> str:
    """Why this method, or the method whose run it reads, cannot be imported; "" if both can or it is unknown."""
    try:
        get(get(name, kind).run_of or name, kind)
    except BrokenAdapter as error:
        return error.args[0]
    except KeyError:
        return ""
    return ""


def names(kind: str | None = None) -> list[str]:
    """Names of all methods, or of those that fit this kind of model, sorted. Imports no torch, jax or numba."""
    return sorted(n for n, of in _scan().found.items() if kind is None or any(kind in m.models for m in of))


def pairs() -> list[tuple[str, str]]:
    """(kind of model, method) of all adapters: the methods' own adapters first, then the others by kind."""
    own = [(kind, n) for n, of in sorted(_scan().found.items()) for kind in of[0].models]
    return own + sorted((kind, n) for n, of in _scan().found.items() for m in of[1:] for kind in m.models)


def get(name: str, kind: str | None = None) -> Method:
    """The adapter of that name for this kind of model, or the method's own if it does not fit the kind.

    Raises KeyError, which lists the known methods, or BrokenAdapter if its file cannot be imported.
    """
    if why := _scan().broken.get(name):
        raise BrokenAdapter(why)
    try:
        adapters = _scan().found[name]
    except KeyError:
        raise KeyError(f"unknown method '{name}'; methods/ has {', '.join(names())}") from None
    return next((m for m in adapters if kind in m.models), adapters[0])


def module_of(name: str, kind: str | None = None) -> str:
    """The name of the module of :func:`get`'s adapter."""
    return type(get(name, kind)).__module__


def is_ours(name: str) -> bool:
    """Whether the method's file is in this folder."""
    package, _, rest = module_of(name).partition(".")
    return package == "methods" and not rest.startswith("outside.")
