"""The parts of an experiment file that the report needs: sources, tables, data sets, protocols, answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workflow import experiments
from workflow.experiments import ConfigError

READINGS = ("printed", "authors", "corrected")
#: names of the readings on every page, table and figure.
READING_TITLES = {"printed": "as printed", "authors": "authors' code", "corrected": "corrected"}
SCALES = ("full", "quick", "tiny")


class ReportError(ValueError):
    """Config, scores and published numbers contradict each other. The message names the cell and the remedy."""


def load(path: str | Path) -> dict[str, Any]:
    """Read an experiment file by ``workflow.experiments.load``. Raises :class:`ReportError`, naming file and key."""
    try:
        return experiments.load(path)
    except ConfigError as e:
        raise ReportError(str(e)) from None
