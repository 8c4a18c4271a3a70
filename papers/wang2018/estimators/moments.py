"""Second moments of normalised rows, with the eigenvalues that all estimators of a fold share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

AUTHORS, PRINTED, CORRECTED = "authors", "printed", "corrected"


@dataclass(frozen=True)
class Moments:
    """G = X'X (d, d), b = X'y (d,) and the number of rows n of training rows with |x| <= 1 and |y| <= 1."""

    gram: np.ndarray
    cross: np.ndarray
    n: int

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> Moments:
        """The moments of rows x (n, d) and targets y (n,).

        Raises ValueError if the norm of a row or a target exceeds 1 by more than rounding.
        """
        longest = max(float(np.sqrt(np.max(np.sum(x**2, axis=1), initial=0.0))), float(np.max(np.abs(y), initial=0.0)))
        if not longest <= 1 + 1e-9:  # rows that were divided by their norm have norm 1 to the last digits
            raise ValueError(f"private least squares: a row or target has norm {longest:.6g}; scale it to at most 1")
        return cls(x.T @ x, x.T @ y, len(y))

    @property
    def d(self) -> int:
        return len(self.cross)

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        return np.linalg.eigh(self.gram)

    @property
    def values(self) -> np.ndarray:
        """Eigenvalues of G, ascending."""
        return self._eigen[0]

    @property
    def vectors(self) -> np.ndarray:
        """Eigenvectors of G, in columns."""
        return self._eigen[1]

    @cached_property
    def turned(self) -> np.ndarray:
        """X'y in the coordinates of the eigenvectors of X'X."""
        return self.vectors.T @ self.cross

    def ridge(self, penalty) -> np.ndarray:
        """(G + penalty I)^-1 b for each penalty (r,): (r, d)."""
        return (self.turned / (self.values + np.asarray(penalty)[:, None])) @ self.vectors.T


def log_over_delta(k: float, delta: float) -> float:
    """log(k / delta), the constant of the sources' tail bounds."""
    return math.log(k / delta)
