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
    """An experiment file as the workflow reads it (``workflow.experiments.load``).

    Raises :class:`ReportError` naming file and key.
    """
    try:
        return experiments.load(path)
    except ConfigError as e:
        raise ReportError(str(e)) from None
