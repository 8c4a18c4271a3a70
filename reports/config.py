"""Readings, and the error of a report."""

from __future__ import annotations

READINGS = ("printed", "authors", "corrected")
#: names of the readings on every page, table and figure.
READING_TITLES = {"printed": "as printed", "authors": "authors' code", "corrected": "corrected"}


class ReportError(ValueError):
    """Config, scores and published numbers contradict each other. The message names the cell and the remedy."""
