"""The task of a method: one model, the training data of one split, and public knowledge about them.

A method sees nothing except its :class:`Task`: no test row, no file, no other split.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


class Model(Protocol):
    """A probabilistic model: prior and likelihood, with its sizes fixed. A frozen dataclass in its own file."""

    kind: str  # "bnn_regression", "linear_regression", "mixture_of_gaussians", ...


@dataclass(frozen=True)
class PublicKnowledge:
    """Public knowledge: everything that may be known without reading the private rows.

    Parameters
    ----------
    n : number of training rows. The suite treats it as public, even under add/remove, where it fixes the expected batch
        size. An audit that removes a row does not change this number.
    x_bounds : one (lower, upper) per input column, or None for a column without a documented range.
    y_bounds : the same for the target.
    citation : where the ranges are documented. They are never the minimum and maximum of the training data.
    """

    n: int
    x_bounds: tuple[tuple[float, float] | None, ...] = ()
    y_bounds: tuple[float, float] | None = None
    citation: str = ""


@dataclass(frozen=True)
class Task:
    """The task that a method is given.

    Parameters
    ----------
    name : the data set, e.g. ``"wine"``.
    model : the probabilistic model to fit.
    x : float64 array (n, d), inputs, or the observations of a model without inputs. Original units, read-only.
    y : float64 array (n,) of targets in original units, read-only; None for a model without targets.
    public : what is publicly known (bounds, number of rows).
    """

    name: str
    model: Model
    x: np.ndarray
    y: np.ndarray | None = None
    public: PublicKnowledge = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        x = _read_only(self.x, f"{self.name}: x")
        if x.ndim != 2:
            raise ValueError(f"{self.name}: x has shape {x.shape}; give one row per record and one column per input")
        object.__setattr__(self, "x", x)
        if self.y is not None:
            y = _read_only(self.y, f"{self.name}: y")
            if y.shape != (len(x),):
                raise ValueError(f"{self.name}: y has shape {y.shape}; x has {len(x)} rows, so give ({len(x)},)")
            object.__setattr__(self, "y", y)
        if self.public is None:
            object.__setattr__(self, "public", PublicKnowledge(n=len(x)))

    @property
    def n(self) -> int:
        """The actual number of training rows."""
        return len(self.x)


def _read_only(a: np.ndarray, what: str) -> np.ndarray:
    """A read-only copy, or the array itself if it is read-only already."""
    if not _is_frozen(a):
        a = np.array(a, dtype=np.float64, order="C")
    if not np.isfinite(a).all():
        row = int(np.argwhere(~np.isfinite(a))[0][0])
        raise ValueError(f"{what} has a NaN or an infinity in row {row}; drop or impute that row before the split")
    a.setflags(write=False)
    return a


def _is_frozen(a: np.ndarray) -> bool:
    """Whether nobody can write to the array. A view is excluded, because it could change through its base."""
    plain = isinstance(a, np.ndarray) and a.dtype == np.float64 and a.base is None
    return plain and a.flags.c_contiguous and not a.flags.writeable
