"""One cell run by itself: fitted in a process of its own, drawn and scored, outside of Snakemake."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from workflow.experiments import Cell


def run_once(cell: Cell, data_path: str | Path, results: Path, limit_s: float) -> list[dict]:
    """Score rows of a cell below ``results``; ``limit_s``: seconds of one fit, whose end is a row ``timeout``."""
    import datasets
    from datasets.files import write_npz
    from workflow.cell import run
    from workflow.draws import of_cell
    from workflow.exact import exact_posteriors
    from workflow.score import rows_of

    limited = dataclasses.replace(cell, timeout_s=limit_s, request_timeout_s=limit_s)
    run([limited], str(data_path), results)
    data, fits = datasets.load(str(data_path)), results / "fits"
    if cell.drawn:
        write_npz(results / "draws" / f"{cell.id}.npz", of_cell(limited, fits, data))
    return rows_of(limited, fits, data, results / "draws", exact_posteriors([limited], fits, data))
