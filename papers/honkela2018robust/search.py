"""The authors' searches on simulated rows: clipping multiples, and the grid of budget splits.

Both read no private row. The search for multiples tunes ridge regression with kappa = 1, not the method that uses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from papers.honkela2018robust import advi, streams
from papers.honkela2018robust.data import Moments, centred, clipped, normalised, spearman
from papers.honkela2018robust.release import scales, symmetric

#: multiples of both standard deviations that are tried.
GRID = np.arange(0.1, 2.1, 0.1)
SEED = 42
#: number of data sets in the search for multiples, and of noise draws per data set.
REPEATS = 20
#: the grid of splits: number of simulated data sets, of noise draws per data set, and the setting of its rows.
SPLIT_REPEATS, SPLIT_ROWS, SPLIT_INPUTS, SPLIT_EPSILON = 5, 500, 10, 2.0


@dataclass(frozen=True)
class Simulated:
    """A simulated data set with r noise draws.

    x (n, d), y (n,), and Laplace noise of scale 1 for X'X (r, d, d) and X'y (r, d).
    """

    x: np.ndarray
    y: np.ndarray
    gram_noise: np.ndarray
    cross_noise: np.ndarray


def _rows(rng: np.random.RandomState, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    x = normalised(rng.normal(0.0, 1.0, (n, d)))
    b = rng.normal(0.0, 1.0, d)
    return x, centred(rng.normal(x @ b, 1.0))


@lru_cache(maxsize=4)
def simulated(n: int, d: int, repeats: int) -> tuple[tuple[Simulated, ...], np.random.RandomState]:
    """Data sets of a search, and the generator after them. Every search draws the same data sets."""
    rng, out = np.random.RandomState(SEED), []
    for _ in range(repeats):
        x, y = _rows(rng, n, d)
        noise = rng.laplace(size=(repeats, d * (d + 1) // 2 + d))
        out.append(Simulated(x, y, symmetric(noise[:, :-d]), noise[:, -d:]))
    return tuple(out), rng


def average_scores(n: int, d: int, epsilon: float, repeats: int = REPEATS, split=None) -> np.ndarray:
    """Mean rank correlation on the training rows of ridge regression, by (omega_x, omega_y)."""
    total = np.zeros((len(GRID), len(GRID)))
    a, c, _ = scales(d, (1.0, 1.0)) if split is None else scales(d, (1.0, 1.0), split)
    for s in simulated(n, d, repeats)[0]:
        bx, by = GRID * s.x.std(ddof=1), GRID * s.y.std(ddof=1)
        xs, ys = np.stack([clipped(s.x, b) for b in bx]), np.stack([clipped(s.y, b) for b in by])
        gram = xs.transpose(0, 2, 1) @ xs
        cross = xs.transpose(0, 2, 1) @ ys.T  # (omega_x, d, omega_y)
        for gram_noise, cross_noise in zip(s.gram_noise, s.cross_noise, strict=True):
            noisy = gram + gram_noise * (a / epsilon) * (bx**2)[:, None, None] + np.eye(d)
            right = cross + cross_noise[:, None] * (c / epsilon) * bx[:, None, None] * by
            fitted = np.linalg.solve(noisy, right)
            total += spearman((s.x @ fitted).transpose(0, 2, 1), s.y)
    return total / repeats**2


@lru_cache(maxsize=256)
def multiples(n: int, d: int, epsilon: float, repeats: int = REPEATS, split=None) -> tuple[float, float]:
    """The pair of multiples with the best average score. If several are equal, it is the first."""
    scores = average_scores(n, d, epsilon, repeats, split)
    i, j = np.unravel_index(scores.argmax(), scores.shape)
    return float(GRID[i]), float(GRID[j])


def splits() -> list[tuple[float, float, float]]:
    """The splits of the grid, in its order."""
    axis = np.arange(0.05, 0.95, 0.05)
    every = [(p1, p2, 1.0 - p1 - p2) for p1 in axis for p2 in axis]
    return [tuple(float(p) for p in s) for s in every if all(0.03 <= p <= 0.97 for p in s)]


@lru_cache(maxsize=1)
def split_data() -> list[tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray, float]]]]:
    """Data sets of the grid of splits, with noise of scale 1 for X'X (d, d), X'y (d,) and y'y."""
    rng, d, r = np.random.RandomState(SEED), SPLIT_INPUTS, SPLIT_REPEATS
    rows = [_rows(rng, SPLIT_ROWS, d) for _ in range(r)]
    noises = [[_noise(rng, d) for _ in range(r)] for _ in range(r)]
    return [(x, y, noise) for (x, y), noise in zip(rows, noises, strict=True)]


def _noise(rng: np.random.RandomState, d: int) -> tuple[np.ndarray, np.ndarray, float]:
    return symmetric(rng.laplace(size=d * (d + 1) // 2)), rng.laplace(size=d), float(rng.laplace(size=1)[0])


@lru_cache(maxsize=1)
def split_streams() -> tuple[np.ndarray, np.ndarray]:
    """The optimiser's normals (updates, 1, d + 2) and the means of the posterior draws (VARIABLES, d) of every fit.

    They are the random numbers that follow a search, the same for all fits of the grid.
    """
    rng = np.random.RandomState()
    rng.set_state(simulated(SPLIT_ROWS, SPLIT_INPUTS, SPLIT_REPEATS)[1].get_state())
    optimiser, draws = streams.seeds(rng)
    z = streams.Normals([optimiser], SPLIT_INPUTS + 2).draw(advi.STEPS - 1)
    return z.transpose(0, 2, 1), streams.draw_means([draws], SPLIT_INPUTS, advi.STEPS)[0]


def split_scores(split: tuple[float, float, float]) -> tuple[tuple[float, float], np.ndarray]:
    """The multiples of a split, and the score of each of the 25 fits by stream: (25, VARIABLES)."""
    omega = multiples(SPLIT_ROWS, SPLIT_INPUTS, SPLIT_EPSILON, SPLIT_REPEATS, split)
    moments, tests = [], []
    for x, y, noises in split_data():
        bounds = (omega[0] * x.std(ddof=1), omega[1] * y.std(ddof=1))
        own = Moments.of(clipped(x, bounds[0]), clipped(y, bounds[1]))
        a, b, c = (s / SPLIT_EPSILON for s in scales(SPLIT_INPUTS, bounds, split))
        for gram, cross, square in noises:
            moments.append(own + Moments(a * gram, b * cross, c * square, 0))
            tests.append((x, y))
    z, means = split_streams()
    u, w = advi.stopped(advi.Batch.of(moments), np.broadcast_to(z, (len(z), len(moments), z.shape[2])))
    d = SPLIT_INPUTS
    drawn = u[:, None, :d] + np.exp(w)[:, None, :d] * means
    return omega, np.stack([spearman(b @ x.T, y) for b, (x, y) in zip(drawn, tests, strict=True)])
