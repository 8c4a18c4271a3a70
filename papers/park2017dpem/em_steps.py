"""The change of EM without noise in each M-step of DP-EM's experiment, and where the authors' tolerance stops.

    python -m workflow.extra park2017dpem em_steps.csv

There is one row per fold and M-step of the run without a tolerance. It has the log-likelihood + log prior of the
parameters at the start of the step (nats, all training rows), and its relative change as in ``methods.em._em.iterate``.
It also says whether the authors' tolerance stops after that step: "yes", "no", or "gone" for a step that is never made.
"""

from __future__ import annotations

import numpy as np

from methods.em.em import EM
from workflow.extra import Request, text_of
from workflow.worker import make_task

COLUMNS = ("split", "step", "log_posterior", "relative_change", "stops")


def rows_of(task, rng: np.random.Generator, split: int) -> list[dict]:
    """The rows of one fold: the run of :class:`methods.em.EM` at its default settings except the tolerance."""
    from methods.em import _em as engine

    s = EM.Settings()
    scale = engine.largest_norm(task.x)
    x = task.x / scale
    prior = engine.Prior(s.kappa0, s.prior_scale, s.dirichlet)
    start = engine.initial(x.shape[1], task.model.components, rng, 1.0 / scale)

    def m_step(responsibilities, _):
        return engine.map_m_step(engine.moments(x, responsibilities, 1.0, 1.01), prior)

    _, found = engine.iterate(x, start, m_step, s.iterations, 0.0, prior)
    out, stopped = [], False
    for k, value in enumerate(found):
        change = abs(value - found[k - 1]) / ((abs(value) + abs(found[k - 1])) / 2) if k else None
        stops = not stopped and change is not None and change < s.tolerance
        out.append(
            {"split": split, "step": k + 1, "log_posterior": repr(float(value))}
            | {"relative_change": "" if change is None else f"{change:.6g}"}
            | {"stops": "gone" if stopped else "yes" if stops else "no"}
        )
        stopped = stopped or stops
    return out


def tables(request: Request) -> dict[str, str]:
    """``em_steps.csv``, as text."""
    data = request.data()
    (cell,) = (c for c in request.cells("full") if (c.method, c.setting) == ("em", ""))
    rows = []
    for split in range(cell.splits) if data.ok else ():
        rng = np.random.default_rng(cell.seed(split, "fit"))
        rows += rows_of(make_task(cell, data, split), rng, split)
    return {"em_steps.csv": text_of(COLUMNS, rows, 9)}
