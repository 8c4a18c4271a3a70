"""Synthetic tasks of a few rows with documented ranges, for tests of every method and audits of private ones.

Each function gives the same task for the same arguments. Inputs are uniform on [-2, 2]^2. Targets depend on the first.
"""

from __future__ import annotations

import numpy as np

from models.task import Model, PublicKnowledge, Task

INPUTS = 2
_BOX = ((-2.0, 2.0),)
_LAW = "the law that draws these rows"


def _rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """x (n, INPUTS) in [-2, 2], y (n,) in [-5, 5], and the generator that drew them."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, INPUTS))
    return x, np.clip(x[:, 0] + 0.2 * rng.standard_normal(n), -5, 5), rng


def regression(model: Model, n: int, seed: int) -> Task:
    """n rows with a target in [-5, 5]."""
    x, y, _ = _rows(n, seed)
    return Task("tiny", model, x, y, PublicKnowledge(n, _BOX * INPUTS, (-5.0, 5.0), _LAW))


def two_classes(model: Model, n: int, seed: int) -> Task:
    """n rows of class 0 or 1."""
    x, y, _ = _rows(n, seed)
    return Task("tiny", model, x, (y > 0).astype(float), PublicKnowledge(n, _BOX * INPUTS, (0.0, 1.0), _LAW))


def three_classes(model: Model, n: int, seed: int) -> Task:
    """n rows of class 0, 1 or 2."""
    x, y, _ = _rows(n, seed)
    labels = np.digitize(y, (-0.5, 0.5)).astype(float)
    return Task("tiny", model, x, labels, PublicKnowledge(n, _BOX * INPUTS, (0.0, 2.0), _LAW))


def density(model: Model, n: int, seed: int, columns: int = INPUTS) -> Task:
    """n rows of ``columns`` columns (1 or 2), without a target."""
    x = _rows(n, seed)[0][:, :columns]
    return Task("tiny", model, x, public=PublicKnowledge(n, _BOX * columns, None, _LAW))


def trials(model: Model, categories: int, n: int, seed: int) -> Task:
    """n rows of one column with values 0, ..., categories - 1 of equal probability."""
    return Task("tiny", model, np.random.default_rng(seed).integers(0, categories, (n, 1)).astype(float))


def simulated(model, n: int, seed: int) -> Task:
    """n rows that the model itself simulates at theta = (0.3, ..., 0.3)."""
    rng = _rows(n, seed)[2]
    return Task("tiny", model, model.simulate(np.full(model.dimension(), 0.3), n, rng))
