"""The random numbers of the authors' code: seeds of a fold, and the generator of the optimiser's noise.

NumPy's legacy generator makes folds, privacy noise and the seeds of MRG31k3p, from which Theano drew its normals. The
source of MRG31k3p is L'Ecuyer & Touzin 2000, "Fast combined multiple recursive generators with multipliers of the form
a = +-2^d +- 2^e". A state is six whole numbers, the newest of each component first. There is one lane per coordinate,
and lane i starts 2^72 steps after lane i - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

M1, M2 = 2**31 - 1, 2**31 - 21069
#: one step: a' = 2^22 a2 + 129 a3 mod M1, b' = 2^15 b1 + 32769 b3 mod M2, and the other numbers move up.
_A1 = ((0, 2**22, 129), (1, 0, 0), (0, 1, 0))
_A2 = ((2**15, 0, 32769), (1, 0, 0), (0, 1, 0))
#: binary logarithms of the steps between two lanes, and between two variables of a model.
LANE, VARIABLE = 72, 134
#: number of variables of the model. Their order is that of a Python set, so the position of b is not known.
VARIABLES = 3


def fold_generator(fold: int) -> np.random.RandomState:
    """The legacy generator of a fold, before its first draw."""
    return np.random.RandomState(math.floor(5000 * np.random.RandomState(fold).rand()))


def seeds(rng: np.random.RandomState) -> tuple[list[int], list[int]]:
    """Seeds of the optimiser and of the posterior draws, six numbers each."""
    optimiser, draws = ([*rng.randint(0, M1, 3).tolist(), *rng.randint(0, M2, 3).tolist()] for _ in range(2))
    return optimiser, draws


def jumped(state: Sequence[int], log_steps: int, times: int = 1) -> list[int]:
    """The state ``times`` 2^log_steps steps later."""
    out = [int(v) for v in state]
    for part, (matrix, modulus) in enumerate(((_A1, M1), (_A2, M2))):
        power = [list(row) for row in matrix]
        for _ in range(log_steps):
            power = _product(power, power, modulus)
        for _ in range(times):
            column = [[v] for v in out[3 * part : 3 * part + 3]]
            out[3 * part : 3 * part + 3] = [row[0] for row in _product(power, column, modulus)]
    return out


def _product(a: list[list[int]], b: list[list[int]], modulus: int) -> list[list[int]]:
    return [[sum(x * y for x, y in zip(row, column, strict=True)) % modulus for column in zip(*b, strict=True)]
            for row in a]  # fmt: skip


class Uniforms:
    """Uniform numbers of several seeds with ``lanes`` lanes each, all seeds in one array operation per step."""

    def __init__(self, states: Sequence[Sequence[int]], lanes: int):
        every = []
        for state in states:
            for _ in range(lanes):
                every.append(state)
                state = jumped(state, LANE)
        self._state = [np.ascontiguousarray(v) for v in np.array(every, np.int64).reshape(len(states), lanes, 6).T]

    def draw(self) -> np.ndarray:
        """The next numbers of all lanes (lanes, seeds)."""
        a1, a2, a3, b1, b2, b3 = self._state
        a = ((a2 << 22) + 129 * a3) % M1
        b = ((b1 << 15) + 32769 * b3) % M2
        self._state = [a, a1, a2, b, b1, b2]
        return np.where(a > b, a - b, a - b + M1) * 2.0**-31


class Normals:
    """Standard normal numbers by Box and Muller: one half of the lanes gives the lengths, the other half the angles."""

    def __init__(self, states: Sequence[Sequence[int]], lanes: int):
        self._uniforms, self._half = Uniforms(states, lanes), lanes // 2

    def draw(self, steps: int) -> np.ndarray:
        """The next ``steps`` blocks (steps, lanes, seeds)."""
        u = np.stack([self._uniforms.draw() for _ in range(steps)])
        length, angle = np.sqrt(-2 * np.log(u[:, : self._half])), 2 * np.pi * u[:, self._half :]
        return np.concatenate([length * np.cos(angle), length * np.sin(angle)], axis=1)


def draw_means(states: Sequence[Sequence[int]], lanes: int, draws: int) -> np.ndarray:
    """Means (seeds, VARIABLES, lanes) of ``draws`` standard normals per coordinate, for each possible position of b."""
    each = [jumped(state, VARIABLE, k) for state in states for k in range(VARIABLES)]
    normals, total, left = Normals(each, lanes), 0.0, draws
    while left:
        steps = min(left, 500)
        total, left = total + normals.draw(steps).sum(axis=0), left - steps
    return (total / draws).T.reshape(len(states), VARIABLES, lanes)
