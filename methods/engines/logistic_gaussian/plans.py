"""Checks of settings that two adapters share; imports nothing heavy."""

from __future__ import annotations

import math


def check(name: str, settings) -> None:
    """Raises ValueError for a setting of DP-SGD that is out of range (``gradients.plan_of``)."""
    s = settings
    if s.batch_rows < 1 or (s.steps is not None and s.steps < 1):
        raise ValueError(f"{name}: batch_rows = {s.batch_rows}, steps = {s.steps}; give at least 1 of each")
    for key in ("rate_factor", "clip_factor"):
        if not (math.isfinite(getattr(s, key)) and getattr(s, key) > 0):
            raise ValueError(f"{name}: {key} = {getattr(s, key)}; give a finite number above 0")
