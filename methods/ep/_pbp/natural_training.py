"""Training loops of the natural-parameter kernels: EP with stored sites, and SEP with clipped sites and noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from methods.contract import Diverged
from methods.ep._dpsep_program import Settings
from methods.ep._pbp import ep_kernel, natural_kernel, training
from methods.ep._pbp import hidden as hl
from methods.ep._pbp.state import Naturals, PriorFactor, State, initial
from models.bnn_regression import BNNRegression
from privacy.budget import GaussianMechanism

#: numbers of one block of noise: half a megabyte, so that it stays in the second-level cache.
_NOISE_BLOCK = 65_536


def _packed(q: Naturals) -> list[np.ndarray]:
    return [hl.pack1(q.eta1), hl.pack1(q.lam1, 1.0), hl.pack2(q.eta2), hl.pack2(q.lam2, 1.0)]


def _unpacked(arrays: list[np.ndarray], gamma: np.ndarray, hidden: int, inputs: int) -> Naturals:
    eta1, lam1, eta2, lam2 = arrays
    return Naturals(
        hl.unpack1(eta1, hidden, inputs),
        hl.unpack1(lam1, hidden, inputs),
        hl.unpack2(eta2, hidden),
        hl.unpack2(lam2, hidden),
        float(gamma[0]) - 1.0,
        -float(gamma[1]),
    )


def absorb(theta_new: Naturals, theta_0: Naturals, n: int, clip: float, floor: float) -> Naturals:
    """Lines 10 to 12 of algorithm 3: the floor, then clipping of theta_f = (theta_new - theta_0) / N.

    Numbers that must be positive and are not become ``floor``. Returns theta_0 + N theta_f.
    """
    fixed = replace(
        theta_new,
        lam1=np.where(theta_new.lam1 > 0, theta_new.lam1, floor),
        lam2=np.where(theta_new.lam2 > 0, theta_new.lam2, floor),
        shape=theta_new.shape if theta_new.shape > 0 else floor,
        rate=theta_new.rate if theta_new.rate < 0 else -floor,
    )
    theta_f = (fixed - theta_0) * (1.0 / n)
    return fixed if theta_f.norm() <= clip else theta_0 + theta_f.clipped(clip) * n


def storage_for(n: int, hidden: int, inputs: int, choice: str) -> str:
    """Storage of EP's sites. "auto": the most precise that needs at most 1 GiB, else int8."""
    if choice != "auto":
        return choice
    for storage in ("float64", "float32"):
        if n * ep_kernel.Sites.bytes_per_row(hidden, inputs, storage) <= 2**30:
            return storage
    return "int8"


def train_sites(
    x: np.ndarray,
    y: np.ndarray,
    state: State,
    prior: PriorFactor,
    rng: np.random.Generator,
    *,
    method: str,
    epochs: int,
    damping: float,
    storage: str,
    refine_prior: bool = True,
) -> tuple[State, PriorFactor, ep_kernel.Sites, dict[str, float]]:
    """EP with one site per row, with a fresh permutation of the rows and a prior refinement per epoch.

    ``x`` is (N, D) with the bias last, ``damping`` is the weight of a new site, and ``storage`` is one of
    ``ep_kernel.STORAGE``. Raises Diverged if a number of q is no longer finite, and MemoryError from NumPy if the sites
    do not fit.
    """
    rows = training.kernel_rows(x)
    hidden, inputs = state.hidden, state.inputs
    sites = ep_kernel.Sites(len(y), hidden, inputs, storage)
    h = hl.scratch(hidden)
    rejected_weights = rejected_noise = 0.0
    for epoch in range(epochs):
        arrays, gamma = _packed(state.naturals()), np.array([state.a, state.b])
        order = rng.permutation(len(y))
        second = (sites.eta2, sites.lam2, sites.gamma, damping, hidden, h)
        if storage == "int8":
            first = (sites.eta1, sites.lam1, sites.eta_scale, sites.lam_scale)
            bad = ep_kernel.ep_epoch_int8(rows, y, order, *arrays, gamma, *first, *second)
        else:
            bad = ep_kernel.ep_epoch(rows, y, order, *arrays, gamma, sites.eta1, sites.lam1, *second)
        rejected_weights += bad[0]
        rejected_noise += bad[1]
        state = state.with_naturals(_unpacked(arrays, gamma, hidden, inputs))
        if refine_prior:
            state, prior = training.refined(state, prior)
        if not state.finite():
            raise Diverged(f"{method}: a number of q is NaN or infinite after epoch {epoch + 1} of {epochs}")
    counts = {"rejected_weights": float(rejected_weights), "rejected_noise": float(rejected_noise)}
    return state, prior, sites, counts


@dataclass(frozen=True)
class Rules:
    """How :func:`train_naturals` moves theta; see ``natural_kernel`` for the codes.

    ``coefficient`` is k of the step, ``bound`` is C of the sites, and ``factor_bound`` is C of theta_f (inf for none).
    With ``positive``, ``floor`` replaces numbers that must be positive and are not.
    """

    coefficient: float
    clip: int = natural_kernel.CLIP_NONE
    gamma: int = natural_kernel.GAMMA_FREE
    check: int = natural_kernel.CHECK_REJECT
    positive: bool = False
    bound: float = math.inf
    factor_bound: float = math.inf
    floor: float = 1e-4


def train_naturals(
    x: np.ndarray,
    y: np.ndarray,
    state: State,
    prior: PriorFactor,
    theta_0: Callable[[PriorFactor], Naturals],
    rng: np.random.Generator,
    rules: Rules,
    *,
    method: str,
    epochs: int,
    mechanism: GaussianMechanism | None = None,
    refine_prior: bool = False,
    between_epochs: Callable[[], None] | None = None,
) -> tuple[State, PriorFactor, dict[str, float]]:
    """Epochs of :func:`natural_kernel.natural_steps`, with a fresh permutation of the rows per epoch.

    ``theta_0`` maps the current prior factors to the prior's naturals. With a ``mechanism`` every step's theta is
    released through it: by blocks of noise, or step by step while it is audited. Raises Diverged if a number of q is no
    longer finite.
    """
    rows = training.kernel_rows(x)
    n, hidden, inputs = len(y), state.hidden, state.inputs
    size = 2 * state.weights + (2 if rules.gamma == natural_kernel.GAMMA_JOINT else 0)
    h = hl.scratch(hidden)
    counts = np.zeros(len(natural_kernel.COUNTS))
    codes = np.array([rules.clip, rules.gamma, rules.check, rules.positive], dtype=np.int64)
    silent = np.zeros((0, size))
    block = n
    if mechanism is not None:
        block = 1 if mechanism.audited else mechanism.at_once(max(1, _NOISE_BLOCK // size))
    for epoch in range(epochs):
        prior_naturals = theta_0(prior)
        centre = _packed(prior_naturals)
        arrays = _packed(state.naturals())
        gamma = np.array([state.a, state.b, prior_naturals.shape + 1.0, -prior_naturals.rate])
        order = rng.permutation(n)

        def steps(
            chosen, noise, codes=codes, factor_bound=rules.factor_bound, arrays=arrays, gamma=gamma, centre=centre
        ):
            natural_kernel.natural_steps(
                rows, y, chosen, *arrays, gamma, *centre, 1.0 / n, rules.coefficient, rules.bound, factor_bound,
                rules.floor, codes, noise, counts, hidden, h,
            )  # fmt: skip

        for start in range(0, n, block):
            chosen = order[start : start + block]
            if mechanism is None:
                steps(chosen, silent)
            elif not mechanism.audited:
                steps(chosen, mechanism.noise(len(chosen), size))
            else:
                # The step before its noise; the rest follows the release and is post-processing.
                steps(chosen, silent, codes=np.array([*codes[:3], 0]), factor_bound=math.inf)
                value = _unpacked(arrays, gamma, hidden, inputs)
                released = _release(mechanism, value, rules, hidden, inputs)
                moved = absorb(released, prior_naturals, n, rules.factor_bound, rules.floor)
                arrays[:] = _packed(moved)
                gamma[:2] = moved.shape + 1.0, -moved.rate
        state = state.with_naturals(_unpacked(arrays, gamma, hidden, inputs))
        if refine_prior:
            state, prior = training.refined(state, prior)
        if not state.finite():
            raise Diverged(f"{method}: a number of q is NaN or infinite after epoch {epoch + 1} of {epochs}")
        if between_epochs is not None:
            between_epochs()
    return state, prior, dict(zip(natural_kernel.COUNTS, map(float, counts), strict=True))


def _release(mechanism: GaussianMechanism, value: Naturals, rules: Rules, hidden: int, inputs: int) -> Naturals:
    """One theta through the mechanism, in the order of the kernel's noise; the Gamma only if it is noised."""
    vector = value.vector()
    order = kernel_order(hidden, inputs)
    if rules.gamma == natural_kernel.GAMMA_JOINT:
        order = np.append(order, [len(order), len(order) + 1])
    vector[order] = mechanism.release(vector[order])
    return Naturals.from_vector(vector, hidden, inputs)


def kernel_order(hidden: int, inputs: int) -> np.ndarray:
    """The order (size - 2,) in which the kernel reads the noise of the weights' numbers in ``Naturals.vector``.

    Of the first layer it takes eight hidden units at a time, and of these one input after the other.
    """
    first = np.arange(hidden * inputs).reshape(hidden, inputs)
    first = np.concatenate([first[k : k + 8].T.ravel() for k in range(0, hidden, 8)])
    return np.concatenate([first, first.size + first, 2 * first.size + np.arange(2 * (hidden + 1))])


def algorithm3(
    x: np.ndarray,
    y: np.ndarray,
    model: BNNRegression,
    rng: np.random.Generator,
    *,
    method: str,
    epochs: int,
    clip: float,
    gamma: float,
    floor: float,
    mechanism: GaussianMechanism | None,
    start: str = "printed",
) -> tuple[State, dict[str, float]]:
    """Algorithm 3 of Vinaroz & Park 2023 as printed; without noise if ``mechanism`` is None.

    theta is one vector: mean naturals and precisions of all weights, and (a - 1, -b) of the noise Gamma. theta_0 and
    the initial theta_f = (theta_q - theta_0) / N, from the random initial q, are scaled to norm <= C. Neither depends
    on the data. There is no prior refinement, because the algorithm has none.

    ``start``: the paper does not say where q starts. "printed" starts at SEP's random q. "program" starts where the
    authors' code does: the same random means, with mean naturals and precisions of each layer scaled to norm <= C
    separately. Neither depends on the data, and all else is the same.
    """
    require_positive(method, clip=clip, gamma=gamma, floor=floor)
    n = len(y)
    q, prior = initial(model, x.shape[1], rng)
    if start == "program":
        q = q.with_naturals(q.naturals().clipped_per_block(clip))
    theta_0 = prior.naturals(model.noise_shape, model.noise_rate).clipped(clip)
    theta_f = ((q.naturals() - theta_0) * (1.0 / n)).clipped(clip)
    rules = Rules(
        coefficient=gamma / n,
        clip=natural_kernel.CLIP_JOINT,
        gamma=natural_kernel.GAMMA_JOINT,
        check=natural_kernel.CHECK_NONE,
        positive=True,
        bound=clip,
        factor_bound=clip,
        floor=floor,
    )
    start = q.with_naturals(theta_0 + theta_f * n)
    state, _, counts = train_naturals(
        x, y, start, prior, lambda _: theta_0, rng, rules, method=method, epochs=epochs, mechanism=mechanism
    )
    steps = epochs * n
    absorbed = -math.expm1(steps * math.log1p(-gamma / n**2)) if gamma < n**2 else 1.0
    return state, {**counts, "fraction_absorbed": absorbed}


def require_positive(method: str, **values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{method}: {name} = {value}; give a finite number above 0")


def released(
    x: np.ndarray,
    y: np.ndarray,
    model: BNNRegression,
    rng: np.random.Generator,
    program: Settings,
    constants: tuple[float, float],
    *,
    method: str,
    mechanism: GaussianMechanism | None = None,
    between_epochs: Callable[[], None] | None = None,
) -> tuple[State, dict[str, float]]:
    """The authors' code for "SEP clipped" and "DP-SEP" of Vinaroz & Park 2023: SEP's step from another start and prior.

    ``constants`` are shape and rate of the noise Gamma. With ``broad_prior`` the prior is N(0, sqrt(n_l) / C) per layer
    of n_l weights, the result of scaling a constant precision to norm C. With ``clip_initial`` the initial q has
    variance rate / (shape - 1) of the constants. Then the mean naturals and the precisions of each layer are scaled to
    norm <= C separately.
    """
    p, n, (shape, rate) = program, len(y), constants
    require_positive(method, clip=p.clip, noise_rate=rate, floor=p.floor)
    if not shape > 1.0:
        raise ValueError(f"{method}: noise_shape = {shape}; give a number above 1 (the mean variance needs it)")
    q, prior = initial(model, x.shape[1], rng)
    if p.broad_prior:
        precision = [p.clip / math.sqrt(k) for k in (q.m1.size, q.m2.size)]
        prior = PriorFactor.constant(*precision, q.hidden, q.inputs)
    if p.clip_initial:
        variance = rate / (shape - 1.0)
        wide = replace(q, v1=np.full_like(q.v1, variance), v2=np.full_like(q.v2, variance))
        q = wide.with_naturals(wide.naturals().clipped_per_block(p.clip))
    noise = (model.noise_shape, model.noise_rate)
    if p.freeze_noise:
        noise = constants
        q = replace(q, a=shape, b=rate)
    if p.clip_sites == "none":
        state, _, counts = training.train_moments(
            x, y, q, prior, rng, method=method, epochs=p.epochs, power=1.0 / n, noise_prior=noise,
            refine_prior=p.refine_prior, freeze_noise=p.freeze_noise, between_epochs=between_epochs,
        )  # fmt: skip
        return state, counts
    noisy = mechanism is not None
    rules = Rules(
        coefficient=1.0,
        clip=natural_kernel.CLIP_BLOCKS,
        gamma=natural_kernel.GAMMA_FROZEN if p.freeze_noise else natural_kernel.GAMMA_FREE,
        check=natural_kernel.CHECK_ZERO if noisy else natural_kernel.CHECK_REJECT,
        positive=noisy,
        bound=p.clip,
        floor=p.floor,
    )
    state, _, counts = train_naturals(
        x, y, q, prior, lambda f: f.naturals(*noise), rng, rules, method=method, epochs=p.epochs, mechanism=mechanism,
        refine_prior=p.refine_prior, between_epochs=between_epochs,
    )  # fmt: skip
    return state, counts
