"""The sample of committed cells that the gate recomputes.

Cells that a run fits together are recomputed together.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.arms import ABLATION
from methods import contract
from methods.contract import Rerun
from workflow import papers
from workflow.committed import Entry, Reference
from workflow.compare import tolerances
from workflow.experiments import Cell
from workflow.imports import differing

#: a cell with summaries of all splits is recomputed on all of them if that costs at most this many CPU seconds.
WHOLE_SECONDS = 5.0


#: prefixes of tuned settings and of ablations. They are sampled only if a method has no other settings.
NOT_ORDINARY = (ABLATION, "tuned")


@dataclass(frozen=True)
class Unit:
    """Cells of one data set that are fitted together, and the splits to recompute.

    Attributes
    ----------
    short : upper limits on settings (one epoch, a few draws) of a fit that is too expensive to repeat; empty for a
        whole fit.
    seconds : estimated CPU seconds of all splits.
    program : module that makes the score rows of a paper with its own code; ``experiment`` is then the paper's key.
    """

    experiment: str
    dataset: str
    cells: tuple[str, ...]
    methods: tuple[str, ...]
    splits: tuple[int, ...] = (0,)
    short: tuple[tuple[str, int], ...] = ()
    seconds: float = 0.0
    program: str = ""

    @property
    def paper(self) -> str:
        """Key of the paper; empty for an experiment of none."""
        return self.experiment if self.program else papers.key_of(self.experiment)

    @property
    def label(self) -> str:
        what = "short run of " if self.short else ""
        more = f" and {len(self.methods) - 2} more" if len(self.methods) > 2 else ""
        return f"{what}{self.experiment}, {self.dataset}: {', '.join(self.methods[:2])}{more}"


def ordinary(of: Iterable[Cell]) -> list[Cell]:
    """The cells that are neither tuned nor ablations, or all cells if none remain."""
    of = list(of)
    return [c for c in of if not c.setting.startswith(NOT_ORDINARY)] or of


def size(cell: Cell) -> tuple[float, float]:
    """The sort key that puts small budgets first: small epsilon, then large noise multiplier."""
    budget = dict(cell.budget)
    epsilon = budget.get("epsilon") or (budget["renyi"][1] if budget.get("renyi") else 0.0)
    return float(epsilon), -float(budget.get("noise_multiplier") or 0.0)


def shortened(cell: Cell, caps: Mapping[str, int]) -> Cell:
    """The cell with its settings cut to ``caps``; the same object if none exceeds its cap."""
    settings = tuple((k, min(v, caps[k]) if k in caps and v is not None else v) for k, v in cell.settings)
    return cell if settings == cell.settings else dataclasses.replace(cell, settings=settings)


def together(cell: Cell, by_family: Mapping[str, Sequence[Cell]]) -> list[Cell]:
    """The cells that a run fits in the same call as ``cell``: methods that read one run, or all budgets of a method.

    A method with its own ``fit_many`` may share work between budgets, such as the search for a mode. The digits of a
    draw then depend on the budgets that are fitted together.
    """
    family = by_family.get(cell.family, ())
    same = [c for c in family if c.budget == cell.budget]
    if len({c.method for c in same}) > 1:
        return same
    in_one_go = family and type(cell.adapter()).fit_many is not contract.Method.fit_many
    return list(family) if in_one_go else [cell]


def unit_of(group: Sequence[Cell], splits: Iterable[int], seconds: float, short: Mapping[str, int] | None = None):
    """The :class:`Unit` of a group of cells. ``seconds``: CPU seconds per split."""
    splits = tuple(sorted(set(splits)))
    return Unit(
        group[0].experiment,
        group[0].dataset,
        tuple(c.id for c in group),
        tuple(dict.fromkeys(c.method for c in group)),
        splits,
        tuple(sorted((short or {}).items())),
        seconds * len(splits),
    )


def drawn_split(cell: Cell, commit: str) -> int:
    """A split other than the first, drawn from the hash of a commit; 0 if the cell has only one split."""
    if cell.splits < 2:
        return 0
    digest = hashlib.sha256(f"{commit}|{cell.id}".encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (cell.splits - 1)


def needs_short_run(cell: Cell) -> bool:
    """Whether a short run is compared even if a whole fit is cheap.

    This holds for Markov chains, and for training whose tolerance is wide on other kernels.
    """
    config, rerun = tolerances(), contract.get(cell.method).rerun
    if rerun in (Rerun.CHAIN, Rerun.CLOSED_FORM):
        return rerun == Rerun.CHAIN
    chaotic = rerun == Rerun.CHAOTIC or cell.experiment not in config["experiments"]
    return chaotic and shortened(cell, config["short"]) is not cell


def choose(reference: Reference, wanted: Iterable[Entry], commit: str, changed: Collection[Entry] = ()) -> list[Unit]:
    """The units that the gate recomputes, most expensive first.

    Parameters
    ----------
    wanted : pairs of experiment and method.
    commit : the commit that the second split is drawn from.
    changed : the pairs whose own files differ from the merge base; they get larger samples.
    """
    config, short_keys = tolerances(), {key[:3] for key in reference.short_rows()}
    out: dict[tuple, Unit] = {}
    covered: set[Entry] = set()

    def add(group: Sequence[Cell], splits: Iterable[int], seconds: float, short: Mapping[str, int] | None = None):
        one = unit_of(group, splits, seconds, short)
        out[one.cells, one.splits, one.short] = one

    for entry in wanted:
        of, spent = reference.entries[entry], reference.seconds(entry[0])
        cell = min(ordinary(of), key=lambda c: (spent.get(c.id, math.inf), c.id))
        cost, n = spent.get(cell.id, 0.0), cell.splits
        expensive, chain = cost > config["expensive_seconds"], contract.get(entry[1]).rerun == Rerun.CHAIN
        can_be_short = [c for c in of if shortened(c, config["short"]) is not c]
        if not ((expensive or chain) and can_be_short):
            if entry not in covered:
                group = together(cell, reference.families)
                covered |= {(entry[0], c.method) for c in group}
                whole = cell.pooled and cost * n <= WHOLE_SECONDS
                second = [] if expensive or chain else [drawn_split(cell, commit)]
                add(group, range(n) if whole else [0, *second], cost)
            if entry in changed and not (expensive or chain):
                here = [c for c in ordinary(of) if (c.dataset, c.protocol) == (cell.dataset, cell.protocol)]
                for one in (min(here, key=size), max(here, key=size)):
                    add(together(one, reference.families), [0, one.splits - 1], spent.get(one.id, 0.0))
        if can_be_short and (expensive or any(needs_short_run(c) for c in of)):
            # which one is repeated must not depend on what fits cost: the one that is committed
            same = [c for c in of if (*entry, shortened(c, config["short"]).id) in short_keys] or ordinary(can_be_short)
            one = min(same, key=lambda c: (spent.get(c.id, math.inf), c.id))
            add(together(one, reference.families), [0], 0.0, config["short"])
    return sorted(out.values(), key=lambda u: (-u.seconds, u.cells))


def changed_entries(reference: Reference) -> set[Entry]:
    """Pairs of experiment and method whose own files differ from the merge base."""
    files = differing("methods")
    return {e for e, of in reference.entries.items() if files & set(of[0].own_files)} if files else set()
