"""Compilation of the kernels of networks, which inline functions of ``lanes`` and ``hidden``."""

from __future__ import annotations

from methods._shared import compiled, lanes
from methods.ep._pbp import hidden

kernel = compiled.kernel(lanes, hidden)
