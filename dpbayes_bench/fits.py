"""Private fits on a user's own rows.

:func:`fit` runs one method of ``methods/`` once, under a budget that refuses to overspend. Private rows stay inside: a
:class:`PrivateFit` holds what was released and the ledger, and nothing else that depends on a row. A refusal follows
from the schema, names of columns and arguments. Methods are imported inside functions, so that reading results stays
fast.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpbayes_bench import tables
from dpbayes_bench.accountant import Accountant, checked_budget
from dpbayes_bench.private_fit import Privacy, PrivateFit, container_faults, inputs_of, names_of

#: name of a model -> its kind of model, and the common task that has scores of its methods.
MODELS = {
    "linear": ("bounded_linear_regression", "common_linear_regression"),
    "logistic": ("bounded_logistic_regression", "common_logistic_regression"),
}
#: words of ``accept`` besides the kinds of leaks.
NO_GUARANTEE, AUTHORS = "no guarantee", "authors' code"
#: names of the releases that estimate ranges and moments of columns (``privacy.ranges``).
_RANGES = ("ranges.interval_counts", "ranges.moment_sums")
Pair = tuple[float, float]


class PrivacyLeakWarning(UserWarning):
    """An argument of a fit removes its guarantee."""


class HiddenRangeWarning(UserWarning):
    """The noise of a fit may hide the ranges of columns, by public numbers alone."""


@dataclass(frozen=True)
class Bounds:
    """Public ranges of columns, known without the rows: from a document or a scale, never from X or y.

    Parameters
    ----------
    x : column -> (lower, upper), or one pair or None per column. Missing ranges are estimated privately, which
        costs a part of the budget.
    y : the range of the target of a linear model; not used by a logistic model.
    citation : the source of the ranges, such as "protocol, section 2".

    A value outside its range is set to the nearest end without a warning. Ranges alone are a schema of numbers without
    defaults: a value that is no number is refused, and the refusal tells that there is one. Only a ``Schema`` keeps
    that inside. Raises ValueError for a pair that is not a range, and without a citation.
    """

    x: Mapping[str, Pair] | Sequence[Pair | None] = ()
    y: Pair | None = None
    citation: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.x, str) or not isinstance(self.x, Mapping | Sequence):
            raise ValueError(f"bounds: x is of type {type(self.x).__name__}; give column -> (lower, upper), or a list")
        named = self.x.items() if isinstance(self.x, Mapping) else enumerate(self.x, start=1)
        for name, pair in (*named, ("y", self.y)):
            if pair is not None:
                _check_range(name, pair)
        if not self.citation.strip():
            raise ValueError("bounds: citation is empty; say where the ranges are stated: a document, a section")

    def _of(self, columns: Sequence[str]) -> tuple[Pair | None, ...]:
        """The range of each column, or None. Raises ValueError for a name or a number of ranges that does not fit."""
        if isinstance(self.x, Mapping):
            named = {str(name): pair for name, pair in self.x.items()}
            if unknown := [name for name in named if name not in columns]:
                raise ValueError(f"bounds: X has no column '{unknown[0]}'; {_nearest(unknown[0], columns)}")
            given = [named.get(c) for c in columns]
        else:
            given = list(self.x) or [None] * len(columns)
        if len(given) != len(columns):
            raise ValueError(f"bounds: {len(given)} ranges for {len(columns)} columns; give a pair or None for each")
        return tuple(None if pair is None else (float(pair[0]), float(pair[1])) for pair in given)


def _check_range(name: object, pair: Any) -> None:
    try:
        low, high = map(float, pair)
    except (TypeError, ValueError):
        raise ValueError(f"bounds: {name} has {pair!r}; give (lower, upper), two numbers") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"bounds: {name} has ({low:g}, {high:g}); give finite numbers, lower < upper")


def _nearest(word: str, known: Sequence[str]) -> str:
    """The most similar known name, for a message."""
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    some = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    return f"did you mean {' or '.join(near)}?" if near else f"there are {some}"


# -------------------------------------------------------------------------------------------------------- the methods


def kind_of(model: str) -> str:
    """The kind of model of the suite. Raises ValueError that lists the models."""
    if model not in MODELS:
        raise ValueError(f"unknown model '{model}'; give {' or '.join(MODELS)}")
    return MODELS[model][0]


def method_of(name: str, model: str) -> Any:
    """The method for this model. Raises ValueError with similar names, or with the reason why it cannot be imported."""
    from methods import contract

    kind = kind_of(model)
    known = contract.names(kind)
    if name not in known:
        if why := [w for w in contract.broken() if name in w] or contract.left_out(name, kind):
            raise ValueError(why if isinstance(why, str) else why[0])
        other = f"it {contract.fits(contract.get(name))}; " if name in contract.names() else ""
        raise ValueError(f"no method '{name}' fits the model '{model}': {other}{_nearest(name, known)}")
    return contract.get(name, kind)


def leaks(method: Any, kind: str) -> dict[str, list[str]]:
    """Word that the user must accept before this method fits -> sentences that say why."""
    found: dict[str, list[str]] = {}
    if method.privacy is None:
        found[NO_GUARANTEE] = [f"{method.title} claims no guarantee; every number that it gives may show a row"]
    if method.name.endswith("_authors"):
        found[AUTHORS] = [f"{method.title} is as the authors' code has it, and not as its guarantee needs it"]
    for leak in method.leaks:
        # without a guarantee there is nothing to leak around
        if method.privacy is not None and leak.applies("", kind):
            found.setdefault(str(leak.kind), []).append(leak.sentence)
    return found


def list_methods(
    model: str | None = None, private: bool | None = None, noise_aware: bool | None = None
) -> pd.DataFrame:
    """The methods that :func:`fit` knows, one row per model and method.

    ``relation`` is the neighbouring relation of the guarantee, "" without one. ``noise_aware``: whether the intervals
    account for the privacy noise. If not, they are too narrow at a small epsilon. ``leaks`` holds the words that
    ``accept`` asks for. ``settings`` holds the defaults, and ``seconds`` the median time of a committed fit (NaN
    without one).

    Arguments that are not None filter the rows. Raises ValueError for an unknown model.
    """
    from methods import contract

    out = []
    for word in [model] if model else list(MODELS):
        kind = kind_of(word)
        seconds = _seconds(MODELS[word][1])
        for name in contract.names(kind):
            method = contract.get(name, kind)
            if private not in (None, method.privacy is not None) or noise_aware not in (None, method.noise_aware):
                continue
            row = {"model": word, "name": name, "title": method.title, "relation": str(method.privacy or "")}
            row |= {"noise_aware": method.noise_aware, "leaks": tuple(leaks(method, kind))}
            out.append(
                row | {"settings": dataclasses.asdict(method.Settings()), "seconds": seconds.get(name, math.nan)}
            )
    columns = ["model", "name", "title", "relation", "noise_aware", "leaks", "settings", "seconds"]
    return pd.DataFrame(out, columns=columns)


@cache
def _seconds(experiment: str) -> dict[str, float]:
    """Method -> median seconds of a committed fit of a common task."""
    home = tables.HERE / "data" if (tables.HERE / "data").is_dir() else tables.HERE.parent
    path = home / f"common_tasks/reference/scores/{experiment}.csv.gz"
    if not path.is_file():
        return {}
    rows = pd.read_csv(path, usecols=["cell", "method", "split", "seconds"]).drop_duplicates(["cell", "split"])
    return rows.groupby("method")["seconds"].median().to_dict()


# ------------------------------------------------------------------------------------------------------------ one fit


def specs(spec: Any, rows: int) -> list[Any]:
    """The options for the budget of a fit, in the order of trial. Only this function chooses a mechanism.

    Discrete noise comes first, if the extra ``discrete`` is installed. If it does not cover a release, it refuses
    before any number leaves, by the event only. The fit then starts again in double precision.
    """
    from privacy import discrete

    covered = spec.mode == "enforce" and discrete.available() and rows <= discrete.MOST_ROWS
    return [discrete.DiscreteSpec(spec, rows), spec] if covered else [spec]


def fit(
    X: Any,
    y: Any = None,
    *,
    model: str,
    method: str,
    epsilon: float,
    delta: float,
    bounds: Bounds | None = None,
    n_public: int | None = None,
    schema: Any = None,
    settings: Mapping[str, Any] | None = None,
    accept: Sequence[str] = (),
    accountant: Accountant | None = None,
    random_state: int | None = None,
    empty: np.ndarray | None = None,
    replaced: np.ndarray | None = None,
) -> PrivateFit:
    """Fit one method once to private rows.

    Parameters
    ----------
    X : with a ``schema``, a data frame of its columns or (n, inputs) values in its order. Each row maps alone to
        numbers. A field that does not fit its column becomes the stated default, whatever the type of the array is.
        If there is no schema, (n, d) numbers in original units, with levels as columns of 0 and 1.
    y : (n,) targets; of a logistic model classes 0 and 1, or those of the schema. None if X is a data frame that has
        the target of the schema.
    model : "linear" or "logistic", as in the common tasks: a Bayesian regression with an intercept.
    method : a name of :func:`list_methods`.
    epsilon, delta : the budget of the whole fit, ranges included. A release that would overspend is refused.
    bounds : public ranges. None estimates all of them privately, which ``privacy.ranges_share`` says the cost of. A
        schema has its own.
    n_public : the public number of rows. Methods take it as known, so it has no default except that of the schema. Rows
        beyond it are left out, and missing ones are empty rows, which add nothing to any sum.
    schema : everything that is known without the rows: ``Schema.read("schema.yaml")``.
    settings : values of the method's settings that differ from the defaults. Choose them without these rows.
    accept : names of what is accepted of a method that leaks or claims nothing, such as "public n".
    accountant : adds up fits of the same rows, :class:`Accountant`. It is charged before a row is mapped by a schema.
    random_state : None takes the noise from the operating system. A number makes the noise public and warns.
    empty, replaced : of n_public rows that a schema has mapped already: (n,) bool, the rows that add nothing, and
        (n, k) bool, the fields that were replaced, with ``empty`` as last column. X then has the columns
        ``schema.coded``. A hundredth of the budget counts the fields that were replaced, as it does for a schema.

    Two things are not protected: time and memory. Arrays without a schema have a third. A value that is not a finite
    number, or no class, is refused before the accountant is charged, and the refusal tells that there is one.

    Raises
    ------
    ValueError : everything that is wrong with the schema, names of columns and arguments, in one message, or a table
        that the method refuses. No message shows a value of a row. After releases, ``privacy.ranges.HiddenRange`` says
        that they hide the range of the target.
    BudgetSpent, BudgetFileError, privacy.budget.BudgetExceeded : the accountant or the budget does not suffice.
    """
    wrong: list[str] = []
    mapped = empty is not None

    def checked(check: Callable[..., Any], *given: Any) -> Any:
        try:
            return check(*given)
        except (ValueError, TypeError) as e:
            wrong.append(str(e))
            return None

    kind = checked(kind_of, model)
    adapter = checked(method_of, method, model) if kind else None
    sentences = checked(accepted, adapter, kind, accept) if adapter else ()
    chosen = checked(_settings, adapter, settings or {}) if adapter else None
    budget = checked(checked_budget, epsilon, delta)
    n = checked(_number_of_rows, n_public, schema)
    if accountant is not None and not isinstance(accountant, Accountant):
        wrong.append(f"accountant is of type {type(accountant).__name__}; give an Accountant or None")
    if schema is not None and bounds is not None:
        wrong.append("bounds: the schema states the ranges; leave bounds out")
        bounds = None
    elif bounds is not None and not isinstance(bounds, Bounds):
        wrong.append(f"bounds is of type {type(bounds).__name__}; give Bounds(x=..., y=..., citation=...) or None")
        bounds = None
    unfit = _container_faults(X, y, model, schema, empty, replaced, n)
    wrong += unfit
    columns = None if unfit else tuple(schema.coded) if schema is not None else checked(names_of, X)
    public = checked(_public, kind, columns, bounds, n, schema) if kind and columns else None
    if wrong:
        several = "; ".join(f"({k}) {text}" for k, text in enumerate(wrong, start=1))
        raise ValueError(wrong[0] if len(wrong) == 1 else several)
    if delta >= 1 / n:
        warnings.warn(
            f"delta = {delta:g} is not below 1 / n_public = {1 / n:.2g}: a mechanism that publishes a whole row "
            "now and then would pass; take a smaller one",
            PrivacyLeakWarning,
            stacklevel=2,
        )
    if random_state is not None:
        warnings.warn(
            "random_state makes the noise public, so no guarantee holds; leave it out for private rows",
            PrivacyLeakWarning,
            stacklevel=2,
        )
    blank = _task(kind, np.zeros((0, len(columns))), np.zeros(0), public)
    warning = refused(adapter, blank, budget)
    if warning:
        warnings.warn(warning, HiddenRangeWarning, stacklevel=2)
    rows = None if mapped or schema is not None else _numbers(X, y, model)
    if accountant is not None:
        accountant.charge(*budget, what=method)
    rows = rows or _by_schema(X, y, schema, empty, replaced)
    task = _task(kind, *_slots(adapter.privacy, rows, public), public)
    posterior, ledger, counts = _run(adapter, kind, task, blank, chosen, budget, random_state, rows)
    asked = {
        "model": model, "method": method, "title": adapter.title, "settings": dataclasses.asdict(chosen),
        "epsilon": epsilon, "delta": delta, "n_public": n, "columns": list(columns),
        "bounds": {"x": list(public.x_bounds), "y": public.y_bounds}, "citation": public.citation,
        "accept": sorted(accept), "noise_aware": adapter.noise_aware, "labels": _labels(model, schema),
        "schema": None if schema is None else schema.document(),
        # the first limit is about lines of a file, which a data frame does not have
        "limits": [] if schema is None else list(schema.limits if mapped else schema.limits[1:]),
    }  # fmt: skip
    privacy = _privacy(adapter, task, columns, ledger, budget, sentences, posterior, random_state is None)
    return PrivateFit(model, method, columns, dataclasses.replace(privacy, counted=counts), asked, posterior)


def checked_public(model: str, method: str, schema: Any, epsilon: float, delta: float) -> str:
    """The warning of :func:`refused` for a fit by a schema. Raises its ValueError."""
    kind = kind_of(model)
    public = _public(kind, schema.coded, None, schema.n, schema)
    blank = _task(kind, np.zeros((0, len(schema.coded))), np.zeros(0), public)
    return refused(method_of(method, model), blank, checked_budget(epsilon, delta))


def refused(adapter: Any, blank: Any, budget: Pair) -> str:
    """A warning that the noise may hide ranges, "" if that is unlikely. ``blank``: the task without rows.

    Raises ValueError if public numbers alone refuse the fit: the method does not support them, or it is more likely
    than not that the noise hides the target's range.
    """
    from methods._shared.frames import SHARE, InFrame, forecast

    if why := adapter.supports(blank):
        raise ValueError(why)
    public, scaled = blank.public, blank.model.scales_target
    inputs, target = sum(pair is None for pair in public.x_bounds), scaled and public.y_bounds is None
    if adapter.privacy is None or not (inputs or target):
        return ""
    told = forecast(public.n, inputs, target, *budget, adapter.share if isinstance(adapter, InFrame) else SHARE)
    if told.hopeless:
        raise ValueError(told.words)
    return told.words


def _number_of_rows(n_public: Any, schema: Any) -> int:
    if hasattr(schema, "coded"):
        if n_public not in (None, schema.n):
            raise ValueError(f"n_public = {n_public!r}, but the schema states {schema.n} rows; leave n_public out")
        return int(schema.n)
    whole = isinstance(n_public, Real) and not isinstance(n_public, bool) and math.isfinite(n_public)
    if not whole or int(n_public) != n_public or n_public < 1:
        raise ValueError(f"n_public = {n_public!r}; give the public number of rows, a whole number of at least 1")
    return int(n_public)


def _container_faults(
    X: Any, y: Any, model: str, schema: Any, empty: Any, replaced: Any, rows: int | None
) -> list[str]:
    """Everything that is wrong with the containers of rows, by their types, shapes and names of columns.

    ``rows``: the public number of rows, None if it is wrong.
    """
    out = []
    if schema is not None:
        if not hasattr(schema, "coded"):
            return [f"schema is of type {type(schema).__name__}; give Schema.read(path)"]
        task = {"linear": "regression", "logistic": "classification"}.get(model)
        if task and schema.task != task:
            out.append(f"the schema is of a {schema.task}; the model '{model}' needs one of a {task}")
        elif task == "classification" and len(schema.classes) != 2:
            out.append(f"the target has {len(schema.classes)} classes; a logistic model has two: one against the rest")
    if empty is not None:
        n, d = len(empty) if rows is None else rows, np.shape(X)[1:] if schema is None else (len(schema.coded),)
        if np.shape(X) != (n, *d) or len(d) != 1 or {np.shape(y), np.shape(empty)} != {(n,)}:
            out.append(f"X has the shape {np.shape(X)}, y {np.shape(y)}, empty {np.shape(empty)}; n_public is {n}")
        if replaced is not None and (np.ndim(replaced) != 2 or len(replaced) != n):
            out.append(f"replaced has the shape {np.shape(replaced)}; give one row per row of X")
        return out
    if replaced is not None:
        out.append("replaced without empty; give both, or a schema alone")
    if schema is not None:
        from datasets import arrays

        return out + arrays.faults(X, y, schema)
    return out + container_faults(X, "X") + container_faults(y, "y")


def _labels(model: str, schema: Any) -> list[str]:
    """The names of the classes 0 and 1 of a logistic model."""
    if model != "logistic":
        return []
    return ["0", "1"] if schema is None else list(schema.classes)


def _public(kind: str, columns: Sequence[str], bounds: Bounds | None, n: int, schema: Any) -> Any:
    from models.kind import kind as record
    from models.task import PublicKnowledge

    if schema is not None:
        return PublicKnowledge(n, tuple(schema.bounds), schema.y_bounds, "; ".join(schema.sources))
    ranges = bounds._of(columns) if bounds else (None,) * len(columns)
    low_high = bounds.y if bounds and record(kind).target == "regression" else None
    y_bounds = None if low_high is None else (float(low_high[0]), float(low_high[1]))
    return PublicKnowledge(n, ranges, y_bounds, bounds.citation if bounds else "")


class _Rows(NamedTuple):
    """Rows as numbers: (n, d) inputs, (n,) targets, (n,) empty rows, and (n, k) replaced fields with their k names."""

    x: np.ndarray
    y: np.ndarray
    empty: np.ndarray
    replaced: np.ndarray | None = None
    columns: tuple[str, ...] = ()


def _numbers(X: Any, y: Any, model: str) -> _Rows:
    """Rows without a schema. Raises ValueError for a value that is not a finite number, or no class."""
    x, _ = inputs_of(X)
    return _Rows(x, _target(y, len(x), model), np.zeros(len(x), dtype=bool))


def _by_schema(X: Any, y: Any, schema: Any, empty: Any, replaced: Any) -> _Rows:
    """Rows by a schema, or those that one has mapped (``empty`` is not None)."""
    if empty is None:
        from datasets import arrays

        rows = arrays.rows_of(X, y, schema)
        return _Rows(rows.x, rows.y, rows.empty, rows.replaced, rows.columns)
    names: tuple[str, ...] = ()
    if replaced is not None:
        names = tuple(f"field {k + 1}" for k in range(np.shape(replaced)[1]))
        named = () if schema is None else (*(c.name for c in schema.inputs), schema.target)
        names = named if len(named) == len(names) else names
    x, y = (np.asarray(a, dtype=np.float64) for a in (X, y))
    return _Rows(x, y, np.asarray(empty, dtype=bool), replaced, names)


def _slots(relation: Any, rows: _Rows, public: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rows that a method gets, of the n slots of the table: inputs and targets.

    Under add/remove an empty row is one that is left out, because the audit removes rows at a fixed public number.
    Under replace-one, in whose fixed batches each slot has its place, it is a public row: the middle of the ranges (0
    if a range is not stated). Rows beyond the public number are left out, and missing ones are empty.
    """
    n = public.n
    x, y, empty = rows.x[:n], rows.y[:n], rows.empty[:n]
    if str(relation) != "replace_one":
        return (x, y) if not empty.any() else (x[~empty], y[~empty])
    middle = [0.0 if pair is None else (pair[0] + pair[1]) / 2 for pair in public.x_bounds]
    slots = np.tile(np.array(middle), (n, 1))
    targets = np.full(n, 0.0 if public.y_bounds is None else sum(public.y_bounds) / 2)
    held = np.flatnonzero(~empty)
    slots[held], targets[held] = x[held], y[held]
    return slots, targets


def accepted(adapter: Any, kind: str, accept: Sequence[str]) -> tuple[str, ...]:
    """Sentences on what the user accepted. Raises ValueError for what the user must accept."""
    from methods.contract import LeakKind

    if isinstance(accept, str):
        accept = (accept,)
    known = [*map(str, LeakKind), NO_GUARANTEE, AUTHORS]
    if unknown := [word for word in accept if word not in known]:
        raise ValueError(f"accept: nobody knows '{unknown[0]}'; {_nearest(unknown[0], known)}")
    found = leaks(adapter, kind)
    if missing := [word for word in found if word not in accept]:
        told = "; ".join(f"{word}: {' '.join(found[word])}" for word in missing)
        raise ValueError(
            f"the epsilon of {adapter.name} does not count this: {told}. Accept it by name, accept="
            f"({', '.join(map(repr, missing))},) in Python or --accept {' '.join(map(json.dumps, missing))}, or take "
            "another method"
        )
    return tuple(sentence for sentences in found.values() for sentence in sentences)


def _settings(adapter: Any, given: Mapping[str, Any]) -> Any:
    names = [f.name for f in dataclasses.fields(adapter.Settings)]
    if unknown := [name for name in given if name not in names]:
        raise ValueError(f"{adapter.name} has no setting '{unknown[0]}'; {_nearest(unknown[0], names)}")
    return adapter.Settings(**given)


def _target(y: Any, n: int, model: str) -> np.ndarray:
    try:
        target = np.array(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y is not of numbers; code two classes as 0 and 1") from None
    if target.shape != (n,):
        raise ValueError(f"y has the shape {target.shape}; X has {n} rows, so give ({n},)")
    if not np.isfinite(target).all():
        raise ValueError("y has a NaN or infinity; drop such rows, or give a schema")
    if model == "logistic" and not np.isin(target, (0.0, 1.0)).all():
        raise ValueError("y has a value that is no class; code the two classes as 0 and 1, or give a schema")
    return target


def _task(kind: str, x: np.ndarray, y: np.ndarray, public: Any) -> Any:
    from models.kind import kind as record
    from models.task import Task

    return Task("X", record(kind).model(), x, y, public)


def _run(
    adapter, kind: str, task, blank, settings, budget: Pair, random_state: int | None, rows: _Rows
) -> tuple[Any, Any, Any]:
    """Posterior, ledger and the counts of replaced fields (None if no schema marked any), all under one budget.

    A method that reads the run of another makes that run first. ``blank``: the task without rows, for what is compiled
    beforehand.
    """
    from methods import contract
    from privacy.budget import BudgetSpec
    from privacy.discrete import NotDiscrete
    from privacy.replaced import release

    maker = contract.get(adapter.run_of, kind) if adapter.run_of else adapter
    given = settings
    if maker is not adapter:
        given = maker.Settings(**{f.name: getattr(settings, f.name) for f in dataclasses.fields(maker.Settings)})
    maker.prepare(blank, given)
    mode = "record" if adapter.privacy is None else "enforce"
    spec = BudgetSpec(epsilon=budget[0], delta=budget[1], mode=mode, ranges="all doubles")
    # with random_state the noise must follow from it, and discrete noise does not
    for one in specs(spec, task.public.n) if random_state is None else [spec]:
        noise, own = (np.random.default_rng(s) for s in np.random.SeedSequence(random_state).spawn(2))
        with suppress(NotDiscrete):
            whole = one.open(noise)
            counts = None
            if rows.replaced is not None and adapter.privacy is not None:
                counts = release(rows.replaced[: task.public.n], rows.columns, task.public.n, whole, adapter.privacy)
            made = maker.fit(task, given, whole, own)
            break
    if maker is not adapter:
        made = adapter.read(made, settings, own)
    return made.posterior, made.ledger, counts  # the diagnostics may follow from rows, and are dropped


def _privacy(adapter, task, columns, ledger, budget: Pair, leaks, posterior, secret: bool) -> Privacy:
    from models.draws import is_point
    from privacy.accountants import epsilon_of, gdp_mu
    from privacy.ledger import Relation

    cost, replaced = epsilon_of(ledger, budget[1]), epsilon_of(ledger, budget[1], relation=Relation.REPLACE_ONE)
    claimed = adapter.privacy is not None
    estimated = [e for e in ledger if e.proof.endswith(_RANGES)]
    share = sum(e.steps / e.noise_multiplier**2 for e in estimated) / gdp_mu(*budget) ** 2
    wanted = zip((*columns, "the target"), (*task.public.x_bounds, task.public.y_bounds), strict=True)
    unstated = [name for name, pair in wanted if pair is None and (name != "the target" or task.model.scales_target)]
    return Privacy(
        epsilon=cost.epsilon if claimed else math.inf, delta=budget[1], relation=str(cost.relation) if claimed else "",
        accountant=cost.accountant if claimed else "none",
        replace_one=replaced.epsilon if claimed else math.inf,
        replace_one_accountant=replaced.accountant if claimed else "none", ledger=ledger, leaks=leaks,
        noise_aware=adapter.noise_aware, secret_noise=secret, ranges=tuple(unstated) if estimated else (),
        ranges_share=share, n_public=task.public.n, citation=task.public.citation, is_point=is_point(posterior),
    )  # fmt: skip
