"""Sums of gradients of -log p(y | x, w) over rows, optionally clipped per row, without storing per-row gradients.

All rows of a batch share one w. So the gradient of row i in a layer is the outer product of the layer's input (a_i, 1)
and the error delta_i at its output. Its squared norm is

    |delta_i|^2 (|a_i|^2 + 1)

(Goodfellow 2015, arXiv 1510.01799), and the sum with weights c_i is (a, 1)' diag(c) delta. This takes one forward pass,
one backward pass and one matrix product per layer. The weights c_i are known before those products, so there is no
second pass.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from models.bnn_classification import layers


@cache
def device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def product(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """a b, (n, k), on a CPU by NumPy's matrix product.

    NumPy is as fast as torch, and lets the user choose its kernels (OPENBLAS_CORETYPE) if the library does not know the
    CPU.
    """
    if a.device.type != "cpu":
        return torch.mm(a, b, out=out)
    with np.errstate(all="ignore"):  # rows that overflow are found by their norm, weights that overflow by the caller
        found = np.matmul(a.numpy(), b.numpy(), out=None if out is None else out.numpy())
    return torch.from_numpy(found) if out is None else out


def product_of_rows(x: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """x b, (n, k), for inputs of the network or their transpose.

    Most pixels are 0. On a CPU they are skipped.
    """
    if x.device.type != "cpu":
        return product(x, b, out)
    from methods._shared.bayes_by_backprop.kernels import sparse_product

    out = x.new_empty((x.shape[0], b.shape[1])) if out is None else out
    sparse_product(x.numpy(), b.numpy(), out.numpy())
    return out


def passes(w: torch.Tensor, widths, x: torch.Tensor, labels: torch.Tensor):
    """Inputs and errors of every layer, and log-probabilities, for rows x (B, d) at weights w (D,).

    labels : (B,) int64, -1 for a row that has no class: its errors are 0.

    Returns (inputs, errors, log_probabilities): lists of (B, fan-in) and (B, fan-out), and (B, classes).
    """
    blocks = layers(w, widths)
    inputs = [x]
    for block in blocks[:-1]:
        by = product_of_rows if len(inputs) == 1 else product
        inputs.append(by(inputs[-1], block[:-1]).add_(block[-1]).relu_())
    log_p = torch.log_softmax(product(inputs[-1], blocks[-1][:-1]).add_(blocks[-1][-1]), dim=1)
    known = (labels >= 0).to(w.dtype)[:, None]
    error = log_p.exp()
    error.scatter_add_(1, labels.clamp(min=0)[:, None], -torch.ones_like(known))
    errors = [error.mul_(known)]
    for block, a in zip(blocks[:0:-1], inputs[:0:-1], strict=True):
        error = product(errors[-1], block[:-1].T)
        errors.append(torch.ops.aten.threshold_backward(error, a, 0.0))  # 0 where the rectified a is 0
    return inputs, errors[::-1], log_p


def _square(a: torch.Tensor) -> torch.Tensor:
    """|a_i|^2 of each row, (B,)."""
    return torch.linalg.vector_norm(a, dim=1).square_()


def squared_norms(inputs: list[torch.Tensor], errors: list[torch.Tensor]) -> torch.Tensor:
    """|g_i|^2 over all layers, weights and biases, (B,)."""
    return sum(_square(e) * (_square(a) + 1.0) for a, e in zip(inputs, errors, strict=True))


def weighted_sum(
    inputs: list[torch.Tensor], errors: list[torch.Tensor], weights: torch.Tensor | None = None
) -> torch.Tensor:
    """sum_i weights_i g_i, (D,); ``weights`` (B,), None for 1. An empty batch gives zeros."""
    total = inputs[0].new_empty(sum((a.shape[1] + 1) * e.shape[1] for a, e in zip(inputs, errors, strict=True)))
    start = 0
    for a, e in zip(inputs, errors, strict=True):
        stop = start + (a.shape[1] + 1) * e.shape[1]
        block = total[start:stop].view(a.shape[1] + 1, e.shape[1])
        scaled = e if weights is None else e * weights[:, None]
        by = product_of_rows if a is inputs[0] else product
        by(a.T, scaled, out=block[:-1])
        torch.sum(scaled, 0, out=block[-1])
        start = stop
    return total


def clipped_sum(w: torch.Tensor, widths, x: torch.Tensor, labels: torch.Tensor, clip: float) -> torch.Tensor:
    """sum_i g_i min(1, clip / |g_i|) over the rows of a batch, (D,), with g_i over all layers, weights and biases.

    L2 sensitivity: ``clip`` under add/remove, 2 ``clip`` under replace-one. Proof.

    1. Given the earlier releases, w is no function of the rows. So the term of a row depends on that row alone, and its
       norm is at most ``clip``.
    2. Adding or removing a row changes the sum by its term. Replacing a row changes it by the difference of two terms.
    3. A row without a class (label -1), or whose norm is not finite, has the term 0.

    In double precision the bound holds up to rounding, about 1e-13 of ``clip`` for the batches of this suite. In single
    precision the last digits of the terms of all other rows may change with the size of the batch. No bound here covers
    that. So weights that are not float64 raise TypeError.
    """
    if w.dtype != torch.float64:
        raise TypeError(f"clipped_sum: weights are {w.dtype}; a bound on the sensitivity needs torch.float64")
    inputs, errors, _ = passes(w, widths, x, labels)
    norms = squared_norms(inputs, errors).sqrt_()
    finite = torch.isfinite(norms)
    if not bool(finite.all()):
        inputs, errors, norms = [a[finite] for a in inputs], [e[finite] for e in errors], norms[finite]
    return weighted_sum(inputs, errors, (clip / norms).clamp_(max=1.0))


def mean_gradient(w: torch.Tensor, widths, x: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Mean gradient (D,) and mean loss -log p(y | x, w), nats, of a batch; not private.

    The batch has at least one row, and every row has a class.
    """
    inputs, errors, log_p = passes(w, widths, x, labels)
    loss = -log_p.gather(1, labels[:, None]).mean()
    return weighted_sum(inputs, errors).div_(len(x)), float(loss)
