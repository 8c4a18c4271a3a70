"""The private releases of the source: contents, origin, and exact privacy cost.

Rows u are clipped to [-5, 5] and divided by 5, so u is in [-1, 1]. Regression releases the sums of y, xy, y^2, x and
x^2 with Laplace noise of scale 8 / epsilon each. Location-scale releases those of x and x^2 with 3 / epsilon. The
number of rows is public, and neighbouring tables differ in one row. 8 and 3 are sums of the ranges of the single sums.

**L1 sensitivity.** Replace (x, y) by (x', y'). Put a = |x - x'| / 2 and s = |x + x'| / 2. Then a + s = max(|x|,
|x'|) <= 1. Define b and t in the same way for y. Then |x - x'| = 2 a, |x^2 - x'^2| = 4 a s and

    |x y - x' y'| = |(x - x')(y + y') + (x + x')(y - y')| / 2 <= 2 (a t + s b).

With s <= 1 - a and t <= 1 - b, the sum over the five is at most

    8 (a + b) - 4 (a^2 + a b + b^2) <= 8 m - 3 m^2,  m = a + b,

because a^2 + a b + b^2 = m^2 - a b >= 3 m^2 / 4. The largest value is 16 / 3, at m = 4 / 3. The replacement (1,
1) -> (-1/3, -1/3) attains it. For location-scale, 2 a + 4 a (1 - a) is at most 9 / 4, attained by 1 -> -1/2. If rows
are not divided by 5, the bound for regression is 160 m - 75 m^2 <= 256 / 3.

Independent Laplace noise of one scale costs exactly the L1 sensitivity over that scale.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from privacy.budget import Budget
from privacy.ledger import Event, Ledger, Mechanism, Relation

HERE = "papers.chen2025dppf.releases"
BOUND = 5.0
#: data set -> L1 sensitivity of all its sums together, and epsilon times the scale of the source's noise.
SENSITIVITY = {"chen_lr": 16 / 3, "chen_ls": 9 / 4, "chen_lr_unscaled": 256 / 3}
SCALE = {"chen_lr": 8.0, "chen_ls": 3.0, "chen_lr_unscaled": 8.0, "chen_lr_fixed": 8.0}


def scale_of(dataset: str, epsilon: float) -> float:
    """Scale of the source's Laplace noise."""
    return SCALE[dataset] / epsilon


def ledger_of(dataset: str, epsilon: float) -> Ledger:
    """The ledger of one release of the source."""
    ledger = Ledger()
    ledger.record(
        Event("sums of the clipped rows", Mechanism.LAPLACE, Relation.REPLACE_ONE, SENSITIVITY[dataset],
              scale_of(dataset, epsilon), proof=HERE, generator="R, Mersenne Twister, a public seed")
    )  # fmt: skip
    return ledger


def sums(x: np.ndarray, y: np.ndarray | None = None, unit: float = BOUND) -> np.ndarray:
    """Sums of y, xy, yy, x, xx (or of x, xx without ``y``) over rows clipped to [-5, 5] and divided by ``unit``."""
    u = np.clip(x, -BOUND, BOUND) / unit
    if y is None:
        return np.array([u.sum(), u @ u])
    v = np.clip(y, -BOUND, BOUND) / unit
    return np.array([v.sum(), u @ v, v @ v, u.sum(), u @ u])


def corrected_release(dataset: str, values: np.ndarray, epsilon: float, budget: Budget) -> np.ndarray:
    """The sums with the noise that ``epsilon`` needs: two thirds or three quarters of the source's scale."""
    mechanism = budget.laplace(
        "sums of the clipped rows",
        sensitivity=SENSITIVITY[dataset],
        noise_scale=SENSITIVITY[dataset] / epsilon,
        relation=Relation.REPLACE_ONE,
        proof=HERE,
    )
    return mechanism.release(values)


class RStream:
    """R's default random numbers after ``set.seed``: Mersenne Twister, with normal numbers by inversion."""

    def __init__(self, seed: int) -> None:
        words = []
        for k in range(50 + 625):
            seed = (69069 * seed + 1) % 2**32
            if k >= 50:
                words.append(seed)
        bits = np.random.MT19937()
        # R sets the position, the first word, to the end of the table
        bits.state = {"bit_generator": "MT19937", "state": {"key": np.array(words[1:], dtype=np.uint32), "pos": 624}}
        self._bits = bits

    def uniform(self, count: int) -> np.ndarray:
        """Uniform numbers in (0, 1); (count,)."""
        return np.array([int(self._bits.random_raw()) * 2.3283064365386963e-10 for _ in range(count)])

    def normal(self, count: int) -> np.ndarray:
        """Standard normal numbers (count,), from two uniform numbers each."""
        u = self.uniform(2 * count).reshape(count, 2)
        return ndtri((np.floor(2**27 * u[:, 0]) + u[:, 1]) / 2**27)

    def laplace(self, count: int) -> np.ndarray:
        """Standard Laplace numbers by the rule of LaplacesDemon; (count,)."""
        return laplace_of(self.uniform(count))


def laplace_of(u: np.ndarray) -> np.ndarray:
    """The standard Laplace quantile -sign(u - 1/2) log(2 min(u, 1 - u))."""
    return -np.sign(u - 0.5) * np.log(2 * np.minimum(u, 1 - u))


def from_seed(dataset: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(sums, standard Laplace numbers) of a release of the source."""
    rng = RStream(seed)
    x = 1 + rng.normal(n)
    if dataset == "chen_ls":
        return sums(x), rng.laplace(2)
    y = 2 * x + rng.normal(n)
    return sums(x, y, 1.0 if dataset == "chen_lr_unscaled" else BOUND), rng.laplace(5)


def true_epsilon(dataset: str, epsilon: float) -> float:
    """The exact epsilon of a release of the source."""
    return SENSITIVITY[dataset] / scale_of(dataset, epsilon) if math.isfinite(epsilon) else math.inf
