"""The contract of a method: what an adapter gives, and what it may NOT do.

A method is one file, ``methods/<family>/<name>.py``, with one subclass of :class:`Method` for each way in which it fits
a kind of model: all have the ``name`` of the file, their ``models`` are disjoint, and settings, leaks and relation may
differ. The first is the method's own, as its source has it. Files are found by scanning, so a new method needs no other
change: it becomes one more column of every table whose task it can fit. Names that begin with ``_`` are not scanned:
numerics of one method or family are next to it (``_name.py``, ``_name/``), those of several families in ``_shared/``.

The fields of :class:`Method` are all that the suite reads about a method: nothing is guessed from its words, and
nobody else keeps a list of names.

An adapter may not
  - open a file, reach the network or print;
  - use global random state: all randomness comes from the ``rng`` it is given, or from the budget;
  - see a test row (it is given none) or change its inputs (they are read-only);
  - add noise by itself: every noisy release goes through ``budget`` (see ``privacy/``), which writes the ledger; where
    the release is a draw from a posterior, the draw is charged as an event with a written bound before it is made;
  - state an epsilon of its own: the budget goes in, the ledger comes out, and the suite computes epsilon;
  - let anything that its accountant does not count reach a private release: moments of the private data,
    starting values or priors from a non-private fit, hyper-parameters chosen on the private data;
  - hide a hyper-parameter: each one is a field of ``Settings`` with its unit and source, and the values of a
    published experiment live in ``papers/<key>/experiments/``;
  - import torch, jax or numba at module level: listing the methods must stay fast. Heavy imports go inside
    ``prepare`` and ``fit`` (or into numerics, ``_name.py``, that are imported there).
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
    """The posterior that a fit returns: parameters, not draws (at most 50 MB over all splits of a cell).

    ``kind`` names the class in ``models.posteriors`` that rebuilds it from ``parameters()``, so that a new
    metric re-runs no fit. Model families add what they can answer; regression has ``predictive``.
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
    """A fit that cannot go on; the message says why and what to do. Becomes a row with status ``failed``."""


class Diverged(MethodError):
    """The numbers left the finite range. Becomes a row with status ``diverged``."""


class Role(enum.StrEnum):
    """The part of a method in comparisons of methods."""

    METHOD = "method"  #: one of those that the suite is about
    YARDSTICK = "yardstick"  #: no Bayesian method, but what one has to beat: a point estimate, a single Gaussian
    CONTROL = "control"  #: its outcome is known beforehand: the exact answer, or one that hardly looks at the data


class Constants(enum.StrEnum):
    """The origin of the default settings of a method, and with them the numbers that its code holds."""

    PRINTED = "printed in the source"
    PROGRAM = "authors' code"
    FORMULA = "formula of n, d, epsilon"  #: follows from public numbers and the noise
    DEVELOPED = "developed here"  #: tried on synthetic problems by this suite
    GUESSED = "guessed here"  #: a choice of this suite; nothing says that others were tried
    NONE = "nothing to set"


class Rerun(enum.StrEnum):
    """How much a second run may differ from the first (``config/gates.yaml`` says how far its scores may lie apart)."""

    CLOSED_FORM = "closed form"  #: no training: the same, except for rounding
    TRAINING = "training"  #: as the experiment allows: training is chaotic where ``config/gates.yaml`` does not list it
    CHAOTIC = "chaotic"  #: rounding grows under every model: another processor ends elsewhere
    CHAIN = "chain"  #: a Markov chain ends elsewhere, also on processors with the same instructions


class LeakKind(enum.StrEnum):
    """Kinds of leak."""

    STANDARDISATION = "standardisation"  #: rows are centred or scaled by their own mean, spread or norm
    PRIVATE_MOMENTS = "private moments"  #: other averages of the private rows
    RANGES = "ranges"  #: the range of the private rows, or what follows from it
    STARTING_VALUES = "starting values"  #: of a fit that is not private
    PRIORS = "priors"  #: a prior, a distribution of the inputs or a fixed parameter that nobody has published
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
    """One way around the ledger: what it is made of, the sentence that tables show, and where it is at work.

    An empty scope means everywhere.
    """

    kind: LeakKind
    sentence: str
    #: kinds of model, some of those that the method fits.
    models: tuple[str, ...] = ()
    #: names of data sets.
    datasets: tuple[str, ...] = ()
    #: values of the model's field ``scaling``.
    scaling: tuple[str, ...] = ()

    def applies(self, dataset: str, model: str, scaling: str | None = None) -> bool:
        """Does it concern this data set under this kind of model? ``scaling``: of the model; None: not asked."""
        wanted = ((self.models, model), (self.datasets, dataset), (self.scaling, scaling))
        return all(not scope or value is None or value in scope for scope, value in wanted)


class Apart(enum.StrEnum):
    """Why a private method comes to no method without privacy, however large its budget."""

    CLIPPING = "clipping"  #: rows are cut at a norm, or numbers at a bound, that does not grow with the budget
    NOISE = "noise"  #: the noise, or its part of it that matters here, does not follow from epsilon
    STEPS = "steps"  #: number of steps or step sizes are fixed, and its end is not that of the method without privacy
    GUARANTEE = "guarantee"  #: what its proof can charge does not grow with the budget beyond some point
    MODES = "modes"  #: the objective has several optima, and paths from other starts or batches end in others
    REFUSED = "refused"  #: it fits no task of this kind, and says why in ``supports``
    NO_TWIN = "no twin"  #: the suite has no method without privacy that fits this kind of model in this way


@dataclass(frozen=True)
class Counterpart:
    """The non-private limit: the method that a private one should match at a very large budget (epsilon = 1e6).

    ``method``: its name; it fits the same kind of model and gives no guarantee. ``band``: the most by which the
    log-densities of new rows may differ on average, nats per row, with ``reason``: what the band is made of.
    ``apart``: why there is none, in place of a method and a band; then ``reason`` says it in a sentence.
    ``settings``: of the private method in that test, besides its defaults. ``models``: kinds of model that this
    is about; empty: all that the class fits.

    Raises ValueError where it states neither a method with its band nor a kind of reason, or both, or no sentence.
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


#: fewest words of the reason of a counterpart.
_WORDS = 5


#: for ``splits_at_once``: all splits that are missing.
ALL_SPLITS = sys.maxsize


class Method(abc.ABC):
    """One published (or corrected) algorithm behind the common interface."""

    #: name in the DAG, equal to the file's name; letters, digits and underscores. In configs, cells, files and scores.
    name: ClassVar[str]
    #: column heading; no two methods have the same.
    title: ClassVar[str]
    #: bibliography key, with the place in the paper, e.g. ``"vinaroz2023dpsep, algorithm 3"``. For readers: no program
    #: takes anything from its words.
    reference: ClassVar[str]
    #: kinds of model it can fit, e.g. ``("bnn_regression",)``. A config of such a kind may name it, and the experiments
    #: that take in unlisted methods do so by themselves.
    models: ClassVar[tuple[str, ...]]
    #: the neighbouring relation its guarantee is for; None where it gives no guarantee. Private methods get the budgets
    #: of a grid, are audited, and are held to this relation by the conformance suite.
    privacy: ClassVar[Relation | None] = None
    #: where tables, ranks and the page of advice set it: among the methods, or apart from them.
    role: ClassVar[Role] = Role.METHOD
    #: the leaks that the ledger does not count; shown in the leak table and beside each epsilon that they concern.
    leaks: ClassVar[tuple[Leak, ...]] = ()
    #: where its default settings come from, every source that has a part in them; empty: not stated. A method of a
    #: common task has to state it: whoever was tuned here has an advantage that no epsilon shows.
    constants: ClassVar[tuple[Constants, ...]] = ()
    #: does it take the printed ranges of columns (``task.public``) for public knowledge? Where they are the extremes of
    #: the table itself (``datasets.base.DataSet.extremes``), its guarantee is conditional on them.
    reads_ranges: ClassVar[bool] = False
    #: of a private method: what it comes to without privacy, or why it comes to nothing, on each kind of model that it
    #: fits (:func:`counterpart`); the conformance suite tries it.
    counterparts: ClassVar[tuple[Counterpart, ...]] = ()
    #: do its intervals count the noise of its own releases, so that they cover at a small budget? Measured
    #: (tests/methods/test_noise_aware.py). False also for a point estimate, which has no intervals.
    noise_aware: ClassVar[bool] = False
    #: is the release itself a draw from a posterior? Then there is no noise to record and replay: the audit leaves the
    #: method to the brute-force checks beside its proof.
    releases_a_draw: ClassVar[bool] = False
    #: the method whose run :meth:`read` turns into this one's posterior; empty: it makes its own. Methods of one run
    #: are fitted together, and all take the seeds of that run.
    run_of: ClassVar[str] = ""
    #: splits that ``fit_many`` takes at one request, which is what a killed cell loses at most; None: one by one.
    splits_at_once: ClassVar[int | None] = None
    #: settings that ``workflow.tuning`` tries on public surrogates, the default ``{}`` first; empty: it is not tuned.
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    #: how near a second run comes to the first, and does it compute in single precision? The gate compares by that; the
    #: method's own class says it for every kind of model.
    rerun: ClassVar[Rerun] = Rerun.TRAINING
    single_precision: ClassVar[bool] = False
    #: what its seeds are hashed from in the place of ``name``; empty: its name. A method that is renamed keeps its old
    #: name here, and so its random numbers.
    seed_name: ClassVar[str] = ""

    @dataclass(frozen=True)
    class Settings:
        """Every hyper-parameter, with unit, default and source. Subclasses declare their own."""

    def supports(self, task: Task) -> str | None:
        """None, or the reason why this task cannot be fitted (it reaches the report)."""
        if task.model.kind not in self.models:
            return f"{self.name} {fits(self)}, not {task.model.kind}"
        return None

    def prepare(self, task: Task, settings: Any) -> None:  # noqa: B027 - optional, empty by default
        """Optional: compile what ``fit`` needs. Called once before the timed fit; may not learn from the data."""

    @abc.abstractmethod
    def fit(self, task: Task, settings: Any, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        Deterministic given ``rng``. Raises ValueError for a setting out of range, :class:`Diverged` where the
        numbers leave the finite range, ``privacy.budget.BudgetExceeded`` where a release would overspend.
        """

    def fit_many(
        self,
        tasks: Sequence[Task],
        settings: Any,
        budgets: Sequence[Budget],
        rngs: Sequence[np.random.Generator],
    ) -> list[Fit]:
        """Several fits at one setting in one go, for kernels that gain from it; each keeps its own budget and rng.

        The fits are of different splits, or of one split at several budgets (its tasks are then one and the same
        object).
        """
        return [self.fit(t, settings, b, r) for t, b, r in zip(tasks, budgets, rngs, strict=True)]

    def read(self, run: Fit, settings: Any, rng: np.random.Generator) -> Fit:
        """The fit of this method from one of the method named in ``run_of``, for the same task; spends no budget.

        ``rng`` is where the run left it. Called only where ``run_of`` is set; raises TypeError elsewhere.
        """
        raise TypeError(f"{self.name} reads no run: give it `run_of`, the name of the method that makes it, and `read`")


def counterpart(method: Method, kind: str) -> Counterpart | None:
    """The non-private limit that a private method states for this kind of model; None if it states none."""
    return next((c for c in method.counterparts if not c.models or kind in c.models), None)


def fits(method: Method) -> str:
    """The kinds of model that a method fits, in words."""
    return f"fits {', '.join(method.models)}"


_HERE = Path(__file__).parent
#: environment variable with further files of methods, separated as in PATH, and the group of entry points of installed
#: packages: methods from outside. A file is as one of this folder; an entry point names the module of a method.
OUTSIDE, GROUP = "DPBAYES_METHODS", "dpbayes_bench.methods"
#: variable of a run with the files that have ended its plan when they were imported.
ENDED = "DPBAYES_ENDED"
#: is told each file before it is imported, and "" when that is over; the plan of a run sets it.
on_import: Callable[[str], object] = bool


#: fields that are read of every method when a run is planned, and their types.
_FIELDS: Mapping[str, Any] = {
    **dict.fromkeys(("name", "title", "reference", "run_of", "seed_name"), str),
    **dict.fromkeys(("models", "leaks", "constants", "counterparts", "grid"), tuple),
    **dict.fromkeys(("reads_ranges", "noise_aware", "releases_a_draw", "single_precision"), bool),
    **{"privacy": Relation | None, "role": Role, "rerun": Rerun, "splits_at_once": int | None, "Settings": type},
}


#: those of them that are tuples, and the types of their entries.
_ENTRIES: Mapping[str, Any] = {
    "models": str,
    "leaks": Leak,
    "constants": Constants,
    "counterparts": Counterpart,
    "grid": Mapping,
}


class _Wrong(TypeError):
    """A file of a method holds something else than the contract says."""


class BrokenAdapter(KeyError):
    """The file of a method is left out; the message names it and says why."""


@dataclass(frozen=True)
class _Scan:
    """What the files hold: name -> its adapters, the method's own first; name -> why it is left out."""

    found: Mapping[str, tuple[Method, ...]]
    broken: Mapping[str, str]


@cache
def _scan() -> _Scan:
    """Every method by name; what is wrong with one file takes out that file only."""
    found: dict[str, tuple[Method, ...]] = {}
    broken: dict[str, str] = {}
    paths: dict[str, str] = {}
    titles: dict[str, str] = {}
    ended = os.environ.get(ENDED, "").split(os.pathsep)
    for name, file, load in [*_ours(), *_outside()]:
        if name in paths:  # the first keeps the name, so that no file takes a method away from another
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
    """Fills a list when the user asks to stop (Ctrl-C), which looks like a KeyboardInterrupt of a file."""
    asked: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield asked  # Python raises none here
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
    """``on_import`` is told the file, and then that it is imported, unless the process ends in the block."""
    on_import(file)
    try:
        yield
    finally:
        on_import("")


def _in_words(error: BaseException) -> str:
    """Class and text of an error, one line."""
    try:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    except BaseException:  # its own text raises
        return type(error).__name__


def _ours() -> list[tuple[str, str, Callable[[], ModuleType]]]:
    """(name, file, what imports it) of the files of this folder."""
    out = []
    for path in sorted(_HERE.glob("[!_]*/[!_]*.py")):
        family, name = path.parent.name, path.stem
        load = partial(importlib.import_module, f"{__package__}.{family}.{name}")
        out.append((name, f"methods/{family}/{path.name}", load))
    return out


def _outside() -> list[tuple[str, str, Callable[[], ModuleType]]]:
    """The same of methods from outside: files that ``OUTSIDE`` names, and installed packages."""
    paths = [Path(p) for p in os.environ.get(OUTSIDE, "").split(os.pathsep) if p]
    out = [(p.stem, str(p), partial(_load, p)) for p in paths]
    return out + [(e.name, f"the installed package's {e.value}", e.load) for e in entry_points(group=GROUP)]


def _load(path: Path) -> ModuleType:
    """The module of a file elsewhere, ``methods.outside.<name>``."""
    spec = importlib.util.spec_from_file_location(f"methods.outside.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def _adapters(module: ModuleType, name: str, file: str) -> tuple[Method, ...]:
    """The adapters of a file, in its order. Raises _Wrong unless they are what the contract says."""
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
    """Which files of methods cannot be imported, and why, one sentence each. Names, pairs and runs leave them out."""
    return sorted(_scan().broken.values())


def left_out(name: str, kind: str | None = None) -> str:
    """Why this method, or the run that it reads, cannot be imported; "" where both can (or nobody knows it)."""
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
    """(kind of model, method) for all that every method fits: the methods' own adapters, then the others by kind."""
    own = [(kind, n) for n, of in sorted(_scan().found.items()) for kind in of[0].models]
    return own + sorted((kind, n) for n, of in _scan().found.items() for m in of[1:] for kind in m.models)


def get(name: str, kind: str | None = None) -> Method:
    """The adapter of that name: as it fits this kind of model, or the method's own where it does not fit the kind.

    Raises KeyError that lists the known methods, BrokenAdapter where its file cannot be imported.
    """
    if why := _scan().broken.get(name):
        raise BrokenAdapter(why)
    try:
        adapters = _scan().found[name]
    except KeyError:
        raise KeyError(f"unknown method '{name}'; methods/ has {', '.join(names())}") from None
    return next((m for m in adapters if kind in m.models), adapters[0])


def module_of(name: str, kind: str | None = None) -> str:
    """Name of the module that holds :func:`get`'s adapter."""
    return type(get(name, kind)).__module__


def is_ours(name: str) -> bool:
    """Is its file one of this folder?"""
    package, _, rest = module_of(name).partition(".")
    return package == "methods" and not rest.startswith("outside.")
