"""What the final parameters of two programs show on two neighbouring tables, by repeated fits.

    python -m workflow.extra vinaroz2023dpsep final_state.csv

The paper's claims are about the parameters that leave a fit, and not about its steps. Each row of the table has a pair
of tables that differ in one row, an event that reads the final parameters only and was fixed before any fit, and how
often it happens.

``skipped updates``: the authors' code of DP-SEP for a mixture skips an update without noise if it would leave a
precision that is not positive definite. All rows of D lie where each update is skipped, so that no noise is added and
the released parameters are the prior's. In D' the first row lies where the update is made, with noise from a continuous
distribution. The event is "the means are the prior's". Its probability is 1 on D and 0 on D', whatever the other
updates do. So no (epsilon, delta) with delta < 1 holds.

``other rows vanish``: DP-EM, as Vinaroz & Park compare it, divides all rows by the largest norm of a row and returns
the result in these units. All rows of D are the same vector. In D' the last row is 1e6 times as long, so that all
others nearly vanish. The event is "the first coordinate of the average mean is above one half".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from methods import contract
from models.mixture_of_gaussians import MixtureMeans, MixtureOfGaussians
from models.task import Task
from privacy.audit.bounds import event_bound, events
from workflow.experiments import Cell
from workflow.extra import Request, text_of

COLUMNS = ("case", "setting", "claimed", "delta", "rows", "fits", "with_event", "with_event_neighbour")
COLUMNS = (*COLUMNS, "epsilon_at_least", "confidence", "first", "with_event_first", "with_event_neighbour_first")
#: rows and columns of the paper's mixture data, and the confidence of a bound.
ROWS, INPUTS, CONFIDENCE = 1000, 4, 0.99
#: fits per counted fit of the columns that end with "first", which tests recompute. There are at least FEWEST.
SHARE, FEWEST = 100, 3
#: case -> method, end of the setting's name, fits per table.
CASES = {"skipped updates": ("dp_sep_authors", "", 3), "other rows vanish": ("dp_em_authors", ";not scaled back", 1000)}


def skipped(model: MixtureOfGaussians) -> tuple[np.ndarray, np.ndarray]:
    """D and D' of ``skipped updates``, (1000, 4) each: between two prior means, three times as far out."""
    middle = model.prior_means(INPUTS)[:2].mean(axis=0)
    rows = np.tile(3.0 * middle, (ROWS, 1))
    return rows, np.vstack([middle, rows[1:]])


def vanishing() -> tuple[np.ndarray, np.ndarray]:
    """D and D' of ``other rows vanish``, (1000, 4) each."""
    rows = np.tile(np.eye(INPUTS)[0], (ROWS, 1))
    return rows, np.vstack([rows[1:], 1e6 * rows[:1]])


def pair(case: str, model: MixtureOfGaussians) -> tuple[tuple[np.ndarray, np.ndarray], object]:
    """The two tables of a case, and its event."""
    if case == "other rows vanish":
        return vanishing(), lambda posterior: posterior.means[:, 0].mean() > 0.5

    def is_prior(posterior: MixtureMeans) -> bool:
        return bool(np.allclose(posterior.means, model.prior_means(INPUTS), rtol=0, atol=1e-12))

    return skipped(model), is_prior


def happened(cells: list[Cell], fits: int | None = None, head: bool = False) -> Iterator[tuple[dict, np.ndarray]]:
    """Per case and claimed epsilon: what the row of the table says of it, and its event in each fit, (2, fits) bool.

    ``fits`` per table, by default those of ``CASES``. ``head``: only the fits of the columns that end with "first".
    """
    for case, (method, end, usual) in CASES.items():
        for cell in cells:
            claimed = cell.setting.removeprefix("epsilon=").removesuffix(end)
            if cell.method != method or cell.setting != f"epsilon={claimed}{end}" or not claimed.isdigit():
                continue
            model, spec, n = cell.build_model(), cell.build_budget(), fits or usual
            adapter, first = contract.get(method, model.kind), max(FEWEST, n // SHARE)
            both, event = pair(case, model)
            tasks, settings = [Task(case, model, x) for x in both], adapter.Settings(**dict(cell.settings))
            about = {"case": case, "setting": cell.setting, "claimed": float(claimed), "delta": spec.delta}
            flags = events(adapter, tasks, settings, spec, event, n, 1, first if head else None)
            yield about | {"rows": ROWS, "fits": n, "first": first}, flags


def rows(cells: list[Cell], fits: int | None = None) -> Iterator[dict]:
    """One row per case and claimed epsilon. ``fits`` per table, by default those of ``CASES``."""
    for about, flags in happened(cells, fits):
        one, other = flags.sum(axis=1).tolist()
        head, neighbour = flags[:, : about["first"]].sum(axis=1).tolist()
        n = about["fits"]
        yield about | {
            "with_event": one, "with_event_neighbour": other, "confidence": CONFIDENCE,
            "epsilon_at_least": event_bound((one, other), (n, n), about["delta"], CONFIDENCE),
            "with_event_first": head, "with_event_neighbour_first": neighbour,
        }  # fmt: skip


def tables(request: Request) -> dict[str, str]:
    """The text of ``final_state.csv``. Below full scale, each table is fitted three times."""
    found = rows(request.cells("full"), None if request.scale == "full" else 3)
    return {"final_state.csv": text_of(COLUMNS, found, 10)}
