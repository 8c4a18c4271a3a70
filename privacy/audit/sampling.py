"""Do the rows enter the releases as independent coins at the declared rate?"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import stats

from privacy.audit.pairs import ROWS, first_rows, with_altered_row
from privacy.audit.replays import both_runs, run, same_event
from privacy.budget import BudgetSpec
from privacy.ledger import Event, Sampling

#: the part of its declared sensitivity by which a release moves that a row has entered: a row that is fitted well moves
#: little; what no row of the batch moves differs by rounding of sums at most
SEEN = 1e-13
#: of :func:`sampling_fault`: fits, the most of them where a rate is small, and the false-alarm rate of all its
#: statistics together.
SEEDS, MOST_SEEDS, COIN_ALPHA = 10, 60, 1e-3
_LAGS = 10


def sampling_fault(
    method, task, settings, spec: BudgetSpec, seed: int, seeds: int = SEEDS, alpha: float = COIN_ALPHA
) -> str:
    """ "" if the rows enter the releases of each Poisson event as independent coins at its sampling rate.

    By record and replay: which releases move where the last row is left out, over ``seeds`` fits, and where each row in
    turn is altered, in one fit. Each statistic (:func:`_coin_statistics`) is compared with its distribution
    under independent coins, by simulation; together they raise a false alarm with probability ``alpha`` at most.
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
        # Rows of one value may be drawn together, as a count: then only sizes that are too even tell a fault.
        alike = len(np.unique(base.x, axis=0)) < base.n
        for name, value in here.items():
            low, high = np.mean(law[name] <= value), np.mean(law[name] >= value)
            p = 2 * (low if alike and name == "sizes of batches" else min(low, high))
            if p < alpha / len(here):
                share = f"the row enters {entered.mean():.3g} of the releases"
                return f"'{event.what}', rate {event.sampling_rate:.3g}: {name} (p = {p:.1g}); {share}"
    return ""


def share_power(n: int, rate: float, other: float, alpha: float = COIN_ALPHA) -> float:
    """Probability that the share of releases of :func:`sampling_fault` rejects coins of rate ``other`` in n flips.

    One of its five statistics, two-sided, so at alpha / 5.
    """
    low, high = stats.binom.ppf([alpha / 10, 1 - alpha / 10], n, rate)
    return float(stats.binom.cdf(low - 1, n, other) + stats.binom.sf(high, n, other))


@lru_cache(maxsize=64)
def fits_for(steps: int, rate: float, power: float = 0.99) -> int:
    """Fits of ``steps`` releases from which the share of releases tells 1.5 times the rate with that power.

    At most ``MOST_SEEDS``.
    """
    fits = SEEDS
    while fits < MOST_SEEDS and share_power(fits * steps, rate, min(1.0, 1.5 * rate)) < power:
        fits += 5
    return fits


def _coin_statistics(entered: np.ndarray, batches: np.ndarray) -> dict[str, np.ndarray]:
    """(draws,) each. ``entered``: (draws, fits, steps), of one row; ``batches``: (draws, rows, steps), of one fit.

    Another rate moves the share of releases; batches in turn, their dispersion over fits; the same batches for every
    seed, that over steps; a memory, the products of steps up to ``_LAGS`` apart; one size, or one coin for all rows,
    the dispersion of the sizes.
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
    """``draws`` of each statistic under independent coins."""
    rng = np.random.default_rng(0)
    portions = [
        _coin_statistics(
            rng.random((100, *fits), dtype=np.float32) < rate, rng.random((100, *rows), dtype=np.float32) < rate
        )
        for _ in range(draws // 100)
    ]
    return {name: np.concatenate([p[name] for p in portions]) for name in portions[0]}


def _mover(method, task, settings, spec: BudgetSpec, seed: int):
    """The task with that alteration of the last row which moves most releases."""
    best, most = task, -1
    for name in ROWS:
        base = with_altered_row(task, task.n - 1, name)
        found = _entered(method, base, first_rows(base, base.n - 1), settings, spec, seed)
        moved = sum(int(e.sum()) for e in found.values())
        best, most = (base, moved) if moved > most else (best, most)
    return best


def is_poisson(event: Event) -> bool:
    """Does a row enter each release by a coin of its own?"""
    return event.sampling is Sampling.POISSON and event.sampling_rate < 1


def _entered(method, task, neighbour, settings, spec: BudgetSpec, seed: int) -> dict[Event, np.ndarray]:
    """Poisson event -> did its release move? One truth value a release."""
    first, second, fit, _ = both_runs(method, task, neighbour, settings, spec, seed)
    out = {}
    for event in filter(is_poisson, fit.ledger):
        mine = [i for i, e in enumerate(first.events) if same_event(e, event)]
        tiny = SEEN * event.sensitivity if math.isfinite(event.sensitivity) else 0.0
        out[event] = np.array([np.abs(first.values[i] - second.values[i]).max(initial=0.0) > tiny for i in mine])
    return out
