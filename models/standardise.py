"""The scaling of inputs and targets by a shift and a scale per column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Standardiser:
    """The maps x -> (x - x_shift) / x_scale and y -> (y - y_shift) / y_scale, of shapes (d,) and scalars."""

    x_shift: np.ndarray
    x_scale: np.ndarray
    y_shift: float
    y_scale: float

    @classmethod
    def from_moments(cls, x: np.ndarray, y: np.ndarray) -> Standardiser:
        """The scaling by mean and population standard deviation of the training rows.

        A column whose computed standard deviation is exactly 0 gets scale 1. Two inputs of naval are constant. If the
        mean of such a column is rounded, its computed deviation is not exactly 0, so it becomes a second bias.
        The authors' code of the papers does the same.

        These are private moments, which a method that claims a privacy guarantee may not use. Raises ValueError if
        there is no row.
        """
        if len(x) == 0:
            raise ValueError("no training rows: their mean and standard deviation do not exist; give at least one row")
        sd = x.std(axis=0)
        y_sd = float(y.std())
        return cls(x.mean(axis=0), np.where(sd > 0, sd, 1.0), float(y.mean()), y_sd if y_sd > 0 else 1.0)

    def x(self, x: np.ndarray) -> np.ndarray:
        return (np.asarray(x, dtype=np.float64) - self.x_shift) / self.x_scale

    def y(self, y: np.ndarray) -> np.ndarray:
        return (np.asarray(y, dtype=np.float64) - self.y_shift) / self.y_scale

    def parameters(self) -> dict[str, np.ndarray]:
        return {
            "x_shift": np.asarray(self.x_shift, dtype=np.float64),
            "x_scale": np.asarray(self.x_scale, dtype=np.float64),
            "y_shift": np.float64(self.y_shift),
            "y_scale": np.float64(self.y_scale),
        }

    @classmethod
    def load(cls, p: dict[str, np.ndarray]) -> Standardiser:
        return cls(p["x_shift"], p["x_scale"], float(p["y_shift"]), float(p["y_scale"]))
