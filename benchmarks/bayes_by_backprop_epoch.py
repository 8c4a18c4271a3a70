"""CPU seconds of one DP epoch of a 784-400-400-10 network at lot 256, compared with Opacus in two modes, on one core.

    python -m benchmarks.bayes_by_backprop_epoch [results/benchmarks/bayes_by_backprop_epoch.csv] [--steps 234]

The epoch has 60,000 synthetic pictures, as sparse as MNIST's, and the same Poisson batches for all. Rows of the table:

* dp_sgd: ours. Clipped sum without per-row gradients, noise and step, in float64.
* opacus_hooks: DP-SGD by Opacus' default mode, with per-row gradients in memory, in float32.
* opacus_ghost: DP-SGD by Opacus' ghost clipping, with norms first and then a second backward pass, in float32.

Opacus computes in single precision by default. Ours computes in double precision, because the bound on the sensitivity
needs it (``gradients.clipped_sum``). Opacus is given whole batches, so its data loader is not timed. The
implementations alternate every few steps, so a busy machine slows all alike. A time is the median thread-CPU time over
the turns of an epoch, or of ``--steps`` steps. ``ratio`` is over dp_sgd, which computes the same. Before the timing,
one step without noise must agree. Opacus is optional: ``pip install opacus==1.6.0``.
"""

# ruff: noqa: E402 - thread counts must be set before NumPy and torch are imported
from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
import warnings
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd
import torch

from methods._shared.bayes_by_backprop import gradients, training, variational
from models.bnn_classification import layers
from privacy.budget import BudgetSpec, PoissonSampler
from privacy.ledger import Relation, Sampling

WIDTHS = (784, 400, 400, 10)
ROWS, LOT, CLIP, RATE, SIGMA = 60_000, 256, 1.5, 0.25, 1.1
EPOCH = round(ROWS / LOT)
TURN = 6
MISSING = "opacus is not installed, so its rows are missing; to compare: pip install opacus==1.6.0 (optional)"


class Problem:
    """Synthetic pictures (rows, inputs) in [0, 1], 19 % of the pixels above 0 (as in MNIST), and random labels."""

    def __init__(self, widths=WIDTHS, rows: int = ROWS, lot: int = LOT, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.widths, self.lot, self.rate = widths, lot, lot / rows
        self.x = rng.random((rows, widths[0]), dtype=np.float32)
        self.x *= rng.random(self.x.shape, dtype=np.float32) < 0.19
        self.rows = training.Rows(self.x.astype(np.float64), rng.integers(0, widths[-1], rows), 1.0, widths)
        self.start = variational.start(widths, rng)
        self.batches = PoissonSampler(rows, self.rate, rng.spawn(1)[0])

    def mechanism(self, steps: int):
        return BudgetSpec().open(np.random.default_rng(1)).gaussian(
            "sum of clipped per-row gradients", sensitivity=CLIP, noise_multiplier=SIGMA,
            relation=Relation.ADD_REMOVE, sampling=Sampling.POISSON, sampling_rate=self.rate, steps=steps,
            proof="methods._shared.bayes_by_backprop.gradients.clipped_sum",
        )  # fmt: skip


def ours(p: Problem, steps: int, noise: bool = True):
    """(step function of the batch number, function that returns the weights) of our DP-SGD."""
    w, mechanism = p.start.clone(), p.mechanism(steps)

    def step(t: int) -> None:
        total = gradients.clipped_sum(w, p.widths, *p.rows.batch(p.batches.draw(t)), CLIP)
        w.sub_(training.noisy(total, mechanism) if noise else total, alpha=RATE / p.lot)

    return step, lambda: w


def opacus(p: Problem, mode: str, noise: bool = True):
    """Step function and weights, as in :func:`ours`, of Opacus' DP-SGD on the same network and batches.

    ``mode``: "hooks" or "ghost".
    """
    from opacus import PrivacyEngine

    modules: list[torch.nn.Module] = []
    for block in layers(p.start.float(), p.widths):
        linear = torch.nn.Linear(block.shape[0] - 1, block.shape[1])
        linear.weight.data.copy_(block[:-1].T)
        linear.bias.data.copy_(block[-1])
        modules += [linear, torch.nn.ReLU()]
    model = torch.nn.Sequential(*modules[:-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    x, y = torch.from_numpy(p.x), torch.from_numpy(p.rows.labels)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=p.lot)
    model, optimizer, *rest = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=SIGMA if noise else 0.0,
        max_grad_norm=CLIP,
        poisson_sampling=False,  # the batches are passed in, and they are Poisson batches
        grad_sample_mode=mode,
    )
    criterion = rest[0] if mode == "ghost" else torch.nn.CrossEntropyLoss()
    optimizer.expected_batch_size = p.lot

    def step(t: int) -> None:
        rows = torch.from_numpy(p.batches.draw(t))
        loss = criterion(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def weights() -> torch.Tensor:
        found = {name.removeprefix("_module."): value.detach() for name, value in model.named_parameters()}
        parts = []
        for k in range(0, len(modules), 2):
            parts += [found[f"{k}.weight"].T.reshape(-1), found[f"{k}.bias"]]
        return torch.cat(parts)

    return step, weights


def check_agreement(p: Problem, contestants: dict) -> None:
    """One step without noise from the same weights. Raises RuntimeError if a displacement differs by more than 1e-4.

    The tolerance is that of single precision: a difference of weights of order 0.1 that moved by order 0.001.
    """
    moved = {}
    for name, (step, weights) in contestants.items():
        step(0)
        moved[name] = weights().double() - p.start
    reference = moved["dp_sgd"]
    for name, other in moved.items():
        error = float((other - reference).norm() / reference.norm())
        if not error < 1e-4:
            raise RuntimeError(f"{name} and dp_sgd differ by {error:.2g} after one step; nothing was timed")


def contestants(p: Problem, steps: int) -> dict:
    """name -> (step, weights) of each available implementation, with noise, and without it for the check."""
    timed, exact = {"dp_sgd": ours(p, steps)}, {"dp_sgd": ours(p, 1, noise=False)}
    if importlib.util.find_spec("opacus") is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of Opacus on its random generator, and of torch on its hooks
            for mode in ("hooks", "ghost"):
                timed[f"opacus_{mode}"] = opacus(p, mode)
                exact[f"opacus_{mode}"] = opacus(p, mode, noise=False)
    else:
        print(MISSING, file=sys.stderr)
    check_agreement(p, exact)
    return timed


def measure(p: Problem, steps: int, epoch: int = EPOCH) -> pd.DataFrame:
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runners = contestants(p, steps + 1)
        turns = {name: [] for name in runners}
        for step, _ in runners.values():
            step(steps)  # not timed: memory and code are warm afterwards
        for begin in range(0, steps, TURN):
            for name, (step, _) in runners.items():
                numbers = range(begin, min(begin + TURN, steps))
                started = time.thread_time()
                for t in numbers:
                    step(t)
                turns[name].append((time.thread_time() - started) / len(numbers))
    seconds = {name: float(np.median(each)) for name, each in turns.items()}
    return pd.DataFrame(
        {
            "implementation": name,
            "precision": "float32" if name.startswith("opacus") else "float64",
            "ms_per_step": 1e3 * each,
            "seconds_per_epoch": each * epoch,
            "ratio": each / seconds["dp_sgd"],
            "steps_timed": steps,
        }
        for name, each in seconds.items()
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="One DP epoch against Opacus, on one core.")
    parser.add_argument("output", nargs="?", type=Path, default=Path("results/benchmarks/bayes_by_backprop_epoch.csv"))
    parser.add_argument("--steps", type=int, default=EPOCH, help=f"steps to time, of the {EPOCH} of an epoch")
    options = parser.parse_args(argv)
    if options.steps < 1:
        parser.error("give --steps of at least 1")
    table = measure(Problem(), options.steps)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    temporary = options.output.with_suffix(".tmp")
    table.to_csv(temporary, index=False, float_format="%.6g")
    os.replace(temporary, options.output)
    print(table.to_string(index=False, float_format="%.4g"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
