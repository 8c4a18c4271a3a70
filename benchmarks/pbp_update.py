"""Microseconds per datapoint update of the EP family, beside peers and beside what the core can do.

    python -m benchmarks.pbp_update [--quick]

One run measures everything on one core: the peak of fused multiply-adds (a C loop), the numba kernels, the same SEP
update in C, in JAX (``lax.scan``) and in the slow NumPy oracle. Each time is the minimum thread-CPU time over many
short runs (JAX: process-CPU time, it owns threads). Take the ratios, not the absolute times: the table and
``results/benchmarks/pbp_update.csv`` give both. Nothing here is asserted by a test except that the peers agree.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from methods.ep._pbp import ep_kernel, moment_kernel, natural_kernel
from methods.ep._pbp import hidden as hl
from methods.ep._pbp.natural_training import _NOISE_BLOCK
from methods.ep._pbp.state import initial, with_bias
from methods.ep._pbp.training import SEP_RANGE, kernel_rows
from models.bnn_regression import BNNRegression
from tests.methods.ep import pbp_oracle as oracle

ROOT = Path(__file__).resolve().parents[1]
#: data set: inputs (without bias), hidden units, target of the numba SEP update in microseconds (None: no target).
SHAPES = {
    "wine": (11, 50, None),
    "kin8nm": (8, 50, 0.8),
    "power": (4, 50, None),
    "naval": (16, 50, None),
    "protein": (9, 100, None),
    "year": (90, 100, 8.0),
}
QUICK = ("kin8nm", "year")
#: ceiling of a kernel's time over that of numba SEP.
CEILING = {"numba_clipped": 3.0, "numba_dp_with_noise": 5.0, "numba_ep": 5.0}
FIELDS = (
    "dataset", "inputs", "hidden", "implementation", "microseconds", "over_numba_sep", "over_c_sep", "gflops",
    "percent_of_peak", "target", "met",
)  # fmt: skip


def flops(inputs: int, hidden: int) -> float:
    """Floating-point operations of one SEP update; ``inputs`` without the bias."""
    return 28.0 * (inputs + 1) * hidden + 200.0 * hidden + 150.0


def least(run, updates: int, repeats: int, clock=time.thread_time) -> float:
    """Microseconds an update: the minimum over ``repeats`` runs."""
    best = math.inf
    for _ in range(repeats):
        start = clock()
        run()
        best = min(best, clock() - start)
    return best / updates * 1e6


class Problem:
    """Random rows of one shape and fresh packed states."""

    def __init__(self, inputs: int, hidden: int, n: int, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.x = with_bias(rng.standard_normal((n, inputs)))
        self.y = np.sin(2 * self.x[:, 0]) + 0.3 * rng.standard_normal(n)
        self.rows, self.order, self.n, self.hidden = kernel_rows(self.x), rng.permutation(n), n, hidden
        self.state, self.prior = initial(BNNRegression(hidden), inputs + 1, rng)
        self.theta_0 = self.prior.naturals(6.0, 6.0)

    def moments(self):
        s = self.state
        q = [hl.pack1(s.m1), hl.pack1(s.v1, 1.0), hl.pack2(s.m2), hl.pack2(s.v2, 1.0)]
        return q, [p / self.n for p in self.naturals(self.theta_0)], np.array([6.0, 6.0, 6.0, 6.0])

    @staticmethod
    def naturals(q):
        return [hl.pack1(q.eta1), hl.pack1(q.lam1, 1.0), hl.pack2(q.eta2), hl.pack2(q.lam2, 1.0)]


def numba_sep(p: Problem):
    q, prior, gamma = p.moments()
    h, rules = hl.scratch(p.hidden), np.array([0, 1])

    def run():
        moment_kernel.moment_epoch(p.rows, p.y, p.order, *q, *prior, gamma, 1.0 / p.n, *SEP_RANGE, rules, p.hidden, h)

    return run, q, gamma


def numba_natural(p: Problem, noise_rows: int):
    """Algorithm 3, with ``noise_rows`` rows of noise used over and over (0: without noise, all rows in one call)."""
    theta_0 = p.theta_0.clipped(1.0)
    theta = theta_0 + ((p.state.naturals() - theta_0) * (1.0 / p.n)).clipped(1.0) * p.n
    q, centre = Problem.naturals(theta), Problem.naturals(theta_0)
    gamma = np.array([theta.shape + 1, -theta.rate, theta_0.shape + 1, -theta_0.rate])
    rules = np.array([natural_kernel.CLIP_JOINT, natural_kernel.GAMMA_JOINT, natural_kernel.CHECK_NONE, 1])
    size = 2 * p.state.weights + 2
    noise = 1e-6 * np.random.default_rng(1).standard_normal((noise_rows, size))
    counts, h = np.zeros(6), hl.scratch(p.hidden)
    step = noise_rows or p.n
    k = 1.0 / p.n

    def run():
        for start in range(0, p.n, step):
            chosen = p.order[start : start + step]
            natural_kernel.natural_steps(
                p.rows, p.y, chosen, *q, gamma, *centre, 1.0 / p.n, k, 1.0, 1.0, 1e-4, rules, noise[: len(chosen)],
                counts, p.hidden, h,
            )  # fmt: skip

    return run


def numba_ep(p: Problem, storage: str):
    q = Problem.naturals(p.state.naturals())
    s = ep_kernel.Sites(p.n, p.hidden, p.x.shape[1], storage)
    gamma, h = np.array([6.0, 6.0]), hl.scratch(p.hidden)
    scales = (s.eta_scale, s.lam_scale) if storage == "int8" else ()
    epoch = ep_kernel.ep_epoch_int8 if storage == "int8" else ep_kernel.ep_epoch

    def run():
        epoch(p.rows, p.y, p.order, *q, gamma, s.eta1, s.lam1, *scales, s.eta2, s.lam2, s.gamma, 0.4, p.hidden, h)

    return run


def budget_noise(p: Problem, rows: int):
    """What ``privacy.budget`` hands out for a block of noise: its compiled stream."""
    from privacy.normal import NormalStream

    stream, size = NormalStream(np.random.default_rng(0)), 2 * p.state.weights + 2
    NormalStream(np.random.default_rng(0)).fill(np.empty(4096), 1.0)  # compile

    def run():
        for start in range(0, p.n, rows):
            stream.fill(np.empty(min(rows, p.n - start) * size), 0.5)

    return run


def numpy_noise(p: Problem, rows: int):
    """The same block from NumPy's generator, as a peer."""
    rng, size = np.random.default_rng(0), 2 * p.state.weights + 2

    def run():
        for start in range(0, p.n, rows):
            block = rng.standard_normal((min(rows, p.n - start), size))
            block *= 0.5

    return run


def slow_oracle(p: Problem, rows: int):
    def run():
        q = p.state.naturals()
        for i in p.order[:rows]:
            q, _ = oracle.sep_step(q, p.theta_0, p.x[i], p.y[i], p.n)

    return run


def jax_sep(p: Problem):
    """SEP by ``lax.scan`` and automatic differentiation, float64, compiled; returns run and the final moments."""
    import jax
    import jax.numpy as jnp

    n1, n2, e = p.x.shape[1], p.hidden + 1, 1.0 / p.n

    def output(m1, v1, m2, v2, x):
        mean, var = m1 @ x / math.sqrt(n1), v1 @ x**2 / n1
        sd = jnp.sqrt(var)
        alpha = mean / sd
        cdf = 0.5 * jax.scipy.special.erfc(-alpha / math.sqrt(2))
        pdf = jnp.exp(-0.5 * alpha**2) / math.sqrt(2 * math.pi)
        z = mean * cdf + sd * pdf
        zv = jnp.maximum((mean**2 + var) * cdf + mean * sd * pdf - z**2, 0.0)
        z, zv = jnp.append(z, 1.0), jnp.append(zv, 0.0)
        return z @ m2 / math.sqrt(n2), (zv @ (v2 + m2**2) + z**2 @ v2) / n2

    def log_z(q, noise, x, y):
        mean, var = output(*q, x)
        total = var + noise
        return -0.5 * (jnp.log(total) + (y - mean) ** 2 / total), (mean, var)

    value_and_grad = jax.value_and_grad(log_z, has_aux=True)

    def step(carry, row):
        q, a, b = carry
        x, y = row
        lam = 5.0 / 6.0
        cavity = []
        for m, v in ((q[0], q[1]), (q[2], q[3])):
            den = 1 - e + e * v * lam
            cavity += [(1 - e) * m / den, v / den]
        a_c, b_c = a - e * (a - 6.0), b - e * (b - 6.0)
        (l0, (mean, var)), g = value_and_grad(tuple(cavity), b_c / (a_c - 1), x, y)
        l1, l2 = (-0.5 * (jnp.log(var + s) + (y - mean) ** 2 / (var + s)) for s in (b_c / a_c, b_c / (a_c + 1)))
        new = []
        for i in (0, 2):
            m, v = cavity[i], cavity[i + 1]
            nm, nv = m + v * g[i], v - v * v * (g[i] ** 2 - 2 * g[i + 1])
            ok = (nv > 1e-20) & (nv < 1e20) & ~jnp.isnan(nm)
            new += [jnp.where(ok, nm, q[i]), jnp.where(ok, nv, q[i + 1])]
        new_a = 1 / (jnp.exp(l2 - 2 * l1 + l0) * (a_c + 1) / a_c - 1)
        new_b = 1 / (jnp.exp(l2 - l1) * (a_c + 1) / b_c - jnp.exp(l1 - l0) * a_c / b_c)
        return (tuple(new), new_a, new_b), None

    s = p.state
    epoch = jax.jit(lambda c, r: jax.lax.scan(step, c, r)[0])
    with jax.enable_x64(True):
        start = ((jnp.array(s.m1), jnp.array(s.v1), jnp.array(s.m2), jnp.array(s.v2)), 6.0, 6.0)
        rows = (jnp.array(p.x[p.order]), jnp.array(p.y[p.order]))

    def run():
        with jax.enable_x64(True):
            return jax.block_until_ready(epoch(start, rows))

    return run


class Peer:
    """The C file of this benchmark, compiled for this machine; ``reason`` says why where that is not possible."""

    def __init__(self):
        self.library, self.reason, self.flags = None, "", ""
        compiler = next((c for c in (os.environ.get("CC"), "gcc", "cc") if c and shutil.which(c)), None)
        if compiler is None:
            self.reason = "no C compiler found; set CC to add the C peer and the peak of the core"
            return
        flags = ["-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]
        source = Path(__file__).with_suffix(".c")
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "pbp_update.so"
            command = [compiler, *flags, "-shared", "-fPIC", "-o", str(target), str(source), "-lm"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                self.reason = f"{compiler} failed: {done.stderr.strip().splitlines()[-1]}"
                return
            self.library = ctypes.CDLL(str(target))  # stays mapped when the file goes
        self.flags = " ".join(flags)
        self.library.peak.restype = ctypes.c_double
        self.library.peak.argtypes = [ctypes.c_int64]
        self.library.sep_epoch.restype = None

    def peak_gflops(self, repeats: int) -> float:
        rounds = 1_000_000
        return 16 * 8 * 2 * rounds / (least(lambda: self.library.peak(rounds), 1, repeats) * 1e-6) / 1e9

    def sep(self, p: Problem):
        q, prior, gamma = p.moments()
        full = hl.scratch(p.hidden).reshape(hl.ROWS, -1)
        h = np.zeros((12, full.shape[1]))
        h[1], h[10], h[11] = 1.0, full[hl.MASK], full[hl.BIAS]
        mills = np.array(hl._MILLS)
        keep = [p.rows, p.y, p.order, *q, *prior, gamma, mills, h]
        d, i = ctypes.c_double, ctypes.c_int64

        def at(a):
            return ctypes.c_void_p(a.ctypes.data)

        args = [
            at(p.rows), at(p.y), at(p.order), i(p.n), i(p.x.shape[1]), *map(at, q), *map(at, prior), at(gamma),
            d(1.0 / p.n), d(SEP_RANGE[0]), d(SEP_RANGE[1]), i(p.hidden), at(mills), at(h),
        ]  # fmt: skip

        def run(keep=keep):
            self.library.sep_epoch(*args)

        return run, q, gamma


def check_agreement(peer: Peer, p: Problem) -> None:
    """The C peer and JAX compute what numba computes, else their times mean nothing. Raises RuntimeError."""
    ours, q, gamma = numba_sep(p)
    ours()
    inputs = p.x.shape[1]
    final = [hl.unpack1(q[0], p.hidden, inputs), hl.unpack1(q[1], p.hidden, inputs), q[2][: p.hidden + 1]]
    if peer.library is not None:
        run, other, other_gamma = peer.sep(p)
        run()
        theirs = [hl.unpack1(other[0], p.hidden, inputs), hl.unpack1(other[1], p.hidden, inputs)]
        theirs.append(other[2][: p.hidden + 1])
        for a, b in zip([*final, gamma], [*theirs, other_gamma], strict=True):
            if not np.allclose(a, b, rtol=1e-6, atol=1e-6):
                raise RuntimeError("the C peer does not compute the numba kernel's update; the comparison is void")
    (m1, v1, m2, _), a, b = jax_sep(p)()
    for x, y in zip([*final, gamma[:2]], [m1, v1, m2, np.array([a, b])], strict=True):
        if not np.allclose(x, np.asarray(y), rtol=1e-6, atol=1e-6):
            raise RuntimeError("the JAX peer does not compute the numba kernel's update; the comparison is void")


def measure(name: str, peer: Peer, peak: float | None, repeats: int) -> list[dict]:
    inputs, hidden, target = SHAPES[name]
    n = 600 if inputs > 50 else 3000
    check_agreement(peer, Problem(inputs, hidden, 100))
    p = Problem(inputs, hidden, n)
    block = max(1, _NOISE_BLOCK // (2 * p.state.weights + 2))
    runs = {
        "numba_sep": (numba_sep(p)[0], n),
        "numba_clipped": (numba_natural(p, 0), n),
        "numba_dp_given_noise": (numba_natural(p, block), n),
        "noise_of_dp": (budget_noise(p, block), n),
        "numpy_noise_of_dp": (numpy_noise(p, block), n),
        "numba_ep": (numba_ep(p, "float64"), n),
        "numba_ep_float32": (numba_ep(p, "float32"), n),
        "numba_ep_int8": (numba_ep(p, "int8"), n),
        "numpy_oracle_sep": (slow_oracle(p, 40), 40),
    }
    if peer.library is not None:
        runs["c_sep"] = (peer.sep(p)[0], n)
    times = {}
    for key, (run, updates) in runs.items():
        run()
        slow = key in ("numpy_noise_of_dp", "numpy_oracle_sep")
        times[key] = least(run, updates, max(3, repeats // 5) if slow else repeats)
    jax_run = jax_sep(p)
    jax_run()
    times["jax_scan_sep"] = least(jax_run, n, max(3, repeats // 5), time.process_time)
    times["numba_dp_with_noise"] = times["numba_dp_given_noise"] + times["noise_of_dp"]

    rows = []
    for key, microseconds in times.items():
        sep = key in ("numba_sep", "c_sep", "jax_scan_sep", "numpy_oracle_sep")
        gflops = flops(inputs, hidden) / microseconds / 1e3 if sep else None
        limit = target if key == "numba_sep" else CEILING[key] * times["numba_sep"] if key in CEILING else None
        rows.append(
            {
                "dataset": name,
                "inputs": inputs,
                "hidden": hidden,
                "implementation": key,
                "microseconds": microseconds,
                "over_numba_sep": microseconds / times["numba_sep"],
                "over_c_sep": microseconds / times["c_sep"] if "c_sep" in times else None,
                "gflops": gflops,
                "percent_of_peak": 100 * gflops / peak if sep and peak else None,
                "target": limit,
                "met": None if limit is None else microseconds <= limit,
            }
        )
    return rows


def text(value) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two shapes, fewer repeats")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "benchmarks" / "pbp_update.csv")
    args = parser.parse_args(argv)
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")  # JAX on one core; read at its import
    repeats = 15 if args.quick else 60
    peer = Peer()
    peak = None
    if peer.library is None:
        print(peer.reason)
    else:
        peak = peer.peak_gflops(10)
        print(f"peak of one core, float64 multiply-adds in C ({peer.flags}): {peak:.1f} GFLOP/s")
    rows = [{"implementation": "peak_fma", "gflops": peak}] if peak else []
    print(" ".join(f"{f:>21}" if f == "implementation" else f"{f:>15}" for f in FIELDS))
    for name in QUICK if args.quick else SHAPES:
        for row in measure(name, peer, peak, repeats):
            rows.append(row)
            print(" ".join(f"{text(row[f]):>21}" if f == "implementation" else f"{text(row[f]):>15}" for f in FIELDS))
    args.output.parent.mkdir(parents=True, exist_ok=True)
    partial = args.output.with_name(args.output.name + ".partial")
    with partial.open("w", newline="") as f:
        writer = csv.DictWriter(f, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: text(v) for k, v in row.items()} for row in rows)
    partial.replace(args.output)
    print(f"written: {args.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
