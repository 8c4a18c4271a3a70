"""Private fits on a user's own arrays.

:func:`fit` runs one method of ``methods/`` once, under a budget that refuses to overspend. Private rows stay inside: a
:class:`PrivateFit` holds the released parameters and the ledger, and nothing else that depends on a row. Methods are
imported inside functions, so that reading results stays fast.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from dpbayes_bench import tables
from dpbayes_bench.private_fit import Privacy, PrivateFit, inputs_of

#: name of a model -> its kind of model, and the common task that has scores of its methods.
MODELS = {
    "linear": ("bounded_linear_regression", "common_linear_regression"),
    "logistic": ("bounded_logistic_regression", "common_logistic_regression"),
}
#: words of ``accept`` besides the kinds of leaks.
NO_GUARANTEE, AUTHORS = "no guarantee", "authors' code"
#: names of the releases that estimate ranges and moments of columns (``privacy.scaling``).
_RANGES = ("scaling.range_counts", "scaling.moment_sums")
Pair = tuple[float, float]


class PrivacyLeakWarning(UserWarning):
    """An argument of a fit removes its guarantee."""


class BudgetSpent(RuntimeError):
    """An :class:`Accountant` has too little budget left for a fit."""


@dataclass(frozen=True)
class Bounds:
    """Public ranges of columns, known without the rows: from a document or a scale, never from X or y.

    Parameters
    ----------
    x : column -> (lower, upper), or one pair or None per column. Missing ranges are estimated privately, which
        costs a part of the budget.
    y : the range of the target of a linear model; not used by a logistic model.
    citation : the source of the ranges, such as "protocol, section 2".

    A value outside its range is set to the nearest end without a warning. Raises ValueError for a pair that is not a
    range, and without a citation.
    """

    x: Mapping[str, Pair] | Sequence[Pair | None] = ()
    y: Pair | None = None
    citation: str = ""

    def __post_init__(self) -> None:
        named = self.x.items() if isinstance(self.x, Mapping) else enumerate(self.x, start=1)
        for name, pair in (*named, ("y", self.y)):
            if pair is not None:
                _check_range(name, pair)
        if not self.citation.strip():
            raise ValueError("bounds: citation is empty; say where the ranges are stated: a document, a section")

    def _of(self, columns: Sequence[str]) -> tuple[Pair | None, ...]:
        """The range of each column, or None. Raises ValueError for a name or a number of ranges that does not fit."""
        if isinstance(self.x, Mapping):
            if unknown := [name for name in self.x if name not in columns]:
                raise ValueError(f"bounds: X has no column '{unknown[0]}'; {_nearest(str(unknown[0]), columns)}")
            given = [self.x.get(c) for c in columns]
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


class Accountant:
    """Adds up the cost of fits of the same rows by basic composition, and refuses a fit that would cost too much.

    A fit is charged before it reads a row. Copies are the same accountant, so that clones of scikit-learn share it.
    """

    def __init__(self, epsilon: float, delta: float):
        self.epsilon, self.delta = checked_budget(epsilon, delta)
        #: epsilon and delta charged so far.
        self.spent = (0.0, 0.0)

    def charge(self, epsilon: float, delta: float) -> None:
        """Charge a fit. Raises BudgetSpent, and charges nothing, if the sum would exceed the budget.

        Raises ValueError for a cost that is not a number of at least 0.
        """
        if not (epsilon >= 0 and delta >= 0):
            raise ValueError(f"a cost of epsilon = {epsilon:g} at delta = {delta:g}: give two numbers of at least 0")
        total = self.spent[0] + epsilon, self.spent[1] + delta
        if not (total[0] <= self.epsilon * (1 + 1e-9) and total[1] <= self.delta * (1 + 1e-9)):
            raise BudgetSpent(
                f"this fit would bring the sum to epsilon = {total[0]:g} at delta = {total[1]:g}; the accountant has "
                f"{self.epsilon:g} at {self.delta:g}. Fit once with settings chosen beforehand, or on public rows."
            )
        self.spent = total

    def __deepcopy__(self, memo: object) -> Accountant:
        return self

    __copy__ = __deepcopy__

    def __reduce__(self) -> Any:
        raise TypeError("an accountant counts in one process, and a copy would count anew; use n_jobs=1")


def checked_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """Epsilon and delta as floats. Raises ValueError for values that are not a budget."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon = {epsilon:g} is no budget; give a finite number above 0")
    if not 0 < delta < 1:
        raise ValueError(f"delta = {delta:g} is no probability; give one above 0 and far below 1 / rows")
    return float(epsilon), float(delta)


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
    y: Any,
    *,
    model: str,
    method: str,
    epsilon: float,
    delta: float,
    bounds: Bounds | None,
    n_public: int,
    settings: Mapping[str, Any] | None = None,
    accept: Sequence[str] = (),
    accountant: Accountant | None = None,
    random_state: int | None = None,
) -> PrivateFit:
    """Fit one method once to private rows.

    Parameters
    ----------
    X : (n, d) inputs in original units, an array or a data frame of numbers. Levels are columns of 0 and 1.
    y : (n,) targets; of a logistic model classes 0 and 1.
    model : "linear" or "logistic", as in the common tasks: a Bayesian regression with an intercept.
    method : a name of :func:`list_methods`.
    epsilon, delta : the budget of the whole fit, ranges included. A release that would overspend is refused.
    bounds : public ranges. None estimates all of them privately, which ``privacy.ranges_share`` says the cost of.
    n_public : the public number of rows. Methods take it as known, so it has no default.
    settings : values of the method's settings that differ from the defaults. Choose them without these rows.
    accept : names of what is accepted of a method that leaks or claims nothing, such as "public n".
    accountant : adds up fits of the same rows, :class:`Accountant`.
    random_state : None takes the noise from the operating system. A number makes the noise public and warns.

    Raises
    ------
    ValueError : an argument that is wrong, a method that has to be accepted, or a table that the method refuses. No
        message shows a value of a row.
    BudgetSpent, privacy.budget.BudgetExceeded : the accountant or the budget does not suffice.
    """
    kind, adapter = kind_of(model), method_of(method, model)
    epsilon, delta = checked_budget(epsilon, delta)
    if isinstance(n_public, bool) or int(n_public) != n_public or n_public < 1:
        raise ValueError(f"n_public = {n_public}; give the public number of rows, at least 1")
    sentences = accepted(adapter, kind, accept)
    chosen = _settings(adapter, settings or {})
    x, columns = inputs_of(X)
    target = _target(y, len(x), model)
    if delta >= 1 / n_public:
        warnings.warn(
            f"delta = {delta:g} is not below 1 / n_public = {1 / n_public:.2g}: a mechanism that publishes a whole row "
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
    task = _task(kind, x, target, columns, bounds, int(n_public))
    if why := adapter.supports(task):
        raise ValueError(why)
    if accountant is not None:
        accountant.charge(epsilon, delta)
    posterior, ledger = _run(adapter, kind, task, chosen, (epsilon, delta), random_state)
    asked = {
        "model": model, "method": method, "title": adapter.title, "settings": dataclasses.asdict(chosen),
        "epsilon": epsilon, "delta": delta, "n_public": int(n_public), "columns": list(columns),
        "bounds": {"x": list(task.public.x_bounds), "y": task.public.y_bounds}, "citation": task.public.citation,
        "accept": sorted(accept), "noise_aware": adapter.noise_aware,
    }  # fmt: skip
    privacy = _privacy(adapter, task, columns, ledger, (epsilon, delta), sentences, posterior, random_state is None)
    return PrivateFit(model, method, columns, privacy, asked, posterior)


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
        raise ValueError("y has a NaN or infinity; drop such rows")
    if model == "logistic" and not np.isin(target, (0.0, 1.0)).all():
        raise ValueError("y has a value that is no class; code the two classes as 0 and 1")
    return target


def _task(kind: str, x: np.ndarray, y: np.ndarray, columns: Sequence[str], bounds: Bounds | None, n: int) -> Any:
    from models.kind import kind as record
    from models.task import PublicKnowledge, Task

    ranges = bounds._of(columns) if bounds else (None,) * len(columns)
    known = record(kind)
    low_high = bounds.y if bounds and known.target == "regression" else None
    y_bounds = None if low_high is None else (float(low_high[0]), float(low_high[1]))
    public = PublicKnowledge(n, ranges, y_bounds, bounds.citation if bounds else "")
    return Task("X", known.model(), x, y, public)


def _run(adapter, kind: str, task, settings, budget: Pair, random_state: int | None) -> tuple[Any, Any]:
    """Posterior and ledger. A method that reads the run of another makes that run first, under the same budget."""
    from methods import contract
    from privacy.budget import BudgetSpec
    from privacy.discrete import NotDiscrete

    maker = contract.get(adapter.run_of, kind) if adapter.run_of else adapter
    given = settings
    if maker is not adapter:
        given = maker.Settings(**{f.name: getattr(settings, f.name) for f in dataclasses.fields(maker.Settings)})
    maker.prepare(task, given)
    mode = "record" if adapter.privacy is None else "enforce"
    spec = BudgetSpec(epsilon=budget[0], delta=budget[1], mode=mode)
    # with random_state the noise must follow from it, and discrete noise does not
    for one in specs(spec, task.public.n) if random_state is None else [spec]:
        noise, own = (np.random.default_rng(s) for s in np.random.SeedSequence(random_state).spawn(2))
        with suppress(NotDiscrete):
            made = maker.fit(task, given, one.open(noise), own)
            break
    if maker is not adapter:
        made = adapter.read(made, settings, own)
    return made.posterior, made.ledger  # the diagnostics may follow from rows, and are dropped


def _privacy(adapter, task, columns, ledger, budget: Pair, leaks, posterior, secret: bool) -> Privacy:
    from models.draws import is_point
    from privacy.accountants import epsilon_of, gdp_mu

    cost = epsilon_of(ledger, budget[1])
    claimed = adapter.privacy is not None
    estimated = [e for e in ledger if e.proof.endswith(_RANGES)]
    share = sum(e.steps / e.noise_multiplier**2 for e in estimated) / gdp_mu(*budget) ** 2
    wanted = zip((*columns, "the target"), (*task.public.x_bounds, task.public.y_bounds), strict=True)
    unstated = [name for name, pair in wanted if pair is None and (name != "the target" or task.model.scales_target)]
    return Privacy(
        epsilon=cost.epsilon if claimed else math.inf, delta=budget[1], relation=str(cost.relation) if claimed else "",
        accountant=cost.accountant if claimed else "none", ledger=ledger, leaks=leaks,
        noise_aware=adapter.noise_aware, secret_noise=secret, ranges=tuple(unstated) if estimated else (),
        ranges_share=share, n_public=task.public.n, citation=task.public.citation, is_point=is_point(posterior),
    )  # fmt: skip
