"""Posteriors of a cell as its fits left them in ``results/fits/``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path


def parameters_of(store, split: int) -> dict:
    """Name -> array, of one split. ``store``: the open npz file of a cell, whose names are ``<split>/<parameter>``."""
    prefix = f"{split}/"
    return {n.removeprefix(prefix): store[n] for n in store.files if n.startswith(prefix)}


def fits_of(cell, fits: Path) -> Iterator[tuple[int, object]]:
    """(split, posterior) of every split of a cell whose fit is ok. None of a cell that was restored."""
    import numpy as np

    from models import posteriors

    record = json.loads((fits / f"{cell.id}.json").read_text())
    with np.load(fits / f"{cell.id}.npz") as store:
        for row in [r for r in record["splits"] if r["status"] == "ok"]:
            yield row["split"], posteriors.load(row["posterior_kind"], parameters_of(store, row["split"]))
