"""Nanoseconds per normal draw: the suite's stream compared with NumPy's generators, in one run on one core.

    python -m benchmarks.normal_draws [results/benchmarks/normal_draws.csv]

Lengths are those of releases: a vector of statistics, and the gradients of a network of 50 and of 400 hidden units.
NumPy's draws are scaled in place afterwards, because a release needs that. Ours are scaled as they are made. Times are
thread-CPU minima over rounds in which the generators alternate. ``ratio`` is over ``privacy.normal.NormalStream``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd

from privacy.normal import NormalStream

LENGTHS = (100, 1_002, 478_410)
ROUNDS, DRAWS = 30, 500_000
SCALE = 1.7


def generators() -> dict:
    """Name -> function that fills an array with draws of N(0, SCALE^2)."""

    def numpy_fill(bits):
        rng = np.random.Generator(bits(1))

        def fill(out):
            rng.standard_normal(out=out)
            out *= SCALE

        return fill

    ours = NormalStream(np.random.default_rng(1))
    made = {"NormalStream": lambda out: ours.fill(out, SCALE)}
    return made | {bits.__name__: numpy_fill(bits) for bits in (np.random.SFC64, np.random.PCG64, np.random.Philox)}


def measure() -> list[dict]:
    """One row per length and generator."""
    rows = []
    for length in LENGTHS:
        out, repeats, best = np.empty(length), max(1, DRAWS // length), {}
        fills = generators()
        for fill in fills.values():
            fill(out)  # compiles
        for _ in range(ROUNDS):
            for name, fill in fills.items():
                start = time.thread_time_ns()
                for _ in range(repeats):
                    fill(out)
                best[name] = min(best.get(name, np.inf), (time.thread_time_ns() - start) / (repeats * length))
        rows += [
            {"length": length, "generator": name, "nanoseconds_a_draw": ns, "ratio": ns / best["NormalStream"]}
            for name, ns in best.items()
        ]
    return rows


def main() -> None:
    frame = pd.DataFrame(measure()).round(3)
    print(frame.to_string(index=False))
    if len(sys.argv) > 1:
        path = Path(sys.argv[1])
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.to_csv(path, index=False)


if __name__ == "__main__":
    main()
