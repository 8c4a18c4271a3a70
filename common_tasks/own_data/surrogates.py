"""Synthetic tables of a given size, in shapes that differ from the models' assumptions as real tables do.

A surrogate knows the task and the number of rows and columns, but no private row. Each shape and seed has its own
distribution: coefficients and the units of columns and target are drawn anew.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import expit

from datasets.base import DataSet, Table
from datasets.protocols.surrogates import TEST

#: shapes per task, in the order of the blocks of a seed.
SHAPES = {
    "regression": ("linear", "curved", "collinear", "heavy_tails"),
    "classification": ("linear", "curved", "collinear", "heavy_tails", "unbalanced"),
    "density": ("separated", "overlapping", "collinear", "heavy_tails", "unbalanced"),
}
#: meaning of each shape, for the page.
MEANING = {
    "linear": "linear in the columns",
    "curved": "linear with squares and sines of the columns",
    "collinear": "columns mixed from a quarter as many factors, 2 % noise of their own",
    "heavy_tails": "columns and noise by Student's t with 3 degrees of freedom",
    "unbalanced": "one row in twenty in class 1, or clusters of 85, 10 and 5 % of the rows",
    "separated": "three clusters, about six standard deviations apart",
    "overlapping": "three clusters, about three standard deviations apart",
}
CLUSTERS = 3
RARE = 0.05
#: half width of a known range, in standard deviations of its column.
KNOWN = 4.0


def data_set(
    name: str, task: str, rows: int, columns: int, seeds: int, known_ranges: bool = False, shapes: tuple[str, ...] = ()
) -> DataSet:
    """The data set of all shapes of a task, or of ``shapes``, with ``seeds`` blocks of each (protocol ``surrogates``).

    Each block has ``rows`` rows to fit and ``TEST`` to test. ``known_ranges``: whether the range of every column is
    public and rows are clipped to it. Otherwise no range is public. Raises ValueError for a task without shapes.
    """
    if task not in SHAPES:
        raise ValueError(f"surrogates: task = '{task}'; give {', '.join(SHAPES)}")
    shapes = shapes or SHAPES[task]
    blocks = seeds * len(shapes)
    bound = (-1.0, 1.0) if known_ranges else None
    return DataSet(
        name=name,
        title=f"Surrogates: {task}, {rows} rows, {columns} columns",
        n_rows=blocks * (rows + TEST),
        n_inputs=columns,
        columns=tuple(f"x{j + 1}" for j in range(columns)),
        target="y",
        unit="",
        licence="made by this project",
        doi="",
        generate=partial(tables, task, rows + TEST, columns, seeds, known_ranges, shapes=shapes),
        x_bounds=(bound,) * columns,
        y_bounds=bound if task == "regression" else None,
        bounds_citation="by construction" if known_ranges else "",
        n_splits=blocks,
        kind="synthetic",
        task=task,
        labels=("0", "1") if task == "classification" else (),
    )


def tables(
    task: str, rows: int, columns: int, seeds: int, known: bool, rng: np.random.Generator, shapes: tuple[str, ...]
) -> Table:
    """All blocks one after the other: the shapes of the first seed, those of the second, ..."""
    parts = [block(task, shape, rows, columns, known, rng) for _ in range(seeds) for shape in shapes]
    x, y = (np.concatenate([p[k] for p in parts]) for k in (0, 1))
    return Table(x, y, tuple(f"x{j + 1}" for j in range(columns)))


def block(
    task: str, shape: str, n: int, d: int, known: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (n, d) and targets (n,) of one table. Targets are 0 for density.

    In regression, the noise has half the variance of the linear part.
    """
    z = _columns(shape, n, d, rng) if task != "density" else _clusters(shape, n, d, rng)
    y = np.zeros(n)
    if task != "density":
        line = _line(z, shape, rng)
        if task == "classification":
            shift = _shift(2 * line, RARE) if shape == "unbalanced" else 0.0
            y = (rng.random(n) < expit(2 * line + shift)).astype(np.float64)
        else:
            noise = rng.standard_t(3, n) / np.sqrt(3) if shape == "heavy_tails" else rng.standard_normal(n)
            y = (line + np.sqrt(0.5) * noise) / np.sqrt(1.5)
    if known:
        x = np.clip(z / KNOWN, -1.0, 1.0)
        return x, np.clip(y / KNOWN, -1.0, 1.0) if task == "regression" else y
    x = _units(d, rng) * (rng.uniform(-3, 3, d) + z)
    return x, _units(1, rng) * (rng.uniform(-3, 3) + y) if task == "regression" else y


def _units(d: int, rng: np.random.Generator) -> np.ndarray:
    """Scales (d,) of columns, from hundredths to thousands."""
    return 10.0 ** rng.uniform(-2, 3, d)


def _columns(shape: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Inputs (n, d) with variance 1 per column."""
    if shape == "heavy_tails":
        return rng.standard_t(3, (n, d)) / np.sqrt(3)
    if shape == "collinear":
        return _mixed(rng.standard_normal((n, max(1, d // 4))), d, rng)
    return rng.standard_normal((n, d))


def _mixed(factors: np.ndarray, d: int, rng: np.random.Generator) -> np.ndarray:
    """d columns from few factors, plus 2 % of independent variance each."""
    loads = rng.standard_normal((factors.shape[1], d))
    loads *= np.sqrt(0.98) / np.linalg.norm(loads, axis=0)
    return factors @ loads + np.sqrt(0.02) * rng.standard_normal((len(factors), d))


def _line(z: np.ndarray, shape: str, rng: np.random.Generator) -> np.ndarray:
    """The noise-free part (n,) of the target, with mean 0 and variance 1."""
    d = z.shape[1]
    line = z @ rng.standard_normal(d)
    if shape == "curved":
        line += (z**2 - 1.0) @ rng.standard_normal(d) / 2 + np.sin(2 * z) @ rng.standard_normal(d)
    return (line - line.mean()) / line.std()


def _shift(logits: np.ndarray, share: float) -> float:
    """The intercept at which the mean probability is ``share``, by bisection."""
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(logits + middle).mean() < share else (low, middle)
    return (low + high) / 2


def _clusters(shape: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Rows (n, d) from three clusters, with variance near 1 per column."""
    weights = (0.85, 0.10, 0.05) if shape == "unbalanced" else (1 / 3,) * CLUSTERS
    distance = 3.0 if shape == "overlapping" else 6.0
    means = rng.standard_normal((CLUSTERS, d))
    means *= distance / np.sqrt(2) / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    label = rng.choice(CLUSTERS, n, p=weights)
    if shape == "heavy_tails":
        own = rng.standard_t(3, (n, d)) / np.sqrt(3)
    elif shape == "collinear":
        own = _mixed(rng.standard_normal((n, max(1, d // 4))), d, rng)
    else:
        own = rng.standard_normal((n, d))
    z = means[label] + own
    return (z - z.mean(axis=0)) / z.std(axis=0)
