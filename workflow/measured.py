"""Sizes, times and counts that texts quote: computed where that is possible, else read from ``config/measured.yaml``.

    python -m workflow.measured               print them all
    python -m workflow.measured --packages    ask the package index for the sizes of what ./bench downloads
"""

from __future__ import annotations

from pathlib import Path

import yaml

from workflow.imports import ROOT

FILE = ROOT / "config" / "measured.yaml"
KEYS = {"value", "unit", "meaning", "measured"}


def recorded(path: Path = FILE) -> dict[str, dict]:
    """Measured numbers by name: value, unit, meaning, and when and how it was measured.

    Raises ValueError for an entry that has other keys.
    """
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name, entry in found.items():
        if not isinstance(entry, dict) or set(entry) != KEYS:
            raise ValueError(f"{path}: {name} needs the keys {', '.join(sorted(KEYS))}")
    return found


def facts() -> dict[str, float]:
    """All numbers by name: those of ``config/measured.yaml``, and of the full run and of ``./bench`` these.

    full_cells             cells of the full run
    full_cpu_hours         CPU hours that it is forecast to take, by the committed seconds of its fits
    full_hours_2_cores     hours by the clock on two cores, by the same forecast
    full_download_mb       MB of raw data, if none is there yet
    sample_cells           committed results that ``./bench`` recomputes where all data can be had
    sample_methods         methods among them
    sample_missing         methods that are too expensive for that sample
    sample_download_mb     MB of raw data that it needs
    """
    return {name: entry["value"] for name, entry in recorded().items()} | _full_run() | _sample()


def _full_run() -> dict[str, float]:
    from workflow.plan import download_mb, estimate

    full = estimate("full")
    return {
        "full_cells": len(full.cells),
        "full_cpu_hours": full.seconds / 3600,
        "full_hours_2_cores": full.seconds / 3600 / 2,
        "full_download_mb": download_mb({c.dataset for c in full.cells}),
    }


def _sample() -> dict[str, float]:
    from workflow import spot_check
    from workflow.check import Checker
    from workflow.plan import download_mb

    checker = Checker(ROOT / "results" / "data", 1)
    units = spot_check.candidates(checker, spot_check.estimates(checker))
    chosen, missing = spot_check.choose(units, lambda unit: "")
    return {
        "sample_cells": sum(len(u.cells) for u in chosen),
        "sample_methods": len({m for u in chosen for m in u.methods}),
        "sample_missing": len({r.method for r in missing}),
        "sample_download_mb": download_mb({u.dataset for u in chosen if u.sample}),
    }


if __name__ == "__main__":
    for key, number in facts().items():
        print(f"{key:20} {number:10.4g}")
