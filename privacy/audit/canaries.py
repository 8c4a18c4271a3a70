"""A lower bound on epsilon from ONE fit with many canaries (Steinke, Nasr & Jagielski 2023).

It is for methods whose fit is too slow to be repeated thousands of times. Canaries are rows that are added to the data
to be detected. A fair coin per canary decides whether it is in the data. The releases of one fit give each canary a
score. The canaries with the highest scores are guessed to be in, those with the lowest to be out. The more guesses are
right, the larger epsilon must be.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy import stats

from privacy.audit.replays import Recorder, run
from privacy.budget import BudgetSpec
from privacy.ledger import Relation

#: share of the canaries that are guessed: a quarter to be in, a quarter to be out
GUESSED = 0.5


def p_value(epsilon: float, delta: float, canaries: int, guesses: int, right: int) -> float:
    """An upper bound on the probability of at least ``right`` right guesses under (epsilon, delta)-DP.

    It follows the code in the appendix of Steinke, Nasr & Jagielski 2023: the probability for independent guesses that
    are right with probability e^epsilon / (1 + e^epsilon), plus a term for delta. Raises ValueError unless right <=
    guesses <= canaries.
    """
    if not 0 <= right <= guesses <= canaries:
        raise ValueError(f"{right} right of {guesses} guesses of {canaries} canaries: none may exceed the next")
    share = 1 / (1 + math.exp(-epsilon))
    beta = float(stats.binom.sf(right - 1, guesses, share))
    missed = np.arange(1, right + 1)
    alpha = float(np.max(np.cumsum(stats.binom.pmf(right - missed, guesses, share)) / missed, initial=0.0))
    return min(beta + 2 * alpha * delta * canaries, 1.0)


@lru_cache(maxsize=4096)
def lower_bound(canaries: int, guesses: int, right: int, delta: float, confidence: float = 0.95) -> float:
    """The largest epsilon that :func:`p_value` refuses at 1 - ``confidence``; 0 if it refuses none."""
    low, high = 0.0, 50.0
    if p_value(low, delta, canaries, guesses, right) > 1 - confidence:
        return 0.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        refused = p_value(middle, delta, canaries, guesses, right) <= 1 - confidence
        low, high = (middle, high) if refused else (low, middle)
    return low


def right_guesses(scores: np.ndarray, coins: np.ndarray) -> tuple[int, int]:
    """The numbers of guesses and of right guesses. Highest scores are guessed as in, as many lowest ones as out.

    Both arrays have shape (canaries,).
    """
    each = int(GUESSED * len(scores) / 2)
    order = np.argsort(scores, kind="stable")
    return 2 * each, int(coins[order[len(order) - each :]].sum() + (~coins[order[:each]]).sum())


def power(canaries: int, mu: float, epsilon: float, delta: float, repeats: int = 200) -> float:
    """How often the bound exceeds ``epsilon`` for orthogonal canaries, each of which changes a Gaussian release by mu.

    Canaries with contributions that are not orthogonal disturb each other's scores, so the bound is weaker.
    """
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(repeats):
        coins = rng.random(canaries) < 0.5
        guesses, right = right_guesses(mu * coins + rng.standard_normal(canaries), coins)
        found += lower_bound(canaries, guesses, right, delta) > epsilon
    return found / repeats


def tasks_of(task, relation: Relation, rows: np.ndarray, targets: np.ndarray, coins: np.ndarray):
    """The task with canaries (canaries, d) appended. ``public.n`` counts all of them, whatever their coins are.

    A canary whose coin is False is left out under ADD_REMOVE. Under REPLACE_ONE it becomes a row of zeros with the same
    target.
    """
    public = replace(task.public, n=task.n + len(rows))
    if relation is Relation.ADD_REMOVE:
        rows, targets = rows[coins], targets[coins]
    else:
        rows = np.where(coins[:, None], rows, 0.0)
    return replace(task, x=np.concatenate([task.x, rows]), y=np.concatenate([task.y, targets]), public=public)


def scores(method, task, settings, spec: BudgetSpec, seed: int, rows: np.ndarray, targets: np.ndarray) -> tuple:
    """(scores, coins), each (canaries,), of one fit. The coins of ``seed`` decide which canaries are in.

    The score of a canary is the log-likelihood ratio of the outputs, for the data with only this canary compared with
    the data without canaries. It uses the outputs, the rows of the task and the canaries, but no coin. Replays of the
    outputs give the values without noise.
    """
    coins = np.random.default_rng([seed, 1]).random(len(rows)) < 0.5
    first = Recorder()
    run(method, tasks_of(task, method.privacy, rows, targets, coins), settings, spec, seed, first)

    def values(among: np.ndarray) -> np.ndarray:
        again = Recorder(first.outputs, first.events)
        run(method, tasks_of(task, method.privacy, rows, targets, among), settings, spec, seed, again)
        return _flat(again.values, first.events)

    none = values(np.zeros(len(rows), bool))
    seen = _flat(first.outputs, first.events) - none
    found = []
    for i in range(len(rows)):
        moved = values(np.arange(len(rows)) == i) - none
        found.append(float(moved @ seen - moved @ moved / 2))
    return np.array(found), coins


def _flat(values, events) -> np.ndarray:
    """All releases as one vector, each divided by its noise scale."""
    return np.concatenate([np.ravel(v) / e.noise_scale for v, e in zip(values, events, strict=True)])
