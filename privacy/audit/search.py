"""A search for the pair of neighbours on which a release changes most, relative to its declared sensitivity.

On a fixed list of hard rows (``privacy.audit.neighbours``) a release may change by only a small part of its true
sensitivity. A method that declares half of it would then pass on all of them. This search improves the pair, one move
at a time. A move changes the row in which D and D' differ, its replacement under REPLACE_ONE, or the rows that both
have. The search is made anew for each adapter. It stops early only at a violation.
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

#: the search continues while an event reaches less than this part of its declared sensitivity
OPEN = 0.9


@dataclass(frozen=True)
class Pair:
    """A pair of neighbours. D has ``rows`` (n, d), and ``targets`` (n,) or None. The last row is the one that differs.

    Under REPLACE_ONE, D' has ``other`` (d,) and ``other_target`` in its place. Under ADD_REMOVE, D' lacks the row.
    """

    rows: np.ndarray
    targets: np.ndarray | None
    other: np.ndarray
    other_target: float

    def tasks(self, task, relation: Relation):
        """The tasks (D, D'), with the public knowledge of ``task``."""
        d = replace(task, x=self.rows, y=self.targets)
        if relation is Relation.ADD_REMOVE:
            return d, first_rows(d, d.n - 1)
        return d, with_last_row(d, self.other, self.other_target)


@dataclass
class Found:
    """The result of a search.

    ``reached`` maps an event to the largest change of its releases, as a part of the declared sensitivity. ``pairs``
    maps it to the pair. The worst pair may reach more, so this is a lower bound.
    """

    reached: dict[str, float] = field(default_factory=dict)
    pairs: dict[str, Pair] = field(default_factory=dict)

    def take(self, pair: Pair, gaps) -> None:
        """Keep the pair for each event whose release it changes at least as much as the pairs before."""
        for gap in gaps:
            if gap.ratio >= self.reached.get(gap.what, -math.inf):
                self.reached[gap.what], self.pairs[gap.what] = gap.ratio, pair

    @property
    def violated(self) -> str:
        """The first event that exceeds its declared sensitivity, or ""."""
        return next((what for what, part in self.reached.items() if part > 1 + ROUNDING), "")


def climb(
    method, task, settings, specs: Sequence[BudgetSpec], seed: int, rng: np.random.Generator, evaluations: int = 80
) -> Found:
    """Search by random moves, starting from the task's own rows.

    It ends if a release exceeds its declared sensitivity, or after ``evaluations`` replays. If an event is then below
    ``OPEN``, it goes on to three times as many. Each move starts from the best pair of the event that has reached the
    smallest part so far. It is kept if the part is not smaller. The budgets ``specs`` take turns, because releases are
    near their noiseless values under little noise.
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
    """(d + 1,) largest absolute values of the inputs and the target, by their documented ranges or else the rows."""
    seen = np.abs(task.x).max(axis=0)
    ranges = task.public.x_bounds or (None,) * len(seen)
    sizes = [s if r is None else max(map(abs, r)) for s, r in zip(seen, ranges, strict=True)]
    if task.y is None:
        return np.array([*sizes, 0.0])
    y = task.public.y_bounds
    return np.array([*sizes, max(map(abs, y)) if y else np.abs(task.y).max()])


def _openings(start: Pair, box: np.ndarray, rng: np.random.Generator) -> Iterator[Pair]:
    """First pairs: the last row at corners of its range, among other rows, or among its copies, negations or zeros."""
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
    """The pair with all rows except the last set to ``row``."""
    rows = np.tile(row, (len(pair.rows), 1))
    rows[-1] = pair.rows[-1]
    if pair.targets is None:
        return replace(pair, rows=rows)
    targets = np.full(len(rows), float(target))
    targets[-1] = pair.targets[-1]
    return replace(pair, rows=rows, targets=targets)


def _changed(pair: Pair, box: np.ndarray, rng: np.random.Generator) -> Pair:
    """One random change: of the last row, of its replacement, of all shared rows, or of one shared row."""
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
    """A random change of a row: noise, another size, a random corner of the ranges, or one coordinate changed."""
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
