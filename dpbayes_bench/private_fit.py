"""The result of a private fit: released parameters, predictions and the guarantee, without any row."""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

#: name of the counts of replaced fields among the arrays of a saved fit.
COUNTS = "counts of replaced fields"


@dataclass(frozen=True)
class Privacy:
    """The guarantee of one fit, and its limits.

    Parameters
    ----------
    epsilon, delta, relation, accountant : cost by the ledger, its neighbouring relation, and the accountant. Under
        add/remove, with a public number of rows, it is that of one row's values against an empty row.
    replace_one, replace_one_accountant : epsilon at the same delta if one row is replaced by another; inf if no
        accountant has one.
    ledger : the releases, a ``privacy.ledger.Ledger``.
    leaks : sentences on what epsilon does not count.
    noise_aware : whether the intervals account for the privacy noise.
    secret_noise : whether the noise came from the operating system. If not, there is no guarantee.
    ranges : columns whose range was estimated privately, the target among them.
    ranges_share : the share of the budget that this took, of mu squared (Gaussian DP, Dong, Roth & Su 2022).
    n_public, citation : the number of rows and the source of the ranges, both taken as public.
    is_point : whether the fit is a point estimate.
    counted : the released counts of replaced fields (``privacy.replaced.Counted``), None if nothing was counted.
    """

    epsilon: float
    delta: float
    relation: str
    accountant: str
    replace_one: float
    replace_one_accountant: str
    ledger: Any
    leaks: tuple[str, ...]
    noise_aware: bool
    secret_noise: bool
    ranges: tuple[str, ...]
    ranges_share: float
    n_public: int
    citation: str
    is_point: bool
    counted: Any = None

    def __str__(self) -> str:
        """The guarantee and its limits, one sentence a line."""
        return "\n".join([self.guarantee, *self.limits, self.intervals])

    @property
    def guarantee(self) -> str:
        """The guarantee: epsilon of one row's values against an empty row, and of one row replaced by another."""
        from privacy.release import NEIGHBOURS

        if not math.isfinite(self.epsilon) or not self.relation:
            return "No guarantee: the method claims none, or releases private numbers without noise."
        out = (
            f"Epsilon {self.epsilon:.4g} at delta {self.delta:g}, for {NEIGHBOURS[self.relation]}, by the accountant "
            f"{self.accountant}."
        )
        if self.relation == "replace_one":
            return out
        other = NEIGHBOURS["replace_one"]
        if not math.isfinite(self.replace_one):
            return f"{out} No accountant here has an epsilon for {other}."
        return (
            f"{out} For {other}, epsilon is {self.replace_one:.4g} at the same delta, by {self.replace_one_accountant}."
        )

    @property
    def limits(self) -> list[str]:
        """The limits of the guarantee, one sentence each."""
        out = []
        if not self.secret_noise:
            out.append("The noise follows from random_state: no guarantee holds for anybody who knows or guesses it.")
        out.append(noise_words(self.ledger))
        out.append("It is the guarantee of one fit. The epsilons of all fits of the same rows add up.")
        out.append(
            f"The number of rows, {self.n_public}, is public: rows beyond it are left out, and missing ones are empty."
        )
        if self.citation:
            out.append(f"The ranges of columns are taken as public, as stated in: {self.citation}.")
        if self.ranges:
            out.append(
                f"The ranges of {len(self.ranges)} columns were not stated. To estimate them took "
                f"{100 * self.ranges_share:.0f} % of the budget (mu squared)."
            )
        out += self.counted.sentences if self.counted else []
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

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of class 0 and class 1 of a logistic model, otherwise ()."""
        return tuple(self.asked["labels"])

    @property
    def left_out(self) -> tuple[str, ...]:
        """Inputs whose scale the noise hides, by the released ranges. Their coefficients are 0."""
        inner = self.posterior
        while inner is not None and not hasattr(inner, "frame"):
            inner = getattr(inner, "posterior", None)
        if inner is None:
            return ()
        return tuple(c for c, kept in zip(self.columns, inner.frame.kept, strict=True) if not kept)

    def __str__(self) -> str:
        """The guarantee and its limits, one sentence a line."""
        which = [f"Class 1 is {self.labels[1]}, class 0 is {self.labels[0]}."] if self.labels else []
        if self.left_out:
            which.append(f"Left out, because the noise hides their scale: {', '.join(self.left_out)}.")
        return "\n".join([str(self.privacy), *self.asked["limits"], *which])

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
        """The prediction of public rows X (n, d), original units, columns as fitted (found by name in a data frame).

        A fit by a schema also takes a data frame with the columns of the schema. Raises ValueError for a row that is
        empty by it.
        """
        x = self._by_schema(X)
        x = inputs_of(X, self.columns)[0] if x is None else x
        inner = self.posterior.predictive(x, np.random.default_rng(seed))
        mean = np.asarray(inner.mean)
        variance = mean * (1 - mean) if self.model == "logistic" else np.asarray(inner.variance)
        return Predictive(mean, variance, inner, self.model)

    def _by_schema(self, X: Any) -> np.ndarray | None:
        """The inputs of a data frame with the columns of the schema, None for one with the columns of the fit."""
        if not self.asked["schema"] or not hasattr(X, "columns") or {*self.columns} <= {*map(str, X.columns)}:
            return None
        from datasets import arrays
        from datasets.schema import Schema

        whole = Schema.of(self.asked["schema"])
        some = replace(whole, n=max(len(X), 1), target=None, task="density", columns=whole.inputs, rate=None)
        X = X[[c for c in X.columns if str(c) in {column.name for column in whole.inputs}]]
        if wrong := arrays.faults(X, None, some):
            raise ValueError("; ".join(wrong))
        rows = arrays.rows_of(X, None, some)
        if bad := np.flatnonzero(rows.empty[: len(X)]).tolist():
            raise ValueError(f"row {bad[0]} of X has a field that does not fit and has no default")
        return rows.x[: len(X)]

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
        if c := p.counted:  # the counts follow from rows, and are beside the posterior
            arrays[COUNTS] = c.noisy
            words["fields that did not fit"] = {
                "columns": list(c.columns), "half width in rows": c.half_width, "visible share": c.visible,
            }  # fmt: skip
        np.savez(folder / POSTERIOR, **arrays)
        (folder / GUARANTEE).write_text(json.dumps(words, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | Path) -> PrivateFit:
        """The fit of a folder that :meth:`save` wrote. Raises FileNotFoundError that names the missing file."""
        from models import posteriors
        from models.draws import is_point
        from privacy.ledger import Ledger
        from privacy.release import GUARANTEE, POSTERIOR
        from privacy.replaced import Counted

        folder = Path(path)
        for name in (GUARANTEE, POSTERIOR):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder / name} is missing; name a folder that PrivateFit.save wrote")
        told = json.loads((folder / GUARANTEE).read_text(encoding="utf-8"))
        with np.load(folder / POSTERIOR, allow_pickle=False) as arrays:
            held = dict(arrays)
        noisy, counted = held.pop(COUNTS, None), None
        posterior = posteriors.load(told["posterior"], held)
        asked, ranges = told["asked"], told["ranges estimated privately"]
        ledger = Ledger.from_json([e | {"sensitivity": float(e["sensitivity"])} for e in told["ledger"]])
        if noisy is not None:
            c = told["fields that did not fit"]
            counted = Counted(
                tuple(c["columns"]), noisy, asked["n_public"], c["half width in rows"], c["visible share"]
            )
        other = told["one row replaced by another"] or {"epsilon": math.inf, "accountant": "none"}
        privacy = Privacy(
            told["epsilon"], told["delta"], told["relation"], told["accountant"], other["epsilon"], other["accountant"],
            ledger, tuple(told["not counted"]), asked["noise_aware"], True, tuple(ranges["columns"]),
            ranges["share of mu squared"], asked["n_public"], asked["citation"], is_point(posterior), counted,
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


def container_faults(values: Any, word: str) -> list[str]:
    """The faults of X or y (``word``) by its type, the types of its columns and their names. No value is read."""
    if hasattr(values, "toarray"):
        return [f"{word} is a sparse matrix; give {word}.toarray()"]
    if np.ma.isMaskedArray(values):
        return [f"{word} is a masked array; drop its masked rows, or give a schema, by which such values are missing"]
    if values is None:
        return [f"{word} is None; give its rows"]
    names = list(map(str, values.columns)) if hasattr(values, "columns") else []
    if twice := sorted({n for n in names if names.count(n) > 1}):
        return [f"{word} has several columns of the name {', '.join(twice)}; give each a name of its own"]
    types = dict(zip(names, values.dtypes, strict=True)) if names else {word: getattr(values, "dtype", None)}
    odd = {n: t for n, t in types.items() if getattr(t, "kind", "") in ("m", "M", "c") or "period" in str(t)}
    return [f"{n} is of type {t}; give numbers, such as days since a stated date" for n, t in odd.items()]


def names_of(X: Any, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of the columns of X (n, d). Raises ValueError for another shape."""
    if hasattr(X, "columns"):
        return tuple(map(str, X.columns))
    shape = np.shape(X) if hasattr(X, "shape") else np.shape(np.array(X, dtype=object))
    if len(shape) != 2 or not shape[1] or (wanted and len(wanted) != shape[1]):
        raise ValueError(f"X has the shape {shape}; give one row per record and {len(wanted) or 'its'} columns")
    return tuple(wanted) or tuple(f"x{j + 1}" for j in range(shape[1]))


def inputs_of(X: Any, wanted: Sequence[str] = ()) -> tuple[np.ndarray, tuple[str, ...]]:
    """Inputs (n, d) and the names of the columns. Raises ValueError; no message shows a value."""
    if wrong := container_faults(X, "X"):
        raise ValueError("; ".join(wrong))
    names = names_of(X, wanted)
    if hasattr(X, "columns") and wanted:
        if missing := [c for c in wanted if c not in names]:
            raise ValueError(f"X has no column '{missing[0]}'; give the columns of the fit")
        X, names = X.set_axis(list(names), axis=1)[list(wanted)], tuple(wanted)
    try:
        x = np.array(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "X has a column that is not of numbers; code its public levels as columns of 0 and 1, or give a schema"
        ) from None
    if not np.isfinite(x).all():
        bad = int(np.flatnonzero(~np.isfinite(x).all(axis=0))[0])
        raise ValueError(f"X has a NaN or infinity in column {names[bad]}; fill or drop such rows, or give a schema")
    return x, names
