"""What the report needs of an experiment file: sources, tables, data sets, protocols, answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workflow import experiments
from workflow.experiments import ConfigError

READINGS = ("printed", "authors", "corrected")
#: what every page, table and figure calls a reading.
READING_TITLES = {"printed": "as printed", "authors": "authors' code", "corrected": "corrected"}
SCALES = ("full", "quick", "tiny")


class ReportError(ValueError):
    """Config, scores and published numbers do not fit together; the message names the cell and the remedy."""


def load(path: str | Path) -> dict[str, Any]:
    """An experiment file as the workflow reads it (``workflow.experiments.load``), with its answers checked.

    Raises :class:`ReportError` naming file and key.
    """
    try:
        config = experiments.load(path)
    except ConfigError as e:
        raise ReportError(str(e)) from None
    for k, answer in enumerate(config["answers"]):
        if answer["source"] not in config["sources"]:
            raise ReportError(f"{path}: answers[{k}]: source '{answer['source']}' is not among sources")
    return config


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
