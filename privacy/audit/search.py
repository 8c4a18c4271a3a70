"""Search of the neighbours on which a release moves by most of what it declares.

A fixed list of hard rows (``privacy.audit.neighbours``) may reach a small part of a bound; then a declaration of half
the sensitivity passes on all of them. Here the pair itself is improved, one move at a time: the row in which D and D'
differ, under replacement the row in its place, and the rows that both have. The search is made on the adapter at hand:
it ends at a violation, and not where an adapter reaches what it declares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from privacy.audit.pairs import first_rows, with_last_row
from privacy.audit.replays import REFUSED, ROUNDING, replay
from privacy.budget import BudgetSpec
from privacy.ledger import Relation

#: part of a declared sensitivity below which the search goes on
OPEN = 0.9


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
            return d, first_rows(d, d.n - 1)
        return d, with_last_row(d, self.other, self.other_target)


@dataclass
class Found:
    """``reached``: event -> largest part of its declared sensitivity by which a release moved; ``pairs``: on which.

    The result is a lower bound on the worst pair's part, which may not be reached.
    """

    reached: dict[str, float] = field(default_factory=dict)
    pairs: dict[str, Pair] = field(default_factory=dict)

    def take(self, pair: Pair, gaps) -> None:
        """Keep the pair for each event of which it moves a release as far as any before it."""
        for gap in gaps:
            if gap.ratio >= self.reached.get(gap.what, -math.inf):
                self.reached[gap.what], self.pairs[gap.what] = gap.ratio, pair

    @property
    def violated(self) -> str:
        """The event whose release moves by more than it declares, or ""."""
        return next((what for what, part in self.reached.items() if part > 1 + ROUNDING), "")


def climb(
    method, task, settings, specs: Sequence[BudgetSpec], seed: int, rng: np.random.Generator, evaluations: int = 80
) -> Found:
    """Random moves from the task's own rows, until a release moves by more than it declares or after ``evaluations``.

    It makes three times as many replays if an event stays below ``OPEN`` of what it declares. Each move starts from the
    best pair of the event of which least is reached, and is kept if the part is not smaller. The budgets ``specs`` take
    turns: with little noise, releases are near their values.
    """
    found, box = Found(), _corner(task)
    start = Pair(np.array(task.x), None if task.y is None else np.array(task.y), np.array(-task.x[-1]), 0.0)
    openings = _openings(start, box, rng)
    for k in range(3 * evaluations):
        if k >= evaluations and min(found.reached.values(), default=1.0) >= OPEN:
            break
        pair = next(openings, None) if k % 2 == 0 or not found.pairs else None
        if pair is None:
            least = min(found.reached, key=lambda what: found.reached[what], default=None)
            pair = _changed(start if least is None else found.pairs[least], box, rng)
        try:
            with np.errstate(all="ignore"):
                found.take(
                    pair, replay(method, *pair.tasks(task, method.privacy), settings, specs[k % len(specs)], seed).gaps
                )
        except REFUSED:
            continue
        if found.violated:
            break
    return found


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
