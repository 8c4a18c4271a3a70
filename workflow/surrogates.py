"""Synthetic surrogates of a data set, on which settings may be tuned without a cost in privacy.

A surrogate uses only public facts: the number of rows and columns, and the documented ranges. In a classification set,
a column with the range (0, 1) is a dummy variable. Surrogates give no results and are shown nowhere.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtr

from datasets.base import DataSet
from models.kind import kind
from models.task import Model, PublicKnowledge, Task

#: average correlation of two columns through common factors.
SHARED = 0.5


def rows(about: DataSet, n: int, rng: np.random.Generator, target: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Inputs (n, d) and targets (n,), or None, in synthetic original units.

    Columns are mixed from fewer factors, so they are correlated. For "density" each factor has three clusters.
    ``target``: "regression" is linear in the columns with a bend, and noise has half its variance; "classification" is
    Bernoulli of such a line, with a quarter to a half of the rows in class 1; "density" has none. Raises ValueError for
    another word.
    """
    if target not in ("regression", "classification", "density"):
        raise ValueError(f"surrogate: target = '{target}'; give 'regression', 'classification' or 'density'")
    d = about.n_inputs
    factors = max(2, d // 3)
    loads = rng.standard_normal((d, factors)) / np.sqrt(factors)
    common = rng.standard_normal((n, factors))
    if target == "density":
        common += 2.5 * rng.standard_normal((3, factors))[rng.integers(0, 3, n)]
    z = np.sqrt(SHARED) * common @ loads.T + np.sqrt(1 - SHARED) * rng.standard_normal((n, d))
    x = np.empty((n, d))
    bounds = list(about.x_bounds) or [None] * d
    for j, bound in enumerate(bounds):
        if bound is None:
            x[:, j] = 10.0 ** rng.uniform(-2, 3) * (rng.uniform(-3, 3) + z[:, j])
        elif bound == (0.0, 1.0) and about.labels:
            x[:, j] = ndtr(z[:, j]) > rng.uniform(0.4, 0.98)
        else:
            x[:, j] = bound[0] + (bound[1] - bound[0]) * ndtr(z[:, j] / z[:, j].std())
    if target == "density":
        return x, None
    line = z @ rng.standard_normal(d) / np.sqrt(d) + 0.3 * np.sin(2 * z[:, 0])
    line = (line - line.mean()) / line.std()
    if target == "classification":
        return x, (rng.random(n) < expit(2 * line - rng.uniform(0.0, 1.5))).astype(np.float64)
    y = (line + np.sqrt(0.5) * rng.standard_normal(n)) / np.sqrt(1.5)
    if about.y_bounds is None:
        return x, 10.0 ** rng.uniform(-2, 3) * (rng.uniform(-3, 3) + y)
    low, high = about.y_bounds
    return x, np.clip((low + high) / 2 + (high - low) / 6 * y, low, high)


def tasks(about: DataSet, model: Model, n: int, rng: np.random.Generator) -> tuple[Task, np.ndarray, np.ndarray | None]:
    """A training task of round(0.9 n) rows, and inputs and targets of the other rows."""
    x, y = rows(about, n, rng, kind(model.kind).target)
    cut = round(0.9 * n)
    public = PublicKnowledge(
        n=cut, x_bounds=tuple(about.x_bounds), y_bounds=about.y_bounds, citation=about.bounds_citation
    )
    task = Task(about.name, model, x[:cut], None if y is None else y[:cut], public)
    return task, x[cut:], None if y is None else y[cut:]
