"""What the final parameters of DP-EM show of the largest norm of a private row, by repeated fits.

    python -m workflow.extra park2017dpem dpem_atoms.csv

The authors' code divides all rows by the largest norm R of a row, without noise, and multiplies the result by it. After
its noise, it scales a mean longer than 1 to norm 1, and raises eigenvalues of a covariance to a floor of 1e-3. So a
released mean has norm R exactly, or a released covariance the eigenvalue 1e-3 R^2 exactly, with positive probability.

All rows of D are the same vector of norm 1. In D' one of them is twice as long. The event is "a mean has norm 2 or a
covariance has the smallest eigenvalue 4e-3", each up to 1e-9 of its value. On D, where R = 1, the released numbers near
these values have a continuous distribution, so that the event has no noticeable probability. On D' it is the event of a
repair. If its probability there is above delta, no epsilon holds at that delta.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from methods import contract
from methods.em._dp_em import EIGENVALUE_FLOOR
from models.task import Task
from privacy.audit.bounds import clopper_pearson, events
from workflow.experiments import Cell
from workflow.extra import Request, text_of

COLUMNS = ("setting", "claimed", "delta", "rows", "fits", "with_event", "with_event_neighbour", "delta_at_least")
COLUMNS = (*COLUMNS, "confidence")
ROWS, INPUTS, FITS, CONFIDENCE = 100, 10, 20, 0.99
#: the largest norm on D', and the relative distance within which a number counts as equal.
LONGEST, NEAR = 2.0, 1e-9


def neighbours() -> tuple[np.ndarray, np.ndarray]:
    """D and D', (100, 10) each."""
    rows = np.tile(np.eye(INPUTS)[0], (ROWS, 1))
    return rows, np.vstack([rows[1:], LONGEST * rows[:1]])


def shows_the_norm(posterior) -> bool:
    """Whether a repaired mean or covariance shows the largest norm of D'."""
    norms = np.linalg.norm(posterior.means, axis=1) / LONGEST
    smallest = np.linalg.eigvalsh(posterior.covariances)[:, 0] / (EIGENVALUE_FLOOR * LONGEST**2)
    return bool((np.abs(np.concatenate([norms, smallest]) - 1) < NEAR).any())


def rows(cells: list[Cell], fits: int) -> Iterator[dict]:
    """One row per setting of DP-EM."""
    for cell in cells:
        if cell.method != "dp_em_authors":
            continue
        model, spec = cell.build_model(), cell.build_budget()
        adapter = contract.get(cell.method, model.kind)
        tasks = [Task("atoms", model, x) for x in neighbours()]
        settings = adapter.Settings(**dict(cell.settings))
        counts = events(adapter, tasks, settings, spec, shows_the_norm, fits, 1).sum(axis=1).tolist()
        low, _ = clopper_pearson(counts[1], fits, CONFIDENCE)
        yield {
            "setting": cell.setting, "claimed": spec.claimed_epsilon, "delta": spec.delta, "rows": ROWS, "fits": fits,
            "with_event": counts[0], "with_event_neighbour": counts[1], "delta_at_least": float(low),
            "confidence": CONFIDENCE,
        }  # fmt: skip


def tables(request: Request) -> dict[str, str]:
    """The text of ``dpem_atoms.csv``. Below full scale, there are three fits per table."""
    found = rows(request.cells("full"), FITS if request.scale == "full" else 3)
    return {"dpem_atoms.csv": text_of(COLUMNS, found, 10)}
