"""What the report needs of an experiment file: sources, tables, data sets, protocols, answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from evaluation.arms import written_out

READINGS = ("printed", "authors", "corrected")
SCALES = ("full", "quick", "tiny")
_NEEDED = ("experiment", "sources", "datasets", "protocols", "arms", "answers")


class ReportError(ValueError):
    """Config, scores and published numbers do not fit together; the message names the cell and the remedy."""


def load(path: str | Path) -> dict[str, Any]:
    """An experiment file, its grids of budgets written out (``evaluation.arms``).

    Raises :class:`ReportError` naming file and key. (Its full schema is the workflow's.)
    """
    path = Path(path)
    if not path.is_file():
        raise ReportError(f"no experiment file {path}; the folders of papers hold them")
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key in _NEEDED:
        if not isinstance(config, dict) or key not in config:
            raise ReportError(f"{path}: key '{key}' is missing")
    for k, answer in enumerate(config["answers"]):
        for reading in answer["readings"]:
            if reading not in READINGS:
                raise ReportError(f"{path}: answers[{k}]: reading '{reading}'; choose of {', '.join(READINGS)}")
        if answer["source"] not in config["sources"]:
            raise ReportError(f"{path}: answers[{k}]: source '{answer['source']}' is not among sources")
    try:
        return {**config, "arms": written_out(config["arms"])}
    except ValueError as e:
        raise ReportError(f"{path}: {e}") from None


def by_dataset(value: Any, dataset: str) -> Any:
    """``{by_dataset: {wine: 1, default: 2}}`` resolved for one data set; any other value as it is."""
    if isinstance(value, dict) and set(value) == {"by_dataset"}:
        table = value["by_dataset"]
        if dataset not in table and "default" not in table:
            raise ReportError(f"no value for data set '{dataset}' and no 'default' in {table}")
        return table.get(dataset, table.get("default"))
    return value


def in_scope(config: dict[str, Any], source: str, table: str, datasets: set[str]) -> bool:
    """Is that published table this experiment's business?

    ``tables`` of the config says so ("3" or "source:3"); without it, every table of its sources that has one of its
    data sets.
    """
    if source not in config["sources"]:
        return False
    if "tables" in config:
        return table in config["tables"] or f"{source}:{table}" in config["tables"]
    return bool(datasets & set(config["datasets"]))
