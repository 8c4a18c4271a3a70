"""Advice for a developer: the line of a method's file to look at for each finding of an audit."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from datasets.files import ROOT

#: marks a pattern that is searched only after the first release.
AFTER_RELEASE = "(?#after)"
#: check of ``privacy.audit`` -> ``look``, patterns of the lines to look at, and what to ``do`` there.
REMEDIES = yaml.safe_load((ROOT / "audit/remedies.yaml").read_text(encoding="utf-8"))


def advice(method: object, found: Mapping[str, str]) -> str:
    """One line per finding: file and line to look at, what was found, and what to do. "" if nothing was found.

    ``found`` maps a check of ``privacy.audit`` to what it found. ``method`` is the adapter. The line is the first match
    in its class, otherwise in its file.
    """
    cls = type(method)
    path = Path(inspect.getsourcefile(cls) or "")
    lines = path.read_text(encoding="utf-8").splitlines()
    own, first = inspect.getsourcelines(cls)
    start, end = first - 1, first - 1 + len(own)
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    out = []
    for check, text in found.items():
        told = REMEDIES.get(check, {"look": ["def fit"], "do": "see the check of this name in privacy/audit"})
        at = next((n for p in told["look"] if (n := _first(p, lines, start, end))), start + 1)
        out.append(f"{shown}:{at}: {check}: {told['do']}\n    found: {text}")
    return "\n".join(out)


def _first(pattern: str, lines: list[str], start: int, end: int) -> int:
    """The number of the first matching line from ``start`` to ``end``, the class, else in the file; 0 if none."""
    order = [*range(start, len(lines)), *range(start)]
    if pattern.startswith(AFTER_RELEASE):
        order = [*range(max(_first(r"\.release\(|\.noise\(", lines, start, end) - 1, 0), end)]
    return next((k + 1 for k in order if re.search(pattern, lines[k])), 0)
