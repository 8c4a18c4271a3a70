"""Milliseconds per step of mean-field VI and of its per-example clipped form, against peers, in one run on one core.

    python benchmarks/dp_vi_step.py [results/benchmarks/dp_vi_step.csv]

Rows (one gradient of one batch, noise draws of the weights included, optimiser excluded):

closed_pair          ours, L x L pairs, batch sum (vi_authors, dp_vi_vinaroz_authors), float32
torch_pair           torch autograd of the same loss on the batch, float32
authors_loop         the authors' way: one backward pass per row and draw pair summed in Python loops, as their script
                     does; timed on a few rows and multiplied by B / rows (stated in the column ``note``)
closed_marginal      ours, equation 123, batch sum (vi), float32
closed_clipped       ours, equation 123, every row clipped (dp_vi_vinaroz, dp_vi_vinaroz_corrected), float64
torch_vmap_clipped   torch.func.vmap(grad), per-example gradients, norms, clipped sum, float64

Times are thread-CPU minima over rounds that take the implementations in turn, so that a busy machine slows all alike;
``ratio`` is over the closed form that computes the same. Results agree to rounding before they are timed.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy and torch are imported
from __future__ import annotations

import os
import sys
import time
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd
import torch

from methods.vi._mean_field import Gradients, Layout

#: name, inputs, hidden, batch, draws: Table 7's rows
SHAPES = (("kin8nm", 8, 50, 100, 20), ("protein", 9, 100, 200, 20))
GAMMA, CLIP = 10.0, 1.0
LOOP_ROWS = 1


def unpack(theta, layout):
    a, n = layout.first, layout.weights
    shape = (layout.hidden, layout.inputs + 1)
    sd = torch.sqrt(torch.abs(theta[n:]) + 1e-6)
    return theta[:a].reshape(shape), theta[a:n], sd[:a].reshape(shape), sd[a:]


def torch_pair_loss(theta, x, y, layout, e0, e1):
    """Sum over rows of the mean over all pairs of draws; e0 (L, H, d+1), e1 (L, H+1)."""
    m0, m1, s0, s1 = unpack(theta, layout)
    w1 = m1 + s1 * e1
    z = torch.relu(torch.einsum("nd,lhd->nlh", x, m0 + s0 * e0))
    f = z @ w1[:, 1:].T + w1[:, 0]
    return 0.5 * GAMMA * ((y[:, None, None] - f) ** 2).mean(dim=(1, 2)).sum()


def torch_row_loss(theta, x, y, layout, e0):
    """Equation 123 for one row."""
    m0, m1, s0, s1 = unpack(theta, layout)
    z = torch.relu((m0 + s0 * e0) @ x)
    f = z @ m1[1:] + m1[0]
    return 0.5 * GAMMA * ((f - y) ** 2 + (z**2) @ (s1[1:] ** 2) + s1[0] ** 2).mean()


def loop_gradient(theta, x, y, layout, e0, e1):
    """One backward pass a row over a Python loop of L x L network evaluations; rows copied out one by one."""
    total = torch.zeros_like(theta)
    for i in range(len(y)):
        p = theta.clone().requires_grad_(True)
        m0, m1, s0, s1 = unpack(p, layout)
        loss = 0.0
        for a in e0:
            z = torch.relu((m0 + s0 * a) @ x[i])
            for b in e1:
                w = m1 + s1 * b
                loss = loss + 0.5 * GAMMA * (y[i] - w[0] - w[1:] @ z) ** 2
        (g,) = torch.autograd.grad(loss / (len(e0) * len(e1)), p)
        total += g
    return total


def agree(a, b, tolerance):
    error = np.linalg.norm(np.asarray(a) - np.asarray(b)) / np.linalg.norm(np.asarray(b))
    if not error < tolerance:
        raise SystemExit(f"implementations differ by {error:.2g} (allowed {tolerance:g}); nothing was timed")


def contestants(shape):
    """name -> (function, repetitions a round, factor to one step, note, closed form that does the same)."""
    _, d, hidden, batch, draws = shape
    rng = np.random.default_rng(0)
    layout = Layout(d, hidden)
    theta = 0.3 * layout.standard_normal(rng)
    x1 = np.column_stack([np.ones(batch), rng.standard_normal((batch, d))])
    y = rng.standard_normal(batch)
    fast, exact = Gradients(layout, draws, np.float32), Gradients(layout, draws, np.float64)
    x32, y32 = x1.astype(np.float32), y.astype(np.float32)
    t32 = [torch.tensor(v, dtype=torch.float32) for v in (theta, x1, y)]
    t64 = [torch.tensor(v, dtype=torch.float64) for v in (theta, x1, y)]
    rows = torch.func.vmap(torch.func.grad(torch_row_loss), in_dims=(None, 0, 0, None, None))

    def closed_pair(e=None):
        e0, e1 = e or (fast.draw0(rng), fast.draw1(rng))
        return fast.pair(theta, x32, y32, GAMMA, e0, e1)

    def autograd_pair(e=None):
        e0 = torch.randn(draws, hidden, d + 1) if e is None else e[0]
        e1 = torch.randn(draws, hidden + 1) if e is None else e[1]
        p = t32[0].clone().requires_grad_(True)
        return torch.autograd.grad(torch_pair_loss(p, t32[1], t32[2], layout, e0, e1), p)[0]

    def authors(e=None, n=LOOP_ROWS):
        e0 = torch.randn(draws, hidden, d + 1) if e is None else e[0]
        e1 = torch.randn(draws, hidden + 1) if e is None else e[1]
        return loop_gradient(t32[0], t32[1][:n], t32[2][:n], layout, e0, e1)

    def closed_marginal():
        return fast.marginal(theta, x32, y32, GAMMA, fast.draw0(rng))

    def closed_clipped(e0=None):
        return exact.clipped_sum(theta, x1, y, GAMMA, exact.draw0(rng) if e0 is None else e0, CLIP)[0]

    def vmap_clipped(e0=None):
        e0 = torch.randn(draws, hidden, d + 1, dtype=torch.float64) if e0 is None else e0
        g = rows(*t64, layout, e0)
        return (g * torch.clamp(CLIP / g.norm(dim=1), max=1.0)[:, None]).sum(dim=0)

    e0, e1 = rng.standard_normal((d + 1, draws, hidden)), rng.standard_normal((draws, hidden + 1))
    swapped = np.ascontiguousarray(e0.transpose(1, 2, 0))
    f32 = (e0.astype(np.float32), e1.astype(np.float32))
    g32 = (torch.tensor(swapped, dtype=torch.float32), torch.tensor(f32[1]))
    agree(closed_pair(f32), autograd_pair(g32), 1e-4)  # float32
    agree(fast.pair(theta, x32[:1], y32[:1], GAMMA, *f32), authors(g32, 1), 1e-4)
    agree(closed_clipped(e0), vmap_clipped(torch.tensor(swapped)), 1e-10)
    return {
        "closed_pair": (closed_pair, 20, 1.0, "", "closed_pair"),
        "torch_pair": (autograd_pair, 3, 1.0, "", "closed_pair"),
        "authors_loop": (
            authors,
            1,
            batch / LOOP_ROWS,
            f"extrapolated from {LOOP_ROWS} of {batch} rows",
            "closed_pair",
        ),
        "closed_marginal": (closed_marginal, 20, 1.0, "", "closed_marginal"),
        "closed_clipped": (closed_clipped, 20, 1.0, "", "closed_clipped"),
        "torch_vmap_clipped": (vmap_clipped, 2, 1.0, "", "closed_clipped"),
    }


def measure(rounds: int = 7) -> pd.DataFrame:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    table = []
    for shape in SHAPES:
        runners = contestants(shape)
        best = dict.fromkeys(runners, np.inf)
        for _ in range(rounds):
            for name, (function, repeats, factor, _, _) in runners.items():
                start = time.thread_time()
                for _ in range(repeats):
                    function()
                best[name] = min(best[name], 1e3 * factor * (time.thread_time() - start) / repeats)
        for name, (*_, note, base) in runners.items():
            table.append(
                {
                    "shape": shape[0],
                    "inputs": shape[1],
                    "hidden": shape[2],
                    "batch": shape[3],
                    "draws": shape[4],
                    "implementation": name,
                    "ms_per_step": best[name],
                    "ratio": best[name] / best[base],
                    "ratio_to": base,
                    "note": note,
                }
            )
    return pd.DataFrame(table)


def main(path: Path) -> None:
    table = measure()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    table.to_csv(temporary, index=False, float_format="%.6g")
    os.replace(temporary, path)
    print(table.to_string(index=False, float_format="%.4g"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/benchmarks/dp_vi_step.csv"))
