"""Advice for a developer: the line of a method's file to look at for each finding of an audit."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

from datasets.files import ROOT

#: marks a pattern that is searched only after the first release.
AFTER_RELEASE = "(?#after)"
#: check of ``privacy.audit`` -> patterns of the lines to look at, the most likely first, and what to do there.
LINES: dict[str, tuple[tuple[str, ...], str]] = {
    "runs": (
        (r"\braise\b", r"\.release\(", r"def fit"),
        "a row decides whether the fit ends: cut rows, do not refuse them",
    ),
    "sensitivity": (
        (r"\bsensitivity=", r"\.release\("),
        "a neighbour moves the release by more than the sensitivity stated here: cut each row before it is summed",
    ),
    "posterior": (
        (AFTER_RELEASE + r"\btask\.[nxy]\b", r"\.release\("),
        "something besides the release reaches the posterior: from there on use released and public numbers alone",
    ),
    "diagnostics": ((r"return Fit\(",), "diagnostics are released too: tell functions of released and public numbers"),
    "events": ((r"budget\.\w+\(",), "what is charged follows the private rows: charge by public numbers alone"),
    "ledger": ((r"budget\.\w+\(",), "the ledger costs more than the budget: calibrate the noise multiplier"),
    "noise": (
        (r"\.release\(", r"\.noise\("),
        "the noise is not that of the ledger: add what the mechanism gives, unscaled",
    ),
    "noise_used": ((r"\.release\(", r"\.noise\("), "a release is drawn and not used: go on with what it returns"),
    "same_path": (
        (r"\.release\(", r"\.noise\("),
        "with the audit's recorder the fit is another: release through `release`",
    ),
    "steps": ((r"\bsteps=", r"\.release\("), "more releases than declared steps"),
    "supports": (
        (r"def supports\b",),
        "whether a task is taken follows its rows: look at public knowledge alone, and clip in the fit",
    ),
    "enforced": ((r"left_for\(|budget\.\w+\(",), "the noise is calibrated to more than the budget has left"),
    "forged": (
        (AFTER_RELEASE + r"\btask\.[nxy]\b", r"\braise\b", r"\.release\("),
        "what is done with a rare output, or with which words a fit ends, follows the rows: decide by released and "
        "public numbers alone",
    ),
    "searched": (
        (r"\bsensitivity=", r"\.release\("),
        "a pair that was searched moves the release by more than the sensitivity stated here",
    ),
    "tails": ((r"\.release\(", r"\.noise\("), "noise is cut far out: add what the mechanism gives"),
    "late": ((r"\bsteps=", r"\.release\("), "the fit is not sound at its default settings, after many steps"),
    "secrets": ((r"\.batches\(", r"budget\.\w+\("), "noise or batches follow from few bits: draw them from the budget"),
    "sampling": ((r"\bsampling=", r"\.batches\("), "batches are not drawn at the declared rate"),
}


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
        patterns, what = LINES.get(check, ((r"def fit",), "see the check of this name in privacy/audit"))
        at = next((n for p in patterns if (n := _first(p, lines, start, end))), start + 1)
        out.append(f"{shown}:{at}: {check}: {what}\n    found: {text}")
    return "\n".join(out)


def _first(pattern: str, lines: list[str], start: int, end: int) -> int:
    """The number of the first matching line from ``start`` to ``end``, the class, else in the file; 0 if none."""
    order = [*range(start, len(lines)), *range(start)]
    if pattern.startswith(AFTER_RELEASE):
        order = [*range(max(_first(r"\.release\(|\.noise\(", lines, start, end) - 1, 0), end)]
    return next((k + 1 for k in order if re.search(pattern, lines[k])), 0)
