"""Private fits on a user's own arrays, and evaluation of a researcher's own method.

:func:`fit` runs one method of ``methods/`` once, under a budget that refuses to overspend. Private rows stay inside: a
:class:`PrivateFit` holds the released parameters and the ledger, and nothing else that depends on a row.

This module lies above ``reports`` and imports what it needs inside its functions, so that reading results stays fast.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import os
import secrets
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpbayes_bench import tables

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
        """Charge a fit. Raises BudgetSpent, and charges nothing, if the sum would exceed the budget."""
        total = self.spent[0] + epsilon, self.spent[1] + delta
        if total[0] > self.epsilon * (1 + 1e-9) or total[1] > self.delta * (1 + 1e-9):
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


def _suite(what: str) -> None:
    """Raise ImportError in one line if the folders of the checkout are missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("workflow", "reports", "datasets")):
        raise ImportError(f"{what} needs a checkout of dpbayes-bench, with its data, worker and tests: run it there")


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


@dataclass(frozen=True)
class Privacy:
    """The guarantee of one fit, and its limits.

    Parameters
    ----------
    epsilon, delta, relation, accountant : cost by the ledger, its neighbouring relation, and the accountant.
    ledger : the releases, a ``privacy.ledger.Ledger``.
    leaks : sentences on what epsilon does not count.
    noise_aware : whether the intervals account for the privacy noise.
    secret_noise : whether the noise came from the operating system. If not, there is no guarantee.
    ranges : columns whose range was estimated privately, the target among them.
    ranges_share : the share of the budget that this took, of mu squared (Gaussian DP, Dong, Roth & Su 2022).
    n_public, citation : the number of rows and the source of the ranges, both taken as public.
    is_point : whether the fit is a point estimate.
    """

    epsilon: float
    delta: float
    relation: str
    accountant: str
    ledger: Any
    leaks: tuple[str, ...]
    noise_aware: bool
    secret_noise: bool
    ranges: tuple[str, ...]
    ranges_share: float
    n_public: int
    citation: str
    is_point: bool

    def __str__(self) -> str:
        """The guarantee and its limits, one sentence a line."""
        return "\n".join([self.guarantee, *self.limits, self.intervals])

    @property
    def guarantee(self) -> str:
        """The guarantee in one sentence."""
        if not math.isfinite(self.epsilon) or not self.relation:
            return "No guarantee: the method claims none, or releases private numbers without noise."
        words = {"add_remove": "one row more or less", "replace_one": "one row changed"}[self.relation]
        return f"Epsilon {self.epsilon:.4g} at delta {self.delta:g}, for {words}, by the accountant {self.accountant}."

    @property
    def limits(self) -> list[str]:
        """The limits of the guarantee, one sentence each."""
        out = []
        if not self.secret_noise:
            out.append("The noise follows from random_state: no guarantee holds for anybody who knows or guesses it.")
        out.append(noise_words(self.ledger))
        out.append("It is the guarantee of one fit. The epsilons of all fits of the same rows add up.")
        out.append(f"The number of rows, {self.n_public}, is taken as public.")
        if self.citation:
            out.append(f"The ranges of columns are taken as public, as stated in: {self.citation}.")
        if self.ranges:
            out.append(
                f"The ranges of {len(self.ranges)} columns were not stated. To estimate them took "
                f"{100 * self.ranges_share:.0f} % of the budget (mu squared)."
            )
        return out + [f"Not counted: {sentence}" for sentence in self.leaks]

    @property
    def intervals(self) -> str:
        """A sentence on whether the intervals can be trusted."""
        if self.is_point:
            return "It is a single value of the parameters, without a spread: all draws are equal."
        if self.noise_aware:
            return "The intervals count the privacy noise."
        return (
            "The intervals do not count the privacy noise, or were measured to be too narrow in spite of it. At a "
            "small epsilon they contain the true value less often than they say."
        )


def noise_words(ledger: Any) -> str:
    """A sentence on the generators of the noise, by the mechanisms in the ledger."""
    if len(ledger) and all(e.generator.startswith("OpenDP") for e in ledger):
        return "Noise is discrete and drawn exactly, so its last digits rule out no neighbouring table."
    return (
        "Noise is drawn in double precision by a generator that is not cryptographic, so the last digits of a number "
        "can rule out a neighbouring table. The extra 'discrete' draws some releases exactly."
    )


def specs(spec: Any, rows: int) -> list[Any]:
    """The options for the budget of a fit, in the order of trial. Only this function chooses a mechanism.

    Discrete noise comes first, if the extra ``discrete`` is installed. If it does not cover a release, it refuses
    before any number leaves, by the event only. The fit then starts again in double precision.
    """
    from privacy import discrete

    covered = spec.mode == "enforce" and discrete.available() and rows <= discrete.MOST_ROWS
    return [discrete.DiscreteSpec(spec, rows), spec] if covered else [spec]


@dataclass(frozen=True)
class Predictive:
    """The predictive distribution of the target of n rows, in its original units.

    ``mean`` and ``variance`` are arrays (n,). For a logistic model they are those of the class, 0 or 1.
    """

    mean: np.ndarray
    variance: np.ndarray
    _inner: Any = field(repr=False)
    _model: str = field(repr=False)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Log-density (n,) in nats per unit of the target, or the log-probability of a class. ``y`` must be public."""
        return np.asarray(self._inner.log_density(np.asarray(y, dtype=np.float64)))

    @property
    def probability(self) -> np.ndarray:
        """The probability of class 1, (n,). Raises TypeError for a linear model."""
        if self._model != "logistic":
            raise TypeError("a linear model has no classes; use mean, interval or log_density")
        return self.mean

    def interval(self, level: float = 0.9) -> np.ndarray:
        """The central interval of a new target, (n, 2): lower and upper end, noise of the observation included.

        Raises TypeError for a logistic model, and ValueError for a level that is not between 0 and 1.
        """
        if self._model == "logistic":
            raise TypeError("a class has no interval; use probability")
        if not 0 < level < 1:
            raise ValueError(f"level = {level:g}; give a number between 0 and 1")
        return np.stack([self._quantile((1 - level) / 2), self._quantile((1 + level) / 2)], axis=1)

    def _quantile(self, q: float) -> np.ndarray:
        """(n,), by Newton's method in a bracket, to a millionth of the standard deviation."""
        from evaluation.intervals import predictive_cdf

        sd, reach = np.sqrt(self.variance), 10.0
        low, high = self.mean - reach * sd, self.mean + reach * sd
        while (out := (predictive_cdf(self._inner, low) > q) | (predictive_cdf(self._inner, high) < q)).any():
            reach *= 10
            low, high = np.where(out, self.mean - reach * sd, low), np.where(out, self.mean + reach * sd, high)
            if reach > 1e12:
                raise ValueError("the predictive distribution has no such quantile: the fit has diverged")
        at = (low + high) / 2
        for _ in range(100):
            gap = predictive_cdf(self._inner, at) - q
            low, high = np.where(gap < 0, at, low), np.where(gap < 0, high, at)
            with np.errstate(all="ignore"):
                newton = at - gap / np.exp(self._inner.log_density(at))
            before, at = at, np.where((newton > low) & (newton < high), newton, (low + high) / 2)
            if (np.abs(at - before) <= 1e-6 * sd).all():
                break
        return at


@dataclass(frozen=True)
class PrivateFit:
    """One private fit: released parameters and the ledger, without any row.

    Parameters
    ----------
    model, method, columns : name of the model, name of the method, names of the d inputs.
    privacy : the guarantee and its limits, :class:`Privacy`.
    asked : all arguments that were fixed before a row was read.
    posterior : the posterior of the suite (``models.posteriors``), with inputs scaled to [-1, 1].
    """

    model: str
    method: str
    columns: tuple[str, ...]
    privacy: Privacy
    asked: Mapping[str, Any] = field(repr=False)
    posterior: Any = field(repr=False)

    def draws(self, n: int, seed: int = 0) -> dict[str, np.ndarray]:
        """n draws by name in original units: ``coef`` (n, d), ``intercept`` and, if linear, ``noise_variance`` (n,).

        A mixture regression has ``weights``, ``means`` and ``covariances`` of inputs and target together. A posterior
        without a spread gives the same value n times. Inputs outside their range count as its nearest end.
        """
        from models.draws import draws

        return draws(self.posterior, n, np.random.default_rng(seed))

    def point(self) -> dict[str, np.ndarray]:
        """The posterior mean of each parameter by name, in original units."""
        from models.draws import point

        return point(self.posterior)

    def predict(self, X: Any, seed: int = 0) -> Predictive:
        """The prediction of rows X (n, d), original units, columns as fitted (of a data frame found by their names)."""
        x, _ = _inputs(X, self.columns)
        inner = self.posterior.predictive(x, np.random.default_rng(seed))
        mean = np.asarray(inner.mean)
        variance = mean * (1 - mean) if self.model == "logistic" else np.asarray(inner.variance)
        return Predictive(mean, variance, inner, self.model)

    def to_arviz(self, n: int = 1000, seed: int = 0) -> Any:
        """An ArviZ ``DataTree`` with one chain of n draws. Raises ImportError without the extra ``arviz``."""
        try:
            from arviz_base import from_dict
        except ImportError:
            raise ImportError("to_arviz needs ArviZ: pip install 'dpbayes-bench[arviz]'") from None
        made = {name: values[None] for name, values in self.draws(n, seed).items()}
        named = {"coef": ["column"]} if "coef" in made else {}
        tree = from_dict({"posterior": made}, dims=named, coords={"column": list(self.columns)} if named else {})
        p = self.privacy
        tree["posterior"].attrs.update(epsilon=p.epsilon, delta=p.delta, relation=p.relation, method=self.method)
        return tree

    def save(self, path: str | Path) -> Path:
        """Write the folder ``path``: ``posterior.npz`` and ``guarantee.json``, which may leave the machine.

        These are the two files of ``python -m workflow.release``, by the same rule. Raises
        ``privacy.release.ReleaseError`` for a fit without a finite epsilon or secret noise, and FileExistsError for a
        path that is there.
        """
        with written(Path(path)) as folder:
            self.write(folder)
        return Path(path)

    def write(self, folder: Path) -> None:
        """Write the two files into an existing folder. Raises ReleaseError, see :meth:`save`."""
        from privacy.release import GUARANTEE, POSTERIOR, ReleaseError, contents

        p = self.privacy
        if not p.secret_noise:
            raise ReleaseError("the noise follows from random_state, so no guarantee holds; leave random_state out")
        kind, parameters = self.posterior.kind, self.posterior.parameters()
        arrays, words = contents(kind, parameters, p.ledger, p.delta, self.asked, p.leaks)
        words["ranges estimated privately"] = {"columns": list(p.ranges), "share of mu squared": p.ranges_share}
        np.savez(folder / POSTERIOR, **arrays)
        (folder / GUARANTEE).write_text(json.dumps(words, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | Path) -> PrivateFit:
        """The fit of a folder that :meth:`save` wrote. Raises FileNotFoundError that names the missing file."""
        from models import posteriors
        from models.draws import is_point
        from privacy.ledger import Ledger
        from privacy.release import GUARANTEE, POSTERIOR

        folder = Path(path)
        for name in (GUARANTEE, POSTERIOR):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder / name} is missing; name a folder that PrivateFit.save wrote")
        told = json.loads((folder / GUARANTEE).read_text(encoding="utf-8"))
        with np.load(folder / POSTERIOR, allow_pickle=False) as arrays:
            posterior = posteriors.load(told["posterior"], dict(arrays))
        asked, ranges = told["asked"], told["ranges estimated privately"]
        ledger = Ledger.from_json([e | {"sensitivity": float(e["sensitivity"])} for e in told["ledger"]])
        privacy = Privacy(
            told["epsilon"], told["delta"], told["relation"], told["accountant"], ledger, tuple(told["not counted"]),
            asked["noise_aware"], True, tuple(ranges["columns"]), ranges["share of mu squared"], asked["n_public"],
            asked["citation"], is_point(posterior),
        )  # fmt: skip
        return PrivateFit(asked["model"], asked["method"], tuple(asked["columns"]), privacy, asked, posterior)


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A folder to fill. It becomes ``path`` if the block succeeds, and is removed if it fails.

    Raises FileExistsError if ``path`` exists, unless it is an empty folder.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(f"{path} is there already; name a folder that is empty or not there")
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    folder.mkdir()
    try:
        yield folder
        os.replace(folder, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


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
    x, columns = _inputs(X)
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


def _inputs(X: Any, wanted: Sequence[str] = ()) -> tuple[np.ndarray, tuple[str, ...]]:
    """Inputs (n, d) and the names of the columns. Raises ValueError; no message shows a value."""
    frame = hasattr(X, "columns")
    names = tuple(map(str, X.columns)) if frame else tuple(wanted)
    if frame and wanted:
        if missing := [c for c in wanted if c not in names]:
            raise ValueError(f"X has no column '{missing[0]}'; give the columns of the fit")
        X, names = X.set_axis(list(names), axis=1)[list(wanted)], tuple(wanted)
    try:
        x = np.array(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "X has a column that is not of numbers; code its public levels as columns of 0 and 1"
        ) from None
    if x.ndim != 2 or not x.shape[1] or (names and len(names) != x.shape[1]):
        raise ValueError(f"X has the shape {x.shape}; give one row per record and {len(names) or 'its'} columns")
    if not np.isfinite(x).all():
        bad = int(np.flatnonzero(~np.isfinite(x).all(axis=0))[0])
        raise ValueError(
            f"X has a NaN or infinity in column {names[bad] if names else bad + 1}; fill or drop such rows"
        )
    return x, names or tuple(f"x{j + 1}" for j in range(x.shape[1]))


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
    bought = [e for e in ledger if e.proof.endswith(_RANGES)]
    share = sum(e.steps / e.noise_multiplier**2 for e in bought) / gdp_mu(*budget) ** 2
    wanted = zip((*columns, "the target"), (*task.public.x_bounds, task.public.y_bounds), strict=True)
    unstated = [name for name, pair in wanted if pair is None and (name != "the target" or task.model.scales_target)]
    return Privacy(
        epsilon=cost.epsilon if claimed else math.inf, delta=budget[1], relation=str(cost.relation) if claimed else "",
        accountant=cost.accountant if claimed else "none", ledger=ledger, leaks=leaks,
        noise_aware=adapter.noise_aware, secret_noise=secret, ranges=tuple(unstated) if bought else (),
        ranges_share=share, n_public=task.public.n, citation=task.public.citation, is_point=is_point(posterior),
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------- a researcher


def evaluate(method: str | type, task: str, epsilon: float, splits: int = 5) -> pd.DataFrame:
    """Scores of a method on a common task, one row per split and measure; the columns are those of ``scores()``.

    Parameters
    ----------
    method : a name, or a class in a file of its own with the name of the method.
    task : a name of ``tasks()``.
    epsilon : a budget of that task; not used by a method without a guarantee.
    splits : the first of the task's splits.

    The suite's worker fits. The method gets the training rows of one split, and never sees splits or test rows. Raises
    KeyError for an unknown task, and ValueError for a method or budget that the task does not have.
    """
    _suite("evaluate")
    import tempfile

    from methods import contract
    from workflow import papers, quickcheck
    from workflow.experiments import cells
    from workflow.recompute import run_cell

    files = next(p for p in papers.papers() if p.key == "common_tasks").experiments
    dataset, _, family = task.partition("-")
    if f"common_{family}" not in files:
        raise KeyError(f"no task '{task}'; tasks() has them")
    name = method if isinstance(method, str) else _from_outside(method, contract)
    every = [c for c in cells(files[f"common_{family}"], "full") if c.dataset == dataset and c.method == name]
    plain = [c for c in every if c.setting == "" or c.setting.startswith("epsilon")]
    asked = {c: dict(c.budget).get("epsilon") for c in plain}
    found = [c for c, e in asked.items() if e is None or math.isclose(e, epsilon, rel_tol=1e-9)]
    if not found:
        known = ", ".join(sorted({f"{e:g}" for e in asked.values() if e is not None}, key=float))
        raise ValueError(
            f"{task} has no {name} at epsilon = {epsilon:g}; {f'there is {known}' if known else 'no cell'}"
        )
    cell = dataclasses.replace(found[0], splits=min(splits, found[0].splits))
    with tempfile.TemporaryDirectory(prefix="evaluate-") as folder:
        results = Path(folder)
        steps = quickcheck.Steps(results / "log.txt")
        data = quickcheck.tables_for(results, steps).get(dataset)
        if isinstance(data, str):
            raise FileNotFoundError(data)
        with steps.quiet():
            rows = run_cell(cell, data, results, cell.timeout_s)
    frame = pd.DataFrame(rows).astype(str).rename(columns={"metric": "measure"})
    asked_for = tables.epsilon_asked(frame["setting"])
    return tables.typed(frame.assign(paper="common_tasks", epsilon_asked=asked_for), "scores")


def _from_outside(cls: type, contract: Any) -> str:
    """The name of a class's method, whose file the suite then knows. Raises ValueError without a file."""
    import inspect

    name = vars(cls).get("name", "")
    if name in contract.names():
        return name
    try:
        path = Path(inspect.getfile(cls)).resolve()
    except (TypeError, OSError):
        path = Path()
    if path.stem != name:
        raise ValueError(f"{cls.__name__} has to be in a file of its own, '{name}.py', which a worker can import")
    known = os.environ.get(contract.OUTSIDE, "")
    os.environ[contract.OUTSIDE] = os.pathsep.join(filter(None, [known, str(path)]))
    contract._scan.cache_clear()  # the files are scanned again
    if why := [w for w in contract.broken() if name in w]:
        raise ValueError(why[0])
    return name


def check_method(method: str | type) -> pd.DataFrame:
    """The checks of ``./bench try`` (conformance, privacy, layers), one row per check: check, case, passed, message.

    Raises ValueError for a class that is not in a file with the name of the method.
    """
    _suite("check_method")
    from methods import contract
    from workflow.try_method import checked

    name = method if isinstance(method, str) else _from_outside(method, contract)
    return pd.DataFrame(checked(name, contract.get(name).privacy is not None))


def judge(runs: Sequence[float], published: str, std: str | None = None, n: int = 1, metric: str = "rmse") -> Any:
    """The verdict of the suite on a published number, from a user's own runs: ``reports.verdict.Verdict``.

    Parameters
    ----------
    runs : the scores, one per run, in the unit of the metric.
    published, std : mean and standard deviation over runs as text, as they are printed, because rounding counts.
    n : the number of runs of the published number.
    metric : a name of ``evaluation.metrics.METRICS`` with a margin, such as "rmse".

    Raises ValueError for numbers that cannot be read, and for an unknown metric.
    """
    _suite("judge")
    from reports.evidence import Runs, printed
    from reports.verdict import judge as rule

    number = printed(str(published), int(n), "" if std is None else str(std), "none" if std is None else "sd")
    return rule(Runs(number, [float(v) for v in runs], metric))
