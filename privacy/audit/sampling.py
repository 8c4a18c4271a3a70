"""A check that each row enters each batch independently, with the declared probability."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import stats

from privacy.audit.pairs import ROWS, first_rows, with_altered_row
from privacy.audit.replays import both_runs, run, same_event
from privacy.budget import BudgetSpec
from privacy.ledger import Event, Sampling

#: a row counts as read by a release if it moves the release by more than this part of the declared sensitivity. A row
#: that is fitted well moves it little. A release that did not read the row differs by rounding of sums at most.
SEEN = 1e-13
#: settings of :func:`sampling_fault`: the number of fits, the largest number of fits (needed if a rate is small), and
#: the false-alarm rate of all its statistics together.
SEEDS, MOST_SEEDS, COIN_ALPHA = 10, 60, 1e-3
_LAGS = 10


def sampling_fault(
    method, task, settings, spec: BudgetSpec, seed: int, seeds: int = SEEDS, alpha: float = COIN_ALPHA
) -> str:
    """Return "" if the rows enter the releases of each Poisson event independently at its rate, otherwise the fault.

    Record and replay shows which releases read a row. The last row is left out in ``seeds`` fits, and each row in turn
    is altered in one fit. Each statistic (:func:`_coin_statistics`) is compared with its simulated distribution under
    independent coins. Together they raise a false alarm with probability ``alpha`` at most.
    """
    events = [e for e in run(method, task, settings, spec, seed).ledger if is_poisson(e)]
    if not events:
        return ""
    seeds = max([seeds, *(fits_for(e.steps, e.sampling_rate) for e in events)])
    base = _mover(method, task, settings, spec, seed)
    fits = [_entered(method, base, first_rows(base, base.n - 1), settings, spec, seed + k) for k in range(seeds)]
    altered = [_entered(method, base, with_altered_row(base, i), settings, spec, seed) for i in range(base.n)]
    for event in fits[0]:
        if not fits[0][event].size:
            return f"'{event.what}': charged, and never released"
        entered, batches = (np.array([r[event] for r in runs]) for runs in (fits, altered))
        here = {k: float(v[0]) for k, v in _coin_statistics(entered[None], batches[None]).items()}
        law = _coin_law(entered.shape, batches.shape, event.sampling_rate)
        # A method may draw equal rows together, as a count. Then only sizes that vary too little are a fault.
        alike = len(np.unique(base.x, axis=0)) < base.n
        for name, value in here.items():
            low, high = np.mean(law[name] <= value), np.mean(law[name] >= value)
            p = 2 * (low if alike and name == "sizes of batches" else min(low, high))
            if p < alpha / len(here):
                share = f"the row enters {entered.mean():.3g} of the releases"
                return f"'{event.what}', rate {event.sampling_rate:.3g}: {name} (p = {p:.1g}); {share}"
    return ""


def share_power(n: int, rate: float, other: float, alpha: float = COIN_ALPHA) -> float:
    """The probability that :func:`sampling_fault` rejects n coins of rate ``other`` instead of ``rate``.

    This counts only one of its five statistics, the share of releases. It is two-sided, at level alpha / 5.
    """
    low, high = stats.binom.ppf([alpha / 10, 1 - alpha / 10], n, rate)
    return float(stats.binom.cdf(low - 1, n, other) + stats.binom.sf(high, n, other))


@lru_cache(maxsize=64)
def fits_for(steps: int, rate: float, power: float = 0.99) -> int:
    """How many fits of ``steps`` releases detect 1.5 times the rate with that power; at most ``MOST_SEEDS``."""
    fits = SEEDS
    while fits < MOST_SEEDS and share_power(fits * steps, rate, min(1.0, 1.5 * rate)) < power:
        fits += 5
    return fits


def _coin_statistics(entered: np.ndarray, batches: np.ndarray) -> dict[str, np.ndarray]:
    """Five statistics, (draws,) each. ``entered``: (draws, fits, steps) of one row; ``batches``: (draws, rows, steps).

    Each detects one fault. The share of releases detects a wrong rate. The dispersion over fits detects batches in
    turn. The dispersion over steps detects batches that are the same for every seed. Products of steps up to ``_LAGS``
    apart detect memory. The dispersion of the sizes detects a fixed size, or one coin for all rows.
    """
    e = entered.astype(np.float32)
    c = e - e.mean(axis=(1, 2), keepdims=True)
    lags = [np.abs((c[:, :, k:] * c[:, :, :-k]).sum(axis=(1, 2))) for k in range(1, min(_LAGS + 1, e.shape[2]))]
    return {
        "share of releases": e.sum(axis=(1, 2)),
        "dispersion over fits": e.sum(axis=2).var(axis=1),
        "dispersion over steps": e.sum(axis=1).var(axis=1),
        "dependence between steps": np.max(lags, axis=0),
        "sizes of batches": batches.sum(axis=1).astype(np.float32).var(axis=1),
    }


@lru_cache(maxsize=64)
def _coin_law(fits: tuple[int, int], rows: tuple[int, int], rate: float, draws: int = 20_000) -> dict[str, np.ndarray]:
    """Simulate each statistic ``draws`` times under independent coins."""
    rng = np.random.default_rng(0)
    portions = [
        _coin_statistics(
            rng.random((100, *fits), dtype=np.float32) < rate, rng.random((100, *rows), dtype=np.float32) < rate
        )
        for _ in range(draws // 100)
    ]
    return {name: np.concatenate([p[name] for p in portions]) for name in portions[0]}


def _mover(method, task, settings, spec: BudgetSpec, seed: int):
    """The task with its last row altered in the way of ``ROWS`` that moves most releases."""
    best, most = task, -1
    for name in ROWS:
        base = with_altered_row(task, task.n - 1, name)
        found = _entered(method, base, first_rows(base, base.n - 1), settings, spec, seed)
        moved = sum(int(e.sum()) for e in found.values())
        best, most = (base, moved) if moved > most else (best, most)
    return best


def is_poisson(event: Event) -> bool:
    """Whether the event's batches are Poisson samples with a rate below 1."""
    return event.sampling is Sampling.POISSON and event.sampling_rate < 1


def _entered(method, task, neighbour, settings, spec: BudgetSpec, seed: int) -> dict[Event, np.ndarray]:
    """For each Poisson event, whether each of its releases moved: a boolean array (releases,)."""
    first, second, fit, _ = both_runs(method, task, neighbour, settings, spec, seed)
    out = {}
    for event in filter(is_poisson, fit.ledger):
        mine = [i for i, e in enumerate(first.events) if same_event(e, event)]
        tiny = SEEN * event.sensitivity if math.isfinite(event.sensitivity) else 0.0
        out[event] = np.array([np.abs(first.values[i] - second.values[i]).max(initial=0.0) > tiny for i in mine])
    return out
