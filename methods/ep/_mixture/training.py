"""Training loops of the mixture kernels, from a task to a fit. Rows keep their own units and are not standardised."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from methods.contract import Diverged, Fit
from methods.ep._dpsep_program import Settings
from methods.ep._mixture import kernel, naturals
from methods.ep._mixture.naturals import Naturals
from models.mixture_of_gaussians import MixtureMeans, MixtureOfGaussians
from models.task import Task
from privacy.budget import Budget, GaussianMechanism
from privacy.ledger import Ledger, Relation, Sampling

#: numbers of one block of noise: half a megabyte, so that it stays in the second-level cache.
_NOISE_BLOCK = 65_536


def compile_kernels(components: int, d: int) -> None:
    """Compile (or load) all kernels by calling them on two constant rows that hold no data."""
    task = Task("tiny", MixtureOfGaussians(components), np.array([np.zeros(d), np.ones(d)]))
    rng, ledger = np.random.default_rng(0), Ledger()
    ep(task, rng, method="compile", epochs=1, damping=0.5, ledger=ledger)
    sep(task, rng, method="compile", epochs=1, damping=0.5, ledger=ledger)
    prior, data, f = naturals.prior_naturals(task.model, d), *(naturals.zeros(components, d) for _ in range(2))
    counts = np.zeros(len(kernel.COUNTS))
    kernel.settle(prior.L, *data, *f, 0.5, 1.0, 1e-4, kernel.ALGORITHM_3, counts)
    from privacy.normal import NormalStream  # compiled too; blocks of noise come from it

    NormalStream(rng).fill(np.empty(8), 1.0)


def sep(task: Task, rng: np.random.Generator, *, method: str, epochs: int, damping: float, ledger: Ledger) -> Fit:
    """Stochastic EP (Li et al. 2015, algorithm 1) from f = 0, with a fresh permutation of the rows each epoch.

    ``damping`` is the coefficient k of theta <- theta + k (f_n - f). k = 1 damps the average site by 1/N. The mixture
    runs of Vinaroz & Park 2023 use k = 1/N.

    Raises ValueError for a setting out of range. Raises Diverged if q is no longer a density (k above 1 can cause
    that).
    """
    _require(method, task, epochs, damping=damping)
    prior, n = naturals.prior_naturals(task.model, task.x.shape[1]), task.n
    data, counts = _noisy_epochs(
        task, prior, method=method, epochs=epochs, order=lambda: rng.permutation(n), rule=kernel.SEP,
        coefficient=damping, bound=math.inf, factor_bound=math.inf, floor=0.0,
    )  # fmt: skip
    return _finish(method, task, prior, data, ledger, counts, fraction_absorbed=_absorbed(damping / n, epochs * n))


def ep(task: Task, rng: np.random.Generator, *, method: str, epochs: int, damping: float, ledger: Ledger) -> Fit:
    """EP (Minka 2001) from sites of 0, all stored as float64, with a fresh permutation of the rows each epoch.

    ``damping`` is the weight of a new site, in (0, 1]. Memory: 8 N J D (D + 1) bytes. Raises ValueError for a setting
    out of range. Raises Diverged if a number leaves the finite range.
    """
    _require(method, task, epochs, damping=damping)
    if damping > 1:
        raise ValueError(f"{method}: damping = {damping}; give a number above 0 and at most 1")
    n, d, components = task.n, task.x.shape[1], task.model.components
    prior, data = naturals.prior_naturals(task.model, d), naturals.zeros(components, d)
    sites_h, sites_L = np.zeros((n, components, d)), np.zeros((n, components, d, d))
    counts = np.zeros(len(kernel.COUNTS))
    for epoch in range(int(epochs)):
        kernel.ep_steps(
            task.x, rng.permutation(n), *prior, *data, sites_h, sites_L, float(task.model.noise_sd) ** 2,
            float(damping), counts,
        )  # fmt: skip
        _finite(method, data, epoch, epochs)
    fraction = -math.expm1(epochs * math.log1p(-damping)) if damping < 1 else 1.0
    return _finish(method, task, prior, data, ledger, counts, fraction_absorbed=fraction)


def algorithm3(
    task: Task,
    rng: np.random.Generator,
    *,
    method: str,
    epochs: int,
    clip: float,
    gamma: float,
    floor: float,
    mechanism: GaussianMechanism | None,
    ledger: Ledger,
) -> Fit:
    """Algorithm 3 of Vinaroz & Park 2023 as printed; without its noise if ``mechanism`` is None.

    theta is one vector: the mean naturals and precisions of all components. theta_0, the prior's, is scaled to norm <=
    C = ``clip``, and theta_f starts at 0. The mechanism releases (h, upper triangle of L) of each step, minus the
    prior.

    Raises ValueError for a setting out of range. Raises Diverged if a number leaves the finite range.
    """
    _require(method, task, epochs, clip=clip, gamma=gamma, floor=floor)
    n = task.n
    theta_0 = naturals.clipped_jointly(naturals.prior_naturals(task.model, task.x.shape[1]), clip)
    data, counts = _noisy_epochs(
        task, theta_0, method=method, epochs=epochs, order=lambda: rng.permutation(n), rule=kernel.ALGORITHM_3,
        coefficient=gamma / n, bound=clip, factor_bound=clip, floor=floor,
        mechanisms=() if mechanism is None else (mechanism,),
    )  # fmt: skip
    return _finish(method, task, theta_0, data, ledger, counts, fraction_absorbed=_absorbed(gamma / n**2, epochs * n))


def released(task: Task, *, method: str, settings: Settings, budget: Budget, noise: bool) -> Fit:
    """The authors' code for "SEP clipped" (``noise`` False) and "DP-SEP" (True) of Vinaroz & Park 2023.

    Rows are read in the order of the file in every epoch. With noise, ``settings`` has one noise multiplier for the
    mean naturals and one for the precisions, and two events are charged. If both are None, the authors' code runs
    without noise, and the ledger says so.

    Raises ValueError for a setting out of range. Raises Diverged if a number leaves the finite range.
    """
    s, n = settings, task.n
    _require(method, task, s.epochs, clip=s.clip, gamma=s.gamma, floor=s.floor)
    given = [name for name in ("mean_noise", "precision_noise") if getattr(s, name) is not None]
    if given and not noise:
        raise ValueError(
            f"{method}: {given[0]} is set, and this program adds no noise; leave {' and '.join(given)} out"
        )
    if len(given) == 1:
        raise ValueError(f"{method}: only {given[0]} is set; give both mean_noise and precision_noise, or neither")
    mechanisms: tuple[GaussianMechanism, ...] = ()
    if given:
        mechanisms = tuple(
            budget.gaussian(
                what,
                sensitivity=2.0 * s.clip * s.gamma / n,
                noise_multiplier=multiplier,
                relation=Relation.REPLACE_ONE,
                sampling=Sampling.FIXED_PARTITION,
                steps=s.epochs,
                releases=s.epochs * n,
                proof="methods.ep._mixture.kernel.noisy_steps",
            )
            for what, multiplier in (
                ("mean naturals after each step", s.mean_noise),
                ("precisions after each step", s.precision_noise),
            )
        )
    elif noise:
        budget.no_noise(
            "natural parameters of q after each step: clipped sites, no noise",
            relation=Relation.REPLACE_ONE,
            steps=s.epochs,
            sampling=Sampling.FIXED_PARTITION,
        )
    prior = naturals.clipped_apart(naturals.prior_naturals(task.model, task.x.shape[1]), s.clip)
    order = np.arange(n)
    data, counts = _noisy_epochs(
        task, prior, method=method, epochs=s.epochs, order=lambda: order, rule=kernel.RELEASED,
        coefficient=s.gamma / n, bound=s.clip, factor_bound=s.clip if mechanisms else math.inf, floor=s.floor,
        mechanisms=mechanisms,
    )  # fmt: skip
    return _finish(
        method, task, prior, data, budget.ledger, counts, fraction_absorbed=_absorbed(s.gamma / n**2, s.epochs * n)
    )  # fmt: skip


def _noisy_epochs(
    task: Task,
    prior: Naturals,
    *,
    method: str,
    epochs: int,
    order: Callable[[], np.ndarray],
    rule: int,
    coefficient: float,
    bound: float,
    factor_bound: float,
    floor: float,
    mechanisms: Sequence[GaussianMechanism] = (),
) -> tuple[Naturals, np.ndarray]:
    """Epochs of :func:`kernel.noisy_steps` from a data part of 0; returns the last data part and the counts."""
    n, d, components = task.n, task.x.shape[1], task.model.components
    data, f = (naturals.zeros(components, d) for _ in range(2))
    counts = np.zeros(len(kernel.COUNTS))
    sizes = [components * d, components * d * (d + 1) // 2]
    if len(mechanisms) == 1:
        sizes = [sum(sizes)]
    upper = np.triu_indices(d)
    silent = np.zeros((0, 0))
    audited = any(m.audited for m in mechanisms)
    block = mechanisms[0].at_once(max(1, _NOISE_BLOCK // sum(sizes))) if mechanisms else n

    # An integer among the settings would be another signature, and numba would compile it inside the fit.
    limits = tuple(map(float, (coefficient, bound, factor_bound, floor)))

    def steps(rows, numbers, settled=True):
        kernel.noisy_steps(
            task.x, rows, *prior, *data, *f, 1.0 / n, float(task.model.noise_sd) ** 2, *limits, rule, settled,
            numbers, counts,
        )  # fmt: skip

    def release(row):
        before = counts[0]
        steps(row, silent, settled=False)
        if counts[0] > before:  # skipped: the authors' code adds no noise then
            return
        value = np.concatenate([data.h.ravel(), data.L[:, upper[0], upper[1]].ravel()])
        parts = np.split(value, np.cumsum(sizes)[:-1])
        out = np.concatenate([m.release(part) for m, part in zip(mechanisms, parts, strict=True)])
        moved = naturals.noise_of(out, components, d)
        data.h[:], data.L[:] = moved
        kernel.settle(prior.L, *data, *f, 1.0 / n, *limits[2:], rule, counts)

    for epoch in range(int(epochs)):
        rows = order()
        for start in range(0, n, 1 if audited else block):
            if audited:
                release(rows[start : start + 1])
            elif not mechanisms:
                steps(rows, silent)
            else:
                chosen = rows[start : start + block]
                numbers = [m.noise(len(chosen), size) for m, size in zip(mechanisms, sizes, strict=True)]
                steps(chosen, numbers[0] if len(numbers) == 1 else np.hstack(numbers))
        _finite(method, data, epoch, epochs)
    return data, counts


def _require(method: str, task: Task, epochs: int, **positive: float) -> None:
    """Raise ValueError for a task or settings that no function of this file can take."""
    if task.n < 1:
        raise ValueError(f"{method}: {task.name} has 0 training rows; give at least 1")
    if not (math.isfinite(epochs) and int(epochs) == epochs and epochs >= 1):
        raise ValueError(f"{method}: epochs = {epochs}; give a whole number, at least 1")
    if task.model.noise_sd is None:
        raise ValueError(f"{method}: the mixture's noise_sd is None; give the known standard deviation")
    for name, value in positive.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{method}: {name} = {value}; give a finite number above 0")


def _finite(method: str, data: Naturals, epoch: int, epochs: int) -> None:
    if not (np.isfinite(data.h).all() and np.isfinite(data.L).all()):
        raise Diverged(f"{method}: a natural parameter is NaN or infinite after epoch {epoch + 1} of {epochs}")


def _absorbed(fraction: float, steps: int) -> float:
    """Share of the data in theta after ``steps`` steps that each replace this fraction of it."""
    return -math.expm1(steps * math.log1p(-fraction)) if fraction < 1 else 1.0


def _finish(
    method: str, task: Task, prior: Naturals, data: Naturals, ledger: Ledger, counts: np.ndarray, **more: float
) -> Fit:
    """The posterior of prior + data part, with the counts of the kernel as diagnostics."""
    precisions = prior.L + data.L
    try:
        np.linalg.cholesky(precisions)
        covariances = np.linalg.inv(precisions)
    except np.linalg.LinAlgError:
        raise Diverged(f"{method}: a posterior precision is not positive definite") from None
    covariances = 0.5 * (covariances + covariances.transpose(0, 2, 1))
    means = np.linalg.solve(precisions, (prior.h + data.h)[:, :, None])[:, :, 0]
    if not (np.isfinite(means).all() and np.isfinite(covariances).all()):
        raise Diverged(f"{method}: a mean or covariance of q is NaN or infinite")
    diagnostics = {**dict(zip(kernel.COUNTS, map(float, counts), strict=True)), **more}
    return Fit(MixtureMeans(means, covariances, task.model.noise_sd), ledger, diagnostics)
