"""Bayesian logistic regression without intercept, whose prior precision grows with the number of rows.

    P(y = 1 | w, x) = 1 / (1 + exp(-w . x)),   y in {0, 1}

The prior is N(0, I / (n beta)) with n the public number of training rows (Geumlek, Song & Chaudhuri 2017, section 4).
Its precision grows with n, and beta is the prior precision per row. Rows have L2 norm at most ``norm_bound``, on which
the privacy of a draw from the posterior depends.

The model says how original units are scaled to such rows (``scaling``):

``none``    Rows are not scaled. A row that is longer than ``norm_bound`` is refused.
``public``  Each input is scaled to [-1/2, 1/2] by its documented or declared range, then each row to norm
            ``norm_bound``. Each row is mapped by itself, so nothing leaks. A value outside its range is mapped by the
            same line, not clipped.
``data``    The same with the smallest and largest value of the training rows, as published. These are private numbers,
            and the map is released with the weights. This is not private, and a method lists it among its leaks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from models import tiny
from models.kind import Kind
from models.task import PublicKnowledge, Task

SCALINGS = ("none", "public", "data")
#: tolerance of a norm for rounding, as a share of ``norm_bound``.
ROUNDING = 1e-12


@dataclass(frozen=True)
class LogisticRegression:
    """Logistic regression without intercept. All its fields are public.

    Parameters
    ----------
    beta0 : prior precision per row, 1e-3 in the paper's experiments. The prior of a weight is N(0, 1 / (n beta0)).
    norm_bound : bound c of the L2 norm of a row, 1 in the paper's experiments.
    scaling : "none", "public" or "data", see the module.
    declared_bounds : (column, lower, upper) for inputs without a documented range, fixed before the rows were seen;
        used by "public" only.
    """

    beta0: float = 1e-3
    norm_bound: float = 1.0
    scaling: str = "public"
    declared_bounds: tuple[tuple[int, float, float], ...] = ()
    kind: str = "logistic_regression"

    def __post_init__(self) -> None:
        for key in ("beta0", "norm_bound"):
            value = getattr(self, key)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"logistic_regression: {key} = {value}; give a finite number above 0")
        if self.scaling not in SCALINGS:
            raise ValueError(f"logistic_regression: scaling = '{self.scaling}'; give one of {', '.join(SCALINGS)}")
        declared = tuple((int(j), float(low), float(high)) for j, low, high in self.declared_bounds)
        for j, low, high in declared:
            if j < 0 or not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(
                    f"logistic_regression: declared_bounds of column {j} are ({low}, {high}); give finite lower < upper"
                )
        object.__setattr__(self, "declared_bounds", declared)


@dataclass(frozen=True)
class RowScaling:
    """The map x -> norm_bound u / |u| with u = (x - shift) rate - 1/2, or the identity if ``rate`` is empty.

    ``shift``, ``rate``: (d,). The rate is 0 for an input that is constant in the training rows. A row with u = 0 stays
    0.
    """

    shift: np.ndarray
    rate: np.ndarray
    norm_bound: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        if not len(self.rate):
            return x
        u = (x - self.shift) * self.rate - 0.5
        norms = np.linalg.norm(u, axis=1, keepdims=True)
        return u * (self.norm_bound / np.where(norms > 0, norms, 1.0))


def row_scaling(model: LogisticRegression, x: np.ndarray, public: PublicKnowledge) -> RowScaling:
    """The map of the model's ``scaling``. Only "data" reads the rows x (n, d), in original units.

    Raises ValueError for scaling "public" if an input has neither a documented nor a declared range.
    """
    d = x.shape[1]
    if model.scaling == "none":
        return RowScaling(np.empty(0), np.empty(0), model.norm_bound)
    if model.scaling == "data":
        low, high = x.min(axis=0), x.max(axis=0)
    else:
        bounds = list(public.x_bounds) if len(public.x_bounds) else [None] * d
        for j, lower, upper in model.declared_bounds:
            if j >= d:
                raise ValueError(f"logistic_regression: declared_bounds name column {j}; the rows have {d} inputs")
            bounds[j] = (lower, upper)
        missing = [str(j) for j, b in enumerate(bounds) if b is None]
        if missing:
            raise ValueError(
                f"logistic_regression: scaling 'public' needs a range of each input; column {', '.join(missing)} has "
                "no documented one: add it to declared_bounds, or use scaling 'data' (not private)"
            )
        low, high = np.array(bounds, dtype=np.float64).T
    width = high - low
    return RowScaling(low, np.divide(1.0, width, out=np.zeros(d), where=width > 0), model.norm_bound)


class TrainingRows(NamedTuple):
    """Scaled rows ``x`` (n, d), their ``scaling``, classes ``y`` (n,) and the ``name`` of the data set."""

    x: np.ndarray
    scaling: RowScaling
    y: np.ndarray
    name: str


def rows_of(task: Task) -> TrainingRows:
    """The scaled training rows and their map, after checks.

    Raises ValueError for a task without rows or targets, a target that is not 0 or 1, or a row whose norm is above the
    bound. Such a row is never clipped, because the fit would be for another row than the caller meant.
    """
    model = task.model
    if task.n < 1 or task.public.n < 1:
        raise ValueError(f"{task.name}: logistic regression needs at least 1 training row, got {task.n}")
    if task.y is None:
        raise ValueError(f"{task.name}: logistic regression needs a target for each row; y is None")
    if bad := np.flatnonzero((task.y != 0) & (task.y != 1)).tolist():
        raise ValueError(
            f"{task.name}: y = {task.y[bad[0]]:g} in row {bad[0]}; a class is 0 or 1: number the two classes so"
        )
    scaling = row_scaling(model, task.x, task.public)
    x = scaling(task.x)
    norms = np.linalg.norm(x, axis=1)
    if (worst := int(np.argmax(norms))) >= 0 and norms[worst] > model.norm_bound * (1 + ROUNDING):
        raise ValueError(
            f"{task.name}: row {worst} has norm {norms[worst]:.6g}, above norm_bound = {model.norm_bound:g}; scale the "
            "rows (scaling 'public') or raise norm_bound"
        )
    return TrainingRows(x, scaling, task.y, task.name)


def signed_rows(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The signed rows z = (2 y - 1) x, (n, d). The log-likelihood of w is -sum log(1 + exp(-z . w))."""
    return np.ascontiguousarray(x * (2.0 * y - 1.0)[:, None])


def potential(w: np.ndarray, z: np.ndarray, power, precision) -> np.ndarray:
    """Minus the log-posterior with a powered likelihood, up to a constant, in nats.

        power sum log(1 + exp(-z . w)) + precision |w|^2 / 2

    Parameters
    ----------
    w : (d, k), one weight vector per column.
    z : (n, d), :func:`signed_rows`.
    power : exponent of the likelihood, a number or (k,).
    precision : precision n beta of the prior, a number or (k,).

    Returns (k,).
    """
    return power * np.logaddexp(0.0, -(z @ w)).sum(axis=0) + 0.5 * precision * np.einsum("dk,dk->k", w, w)


def gradient(w: np.ndarray, z: np.ndarray, power, precision) -> np.ndarray:
    """The gradient of :func:`potential` in w, (d, k)."""
    return precision * w - z.T @ (power * expit(-(z @ w)))


@dataclass(frozen=True)
class BernoulliPredictive:
    """A prediction per row: ``mean`` is P(y = 1), (n,), from the ``margins`` w . x, (n,)."""

    margins: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return expit(self.margins)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """log P(y_i | w, x_i), shape (n,), nats. Raises ValueError for a label that is not 0 or 1."""
        y = np.asarray(y, dtype=np.float64)
        if y.shape != self.margins.shape or not np.isin(y, (0.0, 1.0)).all():
            raise ValueError(f"labels must be {len(self.margins)} numbers that are 0 or 1")
        return -np.logaddexp(0.0, -(2.0 * y - 1.0) * self.margins)


@dataclass(frozen=True)
class LogisticSample:
    """One released draw of the weights, ``weights`` (d,), with the scaling of its rows.

    It is a single vector, not a posterior, because the mechanisms of this model release one sample.
    """

    weights: np.ndarray
    scaling: RowScaling
    kind: str = "logistic_sample"

    def parameters(self) -> dict[str, np.ndarray]:
        s = self.scaling
        return {
            "weights": self.weights,
            "shift": s.shift,
            "rate": s.rate,
            "norm_bound": np.float64(s.norm_bound),
        }

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> BernoulliPredictive:
        """The class probabilities of rows x (n, d) in original units."""
        return BernoulliPredictive(self.scaling(x) @ self.weights)

    def log_density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """log P(y_i | w, x_i), shape (n,), nats. Raises ValueError for a label that is not 0 or 1."""
        return self.predictive(x).log_density(y)


def load(kind: str, p: dict[str, np.ndarray]) -> LogisticSample:
    """Rebuild the posterior from its parameters. Raises KeyError for another kind."""
    if kind != "logistic_sample":
        raise KeyError(f"models/logistic_regression.py holds logistic_sample, not '{kind}'")
    return LogisticSample(p["weights"], RowScaling(p["shift"], p["rate"], float(p["norm_bound"])))


KIND = Kind(
    name="logistic_regression",
    model=LogisticRegression,
    posteriors=(LogisticSample,),
    target="classification",
    scorer="evaluation.scorers:released_weights",
    tiny={"logistic_regression": partial(tiny.two_classes, LogisticRegression())},
)
