"""Search of the neighbours on which a release moves by most of what it declares.

A fixed list of hard rows (``privacy.audit.neighbours``) may reach a small part of a bound; then a declaration of half
the sensitivity passes on all of them. Here the pair itself is improved, one move at a time: the row in which D and D'
differ, under replacement the row in its place, and the rows that both have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from privacy import audit
from privacy.budget import BudgetSpec
from privacy.ledger import Relation

#: a pair that reaches this part of the bound is enough: nothing short of a tenth can hide behind it
ENOUGH = 0.9


@dataclass(frozen=True)
class Pair:
    """``rows`` (n, d) of D, and ``targets`` (n,) or None; the last row is the one that differs.

    ``other`` (d,), ``other_target``: what D' has in its place under REPLACE_ONE; unused under ADD_REMOVE, where D'
    lacks the row.
    """

    rows: np.ndarray
    targets: np.ndarray | None
    other: np.ndarray
    other_target: float

    def tasks(self, task, relation: Relation):
        """(D, D'); ``public`` is that of ``task``."""
        d = replace(task, x=self.rows, y=self.targets)
        if relation is Relation.ADD_REMOVE:
            return d, audit.first_rows(d, d.n - 1)
        return d, audit.with_last_row(d, self.other, self.other_target)


def climb(
    method, task, settings, spec: BudgetSpec, seed: int, rng: np.random.Generator, evaluations: int = 200
) -> tuple[float, Pair]:
    """(largest part of its declared sensitivity by which a release moves, the pair on which it does).

    Random moves from the task's own rows, a move is kept where the part is not smaller; ends at ``ENOUGH`` or after
    ``evaluations`` replays. What it finds is a lower bound on the worst pair's part, never the worst pair for sure.
    """

    def part(pair: Pair) -> float:
        try:
            return audit.replay(method, *pair.tasks(task, method.privacy), settings, spec, seed).ratio
        except audit.REFUSED:
            return -math.inf

    best, reached = None, -math.inf
    start = Pair(np.array(task.x), None if task.y is None else np.array(task.y), np.array(-task.x[-1]), 0.0)
    moves = _moves(task, start, rng)
    for _ in range(evaluations):
        pair = next(moves) if best is None else moves.send(best)
        here = part(pair)
        if here >= reached:
            best, reached = pair, here
        if reached >= ENOUGH:
            break
    return reached, best


def _moves(task, start: Pair, rng: np.random.Generator) -> Iterator[Pair]:
    """First some pairs in which many bounds are reached, then random changes of the pair that is sent."""
    box = _corner(task)
    pair = start
    for pair in _openings(start, box, rng):
        start = (yield pair) or start
    while True:
        start = (yield _changed(start, box, rng)) or start


def _corner(task) -> np.ndarray:
    """(d + 1,) sizes of inputs and target: the documented ranges' largest, or those of the rows."""
    seen = np.abs(task.x).max(axis=0)
    ranges = task.public.x_bounds or (None,) * len(seen)
    sizes = [s if r is None else max(map(abs, r)) for s, r in zip(seen, ranges, strict=True)]
    if task.y is None:
        return np.array([*sizes, 0.0])
    y = task.public.y_bounds
    return np.array([*sizes, max(map(abs, y)) if y else np.abs(task.y).max()])


def _openings(start: Pair, box: np.ndarray, rng: np.random.Generator) -> Iterator[Pair]:
    """The row at corners of its range, alone among rows of its own value, of its negation and of zero."""
    yield start
    d = start.rows.shape[1]
    for scale in (1.0, 1e3):
        for sign in (np.ones(d), rng.choice([-1.0, 1.0], d)):
            row = scale * sign * box[:d]
            for target in (scale * box[d], -scale * box[d], 0.0):
                last = _with_last(start, row, target)
                last = replace(last, other=-row, other_target=-target)
                yield last
                for factor in (1.0, -1.0, 0.0):
                    yield _with_rest(last, factor * row, factor * target)


def _with_last(pair: Pair, row: np.ndarray, target: float) -> Pair:
    rows = np.array(pair.rows)
    rows[-1] = row
    if pair.targets is None:
        return replace(pair, rows=rows)
    targets = np.array(pair.targets)
    targets[-1] = target
    return replace(pair, rows=rows, targets=targets)


def _with_rest(pair: Pair, row: np.ndarray, target: float) -> Pair:
    """All rows but the last are this one."""
    rows = np.tile(row, (len(pair.rows), 1))
    rows[-1] = pair.rows[-1]
    if pair.targets is None:
        return replace(pair, rows=rows)
    targets = np.full(len(rows), float(target))
    targets[-1] = pair.targets[-1]
    return replace(pair, rows=rows, targets=targets)


def _changed(pair: Pair, box: np.ndarray, rng: np.random.Generator) -> Pair:
    """One random change: of the row, of the row in its place, or of the rows that both have."""
    kind = rng.integers(4)
    target = 0.0 if pair.targets is None else float(pair.targets[-1])
    if kind == 0:
        row, target = _moved(pair.rows[-1], target, box, rng)
        return _with_last(pair, row, target)
    if kind == 1:
        row, target = _moved(pair.other, pair.other_target, box, rng)
        return replace(pair, other=row, other_target=target)
    if kind == 2:
        row, target = _moved(pair.rows[0], 0.0 if pair.targets is None else float(pair.targets[0]), box, rng)
        return _with_rest(pair, row, target)
    i = rng.integers(max(len(pair.rows) - 1, 1))
    row, target = _moved(pair.rows[i], 0.0 if pair.targets is None else float(pair.targets[i]), box, rng)
    rows = np.array(pair.rows)
    rows[i] = row
    targets = pair.targets
    if targets is not None:
        targets = np.array(targets)
        targets[i] = target
    return replace(pair, rows=rows, targets=targets)


def _moved(row: np.ndarray, target: float, box: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """A row near this one, of another size, or with one coordinate at zero, negated or at an end of its range."""
    z = np.append(row, target)
    kind, i = rng.integers(5), rng.integers(len(z))
    if kind == 0:
        z = z + rng.standard_normal(len(z)) * box * 10.0 ** rng.uniform(-2, 0)
    elif kind == 1:
        z = z * 10.0 ** rng.uniform(-1, 1)
    elif kind == 2:
        z[i] = rng.choice([-z[i], 0.0, box[i], -box[i]])
    elif kind == 3:
        z = rng.choice([-1.0, 0.0, 1.0], len(z)) * box
    else:
        z[i] = z[i] + rng.standard_normal() * box[i] * 10.0 ** rng.uniform(-2, 0)
    return z[:-1], float(z[-1])
