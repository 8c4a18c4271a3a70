"""Training loops of the moment kernels, from standardised rows to a state and diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from methods.contract import Diverged, Fit
from methods.ep._pbp import hidden as hl
from methods.ep._pbp import moment_kernel
from methods.ep._pbp.state import PriorFactor, State, with_bias
from models.bnn_regression import NetworkMoments
from models.standardise import Standardiser
from models.task import Task
from privacy.ledger import Ledger

#: a new variance outside this open interval rejects the update of a weight.
SEP_RANGE = (1e-20, 1e20)
ADF_RANGE = (1e-100, np.inf)


def standardised(task: Task) -> tuple[np.ndarray, np.ndarray, Standardiser]:
    """Rows with the bias last, targets, and the standardiser, whose moments are those of the private rows."""
    scale = Standardiser.from_moments(task.x, task.y)
    return with_bias(scale.x(task.x)), scale.y(task.y), scale


def kernel_rows(x: np.ndarray) -> np.ndarray:
    """Rows in the form that the kernels need: divided by the square root of the fan-in, C order."""
    return np.ascontiguousarray(x / np.sqrt(x.shape[1]))


def require(method: str, task: Task, epochs: int) -> None:
    """Raise ValueError for a task without a row, or for epochs that are not a whole number of at least 1."""
    if task.n < 1:
        raise ValueError(f"{method}: {task.name} has 0 training rows; give at least 1")
    if int(epochs) != epochs or epochs < 1:
        raise ValueError(f"{method}: epochs = {epochs}; give a whole number, at least 1")


def refined(state: State, prior: PriorFactor) -> tuple[State, PriorFactor]:
    """Prior refinement of both layers (Hernandez-Lobato & Adams 2015). The tests hold a slow reference version."""
    hyper = np.array([state.a_w, state.b_w])
    out = {}
    for layer in ("1", "2"):
        names = ["m" + layer, "v" + layer, "eta" + layer, "lam" + layer, "shape" + layer, "rate" + layer]
        source = [state, state, prior, prior, prior, prior]
        arrays = [np.array(getattr(s, n), order="C") for s, n in zip(source, names, strict=True)]
        moment_kernel.refine(*(a.reshape(-1) for a in arrays), hyper)
        out |= dict(zip(names, arrays, strict=True))
    q = {n: out.pop(n) for n in ("m1", "v1", "m2", "v2")}
    return replace(state, **q, a_w=float(hyper[0]), b_w=float(hyper[1])), PriorFactor(**out)


def train_moments(
    x: np.ndarray,
    y: np.ndarray,
    state: State,
    prior: PriorFactor,
    rng: np.random.Generator,
    *,
    method: str,
    epochs: int,
    power: float,
    noise_prior: tuple[float, float],
    refine_prior: bool = True,
    freeze_noise: bool = False,
    reject_noise: bool = True,
    variance_range: tuple[float, float] = SEP_RANGE,
    between_epochs: Callable[[], None] | None = None,
) -> tuple[State, PriorFactor, dict[str, float]]:
    """Epochs of :func:`moment_kernel.moment_epoch`, with a fresh permutation and a prior refinement per epoch.

    Parameters
    ----------
    x : (N, D) standardised inputs with the bias last.
    y : (N,) standardised targets.
    power : e = 1/N for SEP, 0 for ADF.
    noise_prior : shape and rate of the noise precision's prior.
    between_epochs : called after every epoch (the authors' code consumes random numbers there).

    Raises :class:`methods.contract.Diverged` if a number of q is no longer finite.
    """
    rows = kernel_rows(x)
    hidden, inputs = state.hidden, state.inputs
    h = hl.scratch(hidden)
    rules = np.array([freeze_noise, reject_noise], dtype=np.int64)
    rejected_weights = rejected_noise = 0.0
    for epoch in range(epochs):
        packed = [hl.pack1(state.m1), hl.pack1(state.v1, 1.0), hl.pack2(state.m2), hl.pack2(state.v2, 1.0)]
        factors = [hl.pack1(prior.eta1), hl.pack1(prior.lam1, 1.0), hl.pack2(prior.eta2), hl.pack2(prior.lam2, 1.0)]
        gamma = np.array([state.a, state.b, *noise_prior])
        bad_w, bad_g = moment_kernel.moment_epoch(
            rows, y, rng.permutation(len(y)), *packed, *(power * f for f in factors), gamma, power, *variance_range,
            rules, hidden, h,
        )  # fmt: skip
        rejected_weights += bad_w
        rejected_noise += bad_g
        state = replace(
            state,
            m1=hl.unpack1(packed[0], hidden, inputs),
            v1=hl.unpack1(packed[1], hidden, inputs),
            m2=hl.unpack2(packed[2], hidden),
            v2=hl.unpack2(packed[3], hidden),
            a=float(gamma[0]),
            b=float(gamma[1]),
        )
        if refine_prior:
            state, prior = refined(state, prior)
        if not state.finite():
            raise Diverged(f"{method}: a number of q is NaN or infinite after epoch {epoch + 1} of {epochs}")
        if between_epochs is not None:
            between_epochs()
    return state, prior, {"rejected_weights": float(rejected_weights), "rejected_noise": float(rejected_noise)}


def finish(state: State, scale: Standardiser, ledger: Ledger, diagnostics: dict[str, float]) -> Fit:
    """The fit of a trained state, with the common diagnostics."""
    posterior = NetworkMoments(state.m1, state.v1, state.m2, state.v2, state.a, state.b, scale)
    smallest = 1.0 / max(float(state.v1.max()), float(state.v2.max()))
    common = {"noise_shape": state.a, "noise_rate": state.b, "smallest_precision": smallest}
    return Fit(posterior, ledger, {**diagnostics, **common})


def tiny(inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Two constant rows (2, D) and targets, without data, to compile a kernel."""
    return np.array([[0.0] * (inputs - 1) + [1.0], [1.0] * inputs]), np.array([0.0, 1.0])
