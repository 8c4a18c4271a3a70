"""Microseconds per update of SEP on a network by the numba kernel, compared with the same update in C, on one core.

    python -m benchmarks.pbp_update [results/benchmarks/pbp_update.csv]

Each time is the smallest thread-CPU time of ``REPEATS`` short runs. Use the ratio, because absolute times depend on the
machine. ``gflops`` counts the operations of :func:`flops`.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from datasets.files import write_csv
from methods.ep._pbp import hidden as hl
from methods.ep._pbp import moment_kernel
from methods.ep._pbp.state import initial, with_bias
from methods.ep._pbp.training import SEP_RANGE, kernel_rows
from models.bnn_regression import BNNRegression

#: data set -> inputs (without bias) and hidden units.
SHAPES = {"wine": (11, 50), "kin8nm": (8, 50), "power": (4, 50), "naval": (16, 50), "protein": (9, 100),
          "year": (90, 100)}  # fmt: skip
REPEATS = 60
#: compiler options: any order of sums, and code for this processor.
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
#: a function that runs all updates, and the parameters that it changes.
Runner = tuple[Callable[[], None], list[np.ndarray]]


def flops(inputs: int, hidden: int) -> float:
    """The floating-point operations of one update. ``inputs`` is without the bias."""
    return 28.0 * (inputs + 1) * hidden + 200.0 * hidden + 150.0


class Problem:
    """Random rows of one shape and a fresh packed state."""

    def __init__(self, inputs: int, hidden: int, n: int, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.x = with_bias(rng.standard_normal((n, inputs)))
        self.y = np.sin(2 * self.x[:, 0]) + 0.3 * rng.standard_normal(n)
        self.rows, self.order, self.n, self.hidden = kernel_rows(self.x), rng.permutation(n), n, hidden
        self.state, prior = initial(BNNRegression(hidden), inputs + 1, rng)
        theta = prior.naturals(6.0, 6.0)
        sites = (hl.pack1(theta.eta1), hl.pack1(theta.lam1, 1.0), hl.pack2(theta.eta2), hl.pack2(theta.lam2, 1.0))
        self.prior = [p / n for p in sites]

    def start(self) -> list[np.ndarray]:
        """Packed means and variances of both layers, and the noise's four numbers."""
        s = self.state
        return [hl.pack1(s.m1), hl.pack1(s.v1, 1.0), hl.pack2(s.m2), hl.pack2(s.v2, 1.0), np.full(4, 6.0)]


def numba_sep(p: Problem) -> Runner:
    q, h, rules = p.start(), hl.scratch(p.hidden), np.array([0, 1])

    def run() -> None:
        moment_kernel.moment_epoch(
            p.rows, p.y, p.order, *q[:4], *p.prior, q[4], 1.0 / p.n, *SEP_RANGE, rules, p.hidden, h
        )

    return run, q


def library() -> ctypes.CDLL:
    """The C file of this benchmark, compiled for this machine. Raises RuntimeError if that is not possible."""
    compiler = next((c for c in (os.environ.get("CC"), "gcc", "cc") if c and shutil.which(c)), None)
    if compiler is None:
        raise RuntimeError("no C compiler found; set CC to one")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "pbp_update.so"
        command = [compiler, *FLAGS, "-o", str(target), str(Path(__file__).with_suffix(".c")), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{compiler} failed: {done.stderr.strip().splitlines()[-1]}")
        made = ctypes.CDLL(str(target))  # it stays mapped when the file is deleted
    made.sep_epoch.restype = None
    return made


def c_sep(p: Problem, made: ctypes.CDLL) -> Runner:
    q, full = p.start(), hl.scratch(p.hidden).reshape(hl.ROWS, -1)
    h = np.zeros((12, full.shape[1]))
    h[1], h[10], h[11] = 1.0, full[hl.MASK], full[hl.BIAS]
    kept = [p.rows, p.y, p.order, *q, *p.prior, np.array(hl._MILLS), h]
    rows, y, order, m1, v1, m2, v2, gamma, *prior, mills, scratch = (ctypes.c_void_p(a.ctypes.data) for a in kept)
    d, i = ctypes.c_double, ctypes.c_int64
    arguments = (rows, y, order, i(p.n), i(p.x.shape[1]), m1, v1, m2, v2, *prior, gamma, d(1.0 / p.n),
                 *map(d, SEP_RANGE), i(p.hidden), mills, scratch)  # fmt: skip

    def run(kept: list[np.ndarray] = kept) -> None:  # the arrays live as long as the function
        made.sep_epoch(*arguments)

    return run, q


def check_agreement(p: Problem, made: ctypes.CDLL) -> None:
    """Raise RuntimeError if C does not compute the same as numba, because the times then mean nothing."""
    (ours, a), (theirs, b) = numba_sep(p), c_sep(p, made)
    ours()
    theirs()
    inputs, n2 = p.x.shape[1], p.hidden + 1
    for q in (a, b):  # padding is not compared
        q[:3] = hl.unpack1(q[0], p.hidden, inputs), hl.unpack1(q[1], p.hidden, inputs), q[2][:n2]
    if not all(np.allclose(a[k], b[k], rtol=1e-6, atol=1e-6) for k in (0, 1, 2, 4)):
        raise RuntimeError("C does not compute the numba kernel's update; the comparison is void")


def measure(made: ctypes.CDLL, repeats: int = REPEATS) -> pd.DataFrame:
    """One row per shape and implementation."""
    rows = []
    for name, (inputs, hidden) in SHAPES.items():
        check_agreement(Problem(inputs, hidden, 100), made)
        p = Problem(inputs, hidden, 600 if inputs > 50 else 3000)
        took = {}
        for key, (run, _) in (("c", c_sep(p, made)), ("numba", numba_sep(p))):
            run()
            times = []
            for _ in range(repeats):
                start = time.thread_time()
                run()
                times.append(time.thread_time() - start)
            took[key] = min(times) / p.n * 1e6
            row = {"dataset": name, "inputs": inputs, "hidden": hidden, "implementation": key}
            row |= {"microseconds": took[key], "gflops": flops(inputs, hidden) / took[key] / 1e3}
            rows.append(row | {"over_c": took[key] / took["c"]})
    return pd.DataFrame(rows)


def main() -> None:
    table = measure(library())
    print(table.to_string(index=False, float_format="%.4g"))
    if sys.argv[1:]:
        write_csv(Path(sys.argv[1]), table)


if __name__ == "__main__":
    main()
