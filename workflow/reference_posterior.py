"""The exact posterior of every split of a bounded regression, by which all other posteriors are measured.

The kind of model names it (``exact`` of ``models.kind.Kind``): the conjugate posterior, which is computed here, or
draws of the No-U-Turn sampler, a cell of the same experiment. The score rows of that cell have its moments, so a cell
that was restored from the reference serves as well as a fitted one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluation.posterior_distance import DRAWS, Moments, moments
from models.bounded import Frame
from models.kind import CONJUGATE
from workflow.store import parameters_of, record_of

_TOLD = re.compile(r"reference_(mean|sd)\[(\d+)\]")


def public_frame(cell, data, split: int) -> Frame:
    """The scaling of a method that is not private."""
    from methods._shared.frames import make_frame
    from workflow.worker import make_task

    return make_frame(make_task(cell, data, split), None)


class Exact:
    """Moments by split, computed or read at the first use."""

    def __init__(self, cells: Sequence, fits: Path, data):
        self._cell, self._data = cells[0], data
        self._known: dict[int, tuple[Frame, Moments] | None] = {}
        self._reference = next((c for c in cells if c.method == cells[0].about.exact), None)
        self._record = None
        if self._reference is not None and (path := fits / f"{self._reference.id}.json").exists():
            self._record, self._store = record_of(self._reference, fits), path.with_suffix(".npz")

    def is_reference(self, cell) -> bool:
        return self._reference is not None and cell.id == self._reference.id

    @staticmethod
    def told(found: Moments) -> dict[str, tuple[float, str]]:
        """Score rows that :meth:`of` reads back where the reference cell is restored."""
        both = {"mean": found.mean, "sd": found.sd}
        return {f"reference_{w}[{j}]": (float(v), "theta") for w, vs in both.items() for j, v in enumerate(vs)}

    def of(self, split: int) -> tuple[Frame, Moments] | None:
        """Scaling and moments of one split; None without a reference (its fit failed, or is not there yet)."""
        if split not in self._known:
            posterior = self._linear(split) if self._cell.about.exact == CONJUGATE else self._drawn(split)
            self._known[split] = None if posterior is None else (public_frame(self._cell, self._data, split), posterior)
        return self._known[split]

    def _linear(self, split: int) -> Moments:
        from workflow.worker import make_task

        task = make_task(self._cell, self._data, split)
        scaled_task = public_frame(self._cell, self._data, split).task(task)
        rng = np.random.default_rng(self._cell.seed(split, "exact"))
        return moments(scaled_task.model.exact_posterior(scaled_task.x, scaled_task.y).sample(20 * DRAWS, rng))

    def _drawn(self, split: int) -> Moments | None:
        from models import posteriors

        record = self._record
        if record is None or self._reference is None:
            return None
        restored = [r for r in record["reused"] if r["split"] == str(split)]
        if restored:
            rows = {r["metric"]: float(r["value"]) for r in restored if r["status"] == "ok"}
            found: dict[str, dict[int, float]] = {"mean": {}, "sd": {}}
            for metric, value in rows.items():
                if match := _TOLD.fullmatch(metric):
                    found[match[1]][int(match[2])] = value
            size = len(found["mean"])
            return Moments(*(np.array([found[w][j] for j in range(size)]) for w in ("mean", "sd"))) if size else None
        row = next((r for r in record["splits"] if r["split"] == split and r["status"] == "ok"), None)
        if row is None:
            return None
        with np.load(self._store) as store:
            parameters = parameters_of(store, split)
        posterior = posteriors.load(row["posterior_kind"], parameters)
        return moments(posterior.sample(DRAWS, np.random.default_rng(self._reference.seed(split, "posterior"))))


def exact_posteriors(cells: Sequence, fits: Path, data) -> Exact | None:
    """The exact posteriors of the cells of one data set; None if their kind of model has none."""
    return Exact(cells, fits, data) if cells and cells[0].about.exact and data.ok else None
